"""Rewrite a follow-up question so that it can be understood alone: by an LLM, or by rules.

A question leans on the turns before where it has a word for something that they named ("he",
"it", "there"), where it begins as the rest of another one ("And in 1911?"), or where it names
nothing itself. Then an LLM writes it anew. Without one, or where its reply is of no use, names of
the turn before are put behind it, those first that such a word rather stands for; they do not take
its place, since rules cannot tell whether "she" is a captain or his ship. Any other question stays
as it is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice

from clew.base.runtime.lazy import compile_re
from clew.base.types import Exchange
from clew.index.snapshot import Snapshot
from clew.models import LLM, Models
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.steps import named_entities, reply_to, same_names
from clew.text import tokens
from clew.text.analyze import terms
from clew.text.dates import read_date
from clew.text.keys import name_key
from clew.text.phrases import Span
from clew.text.questions import question_kind

_MOST_TURNS = 8  # that are read, the last ones
_MOST_TOKENS = 1_000  # of them together
_MOST_OF_QUESTION, _MOST_OF_ANSWER = 300, 200  # tokens of one turn, its beginning
_MOST_NAMES = 2  # of the turn before
_MOST_READ = 1_000  # characters of a question; a longer one stands by itself
_REPLY_TOKENS = 128
_LONGEST = 400  # characters of a question that an LLM writes
_FEW = 2  # words that say too little to stand by themselves

_SCHEMA = closed_schema({"question": {"type": "string"}})

_BEGINS = compile_re(r"\W*(?:(?:and|but|or|so|then)\b|(?:what|how) about\b)[\s,]*", re.IGNORECASE)
_BREAK = compile_re(r"\b(?:and|when|while|after|before|until|since|because|who|which|that)\b|[,;]")
_EXPLETIVE = compile_re(
    r"\bit (?:take|takes|took|true|possible|known|necessary)\b|\b(?:is|are|was|were) there\b"
    r"|\bthere (?:is|are|was|were|be|been)\b",
    re.IGNORECASE,
)
_PERSON, _THING, _SEVERAL, _PLACE = "person", "thing", "several", "place"
_WORDS = {
    **dict.fromkeys("he she him her his hers himself herself".split(), _PERSON),
    **dict.fromkeys("it its itself".split(), _THING),
    **dict.fromkeys("they them their theirs themselves".split(), _SEVERAL),
    **dict.fromkeys("there".split(), _PLACE),
}
_STANDS_FOR = compile_re(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_OF_SUBJECT = frozenset("he she they his her their himself herself themselves".split())
_BEHIND_OBJECT = compile_re(
    r"\s*(?:$|[^\w\s]|(?:in|on|at|to|by|for|from|with|of|as|and|or|when|after|before|into)\b)",
    re.IGNORECASE,
)
_POINTS = compile_re(
    r"\b(?:this|these|those|the (?:same|other|others|former|latter)|else|"
    r"(?:in|on|at|of|by|for|from|with|to|after|before) that(?= [a-z]| *\W*$))\b"
    r"|^\W*that\b|\bthat\W*$",
    re.IGNORECASE,
)
_DEFINITE = compile_re(r"\bthe [a-z]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Name:
    """A name in a text, with its character range."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _EarlierTurn:
    """The previous turn: its question as resolved and as asked, and its answer."""

    read: str = ""
    asked: str = ""
    answer: str = ""


def resolve_question(
    question: str, history: Sequence[Exchange], snapshot: Snapshot, models: Models
) -> tuple[str, tuple[str, ...]]:
    """Return the question with references to earlier turns resolved, and notes on how.

    It is returned as it is, without a note, where it stands by itself. Of the history the last
    turns count, in eight turns and 1,000 tokens at most.
    """
    if len(question) > _MOST_READ or not (turns := _last_turns(history)):
        return question, ()
    rules = _Rules(snapshot, models)
    if not rules.depends_on_turns(question, surely=models.llm is None):
        return question, ()
    notes: tuple[str, ...] = ()
    query = question
    if models.llm is not None:
        query, fault = _resolve_by_llm(question, turns, models.llm)
        if fault:
            notes = (f"the LLM gave no question of its own ({fault}): names of earlier turns then",)
    if models.llm is None or notes:
        query = rules.resolve(question, turns)
    return query, notes if query == question else (*notes, f"the question was read as “{query}”")


def _last_turns(history: Sequence[Exchange]) -> list[tuple[str, str]]:
    """Return the last turns that fit the length limits, newest last."""
    turns: list[tuple[str, str]] = []
    left = _MOST_TOKENS
    for each in reversed(history[-_MOST_TURNS:]):
        question = tokens.truncate(" ".join(each.question.split()), _MOST_OF_QUESTION)
        answer = tokens.truncate(" ".join(each.answer.split()), _MOST_OF_ANSWER)
        left -= tokens.count(question) + tokens.count(answer)
        if left < 0:
            break
        turns.append((question, answer))
    return turns[::-1]


def _resolve_by_llm(question: str, turns: Sequence[tuple[str, str]], llm: LLM) -> tuple[str, str]:
    """Return the question as rewritten by an LLM, and a description of any fault."""
    pieces = [
        Excerpt(mark, text)
        for query, answer in turns
        for mark, text in (("Question: ", query), ("Answer: ", answer))
    ]
    prompt = fill_prompt(
        "follow_up",
        schema=_SCHEMA,
        max_tokens=_REPLY_TOKENS,
        turns=quote_lines(pieces),
        question=question,
    )
    reply = reply_to(llm, prompt)
    if reply.error:
        return question, reply.error
    reading = " ".join(str(reply.data["question"]).split())
    if not terms(reading):
        return question, "an empty question"
    if len(reading) > max(_LONGEST, 2 * len(question)):
        return question, f"a question of {len(reading):,} characters"
    return reading, ""


class _Rules:
    """Resolves references without an LLM: English pronouns, and names in any language."""

    def __init__(self, snapshot: Snapshot, models: Models) -> None:
        self._snapshot = snapshot
        self._models = models
        self._find_names = cache(self._search_names)

    def depends_on_turns(self, question: str, *, surely: bool = True) -> bool:
        """Check whether a question depends on earlier turns, `surely` or possibly."""
        if _BEGINS.match(question) or _POINTS.search(_blank_expletives(question)):
            return True
        names = self._find_names(question)
        if _find_open_pronouns(question, names):
            return True
        is_short = len(terms(question)) <= _FEW
        return not names and (not surely or is_short or bool(_DEFINITE.search(question)))

    def resolve(self, question: str, turns: Sequence[tuple[str, str]]) -> str:
        """Return the question with names from earlier turns, which are resolved in the same way."""
        before = _EarlierTurn()
        for query, answer in turns:
            before = _EarlierTurn(self._resolve_after(query, before), query, answer)
        return self._resolve_after(question, before)

    def _resolve_after(self, question: str, before: _EarlierTurn) -> str:
        if not before.asked or not self.depends_on_turns(question):
            return question
        own = self._find_names(question)
        if _BEGINS.match(question) and (whole := self._replace_name(question, own, before.read)):
            return whole
        keys = {name_key(each.text) for each in own}
        words = _find_open_pronouns(question, own)
        of_both = self._find_names(before.answer), self._find_names(before.read)
        first = _refers_to_answer(words[0][0] if words else "", before.read)
        ordered = chain(*(of_both if first else of_both[::-1]))
        names = dict.fromkeys(n.text for n in ordered if name_key(n.text) not in keys)
        if names:
            return f"{question} ({', '.join(islice(names, _MOST_NAMES))})"
        return question if own else f"{question} ({before.asked})"

    def _replace_name(self, question: str, own: Sequence[_Name], before: str) -> str:
        """Return the previous question with its name or date replaced by the new one."""
        rest = _BEGINS.sub("", question, count=1)
        if len(own) == 1 and len(terms(rest)) - len(terms(own[0].text)) <= _FEW:
            names = self._find_names(before)
            if names:
                return f"{before[: names[0].start]}{own[0].text}{before[names[0].end :]}"
        if not own and len(terms(rest)) <= _FEW + 1:
            tagged = self._models.tagger.tag([rest, before])
            new, old = (next((m for m in each if m.label == "DATE"), None) for each in tagged)
            if new and old:
                return f"{before[: old.start]}{rest[new.start : new.end]}{before[old.end :]}"
            return f"{rest} {before}"
        return ""

    def _search_names(self, text: str) -> list[_Name]:
        """Return the names in a text by position, outermost only."""
        if not any(c.isupper() for c in text):
            names = [each.mention for each in named_entities(self._snapshot, text)]
            places = [(text.find(name), name) for name in names]
            return [_Name(name, at, at + len(name)) for at, name in sorted(places) if at >= 0]
        [mentions] = self._models.tagger.tag([text])
        spans = [(m.start, m.end) for m in mentions if m.label != "DATE"]
        spans = [(a, b) for a, b in spans if read_date(text[a:b]) is None]
        linked = {n.mention for n in same_names(self._snapshot, [text[a:b] for a, b in spans])}
        outer = list(_outermost_spans((a, b) for a, b in spans if text[a:b] in linked))
        others = [(a, b) for a, b in spans if " " in text[a:b] or not _begins_sentence(text, a)]
        taken = {place for start, end in outer for place in range(start, end)}
        free = [(a, b) for a, b in _outermost_spans(others) if taken.isdisjoint(range(a, b))]
        return [_Name(text[a:b], a, b) for a, b in sorted([*outer, *free])]


def _begins_sentence(text: str, start: int) -> bool:
    return text[:start].rstrip()[-1:] in {"", ".", "!", "?"}


def _outermost_spans(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the spans that are not inside another span, in order."""
    last = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= last:
            yield start, end
            last = end


def _blank_expletives(question: str) -> str:
    """Return a question with expletive "it" and "there" blanked out."""
    return _EXPLETIVE.sub(lambda match: " " * len(match[0]), question)


def _find_open_pronouns(question: str, names: Sequence[_Name]) -> list[tuple[str, int, int]]:
    """Return the pronouns of a question that have no antecedent in it.

    Of each it is the kind of thing that it stands for, and its place.
    """
    pronouns = _STANDS_FOR.finditer(_blank_expletives(question))
    words = [(_WORDS[word[0].lower()], *word.span()) for word in pronouns]
    # More kinds of words than names: only a person's is surely that of a name.
    certain = len({kind for kind, _, _ in words}) <= len(names)
    return [
        (kind, start, end)
        for kind, start, end in words
        if not (_is_bound(question, start, end, names) and (certain or kind == _PERSON))
    ]


def _is_bound(question: str, start: int, end: int, names: Sequence[_Name]) -> bool:
    """Check whether a name before the pronoun can be its antecedent.

    A subject or owner may ("when did Nansen leave his ship?"); an object only in another clause.
    """
    before = [name for name in names if name.end <= start]
    if not before:
        return False
    word = question[start:end].lower()
    if word == "her" and _BEHIND_OBJECT.match(question, end):
        word = "him"
    return word in _OF_SUBJECT or bool(_BREAK.search(question, before[-1].end, start))


def _refers_to_answer(kind: str, question: str) -> bool:
    """Check whether a pronoun refers to the previous answer rather than to the question."""
    wanted = question_kind(question)
    if kind == _PERSON:
        return wanted in {"person", "name"}
    if kind in {_THING, _PLACE}:
        return wanted in {"place", "name"}
    return wanted in {"person", "name", "place"}
