"""Rewrite a follow-up question so that it can be understood alone: by an LLM, or by rules.

A question leans on the turns before where it has a word for something that they named ("he",
"it", "there"), where it begins as the rest of another one ("And in 1911?"), corrects that ("No, the
Maud"), only asks ("When?"), or names nothing itself. Then an LLM writes it anew. Without one, or
where its reply is of no use, rules do: the rest of a question takes the place of its like in the
newest one that has such a place, and names of the turn before are put behind any other, those first
that its word rather stands for; they do not take its place, since rules cannot tell whether "she"
is a captain or his ship. Thanks and greetings are no turns. Any other question stays as it is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from clew.base.runtime.lazy import compile_re
from clew.base.types import Exchange
from clew.index.snapshot import Snapshot
from clew.models import LLM, Models
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.steps import named_entities, reply_to, same_names
from clew.steps.entity_types import find_types
from clew.text import tokens
from clew.text.analyze import terms
from clew.text.dates import read_date
from clew.text.keys import name_key
from clew.text.phrases import Span
from clew.text.questions import (
    find_content_words,
    has_question_word,
    is_remark,
    question_kind,
    strip_remark,
)

_MOST_TURNS = 8  # that are read, the last ones
_MOST_TOKENS = 1_000  # of them together
_MOST_OF_QUESTION, _MOST_OF_ANSWER = 300, 200  # tokens of one turn, its beginning
_MOST_NAMES = 2  # of the turn before
_MOST_READ = 1_000  # characters of a question; a longer one stands by itself
_REPLY_TOKENS = 128
_LONGEST = 400  # characters of a question that an LLM writes
_FEW = 2  # words that say too little to stand by themselves
_LONGEST_NAME = 6  # words: what is longer is a title or a quotation
_END = " \t.,;:!?"
_OPENING = ('"', "“", "„", "«", "\n")  # begins a quotation or a line

_SCHEMA = closed_schema({"question": {"type": "string"}})

_BEGINS = compile_re(r"\W*(?:(?:and|but|or|so|then)\b|(?:what|how) about\b)[\s,]*", re.IGNORECASE)
_CORRECTS = compile_re(
    r"\W*(?:(?:no|nope|sorry|actually|oops|rather|(?:but )?i (?:mean|meant)"
    r"|(?:but )?not (?:her|him|it|them|that|this)(?: one)?)\b[\s,.;:!–—-]*)+",
    re.IGNORECASE,
)
_SHORT = (
    r"(?:(?:in|on|at|to|from|for|with|of|by|since|until) )?"
    r"(?:who(?:m|se)?|when|where|why|what|which|how)(?: [a-z]+)?(?: not)?\W*"
)
_ONLY_ASKS = compile_re(rf"\W*{_SHORT}", re.IGNORECASE)
_ASKED_BEHIND = compile_re(rf"(?<=[?)]) {_SHORT}$", re.IGNORECASE)
_STANDS = compile_re(
    r"\W*(?:what (?:is|are) (?:an? )?(?!the\b)\w|what does \S+(?: \S+)? (?:mean|do|stand for)\b"
    r"|how (?:do|can|should|would) (?:i|we|you|one)\b)",
    re.IGNORECASE,
)
_IS_ABOUT = compile_re(  # not "What is the last name?", which asks for a name
    r"\W*(?:what (?:is|are) (?!the\b)|(?:what (?:do|does)|how|why|can|is|are|does|do|should)\b)",
    re.IGNORECASE,
)
_WITH_PREPOSITION = compile_re(
    r"\W*(in|on|at|to|from|for|with|of|by|under|over|without)\b", re.IGNORECASE
)
_OTHER = compile_re(r"\bthe other(?: one| [a-z]+)?\b", re.IGNORECASE)
_ARTICLE = compile_re(r"\bthe $", re.IGNORECASE)
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
_MAN = frozenset("he him his himself".split())  # "she" may be a ship
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


class _Name(NamedTuple):
    """A name in a text, with its character range."""

    text: str
    start: int
    end: int


class _EarlierTurn(NamedTuple):
    """An earlier turn: its question as resolved and as asked, and its answer."""

    read: str
    asked: str
    answer: str


def resolve_question(
    question: str, history: Sequence[Exchange], snapshot: Snapshot, models: Models
) -> tuple[str, tuple[str, ...]]:
    """Return the question with references to earlier turns resolved, and notes on how.

    It is returned as it is, without a note, where it stands by itself. Of the history the last
    turns count, in eight turns and 1,000 tokens at most.
    """
    if len(question) > _MOST_READ or not (turns := _last_turns(history)):
        return question, ()
    question = strip_remark(question)
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
    asked = [each for each in history if not is_remark(each.question)]
    for each in reversed(asked[-_MOST_TURNS:]):
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
        if any(p.match(question) for p in (_BEGINS, _CORRECTS)):
            return True
        if _ONLY_ASKS.fullmatch(question) or _POINTS.search(_blank_expletives(question)):
            return True
        names = self._find_names(question)
        if _find_open_pronouns(question, names):
            return True
        if _STANDS.match(question) and surely:
            return bool(_DEFINITE.search(question)) and not names
        is_short = len(terms(question)) <= _FEW
        return not names and (not surely or is_short or bool(_DEFINITE.search(question)))

    def resolve(self, question: str, turns: Sequence[tuple[str, str]]) -> str:
        """Return the question with names from earlier turns, which are resolved in the same way."""
        before: list[_EarlierTurn] = []
        for query, answer in turns:
            asked = strip_remark(query)
            before.append(_EarlierTurn(self._resolve_after(asked, before), asked, answer))
        return self._resolve_after(question, before)

    def _resolve_after(self, question: str, turns: Sequence[_EarlierTurn]) -> str:
        if not turns or not self.depends_on_turns(question):
            return question
        before, own = turns[-1], self._find_names(question)
        corrects = _CORRECTS.match(question)
        start = corrects or _BEGINS.match(question)
        rest = question[start.end() :] if start else question
        if _ONLY_ASKS.fullmatch(rest):
            asked = _ASKED_BEHIND.sub("", before.read)
            return f"{asked} {rest}"
        if start and (whole := self._replace_part(rest, turns)):
            return whole
        if corrects:
            return self._resolve_after(rest, turns)
        if names := self._find_referents(question, own, before):
            return f"{question} ({', '.join(names)})"
        return question if own else f"{question} ({before.asked})"

    def _find_referents(
        self, question: str, own: Sequence[_Name], before: _EarlierTurn
    ) -> list[str]:
        """Return what the turn before names to which a question may refer, the likeliest first."""
        words = _find_open_pronouns(question, own)
        kind = words[0][0] if words else ""
        if any(question[start:end].lower() in _MAN for _, start, end in words[:1]):
            return self._find_men(before)[:1]
        of_read, of_answer = self._find_names(before.read), self._find_names(before.answer)
        if kind != _PERSON and not of_read and _IS_ABOUT.match(before.read):
            return [" ".join(find_content_words(before.asked))]
        first = _refers_to_answer(kind, before.read)
        keys = {name_key(each.text) for each in own}
        ordered = [*of_answer, *of_read] if first else [*of_read, *of_answer]
        names = (" ".join(each.text.split()) for each in ordered if name_key(each.text) not in keys)
        return list(islice(dict.fromkeys(names), _MOST_NAMES))

    def _find_men(self, before: _EarlierTurn) -> list[str]:
        """Return the names that "he" may stand for: of no place, and without "the"."""
        of_read, of_answer = (
            [each.text for each in self._find_names(text) if _is_bare(text, each)]
            for text in (before.read, before.answer)
        )
        kind = question_kind(before.read)
        is_answer = kind == "person" or (kind == "name" and not of_read)
        names = of_answer + of_read if is_answer else of_read + of_answer
        rows = self._snapshot.layer("entity").rows([name_key(each) for each in names])
        types = iter(find_types(self._snapshot, [row for row in rows if row >= 0]))
        return [
            " ".join(name.split())
            for name, row in zip(names, rows, strict=True)
            if row < 0 or next(types) in {"person", "other"}
        ]

    def _replace_part(self, rest: str, turns: Sequence[_EarlierTurn]) -> str:
        """Return an earlier question with its name, date or other part replaced by `rest`."""
        own, before = self._find_names(rest), turns[-1].read
        n_more = len(terms(rest)) - sum(len(terms(each.text)) for each in own)
        if _OTHER.search(rest):
            return self._replace_by_other(rest, turns)
        if has_question_word(rest) and n_more:
            whole = rest if own else f"{before} {rest}"
            return "" if _find_open_pronouns(rest, own) else whole
        if own or n_more > _FEW + 1:
            fits = len(own) == 1 and n_more <= _FEW
            return self._replace_name(rest, own[0], turns) if fits else ""
        tagged = self._models.tagger.tag([rest, before])
        new, old = (next((m for m in each if m.label == "DATE"), None) for each in tagged)
        if new and old:
            return f"{before[: old.start]}{rest[new.start : new.end]}{before[old.end :]}"
        return _replace_words(rest.strip(_END), before) or f"{rest} {before}"

    def _replace_name(self, rest: str, name: _Name, turns: Sequence[_EarlierTurn]) -> str:
        """Return the newest question that has a place for a name, with this one in it.

        A name behind "the", as of a ship, takes the place of such a one; any other that of any.
        """
        is_thing = not _is_bare(rest, name)
        for turn in reversed(turns):
            pronouns = _find_open_pronouns(turn.asked, self._find_names(turn.asked))
            if pronouns and turn.read.startswith(turn.asked):
                _, start, end = pronouns[0]
                if not (is_thing and turn.asked[start:end].lower() in _MAN):
                    new = f"{'the ' * is_thing}{name.text}{_possess(turn.asked, start, end)}"
                    return f"{turn.asked[:start]}{new}{turn.asked[end:]}"
                continue
            names = self._find_names(turn.read)
            places = [n for n in names if not (is_thing and _is_bare(turn.read, n))]
            if place := next(iter(places), None):
                return f"{turn.read[: place.start]}{name.text}{turn.read[place.end :]}"
        names = self._find_names(turns[-1].read)
        if names:
            first, read = names[0], turns[-1].read
            return f"{read[: first.start]}{name.text}{read[first.end :]}"
        return ""

    def _replace_by_other(self, rest: str, turns: Sequence[_EarlierTurn]) -> str:
        """Return the last question with the name that earlier ones had in its place."""
        read = turns[-1].read
        places = self._find_names(read)
        asked_for = {name_key(each.text) for each in places}
        for turn in reversed(turns):
            for text in (turn.read, turn.answer):
                for name in self._find_names(text):
                    alike = [p for p in places if _is_bare(read, p) == _is_bare(text, name)]
                    if alike and name_key(name.text) not in asked_for:
                        return f"{read[: alike[0].start]}{name.text}{read[alike[0].end :]}"
        return f"{read} ({rest.strip(_END)})"

    def _search_names(self, text: str) -> list[_Name]:
        """Return the names in a text by position, outermost only."""
        if not any(c.isupper() for c in text):
            names = [each.mention for each in named_entities(self._snapshot, text)]
            places = [(text.find(name), name) for name in names]
            return [_Name(name, at, at + len(name)) for at, name in sorted(places) if at >= 0]
        [mentions] = self._models.tagger.tag([text])
        spans = [(m.start, m.end) for m in mentions if m.label != "DATE"]
        spans = [
            (a, b)
            for a, b in spans
            if len(text[a:b].split()) <= _LONGEST_NAME and read_date(text[a:b]) is None
        ]
        linked = {n.mention for n in same_names(self._snapshot, [text[a:b] for a, b in spans])}
        outer = list(_outermost_spans((a, b) for a, b in spans if text[a:b] in linked))
        others = [(a, b) for a, b in spans if " " in text[a:b] or not _begins_sentence(text, a)]
        taken = {place for start, end in outer for place in range(start, end)}
        free = [(a, b) for a, b in _outermost_spans(others) if taken.isdisjoint(range(a, b))]
        return [_Name(text[a:b], a, b) for a, b in sorted([*outer, *free])]


def _begins_sentence(text: str, start: int) -> bool:
    before = text[:start]
    return before.rstrip()[-1:] in {"", ".", "!", "?"} or before[-1:] in _OPENING


def _is_bare(text: str, name: _Name) -> bool:
    """Check whether a name stands without "the", as a person's does and a ship's does not."""
    return _ARTICLE.search(text[: name.start]) is None


def _possess(question: str, start: int, end: int) -> str:
    """Return "'s" if the pronoun is possessive, else ""."""
    word = question[start:end].lower()
    is_owner = word in {"his", "its", "their"}
    return "'s" if is_owner or (word == "her" and not _BEHIND_OBJECT.match(question, end)) else ""


def _replace_words(rest: str, before: str) -> str:
    """Return a question with the words of `rest` in the place of their like, "" if unclear.

    That is what stands behind the same preposition, or the only word that says what it is about.
    """
    if found := _WITH_PREPOSITION.match(rest):
        like = re.compile(rf"\b{found[1]} (?:(?:the|an?) )?[\w./-]*\w", re.IGNORECASE)
        old = like.search(before)
        return f"{before[: old.start()]}{rest}{before[old.end() :]}" if old else ""
    words = find_content_words(before)
    new = find_content_words(rest)
    if len(words) == len(new) == 1:
        return before.replace(words[0], new[0])
    return ""


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
