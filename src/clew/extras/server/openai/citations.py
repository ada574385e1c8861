"""Format citations for OpenAI-compatible clients."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clew.base.types import UNSURE, Answer, Citation, Passage, ShortAnswer
from clew.extras.server.across import split_document
from clew.extras.server.addresses import build_document_address
from clew.text.patterns import format_range

_Range = tuple[str, int, int]  # a document, and characters of it
NEAREST = 3  # passages that are told where nothing answers
# An opening bracket stays as it is: "\[" begins a formula for Open WebUI and LibreChat, and without
# a closing one it begins no link.
_SPECIAL = re.compile(r"([\\`*_\]<>#|~${])")
_LONGEST_LABEL = 120  # characters
REFUSAL = "Nothing in these documents seems to answer this."
_SOURCES = "\n\n**Sources**\n\n"
_MARKS = re.compile(r"(?: ?\[\d{1,3}\])+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The source behind one citation number."""

    number: int  # from 1, or behind those of the client, in the order in which they are told
    id: str  # as the tools of MCP name a part of a document
    title: str
    url: str
    quote: str
    start: int
    end: int
    place: str = ""  # section and pages
    page: int | None = None

    @property
    def mark(self) -> str:
        return f"[{self.number}]"


@dataclass(frozen=True, slots=True)
class PlacedMark:
    """The range of a citation number in the sent text."""

    reference: Reference
    start: int
    end: int

    def describe(self) -> dict[str, Any]:
        """Return the mark as an OpenAI annotation."""
        return {
            "url": self.reference.url,
            "title": self.reference.title,
            "start_index": self.start,
            "end_index": self.end,
        }


@dataclass(slots=True)
class StreamedMarks:
    """The streamed part of an answer, with the citation numbers in it."""

    text: str = ""  # without numbers
    n_told: int = 0  # characters in all, with what does not count
    numbers: dict[_Range, int] = field(default_factory=dict)  # of ranges of documents
    spans: list[tuple[_Range, int, int]] = field(default_factory=list)  # in all that was told

    def mark(self, citation: Citation, before: int) -> str:
        """Return a citation's number for streaming."""
        key = _find_range(citation)
        number = self.numbers.setdefault(key, before + len(self.numbers) + 1)
        text = _write_mark(number, follows=bool(self.spans) and self.spans[-1][2] == self.n_told)
        self.n_told += len(text)
        self.spans.append((key, self.n_told - len(text.lstrip()), self.n_told))
        return text


def compose_rest(
    answer: Answer, sent: StreamedMarks, *, index: str, base: str, form: str, before: int = 0
) -> tuple[str, tuple[Reference, ...], list[PlacedMark]]:
    """Return the rest of an answer whose beginning `sent` was streamed, with references and marks.

    The numbers begin behind the `before` sources that the other side shows itself. `form` is one
    of `keys.CITATIONS`. Where the other side shows Markdown, texts of documents are
    escaped, so that it shows them as they are.
    """
    citations = sorted(
        answer.citations,
        key=lambda each: sent.numbers.get(_find_range(each), len(answer.citations)),
    )
    titles = {each.number: each.title for each in answer.context.passages}
    is_refused = answer.kind == "refused"
    sources: Sequence[Citation | Passage] = citations
    if is_refused:
        sources = answer.context.passages[:NEAREST]
    cited = [
        _make_reference(n, each, titles.get(each.number, ""), index, base)
        for n, each in enumerate(sources, before + 1)
    ]
    shown = _escape_markdown if form in {"markdown", "open-webui"} else _join_lines
    marks = {each: "" if form == "none" else f" {each.mark}" for each in cited}
    placed: list[PlacedMark] = []
    if is_refused:
        rest = REFUSAL
        if cited:
            rest += f" Nearest to it: {', '.join(shown(e.title) + marks[e] for e in cited)}."
    elif answer.kind == "quoted":
        lines = zip(answer.text.splitlines(), citations, cited, strict=True)
        quoted = (f"{shown(_label(cite) + line)}{marks[each]}" for line, cite, each in lines)
        head = [UNSURE] if answer.is_unsure else _write_short(answer.short, cited, marks, shown)
        rest = "\n\n".join([*head, *quoted])
    elif form == "none" or not cited:
        rest = answer.text.removeprefix(sent.text)
        if not (sent.text or rest):
            rest = "; ".join(answer.evidence.notes) or "Nothing was found."
    else:
        of_range = {_find_range(each): mark for each, mark in zip(citations, cited, strict=True)}
        placed += [PlacedMark(of_range[key], a, b) for key, a, b in sent.spans if key in of_range]
        rest, more = _add_marks(answer.text, sent, dict(zip(cited, citations, strict=True)))
        placed += more
    if answer.unsupported:  # above what it is about, unless that was told already
        warning = f"No source says: {' '.join(f'“{one}”' for one in answer.unsupported)}"
        rest = f"{rest}\n\n{warning}" if sent.n_told else f"{warning}\n\n{rest}"
        moved = 0 if sent.n_told else len(warning) + 2
        placed = [replace(each, start=each.start + moved, end=each.end + moved) for each in placed]
    if not placed and form != "none":
        placed = list(find_marks(cited, rest, sent.n_told))
    if form == "markdown" and cited:
        rest += _SOURCES + "\n".join(map(_write_line, cited))
    return rest, () if form == "none" else tuple(cited), placed


def _label(citation: Citation) -> str:
    """Return what stands above a quote, such as the option that it describes, as its label."""
    above = citation.before.strip("|# ")
    is_label = above and "\n" not in above and len(above) <= _LONGEST_LABEL
    return f"{above}: " if is_label and not citation.link else ""


def _write_short(
    short: ShortAnswer | None,
    cited: Sequence[Reference],
    marks: Mapping[Reference, str],
    shown: Callable[[str], str],
) -> Iterator[str]:
    """Yield the short answer, if any, with the numbers of its quotes."""
    if short is not None:
        numbers = dict.fromkeys(marks[cited[span.citation]] for span in short.spans)
        note = f" ({short.note})" if short.note else ""
        yield f"{shown(short.text)}{''.join(numbers)}{note}"


def _add_marks(
    text: str, marks: StreamedMarks, cited: Mapping[Reference, Citation]
) -> tuple[str, list[PlacedMark]]:
    """Return the rest of an answer's text, with citation numbers inserted.

    One that was told has its number already; one whose place was told without it has it at the end.
    """
    begin = len(marks.text)
    wanted = [
        (at if at >= begin else len(text), reference.number, reference)
        for reference, citation in cited.items()
        if _find_range(citation) not in marks.numbers
        for at in citation.at or (len(text),)
    ]
    rest, at = "", begin
    placed: list[PlacedMark] = []
    for place, _, reference in sorted(wanted, key=lambda each: each[:2]):
        rest, at = rest + text[at:place], place
        end = marks.n_told + len(rest)
        last = placed[-1].end if placed else (marks.spans[-1][2] if marks.spans else -1)
        rest += _write_mark(reference.number, follows=last == end)
        end = marks.n_told + len(rest)
        placed.append(PlacedMark(reference, end - len(reference.mark), end))
    return rest + text[at:], placed


def _write_mark(number: int, *, follows: bool) -> str:
    """Return a number in brackets, after a space unless it follows another number."""
    return f"[{number}]" if follows else f" [{number}]"


def _find_range(citation: Citation) -> _Range:
    return citation.document_id, citation.start, citation.end


def strip_marks(text: str) -> str:
    r"""Remove the citation numbers and sources from an earlier answer.

    >>> strip_marks("In Larvik. [1][2]\n\n**Sources**\n\n1. [Fram](http://x)")
    'In Larvik.'
    """
    return _MARKS.sub("", text.partition(_SOURCES)[0]).strip()


def find_marks(references: Sequence[Reference], text: str, offset: int = 0) -> Iterator[PlacedMark]:
    """Yield the ranges of citation numbers in a text, shifted by `offset`.

    A text may have such a mark of its own, so they are looked for from the end.
    """
    end = len(text)
    marks = []
    for each in reversed(references):
        place = text.rfind(each.mark, 0, end)
        if place >= 0:
            marks.append(PlacedMark(each, offset + place, offset + place + len(each.mark)))
            end = place
    yield from reversed(marks)


def make_source_event(each: Reference) -> dict[str, Any]:
    """Return a source event for Open WebUI, which numbers distinct sources.

    The id is no address: Open WebUI shows such a one instead of the title, and has the browser ask
    Google for an icon of it, with the address in the request. The quote is shown as Markdown.
    """
    about = {"source": each.id, "name": each.title, "start": each.start, "end": each.end}
    if each.page is not None:
        about["page"] = each.page - 1  # it adds one
    return {
        "type": "source",
        "data": {
            "source": {"name": each.title, "id": each.id, "url": each.url},
            "document": [_escape_markdown(each.quote)],
            "metadata": [about],
        },
    }


def _make_reference(
    number: int, cited: Citation | Passage, title: str, index: str, base: str
) -> Reference:
    index, document = split_document(index, cited.document_id)
    return Reference(
        number=number,
        id=f"{index}/{format_range(document, cited.start, cited.end)}",
        title=title or document,
        url=build_document_address(base, index, document, cited.start, cited.end),
        quote=cited.text if isinstance(cited, Passage) else cited.quote,
        start=cited.start,
        end=cited.end,
        place=_describe_place(cited),
        page=cited.page,
    )


def _describe_place(where: Citation | Passage) -> str:
    if where.page is None:
        return where.section
    last = where.last_page
    pages = f"p. {where.page}" if last in {None, where.page} else f"pp. {where.page}-{last}"
    return f"{where.section}, {pages}" if where.section else pages


def _write_line(each: Reference) -> str:
    place = f", {_escape_markdown(each.place)}" if each.place else ""
    title = _escape_markdown(each.title).replace("[", "&#91;")
    return f"{each.number}. [{title}](<{each.url}>){place}: “{_escape_markdown(each.quote)}”"


def _join_lines(text: str) -> str:
    return " ".join(text.split())


def _escape_markdown(text: str) -> str:
    """Escape a text for Markdown, in one line."""
    return _SPECIAL.sub(r"\\\1", _join_lines(text))
