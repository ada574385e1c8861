"""IRCoT: alternate an LLM's reasoning sentences with searches for passages.

Trivedi et al. (2023), arXiv:2212.10509. Where this departs from the paper: docs/methods/ircot.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from clew import steps
from clew.base.types import Evidence, Limits
from clew.errors import InputError
from clew.index.snapshot import Snapshot
from clew.models import LLM, Models
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema, number_texts
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.text.normalize import collapse

Search = Literal["lexical", "dense", "hybrid"]

_SCHEMA = closed_schema({"sentence": {"type": "string"}, "done": {"type": "boolean"}})


@dataclass(frozen=True, slots=True)
class Thought:
    """An LLM's next reasoning sentence, and whether it is the answer; or why there is none."""

    text: str = ""
    done: bool = False
    fault: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ircot:
    """Interleaved retrieval and chain of thought; needs an LLM."""

    layers: ClassVar = frozenset({"chunk", "term"})
    needs: ClassVar = (*steps.LEXICAL, steps.SKETCHES["chunk"])
    limits: ClassVar = Limits(chunks="chunks")

    chunks: int = 15  # returned, in the order in which they were found
    passages: int = 4  # found for the question, and for each thought [K]
    thoughts: int = 8  # at most
    search: Search = "lexical"  # what finds passages

    def __post_init__(self) -> None:
        steps.check_least(self, 1, "passages", "thoughts")
        steps.check_words(self, search=Search)

    def retrieve(self, query: str, snapshot: Snapshot, models: Models) -> Evidence:
        if models.llm is None:
            raise InputError(
                "ircot needs an LLM: name one with --llm, or choose another method, such as walk"
            )
        reasons: dict[int, str] = {}  # why, by the chunk's row
        thoughts: list[str] = []
        text, reason, notes = query, "near the question", tuple[str, ...]()
        while True:
            for row in self._search(text, snapshot, models)[: self.chunks]:
                if len(reasons) < self.chunks:
                    reasons.setdefault(row, reason)
            if len(thoughts) == self.thoughts:
                break
            thought = _think(models.llm, query, snapshot.titled_texts(list(reasons)), thoughts)
            if thought.fault:
                notes = (f"the LLM stopped thinking ({thought.fault})",)
            if not thought.text or thought.text in thoughts:
                break
            thoughts.append(thought.text)
            if thought.done:
                break
            text, reason = thought.text, f"near the thought: {thought.text}"
        return steps.build_evidence(
            snapshot,
            query,
            "ircot",
            steps.by_rank(reasons),
            lambda row: [steps.read_step(snapshot, "chunk", row, reasons[row])],
            notes=notes,
        )

    def _search(self, text: str, snapshot: Snapshot, models: Models) -> list[int]:
        if self.search == "lexical":
            ranking = steps.lexical_ranking(snapshot, text)
        else:
            rank = steps.dense_ranking if self.search == "dense" else steps.hybrid_ranking
            ranking = rank(snapshot, steps.read_query(models, text))
        rows: list[int] = ranking.best(self.passages, positive=True).tolist()
        return rows


def _think(llm: LLM, query: str, passages: Sequence[str], thoughts: Sequence[str]) -> Thought:
    prompt = fill_prompt(
        "next_thought",
        schema=_SCHEMA,
        max_tokens=128,
        question=collapse(query),
        passages=quote_lines(number_texts(passages)),
        thoughts=quote_lines([Excerpt("- ", each) for each in thoughts]),
    )
    reply = steps.reply_to(llm, prompt)
    if reply.error:
        return Thought(fault=reply.error)
    return Thought(collapse(reply.data["sentence"]), bool(reply.data["done"]))


METHOD = Ircot
GROUP = "baseline"
