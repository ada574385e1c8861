"""Recognize boilerplate: contents pages, indexes and bibliographies.

They have the words of every question and answer none. A text is one where its lines say so,

    4.2.1. Illegal read errors              numbered titles
    Unpacking ............ 17               dotted leaders, or pages that count up
    pages, 12, 40-42                        terms in order, with pages
    [Dij59] E. W. Dijkstra, 1959            labels and years

or where a heading above it names it so and its lines do not speak against that.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from clew.base.runtime.lazy import compile_re
from clew.text.normalize import collapse
from clew.text.sections import SEPARATOR
from clew.text.tables import LONE_BAR

CONTENTS, INDEX, BIBLIOGRAPHY = "contents", "index", "bibliography"
QUOTED = "quoted"  # what a message quotes of earlier ones, by its reader alone
KINDS = (CONTENTS, INDEX, BIBLIOGRAPHY, QUOTED)

_NAMES = {
    CONTENTS: (
        "contents, table of contents, list of figures, list of tables, inhalt, "
        "inhaltsverzeichnis, "
        "table des matières, sommaire, contenido, índice general, tabla de contenido, sommario, "
        "indice generale, inhoud, inhoudsopgave, sumário, conteúdo, innehåll, indhold, "
        "spis treści, obsah, содержание, оглавление, 目次, 目录, 目錄, 차례, 목차"
    ),
    INDEX: (
        "index, alphabetical index, register, stichwortverzeichnis, sachregister, "
        "personenregister, namensregister, índice alfabético, índice analítico, índice remissivo, "
        "indice analitico, zakenregister, skorowidz, rejstřík, указатель, предметный указатель, "
        "索引, 색인"
    ),
    BIBLIOGRAPHY: (
        "bibliography, references, reference list, works cited, literature, literature cited, "
        "cited literature, literatur, literaturverzeichnis, quellenverzeichnis, bibliographie, "
        "références, références bibliographiques, bibliografía, referencias, "
        "referencias bibliográficas, bibliografia, referências, riferimenti bibliografici, "
        "literatuur, literatuurlijst, bibliografie, litteratur, literatura, литература, "
        "список литературы, 参考文献, 參考文獻, 참고문헌"
    ),
}
_KIND_OF = {name: kind for kind, names in _NAMES.items() for name in names.split(", ")}
_WORDS = compile_re(r"\w+(?: \w+)*")
_NUMBERING = compile_re(r"^(?:\w+ )?(?:\d+|[A-Z])(?:\.\d+)*\.?:?\s+(?=\w)")

_LEADER = compile_re(r"(?:(?:\. ?){4,}|…{2,}|_{4,})\s*(?:\d[\d ,\u2013-]*|[ivxlc]{1,6})?$")
_NUMBERED = compile_re(r"(?:\d+|[A-Z])(?:\.\d+)+\.?\s\W{0,3}[^\W\d_]{2}.*(?<![.!?;:,])")
_CHAPTER = compile_re(r"(?:\w+ )?(?:\d+|[A-Z])\.?\s.*[^\W\d_].*(?<![.!?;:,])")
_PAGED = compile_re(r".*[^\W\d_].*\s(\d{1,4})")
_TERM = compile_re(r"\D.*?[^\W\d_].*?(?:,\s*\d{1,4}(?:[-\u2013]\d{1,4})?)+")
_LABEL = compile_re(r"^(?:\\bibitem\b|\[\w[\w+:. -]{0,15}\]\s*\S)", re.MULTILINE)
_SOURCE = compile_re(r"\b(?:1[89]|20)\d\d\b|\bpp\. ?\d|\bdoi\b|https?://|\bISBN\b")
_MAX_ENTRY = 110  # characters of a line that is an entry
_PROSE = compile_re(r".{80,}[.!?。]")
_MAX_MEAN_LINE = 60  # characters of the lines of a list, on average


def apparatus_kind(text: str, section: str = "") -> str:
    """Return the kind of boilerplate a text is, one of `KINDS`, or ""; tables are mostly none."""
    lines, kind = text.splitlines(), kind_in_heading(section)
    if len(lines) > 1 or kind == BIBLIOGRAPHY:
        lines = [line for line in map(collapse, lines) if line]
    if len(lines) < 2 and kind != BIBLIOGRAPHY:  # as mostly
        return ""
    if 2 * sum(bool(LONE_BAR.search(line)) for line in lines) > len(lines):
        return ""
    if kind == BIBLIOGRAPHY and _n_sources(text) >= 2:
        return kind
    if kind in (CONTENTS, INDEX) and _is_list(lines):
        return kind
    if _is_contents(lines):
        return kind or CONTENTS
    return INDEX if _is_index(lines) else BIBLIOGRAPHY if _is_labelled(text) else ""


def _is_labelled(text: str) -> bool:
    labels = [label.start() for label in _LABEL.finditer(text)]
    is_list = len(labels) >= 3 and 3 * labels[0] <= len(text)
    return is_list and _n_sources(text) >= len(labels)


def _n_sources(text: str) -> int:
    """Count the years, pages, addresses and the like in a text."""
    return len(_SOURCE.findall(text))


def asks_for(query: str, kind: str) -> bool:
    """Check whether a query asks for a kind: "What is in the bibliography?"."""
    words = f" {' '.join(_WORDS.findall(query.casefold()))} "
    return any(f" {name} " in words for name, other in _KIND_OF.items() if other == kind)


def kind_in_heading(section: str) -> str:
    """Return the kind named by the last heading of a section, or "".

    That is the one above it where the last one is a letter, as in an index.
    """
    *above, last = section.split(SEPARATOR)
    heading = above[-1] if above and len(last) == 1 else last
    name = _NUMBERING.sub("", heading).strip(" .:").casefold()
    is_index = name.endswith(" index") or name.startswith(("index of ", "index, "))
    return _KIND_OF.get(name) or (INDEX if is_index else "")


def _is_list(lines: Sequence[str]) -> bool:
    n_prose = sum(bool(_PROSE.fullmatch(line)) for line in lines)
    is_short = sum(map(len, lines)) <= _MAX_MEAN_LINE * len(lines)
    return len(lines) >= 3 and 4 * n_prose <= len(lines) and is_short


def _is_contents(lines: Sequence[str]) -> bool:
    n_leaders = sum(bool(_LEADER.search(line, len(line) - _MAX_ENTRY)) for line in lines)
    if n_leaders >= max(2, 0.5 * len(lines)):
        return True
    numbered = _n_matches(_NUMBERED, lines)
    if numbered >= 4 and numbered + _n_matches(_CHAPTER, lines) >= max(6, 0.7 * len(lines)):
        return True
    pages = [int(match[1]) for match in map(_PAGED.fullmatch, _counted_lines(lines)) if match]
    if len(pages) < max(8, 0.7 * len(lines)) or pages[0] == pages[-1]:
        return False
    return _share_in_order(pages) >= 0.9


def _is_index(lines: Sequence[str]) -> bool:
    terms = [line.casefold() for line in _counted_lines(lines) if _TERM.fullmatch(line)]
    return len(terms) >= max(8, 0.6 * len(lines)) and _share_in_order(terms) >= 0.7


def _counted_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines that end in a digit, except long ones."""
    return [line for line in lines if len(line) <= _MAX_ENTRY and line[-1].isdecimal()]


def _n_matches(pattern: re.Pattern[str], lines: Sequence[str]) -> int:
    return sum(len(line) <= _MAX_ENTRY and bool(pattern.fullmatch(line)) for line in lines)


def _share_in_order(values: Sequence[int] | Sequence[str]) -> float:
    """Return the share of neighbouring numbers that do not decrease."""
    pairs = list(pairwise(values))
    return sum(one <= other for one, other in pairs) / max(len(pairs), 1)  # type: ignore[operator]
