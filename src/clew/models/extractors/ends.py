"""The subjects and objects of triples: validity, types, and assembly into triples."""

from collections.abc import Iterable
from typing import NamedTuple

from clew.base.types import Described, Extraction, Triple
from clew.text.entity_types import TYPE_OF_LABEL
from clew.text.names import split_title
from clew.text.normalize import collapse, entity_key
from clew.text.statements import statement_spans

LONGEST = 100  # characters; a longer "name" is a heading or a clause

# Of `types.ENTITY_TYPES`, by OntoNotes' labels and the rules' own: here a quotation is a work.
TYPES = {**TYPE_OF_LABEL, "TITLE": "work", "TERM": "concept"}

PRONOUNS = frozenset(
    """i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves one ones oneself
    this that these those such who whom whose which what where when there here all both each
    another other others same former latter some any none many most much more few several either
    neither everyone everybody everything someone somebody something anyone anybody anything
    nobody nothing""".split()
)


class End(NamedTuple):
    """A subject or object: its name as written, and its tagger's label or ""."""

    name: str
    label: str = ""


Statement = tuple[End, str, End]  # subject, relation, object


def split_sentences(text: str) -> tuple[str, list[str]]:
    """Split a text into its title and its sentences."""
    title, start = split_title(text)
    return title, [text[a:b] for a, b in statement_spans(text, start)]


def extraction(statements: Iterable[Statement]) -> Extraction:
    """Return the distinct triples of statements, and their entities with types.

    A statement is left out where an end is empty, very long or a pronoun, where both are one
    entity, and where the subject is a date.
    """
    triples: dict[tuple[str, str, str], Triple] = {}
    types: dict[str, Described] = {}
    for subject, relation, object_ in statements:
        keys = entity_key(subject.name), entity_key(object_.name)
        if keys[0] == keys[1] or subject.label == "DATE":
            continue
        if not (_is_name(subject.name) and _is_name(object_.name)):
            continue
        words = collapse(relation)
        ends = [collapse(subject.name), collapse(object_.name)]
        triple = Triple(subject=ends[0], relation=words, object=ends[1])
        triples.setdefault((keys[0], words.casefold(), keys[1]), triple)
        for key, name, end in zip(keys, ends, (subject, object_), strict=True):
            kind = TYPES.get(end.label, "other")
            if key not in types or types[key].type == "other" != kind:
                types[key] = Described(name=types[key].name if key in types else name, type=kind)
    return Extraction(entities=tuple(types.values()), triples=tuple(triples.values()))


def _is_name(name: str) -> bool:
    pronoun = name.casefold() in PRONOUNS and not (name.isupper() and len(name) > 1)  # "US"
    return 0 < len(entity_key(name)) <= LONGEST and not pronoun
