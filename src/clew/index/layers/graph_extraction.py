"""Extract entities and triples from texts with an LLM, by one prompt for all methods.

Entities with a type and a description, and relations with a description and a strength, as KET-RAG
takes them from GraphRAG (Huang et al. 2025, arXiv:2502.09304); short predicates and preferred
terms, as AGRAG (Wang et al. 2025, arXiv:2511.05549) and BubbleRAG (arXiv:2603.20309) take them.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from clew.base.types import Described, Extraction, Triple, Validity
from clew.index.layers.graph_form import GraphForm
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
from clew.models.prompts.quoted import Excerpt, Value, quote_lines
from clew.text import tokens
from clew.text.dates import read_day
from clew.text.keys import has_key
from clew.text.normalize import collapse, entity_key

PLAIN = GraphForm()
_DATES = Validity._fields
_OPEN = frozenset(("", "none", "null", "unknown", "n/a", "now", "present", "today", "ongoing"))
# What is put into the prompt of a schema, for descriptions of either length, and for dates.
_SHORT = {
    "descriptions": "at most eight words",
    "sentences": "one short sentence",
    "ship": "polar ship",
    "builder": "shipbuilder",
}
_FULL = {
    **dict.fromkeys(("descriptions", "sentences"), "all that the passage says, in sentences"),
    "ship": "The Fram was built by Colin Archer. Norway owned her from 1896 to 1914.",
    "builder": "Colin Archer built the Fram.",
}
_ASKED_DATES = {
    "dates": "; where the passage says when the relation holds, its dates (ISO 8601): valid_from, "
    'valid_to, stated_on ("as of"), else empty',
    "undated": ',"valid_from":"","valid_to":"","stated_on":""',
    "dated": ',"valid_from":"1896","valid_to":"1914","stated_on":""',
}
_TASK = "List of each, without repeats,"
_GLEANING = (
    'The line "Taken" below it has the names and relations that a first reading took from it, which'
    " is seldom all. Read it again, and list only what is missing there,"
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
_RELATIONS = ItemList(
    names=("relationships", "triples", "triplets", "edges", "facts", "relationlist"),
    fields={
        "subject": ("head", "source", "from", "subj", "headentity", "sourceentity", "entity1"),
        "predicate": ("relation", "relationship", "relationtype", "type", "verb", "label", "edge"),
        "object": ("tail", "target", "to", "obj", "tailentity", "targetentity", "entity2"),
        "description": ("relationshipdescription", "relationdescription", "summary", "evidence"),
        "strength": ("weight", "relationshipstrength", "score"),
        "valid_from": ("validfrom", "since", "startdate", "begin"),
        "valid_to": ("validto", "validuntil", "until", "enddate", "end"),
        "stated_on": ("statedon", "statedat", "asof"),
    },
    needed=3,
)
_N_ENDS, _N_UNDATED = 3, 5  # fields of a relation: those of statistical entities, and of others

# Completion tokens for each token of a text, an estimate: Qwen2.5-Coder-1.5B gave 0.7 to 3.3 in
# eight replies to drafts of this prompt, those that ran into their limit aside, and left much out.
_RATIO, _MORE_FULL, _MORE_DATED = 2.5, 2.0, 0.6
_RATIO_OF_TERMS = 1.0  # a guess: no model was measured

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
    form: GraphForm = PLAIN,
) -> Prompt:
    """Return the prompt for the graph of some texts, or for what is missing in `taken`.

    `hints` has for each text the terms whose spelling is preferred, or that are to be related.
    """
    mark, between = ("Terms: ", "; ") if form.terms else ("Spellings: ", ", ")
    passages = []
    for i, (passage, names) in enumerate(zip(number_texts(texts), hints, strict=True)):
        passages.append(passage)
        if names or form.terms:
            passages.append(Excerpt(mark, between.join(map(to_line, names))))
        if taken is not None:
            passages.append(Excerpt("Taken: ", "; ".join(_list_taken(taken[i])) or "(nothing)"))
    name = "graph" if taken is None else "gleaning"
    values: dict[str, Value] = {"types": ", ".join(form.entity_types)}
    if form.terms:
        name, values = "relations", {}
    elif form.digest:
        name = "schema_graph"
        values = {
            "task": _TASK if taken is None else _GLEANING,
            **(_FULL if form.full else _SHORT),
            **{name: text * form.dates for name, text in _ASKED_DATES.items()},
            "types": quote_lines(list(form.describe_types())),
        }
    return fill_prompt(
        name,
        schema=reply_schema(len(texts), _part_schema(form)),
        max_tokens=256 + 2 * expected_tokens(texts, form),
        read_part=partial(_read_part, form=form),
        variant=form.digest,
        passages=quote_lines(passages, none=""),
        **values,
    )


def _choose_lists(form: GraphForm) -> dict[str, ItemList]:
    """Return the lists of a part of a reply."""
    n = _N_ENDS if form.terms else None if form.dates else _N_UNDATED
    relations = _RELATIONS._replace(fields=dict(islice(_RELATIONS.fields.items(), n)))
    return (
        {"relations": relations} if form.terms else {"entities": _ENTITIES, "relations": relations}
    )


def _part_schema(form: GraphForm) -> dict[str, Any]:
    """Return the JSON schema of a part of a reply."""
    string, own = {"type": "string"}, [name for name, _ in form.relations]
    kinds: dict[str, Any] = {"strength": {"type": "integer"}}
    kinds["type"] = {**string, "enum": list(form.entity_types)}
    if form.strict and own:
        kinds["predicate"] = {**string, "enum": own}
    items = {
        name: closed_schema({field: kinds.get(field, string) for field in each.fields})
        for name, each in _choose_lists(form).items()
    }
    return closed_schema({name: {"type": "array", "items": each} for name, each in items.items()})


def _read_part(part: Any, form: GraphForm) -> tuple[Any, int]:  # noqa: ANN401 -- parsed JSON
    """Return the lists of a part of a reply, and how many items and dates cannot be used."""
    read, n_bad = read_lists(part, _choose_lists(form))
    relations = read["relations"] if read and form.dates else ()
    dates = (str(each[name]).strip() for each in relations for name in _DATES)
    return read, n_bad + sum(not read_day(each) and each.casefold() not in _OPEN for each in dates)


def _list_taken(extraction: Extraction | None) -> Iterator[str]:
    """Yield the names and relations of an extraction, one per line."""
    if extraction is not None:
        yield from (to_line(entity.name) for entity in extraction.entities)
        for each in extraction.triples:
            yield to_line(f"{each.subject} {each.relation} {each.object}")


def expected_tokens(texts: Sequence[str], form: GraphForm = PLAIN) -> int:
    """Return the likely number of completion tokens of `graph_prompt`."""
    ratio = _RATIO + _MORE_FULL * form.full + _MORE_DATED * form.dates
    ratio = _RATIO_OF_TERMS if form.terms else ratio
    return sum(16 + round(ratio * tokens.count(text)) for text in texts)


def read_graph(
    data: Any,  # noqa: ANN401 -- parsed JSON
    texts: Sequence[str],
    hints: Sequence[Sequence[str]] = (),
    form: GraphForm = PLAIN,
) -> list[Extraction | None]:
    """Return the graph of each text in a reply, None for a text without one.

    A name must stand in its text or among its `hints`, whatever its case and punctuation, and
    neither pronouns nor clauses are names; of statistical entities it must be one. Rows of one
    name, or of one triple, become one. In a closed form a text may have nothing: its lists are
    empty.
    """
    extractions = []
    given = hints or [()] * len(texts)
    for part, text, names in zip(split_reply(data, len(texts)), texts, given, strict=True):
        if form.terms and isinstance(part, Mapping):
            names = part.get("listed", names)  # noqa: PLW2901 -- of when the text was read
        words, keys = f" {entity_key(text)} ", frozenset(map(entity_key, names))
        resolve = partial(_resolve_name, words=words, hints=keys)
        entities = tuple(Described(name=name) for name in names)
        if not form.terms:
            entities = _entities(_read_rows(part, "entities", _ENTITIES.fields), resolve, form)
        if form.is_closed:
            known = {entity_key(each.name): each.name for each in entities}
            resolve = partial(_resolve_known, known=known)
        rows = _read_rows(part, "relations", _RELATIONS.fields)
        triples = _triples(rows, resolve, form, text)
        some = triples or (entities and not form.terms) or (form.is_closed and _is_empty(part))
        extractions.append(Extraction(entities=entities, triples=triples) if some else None)
    return extractions


def _is_empty(part: object) -> bool:
    """Check whether a part has its lists, and nothing in them."""
    return isinstance(part, Mapping) and part.get("relations") == [] and not part.get("entities")


def _resolve_name(text: str, words: str, hints: Container[str]) -> str:
    """Return a name without its article, or "" if neither the text nor a hint contains it.

    `words` are the text's, as in keys, with a space before each and behind the last; `hints` keys.
    """
    if text.casefold() in _NO_NAMES and not text.isupper():  # "WHO" and "US" are names
        return ""
    name = _ARTICLE.sub("", text)
    key = entity_key(name)
    if not 0 < len(key.split()) <= _MAX_NAME_WORDS:
        return ""
    return name if has_key(words, key) or key in hints else ""


def _resolve_known(text: str, known: Mapping[str, str]) -> str:
    """Return the known name that a text is, perhaps with an article, or ""."""
    return known.get(entity_key(text)) or known.get(entity_key(_ARTICLE.sub("", text)), "")


def _read_rows(part: Any, list_name: str, names: Iterable[str]) -> Iterator[list[str]]:  # noqa: ANN401
    """Yield the values under `names` of each object in a list, "" for non-strings."""
    rows = part.get(list_name) if isinstance(part, Mapping) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping):
            values = [row.get(name) for name in names]
            yield [collapse(str(v)) if isinstance(v, str | int | float) else "" for v in values]


def _entities(
    rows: Iterable[list[str]], resolve: Callable[[str], str], form: GraphForm
) -> tuple[Described, ...]:
    by_key: dict[str, Described] = {}
    for spelling, type_, about in rows:
        if (name := resolve(spelling)) and (kind := form.find_type(type_)):
            first = by_key.setdefault(entity_key(name), Described(name=name))
            kind = kind if first.type == "other" else first.type
            by_key[entity_key(name)] = first._replace(
                type=kind, description=first.description or about
            )
    return tuple(by_key.values())


def _triples(
    rows: Iterable[list[str]], resolve: Callable[[str], str], form: GraphForm, text: str
) -> tuple[Triple, ...]:
    """Return the distinct triples whose ends both resolve to names, by key.

    A row has a subject, predicate, object, description, strength and dates.
    """
    by_keys: dict[tuple[str, ...], Triple] = {}
    for subject, predicate, object_, about, strength, *dates in rows:
        first_words = " ".join(form.find_relation(predicate).split()[:_MAX_PREDICATE_WORDS])
        parts = resolve(subject), first_words, resolve(object_)
        keys = tuple(map(entity_key, parts))
        if all(keys) and keys[0] != keys[2]:
            new = Triple(subject=parts[0], relation=parts[1], object=parts[2])
            first = by_keys.setdefault(keys, new)
            by_keys[keys] = first._replace(
                description=first.description or about,
                strength=max(first.strength, _strength(strength)),
                validity=tuple(dict.fromkeys([*first.validity, *_read_validity(dates, text)])),
            )
    return tuple(by_keys.values())


def _read_validity(dates: Sequence[str], text: str) -> Iterator[Validity]:
    """Yield when a triple holds by its dates, nothing where these say nothing.

    A date whose year the text does not have is not of the text.
    """
    days = (read_day(each, last=i == 1) for i, each in enumerate(dates))
    start, end, stated = (day if str(day // 10_000) in text else 0 for day in days)
    if 0 < end // 10_000 < start // 10_000:  # it ends before it begins
        start = end = 0
    yield from filter(str, [Validity(start, end, stated)])


def _strength(text: str) -> int:
    try:
        return round(min(max(float(text), 1), 10))
    except ValueError:  # no number
        return 1
