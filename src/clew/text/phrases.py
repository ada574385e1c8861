"""Analyse texts without a model: noun phrases, and the phrases, links and type of a question."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from clew.base.runtime.lazy import compile_re
from clew.text.analyze import term_spans

Span = tuple[int, int]

# What stands between two names: "Oslo or Bergen", "Oslo, or the Bay of Whales".
_JOINED = compile_re(r"\W*\b(and|or)\b\W*(?:the\b\W*)?", re.IGNORECASE)
_COMPARING = compile_re(
    r"\b(?:both|same|older|younger|earlier|later|sooner|taller|higher|longer|larger|bigger|smaller"
    r"|shorter|nearer|closer|farther)\b",
    re.IGNORECASE,
)
_ANY = compile_re(r"\b(?:any|either|at least one) of\b", re.IGNORECASE)
_ALL = compile_re(r"\b(?:all|each) of\b|\bas well as\b", re.IGNORECASE)
# What stands before a noun phrase, and behind one.
_ARTICLE = compile_re(
    r"\b(?:the|an?|th(?:is|ese)|its|their|his|her|your|our|der|die|das|de[smn]|(?:ein|kein)e?[rnms]?"
    r"|les?|la|une?|el|l[ao]s|una?|il|gli|het|een)\s$",
    re.IGNORECASE,
)
_PHRASE_END = compile_re(
    r"\W*$|[^\w\s]|\s+(?:of|in|on|at|is|are|was|were|and|or|which|ha[sd]|have|can|will|with|from|by"
    r"|und|ist|sind|war|et|ou|est|du|y|es)\b",
    re.IGNORECASE,
)
_PHRASE = compile_re(r"[^\W\d_]+(?:['’-][^\W\d_]+)*(?:\s[^\W\d_]+(?:['’-][^\W\d_]+)*){1,2}")
_LONGEST_ARTICLE = 8  # characters, with the space behind it


def find_noun_phrases(text: str) -> Iterator[str]:
    """Yield the phrases of two or three words between an article and the end of a clause.

    >>> list(find_noun_phrases("The package list is short. The user asks for the menu bar."))
    ['package list', 'menu bar']
    """
    for start, end in phrase_spans(text):
        phrase = text[start:end]
        if (
            _PHRASE.fullmatch(phrase)
            and _ARTICLE.search(text, max(start - _LONGEST_ARTICLE, 0), start)
            and _PHRASE_END.match(text, end)
        ):
            yield " ".join(phrase.split())


def phrase_spans(text: str, taken: Sequence[Span] = ()) -> Iterator[Span]:
    """Yield the runs of terms of `text` outside the spans `taken`, in order.

    A run ends at whatever else stands between two terms: a stop word, a mark, what is taken.
    """
    run: Span | None = None
    for _, start, end in term_spans(text):
        if _touches((start, end), taken):
            continue
        is_next = run and (start <= run[1] or text[run[1] : start].isspace())
        if run and is_next and not _touches((run[0], end), taken):
            run = run[0], end
            continue
        if run:
            yield run
        run = start, end
    if run:
        yield run


def _touches(span: Span, taken: Sequence[Span]) -> bool:
    return any(overlap(span, other) for other in taken)


def overlap(one: Span, other: Span) -> bool:
    """Check whether two spans share a character."""
    return one[0] < other[1] and other[0] < one[1]


def span_to_nearest(phrase: Span, names: Sequence[Span]) -> Span:
    """Return the span from a phrase to the nearest name, including both.

    Of names equally near it is the first; without names it is the phrase's own span.
    """
    if not names:
        return phrase
    start, end = min(names, key=lambda name: max(name[0] - phrase[1], phrase[0] - name[1]))
    return min(phrase[0], start), max(phrase[1], end)


def query_type(query: str, names: Sequence[Span]) -> str:
    """Return a question's type by its words: "comparison", "or", "and", or "default".

    `names` are where its names stand, in order.
    """
    between = [_JOINED.fullmatch(query[end:start]) for (_, end), (start, _) in pairwise(names)]
    joints = {match[1].lower() for match in between if match}
    if "or" in joints or (joints and _COMPARING.search(query)):
        return "comparison"
    if _ANY.search(query):
        return "or"
    return "and" if _ALL.search(query) else "default"
