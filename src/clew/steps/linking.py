"""Link a query to the entities that it names, or names something similar to."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from clew.algo.topk import top_k
from clew.errors import BudgetSpent, ModelError
from clew.index.snapshot import Snapshot
from clew.models import LLM, Models, Part, Prompt, Reply
from clew.models.run import default_run
from clew.text.analyze import terms
from clew.text.keys import name_key
from clew.text.normalize import entity_key
from clew.text.pieces import OnPiece

_MAX_KEY_WORDS = 8  # of an entity that a query is searched for


class Linked(NamedTuple):
    """An entity that the query was linked to: by which name, and how similar."""

    row: int
    mention: str
    score: float  # 1: the same name

    @property
    def reason(self) -> str:
        """The reason in words."""
        if self.score >= 1:
            return f"the question names it: {self.mention}"
        return f"like “{self.mention}” in the question ({self.score:.2f})"


_NAMES_SCHEMA = {
    "type": "object",
    "properties": {"named_entities": {"type": "array", "items": {"type": "string"}}},
    "required": ["named_entities"],
    "additionalProperties": False,
}


def query_names(models: Models, query: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the names in a query, by the LLM if there is one, else by the tagger.

    The tagger's dates are left out. The second value is a note where the LLM gave none.
    """
    notes: tuple[str, ...] = ()
    if models.llm is not None:
        from clew.models.prompts import fill_prompt

        prompt = fill_prompt("query_entities", schema=_NAMES_SCHEMA, max_tokens=256, question=query)
        reply = reply_to(models.llm, prompt)
        if not reply.error:
            return list(dict.fromkeys(n for n in reply.data["named_entities"] if n.strip())), ()
        notes = (f"the LLM named no entities ({reply.error}): the tagger's instead",)
    [mentions] = models.tagger.tag([query])
    names = [query[m.start : m.end] for m in mentions if m.label != "DATE"]
    return list(dict.fromkeys(names)), notes


def reply_to(
    llm: LLM, prompt: Prompt, *, part: Part = "step", on_text: OnPiece | None = None
) -> Reply:
    """Return the LLM's reply, or a reply with an error if the LLM failed.

    The LLM fails if the budget is spent or the endpoint does not answer, which is logged;
    evaluations raise ModelError instead. `part` says how long to wait, less for a step than for the
    answer. `on_text` receives a streamed text.
    """
    from clew.models.recorded_llm import recorded  # which most questions do without

    asked = recorded(llm)
    try:
        [reply] = asked.complete([replace(prompt, part=part)], on_text=on_text)
    except BudgetSpent as spent:
        return Reply(text="", calls=0, error=str(spent))
    except ModelError as error:
        run = asked.run or default_run()
        if run.exchanges is not None:  # an evaluation
            raise
        run.log_failure(error)
        return Reply(text="", calls=0, error=error.brief or "it failed")
    return reply


def replies_to(llm: LLM, asked: Sequence[Prompt]) -> list[Reply]:
    """Return the LLM's replies to prompts; beyond the budget, recorded replies alone."""
    if len(asked) > 1:
        try:
            return list(llm.complete(asked))
        except BudgetSpent:
            pass  # what was paid for is recorded, and comes back one by one
    return [reply_to(llm, each) for each in asked]


def named_entities(snapshot: Snapshot, query: str) -> list[Linked]:
    """Return the linkable entities whose names occur in the query.

    The longest name at a position wins. Case, punctuation and the encoding of accents are ignored,
    so this works in any script. A single word counts only if capitalised, and not a common word at
    the query's start, or if the query has no capitals at all.
    """
    keys = name_spans(query)
    layer = snapshot.layer("entity")
    linkable = layer.columns["linkable"]
    rows = dict(zip(keys, layer.rows(list(keys.values())), strict=True))
    spans = {span for span, row in rows.items() if row >= 0 and linkable[row]}
    return [
        Linked(rows[i, j], keys[i, j], 1.0)
        for i, j in longest(spans)
        if j - i > 1 or i > 0 or not is_common(snapshot, keys[i, j])
    ]


def name_spans(query: str) -> dict[tuple[int, int], str]:
    """Return the keys of possible names in a query, by their (first, end) word positions."""
    words = list(_key_words(query))
    return {
        (i, j): " ".join(word for word, _ in words[i:j])
        for i in range(len(words))
        for j in range(i + 1, min(i + _MAX_KEY_WORDS, len(words)) + 1)
        if j - i > 1 or words[i][1]
    }


def longest(spans: Collection[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return non-overlapping spans, preferring the longest."""
    taken: set[int] = set()
    outer = []
    for i, j in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        if not taken.intersection(range(i, j)):
            taken.update(range(i, j))
            outer.append((i, j))
    return outer


def _key_words(query: str) -> Iterator[tuple[str, bool]]:
    """Yield the words of the query's entity key, and whether each can be a name alone."""
    capitals = any(c.isupper() for c in query)
    for word in query.split():
        is_name = any(c.isupper() or not c.islower() for c in word if c.isalpha()) or not capitals
        for part in entity_key(word).split():
            yield part, is_name and bool(terms(part))


def is_common(snapshot: Snapshot, word: str) -> bool:
    """Check whether a term is a common word in the index."""
    layer = snapshot.layer("term")
    [row] = layer.rows([word])
    return row >= 0 and bool(layer.columns["common"][row])


def same_names(snapshot: Snapshot, names: Sequence[str]) -> list[Linked]:
    """Return the linkable entities with the keys of `names`."""
    layer = snapshot.layer("entity")
    rows = layer.rows([name_key(name) for name in names])
    linkable = layer.columns["linkable"]
    pairs = zip(names, rows, strict=True)
    return [Linked(row, name, 1.0) for name, row in pairs if row >= 0 and linkable[row]]


def similar_entities(
    snapshot: Snapshot, models: Models, names: Sequence[str], k: int
) -> list[Linked]:
    """Return the `k` linkable entities nearest to each name ("spreading activation" in Clue)."""
    if not names or not len(snapshot.layer("entity")):
        return []
    layer = snapshot.layer("entity")
    vectors = models.embedder.embed([name_key(name) for name in names], kind="document")
    linkable = layer.columns["linkable"]
    # A cosine is at most 1: with the penalty a date falls behind every other entity.
    penalty = np.where(linkable, np.float32(0), np.float32(-3))
    linked = []
    for name, scores in zip(names, (layer.vectors @ vectors.T).T + penalty, strict=True):
        rows = [int(row) for row in top_k(scores, k) if linkable[row]]
        linked += [Linked(row, name, float(scores[row])) for row in rows]
    return linked
