"""Find the facts for a question: the nearest triples, filtered by whether they help.

AGRAG (arXiv:2511.05549, Eqs. 7 to 9). An LLM chooses by number, so it can name no fact that the
index does not have. Without one, facts are judged by the reranker and by the cosine together.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.topk import DECIMALS, mean_of_min_max, min_max, top_k
from clew.base.types import GRAPH, IMPORTED
from clew.index.snapshot import Snapshot
from clew.models import LLM, Models
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema, number_texts, shorten, valid_places
from clew.models.prompts.quoted import quote_lines
from clew.text.normalize import collapse

FilterBy = Literal["auto", "reranker"]

_NEAR = 0.4  # from 0 to 1: a fact that scores less is far from the best one
_SCHEMA = closed_schema({"keep": {"type": "array", "items": {"type": "integer"}}})


class MappedFacts(NamedTuple):
    """The facts for a question, as rows of triples, best first."""

    raw: tuple[tuple[int, float], ...]  # the nearest ones, with their cosines above zero
    kept: tuple[int, ...]  # those that passed the filter, in the same order
    notes: tuple[str, ...] = ()


def map_facts(  # noqa: PLR0913 -- one argument for each option
    snapshot: Snapshot,
    models: Models,
    query: steps.Query,
    *,
    k: int = 5,
    most: int = 4,
    filtered: bool = True,
    by: FilterBy = "auto",
    least_score: float = 0.0,
    only: NDArray[np.bool_] | None = None,
) -> MappedFacts:
    """Return the `k` triples nearest to a question, and at most `most` that pass the filter.

    `only`, (n_triples,), restricts the triples. An LLM may keep none; if its reply is unusable all
    are kept, with a note. Without an LLM the facts near the best one are kept, at least one;
    "reranker" ignores the LLM and the cosines, and with a `least_score` keeps those that have it,
    which may be none. Without `filtered` all are kept.
    """
    [near] = steps.near_rows(snapshot, "triple", query.vector[None], k, only=only)
    raw = tuple((row, cosine) for row, cosine in near if cosine > 0)
    rows = [row for row, _ in raw]
    if not rows or not filtered:
        return MappedFacts(raw, tuple(rows))
    if models.llm is None or by == "reranker":
        scores, least = _score_facts(snapshot, models, query, raw, by), least_score
        if by == "auto" or not least_score:
            scores = min_max(scores) if by == "reranker" else scores
            least = min(_NEAR, scores.max())
        best = sorted(row for row in top_k(scores, most).tolist() if scores[row] >= least)
        return MappedFacts(raw, tuple(rows[place] for place in best))
    places, fault = _choose_by_llm(models.llm, query, snapshot.layer("triple").texts(rows), most)
    if fault:
        note = f"the LLM did not filter the facts ({fault}): all of them are kept"
        return MappedFacts(raw, tuple(rows), (note,))
    return MappedFacts(raw, tuple(rows[place] for place in places))


# -- by an LLM ------------------------------------------------------------------------------------


def _choose_by_llm(
    llm: LLM, query: steps.Query, facts: Sequence[str], most: int
) -> tuple[list[int], str]:
    """Return the positions of the facts that an LLM keeps, ascending, or why it failed."""
    prompt = fill_prompt(
        "fact_filter",
        schema=_SCHEMA,
        max_tokens=256,
        question=collapse(query.text),
        facts=quote_lines(number_texts(list(map(shorten, facts)))),
        most=str(most),
    )
    reply = steps.reply_to(llm, prompt)
    if reply.error:
        return [], reply.error
    numbers = reply.data["keep"]
    valid = valid_places(numbers, len(facts))
    fault = "it chose only numbers of no fact" if numbers and not valid else ""
    return sorted(valid[:most]), fault


# -- without one ----------------------------------------------------------------------------------


def _score_facts(
    snapshot: Snapshot,
    models: Models,
    query: steps.Query,
    raw: Sequence[tuple[int, float]],
    by: FilterBy,
) -> NDArray[np.float64]:
    """Return (n,) scores of facts: the reranker's, or with "auto" those and the cosines together.

    "auto" scales both to [0, 1] over these facts and averages them.
    """
    rows, cosines = [row for row, _ in raw], np.array([cosine for _, cosine in raw])
    if by == "reranker":
        own = models.reranker.score(query.text, snapshot.layer("triple").texts(rows))
        return np.round(own, DECIMALS)
    return mean_of_min_max(cosines, np.round(_score_texts(snapshot, models, query, rows), DECIMALS))


def _score_texts(
    snapshot: Snapshot, models: Models, query: steps.Query, rows: Sequence[int]
) -> NDArray[np.float64]:
    """Return the reranker's (n,) scores of the texts that contain the facts.

    Of several texts with a fact the one nearest to the question is used. If a fact is in no text,
    as in an imported graph, all facts are scored by their own words.
    """
    chunks = [_find_nearest_text(snapshot, query, row) for row in rows]
    sources = [chunk for chunk in chunks if chunk is not None]
    if len(sources) < len(rows):
        return models.reranker.score(query.text, snapshot.layer("triple").texts(rows))
    return steps.Relevance(snapshot, models, query).of_chunks(sources)


def _find_nearest_text(snapshot: Snapshot, query: steps.Query, row: int) -> int | None:
    link, layer = snapshot.link("triple", "chunk"), snapshot.layer("chunk")
    chunks = link.indices[link.indptr[row] : link.indptr[row + 1]]
    texts = chunks[layer.columns[GRAPH][chunks] != IMPORTED]
    if not len(texts):
        return None
    return int(texts[top_k(layer.vectors[texts] @ query.vector, 1)[0]])
