"""The part of a hit's text that says most about the query, with the query's words marked."""

from collections.abc import Iterator, Mapping, Sequence
from math import fsum, log

import click

from clew.base.display.columns import width_of
from clew.cli.plain import one_line, terminal_width, wrap_text
from clew.text.analyze import term_spans, terms
from clew.text.statements import statement_spans

_LINES = 2
_RAGGED = 10  # characters at the end of a line that words are too long for
_BEFORE = 40  # characters before a match, where its sentence is too long to be shown from the start

Spans = Sequence[tuple[int, int]]
Matches = Sequence[tuple[str, int, int]]  # terms of the query, and where they stand


def weigh_terms(query: str, texts: Sequence[str]) -> dict[str, float]:
    """Return the query's terms that stand in some text; one weighs more the fewer these are."""
    term_sets = [{*terms(text)} for text in texts]
    counts = {term: sum(term in each for each in term_sets) for term in terms(query)}
    return {term: log(1 + len(texts) / count) for term, count in counts.items() if count}


def cut_preview(text: str, weights: Mapping[str, float], *, indent: str) -> str:
    """Return two lines of `text`, from the sentence where its terms weigh most, these in bold.

    An ellipsis stands for what is before. A text without any of these terms is shown from its
    start.
    """
    shown = one_line(text)
    matches = [match for match in term_spans(shown) if match[0] in weights]
    room = _LINES * (max(terminal_width() - len(indent), 20) - _RAGGED)  # in columns
    room = room * len(shown) // max(width_of(shown), 1)  # in characters
    start = 0
    if matches and len(shown) > room:
        sentences = _find_sentences(text)

        def weigh(start: int) -> float:
            """Weigh the terms in whole sentences that fit into the room from a start."""
            ends = [end for _, end in sentences if start < end <= start + room]
            most = max(ends, default=start + room)
            words = {term for term, begin, end in matches if start <= begin and end <= most}
            return fsum(weights[term] for term in words)

        starts = _find_starts(shown, sentences, matches, room)
        start = max(starts, key=lambda start: (weigh(start), -start))  # the earliest of equals
    preview = f"… {shown[start:]}" if start else shown
    return mark_terms(wrap_text(preview, first=indent, rest=indent, max_lines=_LINES), weights)


def _find_sentences(text: str) -> list[tuple[int, int]]:
    """Return where sentences stand in the one line of a text, whose first one begins with it."""
    spans = [  # a dot behind what is before a sentence keeps the space between
        (len(one_line(f"{text[:start]}.")) - 1, len(one_line(text[:end])))
        for start, end in statement_spans(text)
    ]
    return [(0, spans[0][1]), *spans[1:]] if spans else []


def _find_starts(shown: str, sentences: Spans, matches: Matches, room: int) -> Iterator[int]:
    """Yield 0, the start of each sentence with a match, and of a long one places before matches."""
    yield 0
    for begin, end in sentences:
        places = [place for _, place, _ in matches if begin <= place < end]
        if places:
            yield begin
        if end - begin > room:
            for place in places:
                if place > begin + _BEFORE:
                    space = shown.find(" ", place - _BEFORE, place)
                    yield space + 1 if space >= 0 else place - _BEFORE


def mark_terms(lines: str, weights: Mapping[str, float]) -> str:
    """Return lines with the words of some terms in bold; terms that overlap are marked as one."""
    spans: list[tuple[int, int]] = []
    for term, start, end in term_spans(lines):
        if term in weights:
            overlaps = bool(spans) and start < spans[-1][1]
            spans.append((spans.pop()[0] if overlaps else start, end))
    for start, end in reversed(spans):
        lines = f"{lines[:start]}{click.style(lines[start:end], bold=True)}{lines[end:]}"
    return lines
