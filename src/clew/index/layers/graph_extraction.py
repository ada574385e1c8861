"""Extract entities and triples from texts with an LLM, by one prompt for all methods.

Entities with a type and a description, and relations with a description and a strength, as KET-RAG
takes them from GraphRAG (Huang et al. 2025, arXiv:2502.09304); short predicates and preferred
terms, as AGRAG (Wang et al. 2025, arXiv:2511.05549) and BubbleRAG (arXiv:2603.20309) take them.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from clew.base.types import ENTITY_TYPES, Described, Extraction, Triple
from clew.models import Prompt
from clew.models.prompts import fill_prompt
from clew.models.prompts.items import ItemList, read_lists
from clew.models.prompts.packing import (
    closed_schema,
    number_texts,
    reply_schema,
    split_reply,
    to_line,
)
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.text import tokens
from clew.text.keys import has_key
from clew.text.normalize import collapse, entity_key

_STRING = {"type": "string"}
_TYPE = {"type": "string", "enum": list(ENTITY_TYPES)}
_ENTITY = {"name": _STRING, "type": _TYPE, "description": _STRING}
_RELATION = {
    **dict.fromkeys(("subject", "predicate", "object", "description"), _STRING),
    "strength": {"type": "integer"},
}
_GRAPH = closed_schema(
    {
        "entities": {"type": "array", "items": closed_schema(_ENTITY)},
        "relations": {"type": "array", "items": closed_schema(_RELATION)},
    }
)

# What models call the lists of a reply, and the fields of their items.
_ENTITIES = ItemList(
    names=("nodes", "entitylist", "extractedentities", "concepts"),
    fields={
        "name": ("entity", "entityname", "label", "title", "text"),
        "type": ("entitytype", "category", "class", "kind"),
        "description": ("entitydescription", "summary", "definition"),
    },
)
RELATIONS = ItemList(
    names=("relationships", "triples", "triplets", "edges", "facts", "relationlist"),
    fields={
        "subject": ("head", "source", "from", "subj", "headentity", "sourceentity", "entity1"),
        "predicate": ("relation", "relationship", "relationtype", "type", "verb", "label", "edge"),
        "object": ("tail", "target", "to", "obj", "tailentity", "targetentity", "entity2"),
        "description": ("relationshipdescription", "relationdescription", "summary", "evidence"),
        "strength": ("weight", "relationshipstrength", "score"),
    },
    needed=3,
)

# Completion tokens for each token of a text, an estimate: Qwen2.5-Coder-1.5B gave 0.7 to 3.3 in
# eight replies to drafts of this prompt, those that ran into their limit aside, and left much out.
_RATIO = 2.5

_MAX_PREDICATE_WORDS = 6
_MAX_NAME_WORDS = 12  # what is longer is a clause
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)", re.IGNORECASE)
_NO_NAMES = frozenset(
    "a an the he him his himself she her hers herself it its itself they them their theirs "
    "themselves this that these those who whom whose which we us our ours you your yours i me my "
    "mine".split()
)


def graph_prompt(
    texts: Sequence[str],
    hints: Sequence[Sequence[str]],
    taken: Sequence[Extraction | None] | None = None,
) -> Prompt:
    """Return the prompt for the graph of some texts, or for what is missing in `taken`.

    `hints` has for each text the terms whose spelling is preferred.
    """
    passages = []
    for i, (passage, preferred) in enumerate(zip(number_texts(texts), hints, strict=True)):
        passages.append(passage)
        if preferred:
            passages.append(Excerpt("Spellings: ", ", ".join(map(to_line, preferred))))
        if taken is not None:
            passages.append(Excerpt("Taken: ", "; ".join(_list_taken(taken[i])) or "(nothing)"))
    return fill_prompt(
        "graph" if taken is None else "gleaning",
        schema=reply_schema(len(texts), _GRAPH),
        max_tokens=256 + 2 * expected_tokens(texts),
        types=", ".join(ENTITY_TYPES),
        read_part=partial(read_lists, lists={"entities": _ENTITIES, "relations": RELATIONS}),
        passages=quote_lines(passages, none=""),
    )


def _list_taken(extraction: Extraction | None) -> Iterator[str]:
    """Yield the names and relations of an extraction, one per line."""
    if extraction is not None:
        yield from (to_line(entity.name) for entity in extraction.entities)
        for each in extraction.triples:
            yield to_line(f"{each.subject} {each.relation} {each.object}")


def expected_tokens(texts: Sequence[str]) -> int:
    """Return the likely number of completion tokens of `graph_prompt`."""
    return sum(16 + round(_RATIO * tokens.count(text)) for text in texts)


def read_graph(
    data: Any,  # noqa: ANN401 -- parsed JSON
    texts: Sequence[str],
    hints: Sequence[Sequence[str]] = (),
) -> list[Extraction | None]:
    """Return the graph of each text in a reply, None for a text without one.

    A name must stand in its text or among its `hints`, whatever its case and punctuation, and
    neither pronouns nor clauses are names. Rows of one name, or of one triple, become one.
    """
    extractions = []
    spellings = hints or [()] * len(texts)
    for part, text, preferred in zip(split_reply(data, len(texts)), texts, spellings, strict=True):
        words, keys = f" {entity_key(text)} ", frozenset(map(entity_key, preferred))
        resolve = partial(_resolve_name, words=words, hints=keys)
        entities = _entities(read_rows(part, "entities", _ENTITY), resolve)
        triples = collect_triples(read_rows(part, "relations", _RELATION), resolve)
        some = entities or triples
        extractions.append(Extraction(entities=entities, triples=triples) if some else None)
    return extractions


def strip_article(name: str) -> str:
    """Return a name without a leading "the", "a" or "an"."""
    return _ARTICLE.sub("", name)


def _resolve_name(text: str, words: str, hints: Container[str]) -> str:
    """Return a name without its article, or "" if neither the text nor a hint contains it.

    `words` are the text's, as in keys, with a space before each and behind the last; `hints` keys.
    """
    if text.casefold() in _NO_NAMES and not text.isupper():  # "WHO" and "US" are names
        return ""
    name = strip_article(text)
    key = entity_key(name)
    if not 0 < len(key.split()) <= _MAX_NAME_WORDS:
        return ""
    return name if has_key(words, key) or key in hints else ""


def read_rows(part: Any, list_name: str, names: Iterable[str]) -> Iterator[list[str]]:  # noqa: ANN401
    """Yield the values under `names` of each object in a list, "" for non-strings."""
    rows = part.get(list_name) if isinstance(part, Mapping) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping):
            values = [row.get(name) for name in names]
            yield [collapse(str(v)) if isinstance(v, str | int | float) else "" for v in values]


def _entities(rows: Iterable[list[str]], resolve: Callable[[str], str]) -> tuple[Described, ...]:
    by_key: dict[str, Described] = {}
    for spelling, type_, about in rows:
        if name := resolve(spelling):
            first = by_key.setdefault(entity_key(name), Described(name=name))
            kind = type_.casefold() if type_.casefold() in ENTITY_TYPES else "other"
            kind = kind if first.type == "other" else first.type
            by_key[entity_key(name)] = replace(
                first, type=kind, description=first.description or about
            )
    return tuple(by_key.values())


def collect_triples(
    rows: Iterable[Sequence[str]], resolve: Callable[[str], str]
) -> tuple[Triple, ...]:
    """Return the distinct triples whose ends both resolve to names, by key.

    A row has a subject, predicate and object, and perhaps a description and strength.
    """
    by_keys: dict[tuple[str, ...], Triple] = {}
    for subject, predicate, object_, *more in rows:
        first_words = " ".join(predicate.split()[:_MAX_PREDICATE_WORDS])
        parts = resolve(subject), first_words, resolve(object_)
        keys = tuple(map(entity_key, parts))
        if all(keys) and keys[0] != keys[2]:
            new = Triple(subject=parts[0], relation=parts[1], object=parts[2])
            first = by_keys.setdefault(keys, new)
            about, strength = more or ("", "")
            strongest = max(first.strength, _strength(strength))
            by_keys[keys] = replace(
                first, description=first.description or about, strength=strongest
            )
    return tuple(by_keys.values())


def _strength(text: str) -> int:
    try:
        return round(min(max(float(text), 1), 10))
    except ValueError:  # no number
        return 1
