"""Exports of Notion and Confluence: pages whose files have numbers in their names.

    Ships 0123456789abcdef0123456789abcdef.md     Notion, Markdown or HTML, and tables as CSV
    Fram_1234567.html, 1234567.html               Confluence, HTML

A page is called by its title, and its document by the path without numbers, unless two have the
same. A page "is part of" the page above it, and "links to" others.
"""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from selectolax.lexbor import LexborHTMLParser

from clew.base.types import Document, Skipped, Triple
from clew.extras.connect.imports.obsidian import PLAIN_LINK, read_below
from clew.readers.systems import System
from clew.readers.triples import Stated, explain_refusal
from clew.readers.walk import File

SYSTEM = "Notion, Confluence"
IS_COMMON = True
_NUMBER = re.compile(r"(?: |%20)[0-9a-f]{32}(?=$|\.|_all\.)")
_NOTION = f"* {'[0-9a-f]' * 32}.*"
_PAGE_NUMBER = re.compile(r"_\d+(?=\.html$)")
_PAGES = (".md", ".html")
_SPACE = re.compile(r"^.{1,200}? : (?=\S)")  # before a title of Confluence
_MARK = b"Confluence"


def locate(path: Path) -> Path | None:
    """Return the folder of an export."""
    if not path.is_dir():
        return None
    is_notion = any(next(path.glob(f"{above}{_NOTION}"), None) for above in ("", "*/", "*/*/"))
    return path if is_notion or _find_space(path) else None


def _find_space(path: Path) -> Path | None:
    """Return the folder of a space of Confluence: it has a list of pages and a style."""
    for index in (path / "index.html", *sorted(path.glob("*/index.html"))):
        if index.is_file() and (index.parent / "styles" / "site.css").is_file():
            with index.open("rb") as stream:
                if _MARK in stream.read(1 << 20):
                    return index.parent
    return None


def read(place: File) -> System:
    """Return the pages of an export, and how they hang together."""
    space = _find_space(place.path)
    found = read_below(place)
    tables = {each.id.rpartition(":")[0] for each in found if isinstance(each, Document)}
    whole = {f"{each.removesuffix('_all.csv')}.csv" for each in tables if each.endswith("_all.csv")}
    items = [
        each for each in found if isinstance(each, Skipped) or not _is_double(each, whole, space)
    ]
    documents = [each for each in items if isinstance(each, Document)]
    ids = _clean_ids(documents)
    marks = _SPACE if space else _NUMBER
    pages = {
        each.id: replace(each, id=ids[each.id], title=marks.sub("", each.title))
        for each in documents
    }
    return System(
        name="Confluence" if space else "Notion",
        documents=[each if isinstance(each, Skipped) else pages[each.id] for each in items],
        statements=_state(place, pages),
    )


def _is_double(document: Document, whole: set[str], space: Path | None) -> bool:
    """Say whether a document is no page: a list of pages, or a table that is there whole."""
    if space is not None:
        path = PurePosixPath(document.id)
        return path.name == "index.html" or path.parent.name == "styles"
    return document.id.rpartition(":")[0] in whole


def _clean_ids(documents: Sequence[Document]) -> dict[str, str]:
    """Return ids without numbers; where two would be the same both stay as they are."""
    clean = {each.id: _clean(each.id) for each in documents}
    counts = Counter(clean.values())
    return {own: new if counts[new] == 1 else own for own, new in clean.items()}


def _clean(name: str) -> str:
    parts = (_NUMBER.sub("", part) for part in name.split("/"))
    return _PAGE_NUMBER.sub("", "/".join(parts))


def _state(place: File, pages: dict[str, Document]) -> Iterator[Stated | Skipped]:
    """Yield how pages hang together; `pages` are by the ids that their files have."""
    by_clean = {each.id: each for each in pages.values()}  # folders may have no numbers
    for own, page in pages.items():
        path = PurePosixPath(own)
        if path.suffix not in _PAGES:
            continue
        above = [f"{path.parent}{suffix}" for suffix in _PAGES]
        file = place.path / own.removeprefix(f"{place.id}/")
        links, parents = _links(file, page)
        facts = [("is part of", each) for each in (*above, *parents)]
        for relation, target in dict.fromkeys([*facts, *(("links to", each) for each in links)]):
            below = posixpath.normpath(path.parent / target)
            other = pages.get(target) or pages.get(below) or by_clean.get(target)
            if other is None or not other.title or other.title == page.title:
                continue
            if reason := explain_refusal(page.title) or explain_refusal(other.title):
                yield Skipped(source=page.source, reason=f"links to a name {reason}")
                continue
            triple = Triple(subject=page.title, relation=relation, object=other.title)
            yield Stated(triple=triple, document_id=page.id, line=1)


def _links(file: Path, page: Document) -> tuple[list[str], list[str]]:
    """Return the files that a page links to, and the one that its breadcrumbs name last."""
    if file.suffix == ".md" or not file.is_file():  # as one whose name is not UTF-8
        return [unquote(match[3]) for match in PLAIN_LINK.finditer(page.text)], []
    tree = LexborHTMLParser(file.read_bytes())

    def targets(where: str) -> list[str]:
        given = (each.attributes.get("href") or "" for each in tree.css(where))
        return [unquote(each.partition("#")[0]) for each in given if "://" not in each]

    above = [each for each in targets("#breadcrumbs a") if each != "index.html"]
    return targets("#main-content a") or targets("article a"), above[-1:]
