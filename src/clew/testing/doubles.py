"""Test doubles: embedders that hash words, and LLMs that follow a script."""

import json
import re
import threading
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from clew.models import (
    LLM,
    Embedder,
    Kind,
    Models,
    OnLost,
    Prompt,
    Reply,
    Stopped,
    TokenVectors,
    Turn,
    gives_tokens,
)
from clew.models.maxsim import Cosine, MaxSim
from clew.models.replies import messages
from clew.models.rules import RuleTagger
from clew.text.pieces import OnPiece

_WORD = re.compile(r"\w+")
_PIECES = re.compile(r"\s*\S+|\s+")
_TRIGRAM_WEIGHT = 0.3  # of one trigram beside its word


@dataclass(frozen=True, slots=True)
class HashEmbedder:
    """An embedder of hashed words and character trigrams: texts that share some are similar.

    The same in every process, on every machine. Case does not matter; meaning is not understood.
    """

    dimension: int = 64

    @property
    def name(self) -> str:
        return f"hash-{self.dimension}"

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:  # noqa: ARG002
        rows = [_pool_words(_words(text), self.dimension) for text in texts]
        return np.stack(rows) if rows else np.zeros((0, self.dimension), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class HashTokenEmbedder(HashEmbedder):
    """A HashEmbedder with token vectors; its tokens are words."""

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
            _pool_words(words, self.dimension),
        )


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _pool_words(words: Sequence[str], dimension: int) -> NDArray[np.float32]:
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
    """An LLM that gives prepared replies in order, and records its prompts.

    A reply is a text, a JSON value (the `data` of a prompt with a schema), or a whole `Reply`, such
    as one with an `error`. Asking for more replies is an AssertionError.
    """

    def __init__(self, *replies: object) -> None:
        self.prompts: list[Prompt] = []
        self._replies = deque(replies)

    @property
    def name(self) -> str:
        return "scripted"

    @property
    def n_left(self) -> int:
        """The number of unused replies."""
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
    """A chat whose replies come from a function `answer`; tokens are words.

    An answer is a text, a JSON value, a whole `Turn`, or an exception to raise. Streaming yields a
    word at a time. `asked` holds every exchange, in the order in which they began.
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
        on_text: OnPiece | None = None,
    ) -> Turn:
        turn = self._turn(prompt, turns, stop)
        if on_text is not None:
            for piece in _PIECES.findall(turn.text):
                on_text(piece)
        return turn

    def _turn(self, prompt: Prompt, turns: Sequence[Turn], stop: threading.Event | None) -> Turn:
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
    """Return models without files: `embedder` or a HashTokenEmbedder, rules, late interaction.

    With an embedder that gives no token vectors the reranker is its cosine.
    """
    embedder = embedder or HashTokenEmbedder()
    late = gives_tokens(embedder)
    reranker = MaxSim(embedder) if late else Cosine(embedder)  # type: ignore[arg-type]
    return Models(embedder=embedder, tagger=RuleTagger(), reranker=reranker, llm=llm)
