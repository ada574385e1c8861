"""Find the statements of passages that mean what a sentence of an answer says.

Each word of the sentence is compared with those of the statements by late interaction (see
`clew.models.maxsim`), and a statement is taken as long as it says a word better than those before
it. How near all of them together have to be was fitted on sentences of which we know whether they
are true: `benchmarks/claims.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.answers.context import format_context
from clew.answers.support import CALIBRATED
from clew.models import gives_tokens
from clew.models.maxsim import best_matches, blend, unit_rows
from clew.models.minilm import DIMENSION, MiniLM, read_subwords
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema, number_texts, valid_places
from clew.models.prompts.quoted import quote_lines
from clew.steps import reply_to
from clew.text.analyze import term_set, term_spans
from clew.text.languages import JOINING
from clew.text.normalize import collapse
from clew.text.statements import find_statements, statement_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.base.types import Answer, Passage
    from clew.models import LLM, Models, TokenVectors

EmbedTokens = Callable[[Sequence[str]], "list[TokenVectors]"]

LEAST = 0.8  # the score of statements that mean the same
_VERDICT_TOKENS = 256  # of an LLM's verdict
_SCHEMA = closed_schema({"unsupported": {"type": "array", "items": {"type": "integer"}}})
_MOST = 3  # statements that a sentence may rest on
_GAIN = 0.03  # by so much, at least, a further statement has to match the words better
_READ = 48  # statements that are compared with a sentence


class Said(NamedTuple):
    """A statement of a passage."""

    passage: Passage
    start: int  # in the passage's text
    end: int
    text: str  # with what it stands below, such as the header of its table


def make_reader(models: Models) -> StatementReader:
    """Return a reader with the embedder that it was fitted with, also where an index has another.

    Without its packages words are compared by their characters.
    """
    embedder = models.embedder
    if embedder.name.startswith(CALIBRATED) and gives_tokens(embedder):
        return StatementReader(embedder.embed_tokens)
    return StatementReader(_load_fitted())


@cache
def _load_fitted() -> EmbedTokens:
    if find_spec("ctranslate2") is None:
        return lambda texts: [read_subwords(text, DIMENSION) for text in texts]
    return MiniLM().embed_tokens


def verify_by_llm(answer: Answer, llm: LLM) -> Answer:
    """Return an answer with what an LLM lists as unsupported, too, by one more call.

    The kind is "none" where that is all of it. If the LLM fails, a note says so.
    """
    spans = statement_spans(answer.text)
    claims = [collapse(answer.text[start:end]) for start, end in spans]
    prompt = fill_prompt(
        "unsupported_claims",
        schema=_SCHEMA,
        max_tokens=_VERDICT_TOKENS,
        claims=quote_lines(number_texts(claims)),
        context=format_context(answer.context, answer.context.text),
    )
    reply = reply_to(llm, prompt)
    if reply.error:
        note = f"the LLM did not verify its answer ({reply.error})"
        evidence = replace(answer.evidence, notes=(*answer.evidence.notes, note))
        return replace(answer, evidence=evidence)
    listed = [
        claims[place] for place in sorted(valid_places(reply.data["unsupported"], len(claims)))
    ]
    unsupported = tuple(dict.fromkeys([*answer.unsupported, *listed]))
    is_foreign = len(listed) == len(claims)
    return replace(answer, unsupported=unsupported, kind="none" if is_foreign else answer.kind)


class StatementReader:
    """Compares sentences with the statements of passages; each text is embedded once."""

    def __init__(self, embed: EmbedTokens) -> None:
        self._embed_tokens = embed
        self._read: dict[str, TokenVectors] = {}

    def find_nearest(self, claim: str, passages: Sequence[Passage]) -> tuple[float, list[Said]]:
        """Return the statements that best cover the words of a sentence, and their score.

        The titles and headings of the passages count as if every statement said them.
        """
        words = [(a, b) for term, a, b in term_spans(claim) if term not in JOINING]
        said = _choose_read(claim, [each for p in passages for each in _split_passage(p)])
        if not (words and said):
            return 0.0, []
        heads = [head for p in passages if (head := p.head.strip())]
        own, *read = self._embed([claim, *(each.text for each in said), *heads])
        is_word = [any(a < d and c < b for a, b in words) for c, d in own.spans.tolist()]
        vectors = [unit_rows(each.vectors) for each in read]
        matches = best_matches(unit_rows(own.vectors)[is_word], vectors)
        above, matches = matches[len(said) :], matches[: len(said)]
        rows, late = _cover(np.maximum(matches, above.max(axis=0)) if heads else matches)
        cosines = np.array([read[row].pooled @ own.pooled for row in rows])
        return float(blend(np.array(late), cosines.max())), [said[row] for row in rows]

    def _embed(self, texts: Sequence[str]) -> list[TokenVectors]:
        new = [text for text in dict.fromkeys(texts) if text not in self._read]
        self._read |= zip(new, self._embed_tokens(new), strict=True)
        return [self._read[text] for text in texts]


def _split_passage(passage: Passage) -> list[Said]:
    text = passage.text
    return [
        Said(
            passage,
            s.start,
            s.end,
            collapse(f"{text[slice(*s.above or (0, 0))]} {text[s.start : s.end]}"),
        )
        for s in find_statements(text)
    ]


def _choose_read(claim: str, said: Sequence[Said]) -> list[Said]:
    """Return the statements to compare a sentence with: those that share most words with it."""
    wanted = term_set(claim)
    return sorted(said, key=lambda each: -len(wanted & term_set(each.text)))[:_READ]


def _cover(matches: NDArray[np.float32]) -> tuple[list[int], float]:
    """Return the rows of (n, m) matches that cover m words best, and the mean match of a word."""
    rows: list[int] = []
    best, mean = np.zeros(matches.shape[1], dtype=np.float32), 0.0
    while len(rows) < min(_MOST, len(matches)):
        means = np.maximum(matches, best).mean(axis=1)
        row = int(means.argmax())
        if rows and means[row] < mean + _GAIN:
            break
        rows.append(row)
        best, mean = np.maximum(best, matches[row]), float(means[row])
    return rows, mean
