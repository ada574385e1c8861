"""The protocols that models implement, and the bundle of models passed to methods.

Every protocol takes a batch; an adapter that talks to a server runs the batch concurrently
inside, and its callers stay synchronous. Concrete models are modules of this package; the rim
(`cli`, `api`) chooses them, and nothing below it names one. Those that users make themselves can be
imported from here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeGuard

from clew.base.runtime.lazy import lazy
from clew.base.types import Extraction, Mention
from clew.errors import EndpointError
from clew.text.pieces import OnPiece

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from clew.extras.models.local import LocalChat as LocalChat
    from clew.extras.models.openai import OpenAIChat as OpenAIChat
    from clew.extras.models.openai import OpenAIEmbeddings as OpenAIEmbeddings
    from clew.models.cooccurrence import Cooccurrence as Cooccurrence
    from clew.models.ledger import Ledger as Ledger
    from clew.models.minilm import MiniLM as MiniLM
    from clew.models.prices import Price as Price
    from clew.models.prices import parse_prices as parse_prices
    from clew.models.recorded_llm import RecordedLLM as RecordedLLM
    from clew.models.recorded_llm import recorded as recorded
    from clew.models.rules import RuleTagger as RuleTagger

Kind = Literal["query", "document"]


class TokenVectors(NamedTuple):
    """The token vectors of one text: row i is the token at characters spans[i]."""

    vectors: NDArray[np.float32]  # (n, d), as the model gives them, of any length
    ids: NDArray[np.int32]  # (n,), rows of the model's vocabulary
    spans: NDArray[np.int32]  # (n, 2), character ranges in the text
    pooled: NDArray[np.float32]  # (d,), unit length: the vector of the whole text


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def name(self) -> str:
        """Return the model with its version; vectors under different names are not comparable."""

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        """Return (n, d) float32 unit rows, row i for texts[i]; (0, d) without texts.

        The row of a text does not depend on its neighbours in the batch.
        """


class TokenEmbedder(Embedder, Protocol):
    """An embedder that also gives a vector for every token of a text, in one pass."""

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]: ...


def gives_tokens(embedder: Embedder) -> TypeGuard[TokenEmbedder]:
    """Check whether an embedder has token vectors, without running it."""
    return hasattr(embedder, "embed_tokens")


# Called with the position of the first text and the rows from there; any thread may call it.
Keep = Callable[[int, "NDArray[np.float32]"], None]


class PaidEmbedder(Embedder, Protocol):
    """An embedder that costs money, and reports vectors as each request completes."""

    def embed(
        self, texts: Sequence[str], *, kind: Kind, keep: Keep | None = None
    ) -> NDArray[np.float32]:
        """Return the rows, calling `keep` with each part as soon as it arrives."""


def is_paid(embedder: Embedder) -> TypeGuard[PaidEmbedder]:
    """Check whether an embedder reports vectors to `keep` as they arrive."""
    return "keep" in signature(embedder.embed).parameters


class PricedEmbedder(Embedder, Protocol):
    """An embedder that can estimate what texts would cost."""

    @property
    def price(self) -> Price | None:
        """Return dollars per million input tokens, and 0 for output; None if unknown."""

    def unpaid(self, texts: Sequence[str], *, kind: Kind) -> Sequence[str]:
        """Return the texts that would have to be paid for, without embedding any."""

    def dimension_texts(self) -> Sequence[str]:
        """Return the texts that determining the dimension would pay for, none if it is known."""


def is_priced(embedder: Embedder) -> TypeGuard[PricedEmbedder]:
    """Check whether an embedder can estimate the cost of texts."""
    return hasattr(embedder, "unpaid")


class Checked(Protocol):
    """A model that can check its packages and files without being loaded."""

    def check(self) -> None:
        """Raise the error of the first use if a package or file is missing, without loading."""


def is_checked(model: object) -> TypeGuard[Checked]:
    """Check whether a model can check its packages and files."""
    return hasattr(model, "check")


class Tagger(Protocol):
    """Finds the mentions of entities in texts (named entity recognition)."""

    @property
    def name(self) -> str: ...

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        """Return each text's distinct mentions, sorted by (start, end)."""


class Extractor(Protocol):
    """Extracts entities and triples from texts by rules, without an LLM."""

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """Return the extraction of each text, independent of the other texts."""


class Reranker(Protocol):
    """Scores the relevance of texts to a query; only their order counts."""

    @property
    def name(self) -> str: ...

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float64]:
        """Return (n,) finite scores, higher is better."""


class LateReranker(Reranker, Protocol):
    """A reranker that can also score stored token vectors."""

    def matches(self, query: TokenVectors, texts: Sequence[NDArray[Any]]) -> NDArray[np.float32]:
        """Return (n, m): the match of each of n texts with each of the query's m tokens.

        A text is (t, d) token vectors: int8 of length 127 as stored, or float of length one.
        """


def is_late(reranker: Reranker) -> TypeGuard[LateReranker]:
    """Check whether a reranker scores stored token vectors."""
    return hasattr(reranker, "matches")


# Of a part of a reply: what can be used of it, None for nothing, and how many items cannot.
ReadPart = Callable[[Any], tuple[Any, int]]


# What a question can do without: a step on the way to its passages, which may not take long, or
# its answer, which may.
Part = Literal["step", "answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One request to an LLM."""

    user: str
    system: str = ""
    schema: Mapping[str, Any] | None = None  # a JSON schema that the reply must satisfy
    max_tokens: int = 512
    version: str = ""  # of the template; enters every cache key
    name: str = ""  # of Clew's template that it was made of, and what that was filled with
    values: Mapping[str, Any] = field(default_factory=dict)
    variant: str = ""  # of what it asks for, such as a digest; a part of its version
    # Reads each property of the schema by itself, so that those that can be used are kept.
    read_part: ReadPart | None = field(default=None, repr=False, compare=False)
    part: Part | None = field(default=None, repr=False, compare=False)
    picture: str = field(default="", repr=False)  # a data URL, for chats with `reads_pictures`
    picture_tokens: int = 0  # that it takes, at the most


class Wording(Protocol):
    """A user's replacements for some of Clew's prompts."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Return the version of each replaced prompt, by name."""
        ...

    @property
    def alone(self) -> bool:
        """Whether each passage that is extracted from has a prompt of its own."""
        ...

    def reword(self, prompt: Prompt) -> Prompt:
        """Return a prompt in this wording, unchanged if there is none for it."""
        ...


def find_wording(llm: LLM | None) -> Wording | None:
    """Return an LLM's replacement prompts, None for Clew's own."""
    wording: Wording | None = getattr(llm, "wording", None)
    return wording


def word(prompt: Prompt, wording: Wording | None) -> Prompt:
    """Return a prompt with the user's wording applied."""
    return prompt if wording is None else wording.reword(prompt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The reply to a prompt; `data` is the validated JSON if a schema was given.

    Calls, tokens and cost are those of this run: what a ledger gave is counted in `recorded` only.
    """

    text: str
    data: Any = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None  # None: the price is not known
    calls: int = 1  # 2 after a repair retry
    recorded: int = 0  # how many of its turns came from a ledger
    dropped: int = 0  # items that cannot be used, beside those in `data`
    error: str = ""  # why there is no usable reply; empty when there is one


class LLM(Protocol):
    """Replies to prompts."""

    @property
    def name(self) -> str: ...

    def complete(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """Return a reply for each prompt, in order.

        A reply that does not satisfy its schema after one repair retry has `error` set and
        `data` None, so that the step can fall back and count it; to a prompt that reads its parts
        one by one `data` has those that can be used. So has the reply to a prompt
        that the endpoint refuses while it takes others. Raises EndpointError where the endpoint
        cannot be used at all.
        """


class Turn(NamedTuple):
    """One raw reply of a model; `fault` is what a repair request asks to correct."""

    text: str
    fault: str = ""  # why the text is no whole reply
    prompt_tokens: int | None = None  # as billed; None: the model did not say
    completion_tokens: int | None = None
    cost_usd: float | None = None  # as the model itself says; None: its price decides
    seconds: float = 0.0  # that the exchange took, as whoever asked measured
    calls: int = 1  # more where an LLM made a repair of its own within the exchange


class PromptRefused(EndpointError):
    """The model rejects this prompt, for its length or content; others may be accepted."""


class Stopped(Exception):
    """The prompt was not sent because another one of its batch failed for good."""


class Deferred(Exception):
    """Some prompts wait in a batch; the others' replies were reported."""


OnLost = Callable[[bool], None]


class Chat(Protocol):
    """An LLM with single exchanges; `clew.models.recorded` makes an `LLM` of it.

    `ask` may be called from as many threads as `concurrency` says.
    """

    @property
    def name(self) -> str:
        """Return the model's name, followed by a space and whatever else affects its replies."""

    @property
    def concurrency(self) -> int: ...

    @property
    def price(self) -> Price | None:
        """Return dollars per million prompt and completion tokens; None if unknown."""

    def ask(
        self,
        prompt: Prompt,
        turns: Sequence[Turn] = (),
        *,
        stop: threading.Event | None = None,
        on_lost: OnLost | None = None,
    ) -> Turn:
        """Return the model's next reply, not validated against a schema.

        `turns` are its earlier replies, each with the fault that it is asked to repair. Passing
        faults are tried again. Each attempt that may have been billed although no reply came is
        told to `on_lost`, with whether another follows; what that raises ends the exchange.
        Raises PromptRefused, EndpointError, and Stopped where `stop` is set before an attempt.
        """

    def count_tokens(self, prompt: Prompt, turns: Sequence[Turn] = ()) -> int | None:
        """Return the prompt tokens as the model counts and bills them, None if unknown."""


class StreamingChat(Chat, Protocol):
    """A chat that streams the text of its replies."""

    def ask(
        self,
        prompt: Prompt,
        turns: Sequence[Turn] = (),
        *,
        stop: threading.Event | None = None,
        on_lost: OnLost | None = None,
        on_text: OnPiece | None = None,
    ) -> Turn:
        """Return the next reply, calling `on_text` with its text as it arrives.

        The pieces since the last None are together the text of the turn; None says that what was
        told before does not count, such as where a stream broke off and is asked for again. It is
        called in this thread, and what it raises ends the exchange.
        """


def is_streaming(chat: Chat) -> TypeGuard[StreamingChat]:
    """Check whether a chat streams its replies."""
    return "on_text" in signature(chat.ask).parameters


def is_chat(llm: object) -> TypeGuard[Chat]:
    """Check whether an LLM has single exchanges."""
    return hasattr(llm, "ask") and hasattr(llm, "count_tokens")


OnReply = Callable[[int, Reply], None]  # the prompt's position, and its reply


class ReadSpan(NamedTuple):
    """The range of a text that answers a question."""

    text: int  # its place among the texts, from 0
    start: int
    end: int
    probability: float  # as the model has it, among all ranges of its window and no answer


class SpanReader(Protocol):
    """Finds the range of a text that answers a question."""

    @property
    def name(self) -> str: ...

    def read(self, question: str, texts: Sequence[str]) -> ReadSpan | None:
        """Return the likeliest range over all texts, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The models of one run. Without an LLM, each step uses its fallback."""

    embedder: Embedder
    tagger: Tagger
    reranker: Reranker
    llm: LLM | None = None
    reader: SpanReader | None = None  # of short answers
    writes: bool = True  # whether the LLM writes answers; else they are quoted


_find_own = lazy(
    "clew.models",
    {
        "cooccurrence": ("Cooccurrence",),
        "ledger": ("Ledger",),
        "minilm": ("MiniLM",),
        "prices": ("Price", "parse_prices"),
        "recorded_llm": ("RecordedLLM", "recorded"),
        "rules": ("RuleTagger",),
    },
)
_REGISTERED = {  # public names of satellites, by which `load_module` finds them
    "LocalChat": "local",
    "OpenAIChat": "openai",
    "OpenAIEmbeddings": "openai",
}


def __getattr__(name: str) -> object:
    if name in _REGISTERED:
        return getattr(load_module(_REGISTERED[name]), name)
    return _find_own(name)


def load_module(name: str) -> Any:  # noqa: ANN401 -- a module of `clew.extras.models`
    """Return a registered module of models. Raises InputError if there is none."""
    plugins = import_module("clew.plugins")  # by an import mypy would see one circle of all modules
    return plugins.load("models", name, f"the model {name!r}")
