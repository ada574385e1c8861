"""Analyse a question into concepts and a type, by an LLM or from its names and phrases.

BubbleRAG (arXiv:2603.20309, §3.2) infers concepts that a question leaves unsaid, specialises
generic ones and relaxes those that the graph may word differently, with a preview of chunks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from string import punctuation
from typing import Any, NamedTuple

from clew import steps
from clew.base.types import DirectAnswer, Hit
from clew.index.snapshot import Snapshot
from clew.models import Models, Prompt
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema, number_texts
from clew.models.prompts.quoted import quote_lines
from clew.steps.graph_paths import mark_connected
from clew.text.normalize import collapse, entity_key, title_head
from clew.text.phrases import Span, overlap, phrase_spans, query_type, span_to_nearest

QUERY_TYPES = ("default", "and", "or", "comparison")

_MAX_CONCEPTS = 8
_MAX_RELAXED = 4  # of one concept
_STRING = {"type": "string"}
_CONCEPT = closed_schema(
    {
        "text": _STRING,
        "kind": {"type": "string", "enum": ["explicit", "latent"]},
        "specialised": _STRING,
        "relaxed": {"type": "array", "items": _STRING},
    }
)
_SCHEMA = closed_schema(
    {
        "sufficient": {"type": "boolean"},
        "answer": _STRING,
        "passage": {"type": "integer"},
        "quote": _STRING,
        "query_type": {"type": "string", "enum": list(QUERY_TYPES)},
        "concepts": {"type": "array", "items": _CONCEPT},
    }
)

_PUNCTUATION = punctuation + "“”‘’„«»‹›…¿¡。，、；：？！「」『』《》（）"  # around a word


class Concept(NamedTuple):
    """A concept that a question needs, with the words to search for."""

    text: str
    latent: bool = False  # the question needs it and does not say it
    specialised: str = ""  # bound to another concept, where the text alone is generic
    relaxed: tuple[str, ...] = ()  # as the graph may word it

    @property
    def searches(self) -> tuple[str, ...]:
        """The distinct texts to search for; relaxed forms only add candidates."""
        first = self.specialised or self.text
        return tuple(dict.fromkeys(filter(None, (first, *self.relaxed))))


class Analysis(NamedTuple):
    """The concepts and the type of a question."""

    concepts: tuple[Concept, ...]
    phrases: tuple[str, ...] = ()  # what is asked, in the words between the names
    query_type: str = "default"  # one of `QUERY_TYPES`
    answer: DirectAnswer | None = None  # where the chunks shown hold it
    notes: tuple[str, ...] = ()


def analyse(
    query: str,
    snapshot: Snapshot,
    models: Models,
    shown: Sequence[Hit],
    *,
    early: bool,
    latent: bool,
    specialise: bool,
) -> Analysis:
    """Return the concepts of a question; with `early`, also an answer that `shown` proves.

    The other switches drop latent concepts and specialised forms, without changing the prompt, so
    that a recorded reply serves all. Without `shown` chunks no concept is relaxed. Without an LLM,
    or a usable reply, concepts are the names and phrases of the question, and the question itself.
    """
    if models.llm is None:
        return _analyse_words(query, snapshot, models, specialise=specialise)
    reply = steps.reply_to(models.llm, _build_prompt(query, shown))
    if not reply.error:
        answer, notes = _parse_answer(reply.data, shown) if early else (None, ())
        concepts = tuple(
            concept._replace(
                specialised=concept.specialised if specialise else "",
                relaxed=concept.relaxed if shown else (),
            )
            for concept in _parse_concepts(reply.data["concepts"], latent=latent)
        )
        if concepts or answer:
            return Analysis(
                concepts=concepts, query_type=reply.data["query_type"], answer=answer, notes=notes
            )
    fault = reply.error or "it found no concept"
    note = f"the LLM did not analyse the question ({fault}): its names and phrases instead"
    return _analyse_words(query, snapshot, models, specialise=specialise)._replace(notes=(note,))


# -- by an LLM ------------------------------------------------------------------------------------


def _build_prompt(query: str, shown: Sequence[Hit]) -> Prompt:
    texts = [title_head(hit.title, hit.text, hit.section) + hit.text for hit in shown]
    return fill_prompt(
        "bubble_analysis",
        schema=_SCHEMA,
        max_tokens=1024,
        question=collapse(query),
        passages=quote_lines(number_texts(texts)),
    )


def _parse_concepts(rows: Sequence[Mapping[str, Any]], *, latent: bool) -> list[Concept]:
    """Return the distinct non-empty concepts of a reply."""
    concepts: dict[str, Concept] = {}
    for row in rows:
        text, is_latent = collapse(row["text"]), row["kind"] == "latent"
        key = entity_key(text)
        if not key or key in concepts or (is_latent and not latent):
            continue
        specialised = collapse(row["specialised"])
        forms = {entity_key(form): collapse(form) for form in reversed(row["relaxed"])}
        others = [form for form_key, form in reversed(forms.items()) if form_key]
        concepts[key] = Concept(
            text=text,
            latent=is_latent,
            specialised=specialised if entity_key(specialised) != key else "",
            relaxed=tuple(others[:_MAX_RELAXED]),
        )
    return list(concepts.values())[:_MAX_CONCEPTS]


def _parse_answer(
    data: Mapping[str, Any], shown: Sequence[Hit]
) -> tuple[DirectAnswer | None, tuple[str, ...]]:
    """Return a reply's answer if a chunk proves it, else a note if there is an answer.

    A proof is a quote that stands in the chunk and is longer than the answer.
    """
    answer = collapse(data["answer"])
    if not data["sufficient"] or not answer:
        return None, ()
    passage = data["passage"] - 1
    order = sorted(range(len(shown)), key=lambda place: place != passage)
    for hit in (shown[place] for place in order):
        quote = _find_quote(data["quote"], hit.text)
        if len(entity_key(quote)) > len(entity_key(answer)):
            return DirectAnswer(text=answer, chunk_id=hit.chunk_id, quote=quote), ()
    return None, ("the LLM answered at once, but no chunk that it was shown proves it",)


def _find_quote(quote: str, text: str) -> str:
    """Return a quote as spelled in `text`, ignoring white space and case, or nothing.

    A line break of the text is a bar in the prompt.
    """
    words = [re.escape(word) for word in quote.split() if word != "|"]
    match = re.search(r"[\s|]+".join(words), text, re.IGNORECASE) if words else None
    return match.group() if match else ""


# -- without one ----------------------------------------------------------------------------------


def _analyse_words(query: str, snapshot: Snapshot, models: Models, *, specialise: bool) -> Analysis:
    """Return the names and phrases of a question, each in order, and the whole question.

    A phrase is specialised by all words from it to the nearest name.
    """
    names = _find_names(query, snapshot, models)
    spans = sorted(names)
    every = [Concept(text=names[span]) for span in spans]
    phrases: list[str] = []
    for start, end in phrase_spans(query, spans):
        first, last = span_to_nearest((start, end), spans)
        specialised = collapse(query[first:last]) if specialise and spans else ""
        phrases.append(collapse(query[start:end]))
        every.append(Concept(text=phrases[-1], specialised=specialised))
    distinct: dict[str, Concept] = {}
    for concept in every:
        distinct.setdefault(entity_key(concept.text), concept)
    concepts = list(distinct.values())[: _MAX_CONCEPTS - 1]
    if entity_key(query) not in distinct:
        concepts.append(Concept(text=collapse(query)))
    return Analysis(
        concepts=tuple(concepts),
        phrases=tuple(dict.fromkeys(phrases)),
        query_type=query_type(query, spans),
    )


def _find_names(query: str, snapshot: Snapshot, models: Models) -> dict[Span, str]:
    """Return the non-overlapping names in a query, by position.

    Names of entities with triples come before those of the tagger; within each, the longest first.
    """
    names: dict[Span, str] = {}
    for span, name in (*_find_linked(query, snapshot), *_tag_names(query, snapshot, models)):
        if not any(overlap(span, other) for other in names):
            names[span] = name
    return names


def _find_linked(query: str, snapshot: Snapshot) -> Iterator[tuple[Span, str]]:
    """Yield the spans in a query of entities with triples, and their names."""
    in_graph = mark_connected(snapshot)
    links = [each for each in steps.named_entities(snapshot, query) if in_graph[each.row]]
    names = snapshot.layer("entity").texts([each.row for each in links])
    places = list(_split_key(query))
    words = [word for word, _, _ in places]
    for each, name in zip(links, names, strict=True):
        key = each.mention.split()
        first = next(i for i in range(len(words)) if words[i : i + len(key)] == key)
        yield (places[first][1], places[first + len(key) - 1][2]), name


def _split_key(query: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words of a query's entity key with their spans, without punctuation."""
    for match in re.finditer(r"\S+", query):
        word = match.group().strip(_PUNCTUATION)
        start = match.start() + match.group().index(word)
        for part in entity_key(match.group()).split():
            yield part, start, start + len(word)


def _tag_names(query: str, snapshot: Snapshot, models: Models) -> Iterator[tuple[Span, str]]:
    """Yield the tagger's mentions except dates, entities with triples first.

    A term of a script without capitals is a name only where it is such an entity's.
    """
    [mentions] = models.tagger.tag([query])
    names = [mention for mention in mentions if mention.label != "DATE"]
    rows = snapshot.layer("entity").rows([entity_key(query[m.start : m.end]) for m in names])
    in_graph = mark_connected(snapshot)
    ranked = sorted(
        (row < 0 or not in_graph[row], m.start - m.end, m.start, m.label)
        for m, row in zip(names, rows, strict=True)
    )
    for unknown, minus_length, start, label in ranked:
        if not (unknown and label == "TERM"):
            end = start - minus_length
            yield (start, end), query[start:end]
