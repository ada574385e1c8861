"""Phrases of a question without a model: the words between its names, and what binds them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clew.text.analyze import term_spans

Span = tuple[int, int]


def phrase_spans(text: str, taken: Sequence[Span] = ()) -> Iterator[Span]:
    """Yield the runs of terms of `text` that none of the spans `taken` touches, in order.

    A run ends at whatever else stands between two terms: a stop word, a mark, what is taken.
    """
    run: Span | None = None
    for _, start, end in term_spans(text):
        if _touches((start, end), taken):
            continue
        if run and _joined(text, run, (start, end)) and not _touches((run[0], end), taken):
            run = run[0], end
            continue
        if run:
            yield run
        run = start, end
    if run:
        yield run


def _joined(text: str, run: Span, term: Span) -> bool:
    return term[0] <= run[1] or text[run[1] : term[0]].isspace()


def _touches(span: Span, taken: Sequence[Span]) -> bool:
    return any(overlap(span, other) for other in taken)


def overlap(one: Span, other: Span) -> bool:
    """Say whether two spans have a character in common."""
    return one[0] < other[1] and other[0] < one[1]


def bound(phrase: Span, names: Sequence[Span]) -> Span:
    """Return the span from a phrase to the nearest of the names, both included.

    Of names equally near it is the first; without names it is the phrase's own span.
    """
    if not names:
        return phrase
    start, end = min(names, key=lambda name: max(name[0] - phrase[1], phrase[0] - name[1]))
    return min(phrase[0], start), max(phrase[1], end)
