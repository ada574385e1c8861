# ruff: noqa: S101 -- a contract speaks in assert
"""Test what you plug into Clew, and test what you build on it, without a model or a network.

Doubles: `HashEmbedder` and `HashTokenEmbedder` place texts that share words near one another,
`ScriptedLLM` and `ScriptedChat` say what they are told to, and `models` bundles them. Contracts:
subclass `StoreContract`, `MethodContract`, `EmbedderContract` or `ChatContract` in a pytest module
and give the fixture that it names; every promise that Clew relies on is then a test.

    class TestMine(MethodContract):
        @pytest.fixture
        def method(self):
            return Mine(chunks=5)
"""

from __future__ import annotations

import json
import re
import tempfile
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew import index
from clew.errors import IndexLocked, InputError, MissingLayer
from clew.index import choose
from clew.index.extract import extract
from clew.layers.extractions import Extracted, graph_batch
from clew.layers.imported import Statements, imported_batch
from clew.models import (
    Embedder,
    Kind,
    Models,
    OnLost,
    Prompt,
    Reply,
    Stopped,
    Turn,
    gives_tokens,
    is_chat,
)
from clew.models.cooccurrence import Cooccurrence
from clew.models.cosine import Cosine
from clew.models.maxsim import MaxSim
from clew.models.metered import Meter
from clew.models.replies import messages
from clew.models.rules import RuleTagger
from clew.store.embedded import EmbeddedStore
from clew.text.chunking import Chunking
from clew.types import (
    GRAPH,
    UNITS,
    Batch,
    Document,
    Evidence,
    Extraction,
    Scalar,
    Snapshot,
    TokenVectors,
    Triple,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.methods import Method
    from clew.models import LLM, Chat
    from clew.store import Store

    OpenStore = Callable[[], Store]

_WORD = re.compile(r"\w+")
_TRIGRAM_WEIGHT = 0.3  # of one trigram beside its word


# -- doubles --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HashEmbedder:
    """A bag of hashed words and character trigrams: texts that share some come near.

    The same in every process, on every machine. Case does not matter; meaning is not understood.
    """

    dimension: int = 64

    @property
    def name(self) -> str:
        return f"hash-{self.dimension}"

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:  # noqa: ARG002
        rows = [_pooled(_words(text), self.dimension) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class HashTokenEmbedder(HashEmbedder):
    """The same, with a vector for every word: its tokens are words."""

    @property
    def name(self) -> str:
        return f"hash-tokens-{self.dimension}"

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        return [self._tokens(text) for text in texts]

    def _tokens(self, text: str) -> TokenVectors:
        words = _words(text)
        spans = [match.span() for match in _WORD.finditer(text)]
        vectors = [_word_vector(word, self.dimension) for word in words]
        return TokenVectors(
            np.stack(vectors) if vectors else np.zeros((0, self.dimension), dtype=np.float32),
            np.asarray([_hash(word) >> 1 for word in words], dtype=np.int32),
            np.asarray(spans, dtype=np.int32).reshape(-1, 2),
            _pooled(words, self.dimension),
        )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _pooled(words: Sequence[str], dimension: int) -> NDArray[np.float32]:
    total = np.zeros(dimension)
    for word in words:
        total += _word_vector(word, dimension)
    length = float(np.linalg.norm(total))
    if length < 1e-6:  # a text without words
        total[0], length = 1.0, 1.0
    return (total / length).astype(np.float32)


@lru_cache(maxsize=100_000)
def _word_vector(word: str, dimension: int) -> NDArray[np.float32]:
    vector = np.zeros(dimension, dtype=np.float32)
    padded = f"^{word}$"
    features = [(word, 1.0)]
    features += [(padded[i : i + 3], _TRIGRAM_WEIGHT) for i in range(len(padded) - 2)]
    for feature, weight in features:
        value = _hash(feature)
        vector[value % dimension] += weight if value & 1 << 31 else -weight
    vector.flags.writeable = False
    return vector


def _hash(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


class ScriptedLLM:
    """An LLM that gives the replies it was given, in order, and remembers its prompts.

    A reply is a text, a JSON value (the `data` of a prompt that has a schema), or a whole
    `Reply`, such as one with an `error`. Asking for more than there are is an AssertionError.
    """

    def __init__(self, *replies: object) -> None:
        self.prompts: list[Prompt] = []
        self._replies = deque(replies)

    @property
    def name(self) -> str:
        return "scripted"

    @property
    def n_left(self) -> int:
        """How many replies have not been asked for."""
        return len(self._replies)

    def complete(self, prompts: Sequence[Prompt]) -> list[Reply]:
        return [self._reply(prompt) for prompt in prompts]

    def _reply(self, prompt: Prompt) -> Reply:
        self.prompts.append(prompt)
        if not self._replies:
            raise AssertionError(f"the script has no reply number {len(self.prompts)}: {prompt}")
        given = self._replies.popleft()
        if isinstance(given, Reply):
            return given
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        reply = Reply(
            text=text,
            data=None if isinstance(given, str) else given,
            prompt_tokens=len(prompt.system.split()) + len(prompt.user.split()),
            completion_tokens=len(text.split()),
            cost_usd=0.0,
        )
        if prompt.schema is not None and isinstance(given, str):
            return replace(reply, error="the reply is not JSON")
        return reply


class ScriptedChat:
    """A chat that says what `answer` gives for a prompt and its earlier turns; tokens are words.

    An answer is a text, a JSON value, a whole `Turn`, or an exception, which is raised. `asked`
    holds every exchange, in the order in which they began.
    """

    def __init__(
        self,
        answer: Callable[[Prompt, Sequence[Turn]], object],
        *,
        concurrency: int = 1,
        price: tuple[float, float] | None = (0.0, 0.0),
    ) -> None:
        self.asked: list[tuple[Prompt, Sequence[Turn]]] = []
        self.concurrency = concurrency
        self.price = price
        self._answer = answer

    @property
    def name(self) -> str:
        return "scripted"

    def ask(
        self,
        prompt: Prompt,
        turns: Sequence[Turn] = (),
        *,
        stop: threading.Event | None = None,
        on_lost: OnLost | None = None,  # noqa: ARG002 -- nothing gets lost
    ) -> Turn:
        if stop is not None and stop.is_set():
            raise Stopped
        self.asked.append((prompt, tuple(turns)))
        given = self._answer(prompt, turns)
        if isinstance(given, BaseException):
            raise given
        if isinstance(given, Turn):
            return given
        text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        n_prompt = self.count_tokens(prompt, turns)
        return Turn(text, "" if text else "the reply is empty", n_prompt, len(text.split()))

    def count_tokens(self, prompt: Prompt, turns: Sequence[Turn] = ()) -> int:
        return sum(len(part["content"].split()) for part in messages(prompt, turns))


def models(embedder: Embedder | None = None, *, llm: LLM | None = None) -> Models:
    """Return models that need nothing: `embedder` or a HashTokenEmbedder, rules, late interaction.

    With an embedder that gives no token vectors the reranker is its cosine.
    """
    embedder = embedder or HashTokenEmbedder()
    late = gives_tokens(embedder)
    reranker = MaxSim(embedder) if late else Cosine(embedder)  # type: ignore[arg-type]
    return Models(embedder=embedder, tagger=RuleTagger(), reranker=reranker, llm=llm)


# -- a small index --------------------------------------------------------------------------------

_TEXTS = {
    "analog": "The Analog Sea lies north of Verle. Mira Toll crossed it in 1911.",
    "bakken": "Bakken is a town in Osterland. Mira Toll was born in Bakken.",
    "comet": "The Comet was a ship. The Comet sank off Cape Lund in 1911.",
    "dorn": "Professor Dorn taught at Verle. He wrote about tides and salt.",
    "eriksen": "Ola Eriksen built the Comet in Bakken. Ola Eriksen died poor.",
    "fjord": "The fjord freezes every winter. Boats wait until the ice has gone.",
    "grain": "Grain prices fell that year. Farmers in Osterland left for Verle.",
    "harbour": "The harbour of Verle was dug by hand. Professor Dorn measured its depth.",
    "island": "An island without trees. Birds nest there and nobody else does.",
    "lund": "Cape Lund has a lighthouse. Its keeper saw the Comet sink.",
    "osterland": "Osterland is a land of farms. Its capital is Verle.",
    "verle": "Verle is the capital of Osterland. It lies on the Analog Sea.",
}


def small_documents() -> list[Document]:
    """Return a dozen short documents about a country that does not exist."""
    return [
        Document(id=name, title=name.capitalize(), text=text, source=f"{name}.txt")
        for name, text in _TEXTS.items()
    ]


QUESTIONS = (
    "Where was the builder of the Comet at home?",
    "What is the capital of the land in which Mira Toll was born?",
    "who measured the depth of the harbour",
    "???",
    "zzz",
)


@contextmanager
def built(
    documents: Sequence[Document],
    given: Models | None = None,
    *,
    triples: bool = False,
    chunking: Chunking | None = None,
) -> Iterator[Snapshot]:
    """Index `documents` in a temporary folder and give the snapshot.

    `triples` are those of names in one sentence.
    """
    given = given or models()
    settings = index.Settings(chunking=chunking) if chunking else index.Settings()
    with tempfile.TemporaryDirectory() as folder:
        recipe = settings.recipe(given)
        with EmbeddedStore.create(Path(folder) / "index", recipe) as store:
            index.add(store, documents, given)
            if triples:
                rules = Cooccurrence(given.tagger)
                extract(store, given, choose.Wanted(triples="cooccurrence"), rules=rules)
            snapshot = store.snapshot()
        try:
            yield snapshot
        finally:
            snapshot.close()


# -- contracts ------------------------------------------------------------------------------------


class EmbedderContract:
    """What an embedder must do. Give the fixture `embedder`."""

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
    """What a chat must do. Give the fixture `chat`."""

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
    """What a method must do on any index. Give the fixture `method`.

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
                found = method.retrieve(question, snapshot, models(llm=self.llm()))
                assert found.query == question
                assert found.method
                scores = [hit.score for hit in found.hits]
                assert np.all(np.isfinite(scores))
                assert all(a >= b - 1e-6 for a, b in pairwise(scores))
                places = [(hit.chunk_id, hit.start, hit.end) for hit in found.hits]
                assert len(set(places)) == len(places)
                assert min(snapshot.layer("chunk").rows([i for i, *_ in places]), default=0) >= 0
                assert all(
                    texts[hit.document_id][hit.start : hit.end] == hit.text for hit in found.hits
                )
                most = getattr(method, "chunks", None)
                assert most is None or len(found.hits) <= most

    def test_threads_lead_to_places_that_exist(self, method: Method) -> None:
        """Every step of a path or seed is a row of the index, and its range gives its text."""
        with self._index(method, small_documents()) as snapshot:
            texts = {document.id: document.text for document in small_documents()}
            for question in self.questions:
                found = method.retrieve(question, snapshot, models(llm=self.llm()))
                steps = [*found.seeds, *(step for path in found.paths for step in path.steps)]
                for step in steps:
                    if step.layer not in ("query", "statistical"):  # these are no layers
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
        [found] = self._ask(method, small_documents()[:1], self.questions[:1])
        assert {hit.document_id for hit in found.hits} <= {small_documents()[0].id}


class StoreContract:
    """What a store must do. Give the fixture `open_store`.

    It is a function without arguments that opens one new store, and each time it is called again
    another session on that same store, made with the recipe `StoreContract.recipe`.
    """

    recipe: Mapping[str, Scalar] = index.Settings().recipe(models())

    @staticmethod
    def _batch(store: Store, *documents: Document) -> Batch:
        return index.build(documents, store, models(), Meter())

    def _commit(self, store: Store, *documents: Document) -> int:
        hashes = [index.content_hash(document) for document in documents]
        return store.commit(self._batch(store, *documents), hashes)

    def test_new_store_is_empty(self, open_store: OpenStore) -> None:
        """A new store has its recipe, no document, and a snapshot without rows."""
        store = open_store()
        snapshot = store.snapshot()
        assert dict(store.recipe) == dict(self.recipe)
        assert store.hashes() == {}
        assert store.wasted() == 0
        assert [len(layer) for layer in snapshot.layers.values()] == [0] * len(snapshot.layers)
        snapshot.close()
        store.close()

    def test_commit_is_seen_at_once(self, open_store: OpenStore) -> None:
        """What is committed is in `hashes`, in the next generation and in the next snapshot."""
        store = open_store()
        before = store.generation
        a, b = small_documents()[:2]
        assert self._commit(store, a, b) == store.generation > before
        assert store.hashes() == {d.id: index.content_hash(d) for d in (a, b)}
        with _open(store) as snapshot:
            assert snapshot.generation == store.generation
            assert snapshot.documents([0, 1]) == [a, b]
            check_consistent(snapshot)
        store.close()

    def test_same_id_replaces(self, open_store: OpenStore) -> None:
        """A document replaces the one of its id."""
        store = open_store()
        a, b = small_documents()[:2]
        self._commit(store, a, b)
        new = replace(a, text="Something else about Cape Lund.")
        self._commit(store, new)
        assert store.hashes()[a.id] == index.content_hash(new)
        with _open(store) as snapshot:
            assert snapshot.documents([0, 1]) == [new, b]
            check_consistent(snapshot)
        store.close()

    def test_snapshots_do_not_change(self, open_store: OpenStore) -> None:
        """A snapshot gives the same rows, texts and vectors whatever is committed after it."""
        store = open_store()
        documents = small_documents()
        self._commit(store, *documents[:4])
        with _open(store) as snapshot:
            before = contents(snapshot, vectors=False)
            self._commit(store, *documents[4:])
            store.remove([documents[0].id])
            store.compact()
            store.freeze()
            assert contents(snapshot, vectors=False) == before
            assert len(snapshot.layer("chunk").vectors) == len(snapshot.layer("chunk"))
        store.close()

    def test_remove_and_revive(self, open_store: OpenStore) -> None:
        """Removed documents are gone; one of the same id and hash comes back as it was."""
        store = open_store()
        documents = small_documents()
        self._commit(store, *documents)
        hashes = dict(store.hashes())
        with _open(store) as snapshot:
            before = contents(snapshot)
        ids = [documents[2].id, documents[5].id]
        generation = store.generation
        assert store.remove([*ids, "never there"]) == ids
        assert store.generation > generation
        assert not set(ids) & set(store.hashes())
        assert store.wasted() > 0
        generation = store.generation
        assert store.remove(ids) == []
        assert store.revive({documents[0].id: hashes[documents[0].id]}) == []
        assert store.revive({ids[0]: "another hash", "never there": "x"}) == []
        assert store.generation == generation
        assert store.revive({i: hashes[i] for i in ids}) == ids
        assert store.hashes() == hashes
        with _open(store) as snapshot:
            assert contents(snapshot) == before
        store.close()

    def test_unnamed_entities(self, open_store: OpenStore) -> None:
        """An entity key is unnamed until a batch brings its name vector."""
        store = open_store()
        document = small_documents()[0]
        batch = self._batch(store, document)
        named = [batch.entities[i] for i in batch.columns["name.entity"].tolist()]
        assert store.unnamed([*named, "never there"]) == list(range(len(named) + 1))
        store.commit(batch, ["hash"])
        assert store.unnamed([*named, "never there"]) == [len(named)]
        store.close()

    def test_compact_and_freeze_change_no_row(self, open_store: OpenStore) -> None:
        """Compacting and freezing leave every row, text, link and vector as it was."""
        store = open_store()
        documents = small_documents()
        self._commit(store, *documents[6:])
        self._commit(store, *documents[:7])
        store.remove([documents[3].id])
        with _open(store) as snapshot:
            before = contents(snapshot)
        hashes = dict(store.hashes())
        for change in (store.freeze, store.compact, store.freeze):
            change()
            assert store.hashes() == hashes
            with _open(store) as snapshot:
                assert contents(snapshot) == before
                check_consistent(snapshot)
        assert store.wasted() == 0
        store.close()

    def test_everything_is_kept(self, open_store: OpenStore) -> None:
        """A store that was closed opens with the same generation, documents and rows."""
        store = open_store()
        self._commit(store, *small_documents())
        generation, hashes = store.generation, dict(store.hashes())
        with _open(store) as snapshot:
            before = contents(snapshot)
        store.close()
        again = open_store()
        assert (again.generation, again.hashes()) == (generation, hashes)
        with _open(again) as snapshot:
            assert contents(snapshot) == before
        again.close()

    def test_extractions_hang_on_chunks(self, open_store: OpenStore) -> None:
        """The newest extraction of a chunk counts, goes with its document, and comes back."""
        store = open_store()
        documents = small_documents()
        self._commit(store, *documents)
        hashes = dict(store.hashes())
        self._extract(store, "met")
        self._extract(store, "saw")
        with _open(store) as snapshot:
            before = contents(snapshot)
            check_consistent(snapshot)
            triples = snapshot.layer("triple")
            assert len(triples) == 1
            assert triples.texts([0]) == ["Mira Toll saw Bo Dahl"]
            assert set(snapshot.link("triple", "chunk").indices) == {0, 1}
        store.remove([documents[0].id, documents[1].id])
        with _open(store) as snapshot:
            assert not len(snapshot.layer("triple"))
        store.revive(hashes)
        for change in (store.compact, store.freeze):
            change()
            with _open(store) as snapshot:
                assert contents(snapshot) == before
        store.close()

    def test_documents_come_with_their_extractions(self, open_store: OpenStore) -> None:
        """A batch may have both, and then its extractions are of its own chunks."""
        store = open_store()
        self._commit(store, *small_documents())
        statements = Statements()
        statements.add(Triple(subject="Mira Toll", relation="met", object="Bo Dahl"), "")
        statements.add(Triple(subject="Bo Dahl", relation="left", object="Verle"), "")
        graph = statements.graph()
        subjects = list(graph.subjects("kg.tsv", "kg.tsv"))
        batch = imported_batch(
            graph,
            subjects,
            index.chunking(store.recipe),
            models().embedder,
            store.unnamed,
            late=store.recipe["vectors"] == index.LATE,
        )
        store.commit(batch, [subject.content for subject in subjects])
        with _open(store) as snapshot:
            check_consistent(snapshot)
            before = contents(snapshot)
            assert before["triple"]["texts"] == ["Bo Dahl left Verle", "Mira Toll met Bo Dahl"]
            chunks = snapshot.layer("chunk").texts(
                snapshot.link("triple", "chunk").indices.tolist()
            )
            assert chunks == ["Bo Dahl left Verle.", "Mira Toll met Bo Dahl."]
            entities = snapshot.layer("entity")
            assert entities.columns["linkable"][entities.rows(["bo dahl"])].all()
        for change in (store.compact, store.freeze):
            change()
            with _open(store) as snapshot:
                assert contents(snapshot) == before
        store.remove([subject.document.id for subject in subjects])
        with _open(store) as snapshot:
            assert not len(snapshot.layer("triple"))
        store.close()

    def test_work_is_kept_until_it_is_done(self, open_store: OpenStore) -> None:
        """Chunks wait in their packs, through a compaction, until their extraction comes."""
        store = open_store()
        self._commit(store, *small_documents()[4:])
        self._commit(store, *small_documents()[:4])
        with _open(store) as snapshot:
            stored = choose.stored_chunks(snapshot).tolist()
        store.set_work(GRAPH, {stored[0]: 0, stored[1]: 0, stored[2]: 1, stored[3]: -1})
        store.set_wanted({"triples": "llm"})
        store.compact()
        with _open(store) as snapshot:
            stored = choose.stored_chunks(snapshot).tolist()
        assert store.work(GRAPH) == {stored[0]: 0, stored[1]: 0, stored[2]: 1, stored[3]: -1}
        assert store.work(UNITS) == {}
        self._extract(store, "met")
        assert store.work(GRAPH) == {stored[2]: 1, stored[3]: -1}
        assert store.wanted() == {"triples": "llm"}
        store.close()

    def test_what_is_settled_later_is_in_the_recipe(self, open_store: OpenStore) -> None:
        """It is there for snapshots from then on, also through a compaction, until taken out."""
        store = open_store()
        self._commit(store, *small_documents()[:2])
        before = dict(store.recipe)
        store.settle({"entity_words": 2})
        assert dict(store.recipe) == {**before, "entity_words": 2}
        store.compact()
        with _open(store) as snapshot:
            assert dict(snapshot.recipe) == {**before, "entity_words": 2}
        store.settle({"entity_words": None})
        assert dict(store.recipe) == before
        store.close()

    def test_aliases_can_be_taken_back(self, open_store: OpenStore) -> None:
        """An entity that stands for another has no row, until it stands for itself again."""
        store = open_store()
        self._commit(store, *small_documents())
        self._extract(store, "met")
        with _open(store) as snapshot:
            before = contents(snapshot)
        other = next(key for key in before["entity"]["ids"] if key not in _TWO)
        generation = store.generation
        assert store.set_aliases({"bo dahl": other}) == store.generation > generation
        assert store.aliases() == {"bo dahl": other}
        with _open(store) as snapshot:
            entities = snapshot.layer("entity")
            assert "bo dahl" not in entities.ids(range(len(entities)))
            assert entities.rows(["bo dahl"]) == entities.rows([other])
            assert snapshot.layer("triple").ids([0]) == [f"mira toll|met|{other}"]
            check_consistent(snapshot)
        store.set_aliases({"bo dahl": "mira toll"})
        with _open(store) as snapshot:
            assert not len(snapshot.layer("triple"))  # it would say something of one thing
        store.compact()
        store.set_aliases({"bo dahl": None})
        with _open(store) as snapshot:
            assert contents(snapshot) == before
        store.close()

    @staticmethod
    def _extract(store: Store, relation: str) -> None:
        """Give the first two chunks the triple that Mira Toll and Bo Dahl are in that relation."""
        triple = Triple(subject="Mira Toll", relation=relation, object="Bo Dahl")
        with _open(store) as snapshot:
            chunks = choose.stored_chunks(snapshot)[:2].tolist()
        extraction = Extraction(triples=(triple,))
        extracted = [Extracted(chunk, "recorded", extraction) for chunk in chunks]
        store.commit(graph_batch(extracted, models(), store.unnamed), ())

    def test_stored_numbers_stay(self, open_store: OpenStore) -> None:
        """What is added or removed changes no stored number; a compaction changes the numbering."""
        store = open_store()
        documents = small_documents()
        self._commit(store, *documents[4:8])
        before, numbering = self._numbers(store)
        self._commit(store, *documents[:4])
        store.remove([documents[7].id])
        store.freeze()
        after, same = self._numbers(store)
        assert same == numbering
        for name, numbers in after.items():
            assert len(set(numbers.values())) == len(numbers)
            both = numbers.keys() & before[name].keys()
            assert both
            assert {i: numbers[i] for i in both} == {i: before[name][i] for i in both}
        store.compact()
        assert self._numbers(store)[1] != numbering
        store.close()

    @staticmethod
    def _numbers(store: Store) -> tuple[dict[str, dict[str, int]], int]:
        """Return the stored number of each row of a layer by its id, and the numbering."""
        with _open(store) as snapshot:
            ids = {
                name: snapshot.layer(name).ids(range(len(rows)))
                for name, rows in snapshot.stored.items()
            }
            assert {"chunk", "sentence", "term"} <= ids.keys()
            numbers = {
                name: dict(zip(ids[name], rows.tolist(), strict=True))
                for name, rows in snapshot.stored.items()
            }
            return numbers, snapshot.numbering

    def test_what_was_computed_is_kept(self, open_store: OpenStore) -> None:
        """Arrays are kept of a frozen generation, for its snapshots and for later sessions."""
        import pytest

        store = open_store()
        self._commit(store, small_documents()[0])
        with pytest.raises(InputError):
            store.keep("odd", _ODD)
        store.freeze()
        assert store.kept("odd") is None
        with _open(store) as old:
            store.keep("odd", _ODD)
            self._check_kept(store, "odd", _ODD, fresh=True)
            other: dict[str, NDArray[Any]] = {"a": np.zeros((0, 3)), "b": np.ones(2, dtype=bool)}
            store.keep("even", other)
            store.keep("odd", other)
            self._check_kept(store, "odd", other, fresh=True)
            self._check_kept(store, "even", other, fresh=True)
            assert store.kept("never") is None
            assert old.kept("never") is None
            contents(old)
        store.close()
        again = open_store()
        self._check_kept(again, "odd", other, fresh=True)
        again.close()

    def test_what_was_kept_of_an_earlier_generation(self, open_store: OpenStore) -> None:
        """The store gives it until something newer is kept, or rows get new numbers."""
        store = open_store()
        a, b, c = small_documents()[:3]
        self._commit(store, a, b)
        store.freeze()
        store.keep("odd", _ODD)
        with _open(store) as old:
            self._commit(store, c)
            self._check_kept(store, "odd", _ODD, fresh=False)
            store.remove([a.id])
            store.freeze()
            self._check_kept(store, "odd", _ODD, fresh=False)
            _check_same(old.kept("odd"), _ODD)
            newer = {"x": np.arange(3.0)}
            store.keep("odd", newer)
            self._check_kept(store, "odd", newer, fresh=True)
        store.compact()
        assert store.kept("odd") is None
        store.freeze()
        assert store.kept("odd") is None
        store.keep("odd", _ODD)
        self._check_kept(store, "odd", _ODD, fresh=True)
        store.close()

    def test_a_claim_is_until_the_end(self, open_store: OpenStore) -> None:
        """Behind it nobody else makes a generation: what is computed is kept of its own one."""
        import pytest

        first, second = open_store(), open_store()
        a, b = small_documents()[:2]
        self._commit(first, a)
        first.freeze()
        first.close()
        first = open_store()
        first.claim()
        batch = self._batch(second, b)
        generation = first.generation
        for write in (second.claim, lambda: second.commit(batch, ["hash"]), second.compact):
            with pytest.raises(IndexLocked):
                write()
        assert first.generation == generation
        first.keep("odd", _ODD)
        self._check_kept(first, "odd", _ODD, fresh=True)
        first.close()
        second.claim()
        second.commit(batch, ["hash"])
        assert list(second.hashes()) == [a.id, b.id]
        second.close()

    @staticmethod
    def _check_kept(
        store: Store, name: str, arrays: Mapping[str, NDArray[Any]], *, fresh: bool
    ) -> None:
        """Check what the store keeps, and its newest snapshot where that is of its generation."""
        _check_same(store.kept(name), arrays)
        with _open(store) as snapshot:
            if fresh:
                _check_same(snapshot.kept(name), arrays)
            else:
                assert snapshot.kept(name) is None

    def test_one_writer(self, open_store: OpenStore) -> None:
        """While one writes, another reads, is refused to write, and may once the first is done."""
        first, second = open_store(), open_store()
        a, b = small_documents()[:2]
        self._commit(first, a)
        assert list(second.hashes()) == [a.id]
        batch = self._batch(second, b)
        try:
            second.commit(batch, ["hash"])
        except IndexLocked:
            pass
        else:
            raise AssertionError("two sessions wrote at once")
        first.close()
        second.commit(batch, ["hash"])
        assert list(second.hashes()) == [a.id, b.id]
        second.close()


@contextmanager
def _open(store: Store) -> Iterator[Snapshot]:
    snapshot = store.snapshot()
    try:
        yield snapshot
    finally:
        snapshot.close()


_ODD: Mapping[str, NDArray[Any]] = {
    "odd": np.arange(1, 9, 2),
    "of": np.array([[2.5]], dtype=np.float32),
}


def _check_same(
    found: Mapping[str, NDArray[Any]] | None, expected: Mapping[str, NDArray[Any]]
) -> None:
    assert found is not None
    assert {n: _bytes(a) for n, a in found.items()} == {n: _bytes(a) for n, a in expected.items()}


def contents(snapshot: Snapshot, *, vectors: bool = True) -> dict[str, Any]:
    """Return all that a snapshot holds as plain values; equal ones are equal byte for byte."""
    held: dict[str, Any] = {"documents": snapshot.documents(range(_n(snapshot, "document")))}
    for name, layer in snapshot.layers.items():
        rows = range(len(layer))
        held[name] = {"ids": layer.ids(rows), "texts": layer.texts(rows)}
        held[name] |= {column: _bytes(array) for column, array in layer.columns.items()}
        try:
            held[name]["vectors"] = _bytes(layer.vectors) if vectors and len(layer) else None
            held[name]["tokens"] = [_bytes(layer.tokens(row)) for row in rows]
        except MissingLayer as error:
            held[name]["missing"] = str(error)
    for pair, link in snapshot.links.items():
        held["-".join(pair)] = [link.shape, *map(_bytes, (link.indptr, link.indices, link.data))]
    return held


def _n(snapshot: Snapshot, layer: str) -> int:
    return len(snapshot.layer(layer))


def _bytes(array: NDArray[Any]) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()


_TWO = ("mira toll", "bo dahl")  # whom the contracts' triple is about

_POINTERS = {
    ("document", "title_entity"): "entity",
    ("chunk", "document"): "document",
    ("subchunk", "chunk"): "chunk",
    ("sentence", "chunk"): "chunk",
    ("unit", "chunk"): "chunk",
    ("triple", "subject"): "entity",
    ("triple", "object"): "entity",
    ("triple", "chunk"): "chunk",
    ("description", "entity"): "entity",
    ("description", "chunk"): "chunk",
    ("profile", "description"): "description",
    ("profile", "entity"): "entity",
    ("profile", "chunk"): "chunk",
}


# Chunks that overlap may have a part in common; merged entities are described twice in a chunk.
_REPEATING = ("subchunk", "profile")


def check_consistent(snapshot: Snapshot) -> None:
    """Raise AssertionError where a row or link of `snapshot` points to what is not there."""
    for (name, column), target in _POINTERS.items():
        pointers = snapshot.layer(name).columns[column]
        assert len(pointers) == _n(snapshot, name)
        assert pointers.max(initial=-1) < _n(snapshot, target)
        assert pointers.min(initial=0) >= (-1 if column == "title_entity" else 0)
    for (a, b), link in snapshot.links.items():
        assert link.shape == (_n(snapshot, a), _n(snapshot, b))
        assert link.indices.max(initial=-1) < link.shape[1]
        assert np.all(np.diff(link.indptr) >= 0)
        assert link.indptr[-1] == len(link.indices) == len(link.data)
        assert link.has_sorted_indices
        assert np.all(link.data > 0)
    documents = snapshot.documents(range(_n(snapshot, "document")))
    assert [d.id for d in documents] == sorted(d.id for d in documents)
    for name in ("chunk", "subchunk", "sentence", "unit", "triple", "profile"):
        layer = snapshot.layer(name)
        rows = range(len(layer))
        ids = layer.ids(rows)
        assert layer.ids(layer.rows(ids)) == ids
        assert name in _REPEATING or len(set(ids)) == len(ids)
        assert all(layer.texts(rows))
        if len(layer):
            np.testing.assert_allclose(np.linalg.norm(layer.vectors, axis=1), 1, atol=1e-3)
    entities = snapshot.layer("entity")
    assert entities.rows(entities.ids(range(len(entities)))) == list(range(len(entities)))
    if len(entities):
        lengths = np.linalg.norm(entities.vectors, axis=1)
        named = entities.columns["linkable"] | entities.columns["extracted"]
        np.testing.assert_allclose(lengths, named.astype(float), atol=1e-3)
