"""Read Unix manual pages in man(7) and mdoc(7) macros.

A term, such as an option, stands on a line of its own above its definition, which is indented as
`man` prints it. Requests that only lay out a page are left out. A file of such a name that has no
macros is plain text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from clew.base.types import Document
from clew.readers import plain
from clew.readers.decode import text_of
from clew.readers.grid import format_rows
from clew.readers.titled import MarkedParagraph, make_document
from clew.readers.walk import File
from clew.text.normalize import collapse

_TITLED = re.compile(r"^[.'][ \t]*(?:TH|Dt)[ \t]+(.+)$", re.MULTILINE)
_DEFINED = re.compile(
    r"^[.'][ \t]*(?:de1?|am|ig)\b[ \t]*(?P<name>\S*)(?P<body>.*?)^\.\.[ \t]*$"
    r"|^[.'][ \t]*ds .*?$",
    re.MULTILINE | re.DOTALL,
)
_SECTION = re.compile(r"^[.'][ \t]*S[Hh]\b", re.MULTILINE)  # what is above it prints nothing
_LAYOUT = re.compile(r"^[.'][ \t]*(RS|RE|nf|fi|EX|EE|sp|PP)\b", re.MULTILINE)
_OTHER_DEVICE = re.compile(  # what only typesetters print; one level of nesting is met
    r"^[.'][ \t]*(?:(?:if|ie)[ \t]+t\b|el\b)(?:[^\n]*?\\\{.*?\\\}|[^\n]*$)",
    re.MULTILINE | re.DOTALL,
)
_TABLE = re.compile(  # of tbl: options, a layout that ends in a full stop, and rows
    r"^\.TS\b(?P<layout>.*?)\.[ \t]*\n(?P<rows>.*?)^\.TE\b[^\n]*", re.MULTILINE | re.DOTALL
)
_TAB = re.compile(r"\btab[ \t]*\((.)\)", re.IGNORECASE)
_CELL = re.compile(r"T\{[ \t]*\n(.*?)^T\}", re.MULTILINE | re.DOTALL)
_CELL_REQUEST = re.compile(r"^[.'](?:[BIR]{1,2}[ \t]+|[^\n]*)", re.MULTILINE)
_REQUEST = re.compile(r"[.'][ \t]*([A-Za-z]\w*)(?:[ \t]+(.*))?$")
_COMMENT = re.compile(r'[ \t]*\\".*')
_ESCAPE = re.compile(
    r"\\(?:f(?:\[[^\]]*\]|\(..|.)|s[-+]?\d+|[hvwX]'[^']*'|[mMFn](?:\[[^\]]*\]|\(..|.)"
    r"|\*?\[(?P<long>[^\]]*)\]|\*?\((?P<two>..)|(?P<one>.)|$)"
)
_SPECIAL = {
    "aq": "'", "cq": "\u2019", "oq": "\u2018", "lq": "\u201c", "rq": "\u201d", "dq": '"',
    "bu": "\u2022", "em": "\u2014", "en": "\u2013", "hy": "-", "mi": "-", "co": "\u00a9",
    "rg": "\u00ae", "ga": "`",
    "ha": "^", "ti": "~", "rs": "\\", "->": "\u2192", "de": "\u00b0", "mu": "\u00d7", "sh": "#",
    "R": "\u00ae", "Tm": "\u2122", "la": "<", "ra": ">", "at": "@", "lB": "[", "rB": "]",
}  # fmt: skip
_PLAIN = {"-": "-", "e": "\\", " ": " ", "~": " ", "0": " ", "'": "'", "`": "`", "\\": "\\"}
_BREAKS = frozenset("PP P LP HP sp Pp Lp br".split())
_UNPRINTED = frozenset(  # they say nothing to a reader
    "TH Dt Dd Os ad na nh hy ne ta ti in ft fi tr so nr ll pl UC PD DT ns rs ps vs tm pc if ie el"
    " de SM Ed Bd Ek Bk Rs Re Sm Bf Ef Xo Xc YS SY OP UR MT".split()
)
_BULLETS = frozenset("\u2022 o * - \u2013 \u00b7".split())
_CALLED = frozenset(  # macros of mdoc among the words of a line
    "Ad An Ao Ac Aq Ar At Bc Bo Bq Brq Bsx Bx Cd Cm Dc Do Dq Dv Ec Em Eo Eq Er Ev Fa Fc Fn Fo Ft"
    " Fx Ic In Li Lk Ms Mt Nm No Nx Oc Oo Op Ox Pa Pc Po Pq Qc Ql Qo Qq Sc So Sq St Sy Tn Ux Va"
    " Vt".split()
)


def read(file: File) -> Iterator[Document]:
    """Yield a manual page as one document."""
    text = text_of(file)
    titled = _TITLED.search(text)
    if titled is None:
        yield from plain.read(file)
        return
    name, section, *_ = [*_split_words(titled[1]), "", ""]
    title = f"{name.lower() if name.isupper() else name}({section})" if section else name
    yield make_document(file, list(_read_paragraphs(text)), title)


@dataclass(slots=True)
class _Page:
    """The current paragraph, and the layout of its lines."""

    lines: list[str] = field(default_factory=list)
    term: str | None = None  # above the paragraph, where the last request begins a definition
    awaits_term: bool = False
    is_definition: bool = False
    keeps_lines: bool = False
    depth: int = 0

    def end(self) -> Iterator[str]:
        """Yield the paragraph, if not empty, and begin a new one."""
        glue = "\n" if self.keeps_lines else " "
        said = glue.join(self.lines)
        self.lines = []
        term, self.term = self.term, None
        if not (said.strip() or term):
            return
        margin = "    " * self.depth
        inner = margin + "    " * self.is_definition
        body = "\n".join(f"{inner}{line}" for line in said.split("\n")) if said.strip() else ""
        if term is None:
            yield body
        elif term in _BULLETS or term.rstrip(".)").isdigit():
            yield f"{margin}{term} {body.strip()}"
        else:
            yield f"{margin}{term}\n{body}" if body else f"{margin}{term}"


def _read_paragraphs(text: str) -> Iterator[str | MarkedParagraph]:
    text = text.replace("\\\n", "").replace("\r", "")
    macros = dict(_find_macros(text))
    text = _OTHER_DEVICE.sub("", _DEFINED.sub("", text))
    text = text[begins.start() :] if (begins := _SECTION.search(text)) else text
    tables = [_read_table(table["layout"], table["rows"]) for table in _TABLE.finditer(text)]
    text = _TABLE.sub(".TS", text)
    page, n_tables = _Page(), 0
    for line in text.split("\n"):
        if line.startswith((".\\", "'\\")) or line.strip() in {".", "'"}:
            continue  # a comment, the end of a condition, or nothing
        request = _REQUEST.match(line)
        if request is None:
            if line.strip() or page.keeps_lines:
                _take_line(page, _unescape(line))
            else:
                yield from page.end()
        elif request[1] == "TS" and n_tables < len(tables):
            yield from page.end()
            n_tables += 1
            yield from (MarkedParagraph(row, table=n_tables) for row in tables[n_tables - 1])
        else:
            given = _COMMENT.sub("", request[2] or "")
            for name in macros.get(request[1], [request[1]]):
                yield from _follow(page, name, given)
    yield from page.end()


def _read_table(layout: str, rows: str) -> list[str]:
    """Return the rows of a table of tbl, without rules and without requests in cells."""
    tab = found[1] if (found := _TAB.search(layout)) else "\t"
    rows = _CELL.sub(lambda cell: collapse(_CELL_REQUEST.sub("", cell[1])), rows)
    lines = [line for line in rows.split("\n") if line.strip("_= \t") and line[0] not in ".'"]
    return list(format_rows([[_unescape(cell) for cell in line.split(tab)] for line in lines]))


def _find_macros(text: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the macros that a page defines, each with the requests that lay out its text.

    docutils indents by ".INDENT", which is ".RS" with some bookkeeping.
    """
    for defined in _DEFINED.finditer(text):
        name, body = defined["name"], defined["body"] or ""
        requests = _LAYOUT.findall(body)
        if name and (requests or not body.strip()):
            yield name, requests


def _take_line(page: _Page, line: str) -> None:
    if page.awaits_term:
        page.term, page.awaits_term = collapse(f"{page.term or ''}{line}"), False
    else:
        page.lines.append(line.rstrip() if page.keeps_lines else collapse(line))


def _follow(page: _Page, name: str, given: str) -> Iterator[str | MarkedParagraph]:
    """Yield the paragraph that a request ends, and update the layout."""
    words = _split_words(given)
    if name in {"SH", "SS", "Sh", "Ss"}:
        yield from page.end()
        page.is_definition, page.depth = False, 0
        yield MarkedParagraph(collapse(" ".join(words)), 1 if name in {"SH", "Sh"} else 2)
    elif name in {"TP", "TQ", "tq"} and page.term is not None and not page.lines:
        page.lines, page.term, page.awaits_term = [], f"{page.term}, ", True
    elif name in {"TP", "IP", "It", *_BREAKS}:
        yield from page.end()
        page.is_definition = (
            name in {"TP", "It"}
            or (name == "IP")
            or (name in {"Pp", "sp", "br"} and page.is_definition)
        )
        page.awaits_term = name == "TP"
        if name in {"IP", "It"} and words:
            page.term = words[0] if name == "IP" else _join_words(words)
    elif name in {"RS", "RE", "Bl", "El"}:
        yield from page.end()
        page.depth = max(page.depth + (name == "RS") - (name == "RE"), 0)
        page.is_definition = page.is_definition and name == "RS"
    elif name in {"nf", "EX", "Bd", "fi", "EE", "Ed"}:
        yield from page.end()
        page.keeps_lines = name in {"nf", "EX", "Bd"}
    elif name not in _UNPRINTED and words:
        is_alternating = len(name) == 2 and set(name) <= set("BIR")
        is_plain = name in {"B", "I", "SB"}
        said = "".join(words) if is_alternating else " ".join(words) if is_plain else ""
        _take_line(page, said or _join_words([name, *words]))


def _join_words(words: Iterable[str]) -> str:
    """Return the words of an mdoc line without its macros."""
    said, rest = "", iter(words)
    is_near = False
    for given in rest:
        word = given
        if given == "Fl":
            word = f"-{next(rest, '')}"
        elif given == "Xr":
            word = f"{next(rest, '')}({next(rest, '')})"
        elif given in {"Ns", "Ap"}:
            is_near = True
            continue
        elif given in _CALLED or (len(given) in {2, 3} and given.istitle() and not said):
            continue
        said += word if is_near or word in ",.;:)" or not said else f" {word}"
        is_near = False
    return said


def _split_words(given: str) -> list[str]:
    """Return the arguments of a request; quoted ones may contain spaces."""
    lexer = shlex.shlex(given.replace("\\ ", "\\~"), posix=True)
    lexer.whitespace_split, lexer.quotes, lexer.escape, lexer.commenters = True, '"', "", ""
    try:
        return [_unescape(word) for word in lexer]
    except ValueError:  # a quotation mark without another
        return [_unescape(word) for word in given.replace('"', "").split()]


def _unescape(line: str) -> str:
    return _ESCAPE.sub(_read_escape, line)


def _read_escape(match: re.Match[str]) -> str:
    name = match["long"] or match["two"]
    if name is not None:
        return _SPECIAL.get(name, "")
    return _PLAIN.get(match["one"] or "", "")
