"""Select among the first hits the passages that an answer needs: by an LLM, or by a reranker.

The LLM reads short records of all hits at once. If a step is missing it asks one more question,
whose results are added. The reranker is greedy: it reads each passage after the question and those
selected before.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Protocol

from clew import steps
from clew.algo.links import neighbours
from clew.algo.topk import top_k
from clew.base.types import Evidence
from clew.errors import InputError
from clew.index.snapshot import Snapshot
from clew.models import LLM, Models
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema, number_texts, shorten, valid_places
from clew.models.prompts.quoted import quote_lines
from clew.steps.choosing import CANDIDATES, Select, order_paths
from clew.text.normalize import collapse

_SENTENCES = 2  # of a passage in its record
_NEW = 15  # of the passages that an LLM reads the second time: what its question found
_MOST = 6  # passages that an LLM selects
_PLACES = 4  # that a reranker fills
_VECTORS = ("maxsim/", "cosine/")  # rerankers that compare those of a question and a text
_LONGEST = 400  # characters of an LLM's question
_SCHEMA = closed_schema(
    {"chain": {"type": "array", "items": {"type": "integer"}}, "question": {"type": "string"}}
)

Records = Mapping[str, str]  # passages as an LLM reads them, by the ids of their chunks


class Selecting(Protocol):
    """A method whose top hits may be reranked by an LLM or a reranker."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def select(self) -> Select: ...

    @property
    def chunks(self) -> int: ...

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence: ...


def select_hits(method: Selecting, query: str, snapshot: Snapshot, models: Models) -> Evidence:
    """Return a method's evidence with the selected chunks first, in the order of selection.

    Other hits keep their order, and scores become 1 / rank. If the LLM's reply is unusable, nothing
    changes, with a note. Raises InputError without an LLM, or if the reranker only compares
    vectors.
    """
    llm = models.llm if method.select == "llm" else None
    if method.select == "llm" and llm is None:
        raise InputError("select=llm needs an LLM: name one, as in --llm ollama:qwen2.5")
    if method.select == "reranker" and models.reranker.name.startswith(_VECTORS):
        raise InputError(
            "select=reranker needs a reranker that reads a question and a text together: name one,"
            " as in --reranker cross-encoder:BAAI/bge-reranker-v2-m3"
        )
    plain = replace(method, select="none", chunks=max(method.chunks, CANDIDATES))
    evidence = plain.retrieve(query, snapshot, models)
    records = _write_records(evidence, snapshot, models)
    if llm is None:
        selected = _select_by_reranker(query, records, snapshot, models)
        return _select_first(evidence, selected, method.chunks)
    first = _ask_llm(llm, query, records)
    note = f"the LLM selected no passages ({first.fault}): they are as they were found"
    evidence = replace(evidence, notes=(*evidence.notes, note)) if first.fault else evidence
    if not first.question:
        return _select_first(evidence, first.chunks, method.chunks)
    more = plain.retrieve(first.question, snapshot, models)
    new = dict(islice(_write_records(more, snapshot, models).items(), _NEW))
    joined, texts = dict.fromkeys([*first.chunks, *new, *records]), records | new
    again = _ask_llm(llm, query, {each: texts[each] for each in islice(joined, CANDIDATES)})
    note = f"the LLM went on with a question of its own: {first.question}"
    note += f" (and selected no more then: {again.fault})" if again.fault else ""
    return _select_first(_join(evidence, more, note), again.chunks or first.chunks, method.chunks)


def _write_records(evidence: Evidence, snapshot: Snapshot, models: Models) -> dict[str, str]:
    """Return the title and two sentences of each of the first hits, by the id of its chunk.

    The sentences are the one on the chunk's path, if any, and the nearest to the question, in text
    order.
    """
    coverage = steps.Coverage(snapshot, steps.read_query(models, evidence.query))
    layer, link = snapshot.layer("unit"), snapshot.linked("chunk", "unit")
    threads = {path.steps[-1].id: path.steps for path in evidence.paths}
    hits = evidence.hits[:CANDIDATES]
    rows = snapshot.layer("chunk").rows([hit.chunk_id for hit in hits])
    records: dict[str, str] = {}
    for hit, row in zip(hits, rows, strict=True):
        units = neighbours(link, row).tolist()
        thread = [step.id for step in threads.get(hit.chunk_id, ()) if step.layer == "unit"]
        through = [unit for unit in layer.rows(thread) if unit in units][-1:]
        near = top_k(coverage.of("unit", units) @ coverage.weights, _SENTENCES)
        read = dict.fromkeys([*through, *(units[place] for place in near)])
        texts = layer.texts(sorted(islice(read, _SENTENCES))) or [hit.text]
        records[hit.chunk_id] = "\n".join((hit.title, *map(shorten, texts)))
    return records


class _Selection(NamedTuple):
    """The ids of the chunks that an LLM selects, and its follow-up question."""

    chunks: Sequence[str] = ()
    question: str = ""
    fault: str = ""  # why there is neither


def _ask_llm(llm: LLM, query: str, records: Records) -> _Selection:
    prompt = fill_prompt(
        "passage_chain",
        schema=_SCHEMA,
        max_tokens=256,
        question=collapse(query),
        passages=quote_lines(number_texts(list(records.values()))),
        most=str(_MOST),
    )
    reply = steps.reply_to(llm, prompt)
    if reply.error:
        return _Selection(fault=reply.error)
    numbers, question = reply.data["chain"], collapse(reply.data["question"])
    places = valid_places(numbers, len(records))
    if numbers and not places:
        return _Selection(fault="it gave only numbers of no passage")
    if len(places) > max(_MOST, len(records) // 2):  # as small models do, which list all
        return _Selection(fault=f"it selected {len(places)} of {len(records)}")
    ids = list(records)
    is_new = question.casefold() != collapse(query).casefold() and len(question) <= _LONGEST
    return _Selection([ids[place] for place in places[:_MOST]], question if is_new else "")


def _select_by_reranker(
    query: str, records: Records, snapshot: Snapshot, models: Models
) -> list[str]:
    """Return the ids of chunks chosen greedily, each read after the question and earlier ones."""
    left, selected = list(records), list[str]()
    while left and len(selected) < _PLACES:
        text = "\n".join([query, *(records[each] for each in selected)])
        relevance = steps.Relevance(snapshot, models, steps.read_query(models, text))
        scores = relevance.of_chunks(snapshot.layer("chunk").rows(left))
        selected.append(left.pop(int(top_k(scores, 1)[0])))
    return selected


def _join(evidence: Evidence, more: Evidence, note: str) -> Evidence:
    """Append the evidence of a follow-up question."""
    chunks, seeds = {hit.chunk_id for hit in evidence.hits}, {step.id for step in evidence.seeds}
    return replace(
        evidence,
        hits=(*evidence.hits, *(hit for hit in more.hits if hit.chunk_id not in chunks)),
        paths=(*evidence.paths, *(path for path in more.paths if path.steps[-1].id not in chunks)),
        seeds=(*evidence.seeds, *(step for step in more.seeds if step.id not in seeds)),
        notes=tuple(dict.fromkeys((*evidence.notes, *more.notes, note))),
    )


def _select_first(evidence: Evidence, selected: Sequence[str], n: int) -> Evidence:
    """Return the evidence with `n` hits, those of the selected chunks first."""
    place = {chunk: i for i, chunk in enumerate(selected)}
    hits = sorted(evidence.hits, key=lambda hit: place.get(hit.chunk_id, len(place)))[:n]
    if selected:
        ids = [hit.chunk_id for hit in hits]
        hits = [
            replace(hit, score=1 / (i + 1), also=tuple(a for a in hit.also if a not in ids[:i]))
            for i, hit in enumerate(hits)
        ]
    return replace(evidence, hits=tuple(hits), paths=order_paths(evidence.paths, hits))
