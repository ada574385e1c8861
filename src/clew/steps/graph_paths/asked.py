"""Split a question into phrases, from its names on to what it asks for.

"Which language are the films in that Ann Ray directed?" asks for what stands at the end of a path
that begins at Ann Ray. The interrogative stands for that end, so what is said far from it belongs
to the beginning of the path, and what is said beside it to the end.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from clew.text.analyze import STOP_WORDS, term_spans, terms
from clew.text.normalize import collapse
from clew.text.phrases import Span, overlap, phrase_spans
from clew.text.questions import question_kind

INTERROGATIVES = ("who", "when", "where", "what", "which", "how many")

_WORD = re.compile(r"[\w'’-]+")
_ASKING = re.compile(r"\b(?:who|whom|what|which|when|where|how)\b", re.IGNORECASE)
# "Can you name a film ...": a request for a thing, which is asked for as by "which film".
_REQUEST = re.compile(
    r"\s*(?:please\s+)?(?:(?:can|could|would)\s+you\s+(?:please\s+)?)?"
    r"((?:name|list|give|tell|show|find)(?:\s+me)?)\b",
    re.IGNORECASE,
)
_DOES = re.compile(r"(?:\s+[\w-]+){0,2}\s+(?:do|does|did)\b", re.IGNORECASE)
_WITH_A_VERB = ("when", "where", "how")
_WITH_A_NOUN = ("what", "which")
# There and back again: along a relation, and along the same one to something else.
_AGAIN = re.compile(
    r"\b(?:same|shar(?:e[sd]?|ing)|also|other|another|together|common|fellow|co-\w+)\b",
    re.IGNORECASE,
)


class QuestionPhrases(NamedTuple):
    """A question without its names."""

    rest: str  # its words
    phrases: tuple[tuple[str, ...], ...]  # terms of each, from the name on to what is asked for
    wanted: str  # what the answer is, in the question's words: "which language", "who"
    again: bool  # it speaks of something else of the same kind
    apart: tuple[bool, ...] = ()  # for each phrase: it speaks of a step of its own
    optional: tuple[bool, ...] = ()  # it may only say what is asked for, or what a name is


def parse_question(
    question: str, names: Sequence[Span], words: Collection[str] = frozenset()
) -> QuestionPhrases:
    """Return the phrases of a question whose names are at the spans `names`.

    Words of kinship are read as the relations that they stand for, but for those of `words`.

    >>> parse_question("which language are films by Ann Ray in", [(32, 39)]).wanted
    'which language'
    >>> parse_question("Name a film by Ann Ray", [(15, 22)]).wanted
    'which film'
    """
    tokens = sorted([*_find_spans(_WORD, question, names), *names])
    request = _find_request(question, names)
    asking = _find_asking(question, tokens, names, request)
    middle = _token_place(tokens, asking[0]) if asking else 0
    spans = phrase_spans(question, [*names, *request])
    runs = sorted(spans, key=lambda run: -abs(_token_place(tokens, run[0]) - middle))
    phrases = [tuple(terms(question[a:b])) for a, b in runs]
    wanted = _find_asked_kind(question, asking, names) if asking else ""
    optional = {tuple(wanted.split()[1:])} if question_kind(question) != "name" else set()
    for run, phrase in zip(runs, phrases, strict=True):
        if any(question[run[1] : start].isspace() for start, _ in names):
            optional.add(phrase)  # "film", of "film Fram"
    if asking and phrases and _is_inverted(question, asking, names):
        last = max(range(len(runs)), key=lambda i: runs[i])
        phrases = [*phrases[:last], phrases[last][:-1], *phrases[last + 1 :], phrases[last][-1:]]
    pieces: list[tuple[tuple[str, ...], bool]] = []
    for phrase in filter(None, phrases):
        kin = expand_kinship(phrase, words)
        pieces += [(each, bool(kin)) for each in kin or (phrase,)]
    last_term = pieces[-1][0][-1] if pieces else ""
    wanted = _find_asked_kind(question, asking, names) if asking else last_term
    rest = question
    for start, end in sorted(names, reverse=True):
        rest = f"{rest[:start]} {rest[end:]}"
    return QuestionPhrases(
        rest=collapse(rest),
        phrases=tuple(phrase for phrase, _ in pieces),
        wanted=wanted,
        again=bool(_AGAIN.search(rest)),
        apart=tuple(apart for _, apart in pieces),
        optional=tuple(phrase in optional for phrase, _ in pieces),
    )


def _find_asking(
    question: str, tokens: Sequence[Span], names: Sequence[Span], request: Sequence[Span]
) -> Span | None:
    """Return the interrogative that stands for the answer, or the verb of a request.

    The first interrogative, if the question or request begins with it; otherwise the last, since
    the others are relative pronouns.
    """
    asking = _find_spans(_ASKING, question, names)
    if request and not (asking and question[request[0][1] : asking[0][0]].isspace()):
        return request[0]
    if not asking:
        return None
    return asking[0] if request or _token_place(tokens, asking[0][0]) <= 1 else asking[-1]


def _is_inverted(question: str, asking: Span, names: Sequence[Span]) -> bool:
    """Check for a final verb, as in "When did the ship of Ann Ray sink?".

    After "when", "where", "how" or a form of "do" the verb is final, if any word follows the last
    name.
    """
    behind = max((end for _, end in names), default=0)
    if not terms(question[max(behind, asking[1]) :]):
        return False
    word = question[asking[0] : asking[1]].casefold()
    return word in _WITH_A_VERB or bool(_DOES.match(question[asking[1] :]))


def _find_request(question: str, names: Sequence[Span]) -> list[Span]:
    """Return the position of the verb of a request, if the question is one."""
    match = _REQUEST.match(question)
    return [match.span(1)] if match and not any(overlap(match.span(1), n) for n in names) else []


def _find_spans(pattern: re.Pattern[str], question: str, names: Sequence[Span]) -> list[Span]:
    spans = [match.span() for match in pattern.finditer(question)]
    return [span for span in spans if not any(overlap(span, name) for name in names)]


def _token_place(tokens: Sequence[Span], start: int) -> int:
    return max((i for i, (begin, _) in enumerate(tokens) if begin <= start), default=0)


def _find_asked_kind(question: str, asking: Span, names: Sequence[Span]) -> str:
    """Return an interrogative with the next term, skipping stop words.

    The verb of a request stands for "which".
    """
    word = question[asking[0] : asking[1]].casefold()
    if not _ASKING.fullmatch(word):
        word = "which"
    if word not in _WITH_A_NOUN:
        return word
    for term, start, end in term_spans(question[asking[1] :]):
        between = question[asking[1] : asking[1] + start]
        is_name = any(overlap((asking[1], asking[1] + end), name) for name in names)
        plain = all(part.casefold() in STOP_WORDS for part in between.split())
        return f"{word} {term}" if plain and not is_name else word
    return word


# What kinship terms mean is their definition in English. A graph has such a relation seldom, and
# those that the word is made of nearly always.
_OF_SIDE = {"paternal": "father", "maternal": "mother"}
_UP = re.compile(r"((?:great-?)*)grand-?(father|mother|parent)s?")
_DOWN = re.compile(r"((?:great-?)*)grand-?(son|daughter|child)(?:s|ren)?")
_BY_MARRIAGE = re.compile(r"(\w+?)s?-in-law")
_STEP = {"father": ("mother", "spouse"), "mother": ("father", "spouse")}
_STEP_WORD = re.compile(r"step-?(father|mother)s?")
_SIBLING_TERMS = {
    **dict.fromkeys(("uncle", "aunt"), ("parent", "sibling")),
    **dict.fromkeys(("nephew", "niece"), ("sibling", "child")),
}


def expand_kinship(phrase: Sequence[str], words: Collection[str]) -> list[tuple[str, ...]]:
    """Split a phrase at kinship terms, and replace these by their relations.

    Terms in `words`, such as a graph's own relations, are kept. Empty if there is no kinship term.

    >>> expand_kinship(("paternal", "grandmother"), ())
    [('father',), ('mother',)]
    >>> expand_kinship(("film", "brother-in-law"), ())
    [('film',), ('spouse',), ('brother',)]
    """
    pieces: list[tuple[str, ...]] = []
    plain: list[str] = []
    is_kin = False
    side = ""
    for word in phrase:
        stands_for = () if word in words else _expand_word(word)
        if word in _OF_SIDE and word not in words:
            side = _OF_SIDE[word]
            continue
        if stands_for:
            is_kin = True
            first = side if side and stands_for[0] == "parent" else stands_for[0]
            pieces += [tuple(plain)] if plain else []
            pieces += [(each,) for each in (first, *stands_for[1:])]
            plain = []
        else:
            plain.append(word)
        side = ""
    pieces += [tuple(plain)] if plain else []
    return pieces if is_kin else []


def _expand_word(word: str) -> tuple[str, ...]:
    if up := _UP.fullmatch(word):
        return (*["parent"] * (1 + up[1].count("great")), up[2])
    if down := _DOWN.fullmatch(word):
        return (*["child"] * (1 + down[1].count("great")), down[2])
    if married := _BY_MARRIAGE.fullmatch(word):
        own_child = married[1] in {"son", "daughter"}
        return ("child", "spouse") if own_child else ("spouse", married[1])
    if step := _STEP_WORD.fullmatch(word):
        return _STEP[step[1]]
    return _SIBLING_TERMS.get(word.removesuffix("s"), ())
