"""What the documentation says is there, is there; and what is there is in the documentation."""

import ast
import re
import sqlite3
import tomllib
from contextlib import closing
from dataclasses import fields
from pkgutil import iter_modules

import pytest

import clew
from clew import errors, methods, plugins
from clew.index.store import segments
from docs.site import navigation
from tests.docs.pages import PAGES, ROOT, all_text, anchors, blocks, links, name, prose


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    parted = [link.partition("#") for link in links(page)]
    targets = [(page.parent / path if path else page, anchor) for path, _, anchor in parted]
    assert not [str(target) for target, _ in targets if not target.is_file()]
    assert not [
        (target.name, anchor)
        for target, anchor in targets
        if anchor and anchor not in anchors(target)
    ]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_markdown_is_written_so_that_it_renders(page):
    """A mark at the start of a line makes the line HTML; a list or table ends a paragraph."""
    text = prose(page)
    assert not re.findall(r"^.*\S.*\n#+ .*", text, re.MULTILINE)
    assert not re.findall(r"^\|.*[^|\n]$", text, re.MULTILINE)
    assert not re.findall(r"^ *<!-- = .*", text, re.MULTILINE)
    assert not re.findall(r"^(?![ |>#<]|[-*] |\d+\. ).+\n(?:[-*] |1\. |\|).*", text, re.MULTILINE)


DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))


@pytest.mark.parametrize("page", DECISIONS, ids=name)
def test_decisions_are_short(page):
    text = page.read_text(encoding="utf-8")
    assert len(text.split()) <= 150
    assert all(f"**{part}.**" in text for part in ("Context", "Choice", "Refused"))
    assert text.startswith(f"# {page.name[:4]}: ")


def test_decisions_are_listed_and_the_readme_is_short():
    text = (ROOT / "docs" / "decisions" / "index.md").read_text(encoding="utf-8")
    titles = [page.read_text(encoding="utf-8").partition("\n")[0] for page in DECISIONS]
    rows = [
        f"- [{title.removeprefix('# ')}]({page.name})"
        for title, page in zip(titles, DECISIONS, strict=True)
    ]
    assert [line for line in text.splitlines() if line.startswith("- ")] == rows
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) < 700
    points = re.findall(r"^- (.+)$", text.partition("\n## ")[0], re.MULTILINE)
    assert len(points) == 5
    assert max(len(point.split()) for point in points) <= 12


@pytest.mark.parametrize("module", [m.name for m in iter_modules(clew.__path__)])
def test_modules_are_documented(module):
    if module.startswith("_"):
        pytest.skip("not public")
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert re.search(rf"^\|[^|]*`{module}`[^|]*\|", text, re.MULTILINE)


def test_import_rule_is_the_contract():
    contract = (ROOT / ".importlinter").read_text(encoding="utf-8")
    layers = contract.partition("layers =\n")[2].partition("\n#")[0].splitlines()
    present = [re.sub(r" \| \(\w+\)|\(\w+\) \| ", "", line.strip()) for line in layers]
    page = ROOT / "docs" / "architecture.md"
    assert "\n".join(present) in [text.strip() for _, text in blocks(page, "")]


@pytest.mark.parametrize("method", [*methods.list_modules(), *plugins.find_registered("methods")])
def test_methods_are_documented(method):
    page = ROOT / "docs" / "methods" / f"{method}.md"
    place = f"docs/methods/{method}.md"
    assert page.is_file(), (
        f"{method} has no page: write {place}; docs/methods/dense.md is a short one"
    )
    assert method in navigation.METHODS.split(), (
        f"docs/site/navigation.py needs {method} in METHODS"
    )
    text = page.read_text(encoding="utf-8")
    kind = methods.load(method)
    for field in fields(kind):
        default = field.default
        written = ("off", "on")[default] if isinstance(default, bool) else str(default)
        row = re.search(rf"^\|[^|]*\| `{field.name}` \| ([^|]*)\|", text, re.MULTILINE)
        given = row and row[1].replace("`", "").replace('"', "").split()[0]
        assert given == written, (
            f"{place} needs a row | – | `{field.name}` | {written} | ... | in its parameters"
        )
    numbers = f"<!-- numbers: {method} -->"
    assert numbers in text, f"{place} needs the line {numbers}, where `make results` writes figures"
    variants = [name for name in methods.names() if methods.load(name) in kind.__subclasses__()]
    missing = [name for name in variants if not re.search(rf"^\| `{name}` \|", text, re.MULTILINE)]
    assert not missing, f"{place} needs a row for each variant in its table of variants: {missing}"


def test_errors_are_documented():
    text = (ROOT / "docs" / "guides" / "errors.md").read_text(encoding="utf-8")
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(rows) == sorted(k.__name__ for k in kinds if k is not errors.ClewError)
    drawn = re.compile(r"^ *((?:[│ ]*[├└]── )?[A-Z]\w+)(?: {3}|$)", re.MULTILINE)
    tree = errors.__doc__.partition("ClewError")[2]
    assert drawn.findall(tree) == drawn.findall(
        text.partition("\nClewError")[2].partition("```")[0]
    )


def test_format_is_documented(index_folder):
    text = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    arrays = [
        a for path in (index_folder / "segments").iterdir() for a in segments.open_segment(path)
    ]
    assert not [array for array in set(arrays) if f"`{array}`" not in text]
    with closing(sqlite3.connect(index_folder / "index.sqlite")) as database:
        tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in tables:
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            assert f"| `{table}` | {', '.join(f'`{c}`' for c in columns)} |" in text
        (version,) = database.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    assert f"format number **{version}**" in text


def test_make_targets_and_extras_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    shell = "\n".join(text for page in PAGES for _, text in blocks(page, "bash"))
    targets = re.findall(r"^make ([\w-]+)", shell, re.MULTILINE)
    assert targets
    assert not [t for t in targets if not re.search(rf"^{t}:", makefile, re.MULTILINE)]
    extras = {e for found in re.findall(r"\.\[([\w,-]+)\]", all_text()) for e in found.split(",")}
    assert extras <= set(project["optional-dependencies"])
    guide = (ROOT / "docs" / "guides" / "install.md").read_text(encoding="utf-8")
    table = guide.partition("| extra |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)
    assert sorted(rows) == sorted(project["optional-dependencies"])


PUBLIC = {"clew", "clew.errors", "clew.evaluate", "clew.methods"}
PUBLIC |= {"clew.client", "clew.shards"}
PUBLIC |= {"clew.models", "clew.plugins", "clew.readers", "clew.steps", "clew.testing"}


EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=name)
def test_pages_and_examples_import_what_is_public(page):
    """From the modules that `public.md` names, and from `clew` what its `__all__` has."""
    for module, names in imports(page):
        assert module in PUBLIC or module.startswith("clew.methods."), f"{page}: {module}"
        if module == "clew":
            assert names <= {*clew.__all__, *(m.removeprefix("clew.") for m in PUBLIC)}


def test_imports_are_found():
    assert ("clew", set()) in list(imports(ROOT / "examples" / "demo.py"))
    assert list(imports(ROOT / "docs" / "guides" / "evaluate.md"))


def imports(page):
    """Yield each module of Clew that a page or a script imports, and which of its names."""
    code = [page.read_text(encoding="utf-8")] if page.suffix == ".py" else []
    for source in code or [text for _, text in blocks(page, "python")]:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("clew"):
                yield node.module, {each.name for each in node.names}
            elif isinstance(node, ast.Import):
                yield from ((each.name, set()) for each in node.names if each.name[:4] == "clew")


def test_every_public_name_is_named():
    text = (ROOT / "docs" / "public.md").read_text(encoding="utf-8")
    assert not [each for each in (*clew.__all__, *PUBLIC) if f"`{each}`" not in text]
    table = (ROOT / "docs" / "public.md").read_text(encoding="utf-8").partition("\n## ")[0]
    reference = ROOT / "docs" / "site" / "reference"
    rows = re.findall(r"^\| ([^|]+) \| (.+) \|$", table, re.MULTILINE)[1:]
    modules = {module for named, _ in rows for module in re.findall(r"`(clew[\w.]*)`", named)}
    assert {page.stem for page in reference.glob("clew*.rst")} == modules
    shown = (reference / "clew.methods.rst").read_text(encoding="utf-8")
    modules = {f"clew.methods.{each}" for each in methods.list_modules()}
    modules |= {e.value.split(":")[0] for e in plugins.find_registered("methods").values()}
    missing = [each for each in sorted(modules) if f".. automodule:: {each}\n" not in shown]
    assert not missing, f"docs/site/reference/clew.methods.rst needs an automodule for {missing}"
    of_models = re.findall(r"`(\w+)`", dict(rows)["`clew.models`"])
    shown = (reference / "clew.models.rst").read_text(encoding="utf-8")
    assert not [n for n in of_models if f":: clew.models.{n}\n" not in shown]
    assert not [n for n in of_models if not hasattr(clew.models, n)]
