"""The documentation as a site: `make docs` builds it from the repository's Markdown, in `site/`.

Sphinx reads the pages where they stand, so that their links are those of the repository. The README
is the first page. What the side bar has stands here, since GitHub would show it in the pages.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
import textwrap
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from docutils.nodes import Element, Node, literal

import clew
import clew.client
import clew.evaluate

sys.path.insert(0, str(Path(__file__).parents[2]))
from docs.site.navigation import FIRST, NAVIGATION

if TYPE_CHECKING:
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "Clew"
release = os.environ.get("VERSION") or clew.__version__
html_title = f"Clew {release}"
html_theme = "furo"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_js_files = [("versions.js", {"defer": "defer"})]
templates_path = ["templates"]
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
project_copyright = "Apache-2.0"

root_doc = FIRST
include_patterns = ["*.md", "docs/**.md", "docs/notebooks/*.ipynb", "docs/site/reference/*.rst"]
exclude_patterns = [".*", "src", "tests", "benchmarks", "requirements", "examples", "site"]
exclude_patterns += ["**/*.clew", "**/*.runs"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_execution_mode = "off"  # the slow tests run notebooks, and compare what is kept in them
# A lexer's errors say nothing of a page: consoles and trees are drawn as they are.
highlight_language = "text"
smartquotes = False
default_role = "literal"  # docstrings write `name`, as Markdown does

autodoc_default_options = {"members": True, "undoc-members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True

# Names that a package imports when they are asked for are not seen otherwise.
for package in (clew, clew.client, clew.evaluate):
    vars(package).update({name: getattr(package, name) for name in package.__all__})

_BEFORE_INDENTED = re.compile(r"^(\S.*)\n\n(?= {4})", re.MULTILINE)
_FIELD_NOTE = re.compile(r"#\s*(.*)$")


def setup(app: Sphinx) -> None:
    """Connect what this site does besides Sphinx's own."""
    app.connect("source-read", add_navigation)
    app.connect("autodoc-skip-member", skip_value)
    app.connect("autodoc-process-signature", shorten_types)
    app.connect("autodoc-process-docstring", draw_indented)
    app.connect("autodoc-process-docstring", add_fields)
    app.connect("missing-reference", find_public_name)


def add_navigation(_app: Sphinx, page: str, source: list[str]) -> None:
    """Put behind a page which pages stand below it."""
    for caption, pages in NAVIGATION.get(page, {}).items():
        below = "\n".join(pages if page != FIRST else (f"/{each}" for each in pages))
        options = ":hidden:\n:glob:" + (f"\n:caption: {caption}" if caption else "")
        source[0] += f"\n```{{toctree}}\n{options}\n\n{below}\n```\n"


def skip_value(
    _app: Sphinx, _what: str, _name: str, thing: object, _skipped: object, _options: object
) -> bool | None:
    """Leave out values: the fields of a class stand in one list, and constants tell nothing."""
    return None if callable(thing) or isinstance(thing, property) else True


def shorten_types(
    _app: Sphinx,
    _what: str,
    _name: str,
    _thing: object,
    _options: object,
    signature: str | None,
    returned: str,
) -> tuple[str, str] | None:
    """Write `Hit` for `~clew.base.types.Hit`, and nothing for what a protocol is said to take."""
    if signature == "(*args, **kwargs)":
        return "", returned
    return (re.sub(r"~[\w.]+\.", "", signature), returned) if signature else None


def draw_indented(
    _app: Sphinx, what: str, _name: str, _thing: object, _options: object, lines: list[str]
) -> None:
    """Draw what is indented in a module's docstring as it is, such as code or a tree."""
    if what == "module":
        lines[:] = _BEFORE_INDENTED.sub(r"\1\n\n::\n\n", "\n".join(lines)).split("\n")


def add_fields(
    _app: Sphinx, what: str, _name: str, thing: object, _options: object, lines: list[str]
) -> None:
    """Put a class's fields behind its docstring, each with the comment that says what it is."""
    if what != "class" or not hasattr(thing, "__dataclass_fields__"):
        return
    lines += ["", *(f"- {line}" for line in _fields(thing)), ""]


def _fields(kind: object) -> list[str]:
    source = textwrap.dedent(inspect.getsource(kind))
    below = source.splitlines()
    return [
        f"``{ast.unparse(each).replace(chr(10), ' ')}``{_note(below[each.end_lineno - 1 :])}"
        for each in ast.parse(source).body[0].body
        if isinstance(each, ast.AnnAssign)
        and not ast.unparse(each.annotation).startswith("ClassVar")
        and not ast.unparse(each.target).startswith("_")
    ]


def _note(lines: list[str]) -> str:
    """Return the comment behind a field, with the lines below that go on with it."""
    found = _FIELD_NOTE.search(lines[0])
    if not found:
        return ""
    below = lines[1:] if found[1].endswith(",") else []
    more = takewhile(lambda line: line.strip().startswith("#"), below)
    return ": " + " ".join([found[1], *(line.strip(" #") for line in more)])


def find_public_name(
    app: Sphinx, _env: BuildEnvironment, wanted: pending_xref, shown: Element
) -> Node | None:
    """Link a type such as `clew.base.types.Hit` to its public name in the documentation."""
    domain = app.env.domains["py"]
    name = wanted.get("reftarget", "").rpartition(".")[2]
    places = [place for place in domain.objects if place.rpartition(".")[2] == name]
    public = [place for place in places if place.count(".") == 1] or places
    if wanted.get("refdomain") != "py" or len(public) != 1 or name == "open":
        return None
    entry = domain.objects[public[0]]
    return domain.resolve_xref(
        app.env, wanted["refdoc"], app.builder, entry.objtype, public[0], wanted, shown or literal()
    )
