"""Resolve the tokens and pronouns of a parsed text to entities.

A pronoun stands for the last subject of the text that it fits, or else for what the title names;
so does "the ship" where the text said that the title's entity is a ship. A last name alone is that
of the person who was named in full before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.extras.models.clauses import BE, SUBJECT, Clause, is_common, is_name
from clew.models.extractors.ends import NUMBER, TYPES, End
from clew.text.dates import date_spans
from clew.text.normalize import collapse, entity_key

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_PERSON = {"PERSON"}, {"ORG", "NORP", ""}  # taggers take some last names for companies
_THING = {"", *TYPES} - {"PERSON", "DATE"}, set[str]()
_LABELS_OF = {  # what each pronoun may stand for, the likelier first
    **dict.fromkeys("he him his himself she her hers herself".split(), _PERSON),
    **dict.fromkeys("it its itself".split(), _THING),
}
_NUMBERS = frozenset({"DATE", "TIME", "QUANTITY", "MONEY", "PERCENT"})
_NO_MODIFIER = frozenset({"DET", "PUNCT", "CCONJ", "PRON", "PART", "ADV", "ADP"})
_EDGES = " \t\n,;:.–—-()[]\"“”‘`'"


@dataclass
class Reading:
    """The discourse state while reading a text: its topic and antecedents."""

    text: str  # with its title, its white space collapsed
    topic: End  # what the title names; its label once a sentence shows it
    kinds: set[str] = field(default_factory=set)  # nouns that the topic was said to be
    subjects: list[End] = field(default_factory=list)  # the last one last
    persons: dict[str, End] = field(default_factory=dict)  # by last name

    def __post_init__(self) -> None:
        self.kinds.update(self.topic.name.lower().split()[-1:])  # "the river" is the Kizir River

    def ends(self, doc: Doc) -> dict[int, End]:
        """Return the entities that the tokens of the next sentence refer to, by token index."""
        ends: dict[int, End] = {}
        for token in doc:
            end = self._end(token)
            if end is None or collapse(end.name) not in self.text:  # parentheses were inside
                continue
            ends[token.i] = end
            if token.dep_ in SUBJECT and (not is_common(token) or end == self.topic):
                self.subjects.append(end)
        return ends

    def learn(self, clause: Clause, ends: Mapping[int, End]) -> None:
        """Record the topic's type from a clause: "ship", from "Fram was a ship"."""
        subject, relation, object_ = clause
        verb, *words = relation.lower().split() or [""]
        if verb in BE and ends[subject.i] == self.topic:
            self.kinds.update(words or [object_.lower_])

    def _end(self, token: Token) -> End | None:
        if token.pos_ == "PRON":
            return self._antecedent(token.lower_)
        if token.ent_type_ in _NUMBERS:
            return _number(_phrase(token))
        if is_name(token):
            return self._name(End(_phrase(token).strip(_EDGES), token.ent_type_))
        if token.pos_ == "NOUN":
            articles = [child.lower_ for child in token.lefts]  # and nothing else before it
            means_topic = articles in (["the"], ["this"]) and token.lower_ in self.kinds
            return self.topic if means_topic else End(_phrase(token))
        is_number = token.pos_ == "NUM" and token.text[0].isdigit()
        return End(token.text, NUMBER) if is_number else None

    def _antecedent(self, pronoun: str) -> End | None:
        if pronoun not in _LABELS_OF:
            return None
        likely, possible = _LABELS_OF[pronoun]
        recent = self.subjects[::-1]
        ends = [end for end in (*recent, self.topic) if end.label in likely]
        ends += [end for end in (self.topic, *recent) if end.label in possible]
        return next((end for end in ends if end.name), None)

    def _name(self, end: End) -> End:
        """Return the full name of a partial mention of the topic or a person."""
        topic, words = self.topic, end.name.split() or [""]
        parts = topic.name.split()
        in_full = len(parts) > 1 and [words[0], words[-1]] == [parts[0], parts[-1]]
        if in_full or entity_key(end.name) == entity_key(topic.name):
            self.topic = End(topic.name, end.label or topic.label)
            return self.topic
        if len(words) > 1:
            if end.label == "PERSON":
                self.persons.setdefault(words[-1], end)
            return end
        if end.label not in {"PERSON", "ORG"}:
            return end
        if topic.label in {"PERSON", "ORG", ""} and end.name in {*parts[:1], *parts[-1:]}:
            return topic
        return self.persons.get(end.name, end)


def _number(text: str) -> End | None:
    """Return the date or number in a phrase, the whole phrase for a number, or None."""
    for start, end in date_spans(text):
        return End(text[start:end], "DATE")
    return End(text, NUMBER) if any(map(str.isdigit, text)) else None


def _phrase(noun: Token) -> str:
    """Return a noun phrase from its first modifier to its noun, without articles and possessors."""
    first = noun.i
    if is_name(noun):
        while (
            first
            and noun.doc[first - 1].pos_ == "PROPN" == noun.doc[first].pos_
            and (noun.doc[first - 1].dep_ == "compound")
        ):
            first -= 1
    else:
        first = noun.left_edge.i
        while first < noun.i and noun.doc[first].pos_ in _NO_MODIFIER:
            first += 1
    text: str = noun.doc[first : noun.i + 1].text
    return text
