# ruff: noqa: S101 -- a contract speaks in assert
"""Test suites for embedders, LLMs and methods: what Clew relies on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from clew.base.types import Document, Evidence
from clew.index.snapshot import Snapshot
from clew.models import Embedder, Prompt, Stopped, Turn, gives_tokens, is_chat, is_streaming

if TYPE_CHECKING:
    from clew.methods import Method
    from clew.models import LLM, Chat
from clew.testing.doubles import models
from clew.testing.small import QUESTIONS, built, small_documents


class EmbedderContract:
    """Tests for an embedder. Subclass it with a fixture `embedder`."""

    texts = ("A comet sank.", "The harbour froze.", "a", "", "冰 и лёд", "A comet sank.")
    tolerance = 1e-4  # between a text alone and in a batch

    def test_rows_are_unit_float32(self, embedder: Embedder) -> None:
        """Each text gives a float32 row of length one and of the dimension it says."""
        rows = embedder.embed(self.texts, kind="document")
        assert rows.shape == (len(self.texts), embedder.dimension)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-3)

    def test_nothing_gives_no_rows(self, embedder: Embedder) -> None:
        """No texts give an array without rows, which still has the dimension."""
        assert embedder.embed([], kind="query").shape == (0, embedder.dimension)

    def test_the_same_again(self, embedder: Embedder) -> None:
        """The same texts give the same bytes, and equal texts equal rows."""
        rows = embedder.embed(self.texts, kind="document")
        np.testing.assert_array_equal(rows, embedder.embed(self.texts, kind="document"))
        np.testing.assert_allclose(rows[0], rows[-1], atol=self.tolerance)

    def test_neighbours_do_not_matter(self, embedder: Embedder) -> None:
        """The row of a text does not depend on the batch it came in."""
        rows = embedder.embed(self.texts, kind="document")
        alone = np.concatenate([embedder.embed([t], kind="document") for t in self.texts])
        np.testing.assert_allclose(rows, alone, atol=self.tolerance)

    def test_name_says_which(self, embedder: Embedder) -> None:
        """The name is not empty and stays."""
        assert embedder.name
        assert embedder.name == embedder.name

    def test_tokens_lie_in_their_text(self, embedder: Embedder) -> None:
        """Token vectors come one per token, with ascending ranges, and pool to the text's row."""
        if not gives_tokens(embedder):
            return
        rows = embedder.embed(self.texts, kind="document")
        for text, row, tokens in zip(
            self.texts, rows, embedder.embed_tokens(self.texts), strict=True
        ):
            n = len(tokens.ids)
            assert tokens.vectors.shape == (n, embedder.dimension)
            assert tokens.spans.shape == (n, 2)
            assert np.all(tokens.spans[:, 0] <= tokens.spans[:, 1])
            assert np.all(np.diff(tokens.spans[:, 0]) >= 0)
            assert tokens.spans.max(initial=0) <= len(text)
            np.testing.assert_allclose(tokens.pooled, row, atol=self.tolerance)


class ChatContract:
    """Tests for a chat. Subclass it with a fixture `chat`."""

    prompts = (
        Prompt(user="Name a ship.", max_tokens=16),
        Prompt(user="Who sailed the Comet?", system="Answer in three words.", max_tokens=16),
        Prompt(
            user="Where does ice drift?",
            schema={
                "type": "object",
                "properties": {"place": {"type": "string", "maxLength": 20}},
                "required": ["place"],
                "additionalProperties": False,
            },
            max_tokens=32,
        ),
    )

    def test_it_is_a_chat(self, chat: Chat) -> None:
        """It is recognised as one, and has a name that stays and a concurrency."""
        assert is_chat(chat)
        assert chat.name
        assert chat.name == chat.name
        assert chat.concurrency >= 1
        assert chat.price is None or min(chat.price) >= 0

    def test_a_reply_says_what_it_cost(self, chat: Chat) -> None:
        """Words or a fault come back, within the limit, and a count that was known was right."""
        for prompt in self.prompts:
            counted = chat.count_tokens(prompt)
            turn = chat.ask(prompt)
            assert turn.text or turn.fault
            assert counted is None or counted == turn.prompt_tokens
            assert (turn.completion_tokens or 0) <= prompt.max_tokens

    def test_what_is_told_of_a_reply_is_its_text(self, chat: Chat) -> None:
        """The pieces of a chat that streams are the text of the turn, behind the last None."""
        pieces: list[str | None] = [None]
        if is_streaming(chat):
            turn = chat.ask(self.prompts[1], on_text=pieces.append)
            last = len(pieces) - pieces[::-1].index(None)
            assert "".join(piece for piece in pieces[last:] if piece) == turn.text

    def test_a_reply_can_be_repaired(self, chat: Chat) -> None:
        """Earlier turns reach the model, so they count as tokens of the prompt."""
        earlier = Turn("I would rather not say.", "there is no JSON in it")
        turn = chat.ask(self.prompts[2], [earlier])
        counted = chat.count_tokens(self.prompts[2], [earlier])
        assert turn.text or turn.fault
        assert counted is None or counted == turn.prompt_tokens

    def test_a_batch_that_ended_asks_nothing(self, chat: Chat) -> None:
        """With `stop` set no exchange begins."""
        import pytest

        stop = threading.Event()
        stop.set()
        with pytest.raises(Stopped):
            chat.ask(self.prompts[0], stop=stop)


class MethodContract:
    """Tests for a method. Subclass it with a fixture `method`.

    `llm` may be overridden by a method that cannot do without one.
    """

    questions: Sequence[str] = QUESTIONS

    def llm(self) -> LLM | None:
        """Return the LLM that one retrieval is given."""
        return None

    def _ask(
        self, method: Method, documents: Sequence[Document], questions: Sequence[str]
    ) -> list[Evidence]:
        with self._index(method, documents) as snapshot:
            return [method.retrieve(q, snapshot, models(llm=self.llm())) for q in questions]

    @staticmethod
    def _index(method: Method, documents: Sequence[Document]) -> AbstractContextManager[Snapshot]:
        """Index documents, with triples where the method needs some."""
        return built(documents, triples="triple" in method.layers)

    def test_answers_are_well_formed(self, method: Method) -> None:
        """Hits are different places of chunks that exist, by scores that are finite."""
        with self._index(method, small_documents()) as snapshot:
            texts = {document.id: document.text for document in small_documents()}
            for question in self.questions:
                evidence = method.retrieve(question, snapshot, models(llm=self.llm()))
                assert evidence.query == question
                assert evidence.method
                scores = [hit.score for hit in evidence.hits]
                assert np.all(np.isfinite(scores))
                assert all(a >= b - 1e-6 for a, b in pairwise(scores))
                places = [(hit.chunk_id, hit.start, hit.end) for hit in evidence.hits]
                assert len(set(places)) == len(places)
                assert min(snapshot.layer("chunk").rows([i for i, *_ in places]), default=0) >= 0
                assert all(
                    texts[hit.document_id][hit.start : hit.end] == hit.text for hit in evidence.hits
                )
                most = getattr(method, "chunks", None)
                assert most is None or len(evidence.hits) <= most

    def test_threads_lead_to_places_that_exist(self, method: Method) -> None:
        """Every step of a path or seed is a row of the index, and its range gives its text."""
        with self._index(method, small_documents()) as snapshot:
            texts = {document.id: document.text for document in small_documents()}
            for question in self.questions:
                evidence = method.retrieve(question, snapshot, models(llm=self.llm()))
                steps = [*evidence.seeds, *(step for path in evidence.paths for step in path.steps)]
                for step in steps:
                    if step.layer not in ("query", "statistical", "theme"):  # these are no layers
                        assert snapshot.layer(step.layer).rows([step.id]) != [-1]
                    if step.document_id:
                        assert texts[step.document_id][step.start : step.end] == step.text

    def test_same_again(self, method: Method) -> None:
        """The same question on the same index gives the same evidence, used snapshot or new."""
        with (
            self._index(method, small_documents()) as snapshot,
            self._index(method, small_documents()) as other,
        ):
            for question in self.questions:
                first, second, third = (
                    method.retrieve(question, where, models(llm=self.llm()))
                    for where in (snapshot, snapshot, other)
                )
                assert first == second == third

    def test_order_of_documents_does_not_matter(self, method: Method) -> None:
        """Documents that were added in another order give the same evidence."""
        documents = small_documents()
        forwards = self._ask(method, documents, self.questions)
        assert self._ask(method, documents[::-1], self.questions) == forwards
        assert self._ask(method, documents[5:] + documents[:5], self.questions) == forwards

    def test_hidden_documents_leave_no_trace(self, method: Method) -> None:
        """With a filter the evidence is that of an index of the matching documents alone."""
        documents = small_documents()
        with self._index(method, documents) as whole:
            for question in self.questions:  # what is computed from all must not be handed on
                method.retrieve(question, whole, models(llm=self.llm()))
            for rows in (np.arange(0, 12, 2), np.arange(1, 12, 3), np.arange(5, 12)):
                assert whole.among is not None
                some = whole.among(rows)
                part = [method.retrieve(q, some, models(llm=self.llm())) for q in self.questions]
                alone = self._ask(method, [documents[row] for row in rows], self.questions)
                assert part == alone

    def test_unrelated_documents_are_no_better(self, method: Method) -> None:
        """A document that shares nothing with the question does not become the best hit."""
        stranger = Document(id="zebra", title="Zebra", text="Stripes puzzle zoologists, mostly.")
        before = self._ask(method, small_documents(), self.questions[:3])
        after = self._ask(method, [*small_documents(), stranger], self.questions[:3])
        for first, second in zip(before, after, strict=True):
            if first.hits:
                assert second.hits[0].document_id != stranger.id

    def test_one_chunk_is_enough(self, method: Method) -> None:
        """An index of one chunk gives that chunk or nothing."""
        [evidence] = self._ask(method, small_documents()[:1], self.questions[:1])
        assert {hit.document_id for hit in evidence.hits} <= {small_documents()[0].id}
