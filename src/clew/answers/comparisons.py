"""Compare two things that a question names by the dates in their quotes: which was first or last?

The question has to say what is dated ("released first", "died later", "is older"), and each quote
when that was. Everything else that compares is quoted: how often an outcome is right is measured by
`benchmarks/short_answers.py`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from clew.base.runtime.lazy import compile_re
from clew.text.dates import Date, find_dates
from clew.text.keys import has_key, name_key
from clew.text.names import drop_qualifier, strip_title
from clew.text.questions import is_yes_no

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from clew.answers.quotes import Quote
    from clew.text.phrases import Span

_BORN, _DIED = "born", "died|passed away"
_BEGUN = (
    r"released|published|premiered|came out|come out|founded|formed|established|incorporated"
    r"|created|built|constructed|completed|made|launched|commissioned|opened|introduced|issued"
    r"|started|begun|began|entered service"
)
_ORDER = r"(?:more |most )?(?:first|earlier|earliest|sooner|(?P<last>later|latest|last|recently))\b"
_AGE = (
    r"(?:older|oldest|elder|eldest|(?P<last>younger|youngest|newer|newest|(?:more|most) recent))\b"
)
# What is compared: an event beside a word of order, or an age.
_ASKED = (
    *(
        (kind, compile_re(pattern, re.IGNORECASE))
        for kind, verbs in (("born", _BORN), ("died", f"{_DIED}|die"), ("begun", _BEGUN))
        for pattern in (rf"\b(?:{verbs}) {_ORDER}", rf"\b{_ORDER} (?:to be )?(?:{verbs})\b")
    ),
    ("begun", compile_re(rf"\bcame {_ORDER}", re.IGNORECASE)),
    ("age", compile_re(rf"\b{_AGE}", re.IGNORECASE)),
)
# What may stand before that where the names are left out: "Which film was", "Was or", "Of and, who
# is". It asks for neither another thing ("who directed the film that was released first") ...
_NOUNS = r"(?:,? (?!(?:that|wh\w+|is|are|was|were|did|do|does|has|have|had)\b)\w+){0,4}"
_BE = r"(?P<be>(?:^|\s)(?:is|are|was|were|had been)(?: (?:the|or))*)?"
_ASKING = compile_re(
    r"\W*(?:(?:out )?(?:of|between)\W(?:\W|\b(?:the|two|and|or)\b)*)?"
    rf"(?:did(?: (?:the|or))+|(?:who|(?:which|what)(?: of(?: (?:the|two|and|or))+)?{_NOUNS})?"
    rf"{_BE})\s*",
    re.IGNORECASE,
)
_ACTIVE = compile_re(r"\b(?:c[ao]me|died?|passed|premiered|opened|began|entered)\b", re.IGNORECASE)
# ... but for what the two name, such as their directors, ...
_OF_ANOTHER = compile_re(
    rf"\W*(?:which|what){_NOUNS} (?:(?:has|have)(?: an?| the)?|whose)(?: film)?"
    r" (?P<role>(?!(?:an?|the)\b)\w+)"
    r"(?: (?:who|that))?(?: (?:is|are|was|were))?(?: the)?\s*",
    re.IGNORECASE,
)
# ... nor on a condition: "released first in Japan", "older than fifty years".
_REST = compile_re(
    r"(?: than the other)?"
    r"(?: (?!(?:in|at|to|for|on|as|with|from|by|during|after|before|than)\b)\w+)?"
    r"\s*(?:$|[,:;?]|\b(?:or|and|of|out of|between|among)\b)"
)
_WHO = compile_re(r"\bwho\b", re.IGNORECASE)
# What a question asks of something else than the two: "the director of film A".
_INDIRECT = compile_re(
    r"(?<=\w )(?<!out )(?<!which )(?:of|by)(?: the)?(?: \w+)? ?[\"“]?$", re.IGNORECASE
)
_COMPARES_OTHERS = compile_re(
    r"\b(?:has|have|whose)\b.*\b(?:who|that|was|were|is|are|born|died)\b", re.IGNORECASE
)
_ROLE_STEM = 6  # characters that "director" and "directed" share
_CENTURY = 99  # years from the first of it to the last, which date nothing
_NEAR = 60  # characters between a verb and what belongs to it
_OTHER_CLAUSE = compile_re(r"[;:.]\s|\b(?:and|but|who|which|when|while|after|before|until)\b")
# Behind a verb of which something is the object: "was founded in", not "founded her label in".
_PASSIVE = compile_re(r"(?: \w+ly)?,?(?: (?:in|on|at|by|as|from|for|of|since)\b|\W*$)")
# "Zeynep is a", before "1957 film", but not "won a prize that is a".
_DEFINED = compile_re(r"(?:(?!\b(?:that|which|who)\b).)*\b(?:is|was|are|were) an?\W+(?:\w+ )?$")
_LIFE = compile_re(r"^[^()]{1,80}\(([^()]*)\)")  # the brackets behind a name
_NO_LIFE = compile_re(r"\b(?:active|reigned|fl|r)\b", re.IGNORECASE)
_DASH = compile_re(r"[–—-]")  # between birth and death, not before a wedding
_JOINT = compile_re(r"(?:,|,? and|,? &) [^\W\d_a-zà-þ]")  # "directed by A and B"


class Side(NamedTuple):
    """One of the two compared things, with the first quote from its own document."""

    quote: int  # its place, from 0
    name: Span | None  # in the text of the quote's passage; None: it spells it in another way
    asked: Span  # in the question


class _Asked(NamedTuple):
    """The criterion of a comparison."""

    kind: str  # "born", "died", "begun" or "age"
    words: str  # that say so
    is_last: bool
    role: str  # of what the two name and it asks about: "director", or ""
    is_of_people: bool


def compare_sides(question: str, quotes: Sequence[Quote]) -> tuple[Side, Side] | None:
    """Return the two compared things ordered by date, the requested one first.

    Where it compares what they name, such as the directors of two films, it is by the quotes about
    those. None where the question or a quote does not say what is dated, and where two dates are
    equal.
    """
    sides = find_sides(question, quotes)
    if len(sides) != 2:
        return None
    one, other = sides
    joint = question[one.asked[1] : other.asked[0]]
    if not re.search(r"\bor\b" if is_yes_no(question) else r"\b(?:or|and)\b", joint):
        return None
    asked = _read_criterion(_mask_names(question, sides))
    if asked is None:
        return None
    texts = [quotes[each.quote].text for each in sides]
    if asked.role:
        texts = [_find_behind(asked.role, text, quotes, sides) for text in texts]
    dates = _find_dates(asked, texts)
    if dates is None or not dates[0].is_apart(dates[1]):
        return None
    return (one, other) if (dates[0] > dates[1]) == asked.is_last else (other, one)


def _read_criterion(question: str) -> _Asked | None:
    """Return the criterion by which a question compares, or None if it is ambiguous."""
    for kind, words in _ASKED:
        if (match := words.search(question)) is None:
            continue
        before, behind = question[: match.start()], question[match.end() :]
        of_another = _OF_ANOTHER.fullmatch(before)
        asking = None if of_another else _ASKING.fullmatch(before)
        is_whole = of_another or (asking and (asking["be"] or _ACTIVE.search(match[0])))
        if not (is_whole and _REST.match(behind)):
            return None
        role = of_another["role"] if of_another else ""
        is_of_people = bool(role) or _WHO.search(before) is not None
        return _Asked(kind, match[0], bool(match["last"]), role, is_of_people)
    return None


def compares_related(question: str) -> bool:
    """Check whether a question compares related things: directors of films, not the films."""
    return bool(_COMPARES_OTHERS.search(question))


def find_sides(question: str, quotes: Sequence[Quote]) -> list[Side]:
    """Return the quoted things whose titles the question contains, in its order.

    A name within a longer one that it also has is none.
    """
    sides: dict[str, Side] = {}
    for i, quote in enumerate(quotes):
        titles = drop_qualifier(quote.passage.title), strip_title(quote.passage.title)
        name = next((each for each in titles if find_name(each, question)), "")
        key, asked = name_key(name), find_name(name, question)
        if asked and key not in sides:
            sides[key] = Side(i, find_name(name, quote.passage.text), asked)
    outer = [s for k, s in sides.items() if not any(k != o and has_key(f" {o} ", k) for o in sides)]
    if any(_INDIRECT.search(question[: side.asked[0]]) for side in outer):
        return []
    return sorted(outer, key=lambda side: side.asked)


def find_name(name: str, text: str) -> Span | None:
    """Return the position of a name in a text: whole words, any case."""
    match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) if name else None
    return match.span() if match else None


def _mask_names(question: str, sides: Sequence[Side]) -> str:
    """Return a question without the compared names: "The Last Harbour" must not count as "last"."""
    (a, b), (c, d) = (side.asked for side in sides)
    return " ".join(f"{question[:a]}{question[b:c]}{question[d:]}".split())


def _find_behind(role: str, text: str, quotes: Sequence[Quote], sides: Sequence[Side]) -> str:
    """Return the quote about the entity in the requested role, such as the director, or ""."""
    stem = re.search(rf"\b{role[:_ROLE_STEM]}", text, re.IGNORECASE)
    if stem is None:
        return ""
    own = {side.quote for side in sides}
    named = (
        (*place, quote.text)
        for i, quote in enumerate(quotes)
        if i not in own
        and (place := find_name(drop_qualifier(quote.passage.title), text[stem.end() :]))
    )
    start, end, behind = min(named, default=(_NEAR, _NEAR, ""))
    is_sure = start < _NEAR and not _JOINT.match(text, stem.end() + end)
    return behind if is_sure else ""


# -- dates ----------------------------------------------------------------------------------------


def _find_dates(asked: _Asked, texts: Sequence[str]) -> tuple[Date, Date] | None:
    """Return the dates to compare, one for each text.

    An age is that of two people or of two other things, but where the question says "who".
    """
    ages = ("born",) if asked.is_of_people else ("born", "begun")
    for kind in ages if asked.kind == "age" else (asked.kind,):
        one, other = (_find_date(kind, asked.words, text) for text in texts)
        if one and other:
            return one, other
    return None


def find_life(text: str) -> list[tuple[int, Date]]:
    """Return the dates of birth and death in the brackets behind a name, with their positions."""
    match = _LIFE.match(text)
    if match is None or _NO_LIFE.search(match[1]):
        return []
    life = [each for each in _read_dates(text) if match.start(1) <= each[0] < match.end(1)]
    return life if len(life) == 2 and _DASH.search(text, life[0][0], match.end()) else []


def _find_date(kind: str, asked: str, text: str) -> Date | None:
    """Return the date of a birth, death or beginning in a text, or None.

    That is the first date behind such a verb in its clause, that of the question before others; the
    years of a life in brackets; the year in "is a 1957 film".
    """
    if kind != "begun" and (life := find_life(text)):
        return life[kind == "died"][1]
    dates = list(_read_dates(text))
    verbs = {"born": _BORN, "died": _DIED, "begun": _BEGUN}[kind]
    found = list(re.finditer(rf"(?<![\w-])(?:{verbs})\b", text, re.IGNORECASE))
    found.sort(key=lambda verb: verb[0].casefold() not in asked.casefold())
    for verb in found:
        place, date = next((each for each in dates if each[0] >= verb.end()), (0, None))
        between = text[verb.end() : place]
        is_its_own = kind != "begun" or _PASSIVE.match(between)
        is_near = len(between) < _NEAR and not _OTHER_CLAUSE.search(between)
        if date and is_its_own and is_near:
            return date
    if kind != "begun":
        return None
    return next((date for place, date in dates if _DEFINED.match(text[:place])), None)


def _read_dates(text: str) -> Iterator[tuple[int, Date]]:
    """Yield the dates of a text with their positions, both years of a range."""
    for found in find_dates(text):
        first, last = found.date
        for parts in dict.fromkeys((first, last)):
            if parts[0] and last[0] - first[0] < _CENTURY:
                yield found.start, Date(parts, parts)
