"""Any OpenAI-compatible endpoint: chat completions and embeddings.

OpenAI, vLLM, Ollama, llama.cpp and many more speak it. What an endpoint refuses of a request that
can do without it is left out, then and for the rest of the run.
"""

from __future__ import annotations

import base64
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn
from urllib.parse import urlsplit

import numpy as np

from clew.errors import BadReply, EndpointError, InputError
from clew.extras.models.embedding_batches import Embedded, EmbeddingBatches, join_embedded
from clew.extras.models.refusals import (
    LIMIT,
    NEW_LIMIT,
    SCHEMA,
    STREAM,
    SYSTEM,
    TEMPERATURE,
    Refused,
    find_remedy,
)
from clew.extras.models.served import STEP_S, Served
from clew.extras.models.spoken import SpokenStream
from clew.models import Keep, Kind, OnLost, Prompt, PromptRefused, Reply, Turn
from clew.models.budget import Budget, Purchase, bill
from clew.models.prices import Price, embedding_price, list_price
from clew.models.replies import messages
from clew.models.thoughts import begins_in_thoughts, strip_thoughts
from clew.text import tokens
from clew.text.pieces import OnPiece, PieceStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.extras.models.batches import Batches
    from clew.extras.models.http import Endpoint, Post
    from clew.models.run import ModelRun

_log = logging.getLogger(__name__)

_REPLY_BYTES, _TOKEN_BYTES = 1 << 18, 1 << 10  # of a chat's reply at the most: and each token
_VECTOR_BYTES = 1 << 19  # of one vector at the most, as JSON
_SLACK = 16  # tokens beyond what was asked for, such as marks of a template
_CUT = "the reply was truncated at the token limit"
_CUT_IN_THOUGHTS = f"{_CUT}, within the model's thoughts"
_LATE_TAG = "<think>"  # the model's thoughts have no first tag
_TRIES = 6  # of one request, each without more of what it can do without
_MOST_TOKENS = 1 << 32  # of a request: a larger number is no count
_AROUND = 8  # tokens that may stand around a text, at the most
_BATCH = 128  # texts in one embedding request
_CUT_TEXTS = (
    "%d of %d texts are longer than %s takes: they were cut, and the vectors of their parts"
    " averaged; the first begins %r. Hint: a smaller --chunk-size"
)
_BARE_TEXTS = "%d of %d texts get no vector from %s, so only their words find them; the first: %r"
_SHOWN = 60  # characters of a text that a note names
_OPENAI_HOST = "api.openai.com"
_V1 = re.compile(r"/v1/?\Z")


def name_sampled(
    model: str, temperature: float, top_p: float | None = None, seed: int | None = None
) -> str:
    """Return a model's name with its non-default sampling parameters."""
    drawn = {"temperature": temperature or None, "top_p": top_p, "seed": seed}
    options = [f"{name} {value}" for name, value in drawn.items() if value is not None]
    return f"{model} at {', '.join(options)}" if options else model


@dataclass(frozen=True, kw_only=True)
class OpenAIChat(Served):
    """An LLM behind /chat/completions. `prices`: model to dollars per 1M tokens, in and out."""

    reads_pictures: ClassVar = True  # where its model does
    timeout_s: float = 120.0
    step_s: float = STEP_S  # the same, at most, for a step of a question before its answer
    temperature: float | None = 0.0  # None: the endpoint's own
    top_p: float | None = None
    seed: int | None = None
    json_schema: bool = True  # the endpoint can hold a reply to a schema
    prices: Mapping[str, Price] = field(default_factory=dict)
    _lacks: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    _most: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        """Return the model, its address unless OpenAI's, and its sampling parameters."""
        parts = urlsplit(self.base_url)
        at_openai = parts.hostname == _OPENAI_HOST
        place = parts.netloc.rpartition("@")[2] + parts.path.rstrip("/")
        model = self.model if at_openai else f"{self.model} of {place}"
        if self.temperature is None:
            return f"{model} at its own temperature"
        return name_sampled(model, self.temperature, self.top_p, self.seed)

    @property
    def price(self) -> Price | None:
        return self.prices.get(self.model) or list_price(self.model, self.base_url)

    def complete(self, prompts: Sequence[Prompt]) -> list[Reply]:
        from clew.models.recorded_llm import RecordedLLM

        return RecordedLLM(self).complete(prompts)

    def ask(
        self,
        prompt: Prompt,
        turns: Sequence[Turn] = (),
        *,
        stop: threading.Event | None = None,
        on_lost: OnLost | None = None,
        on_text: OnPiece | None = None,
        run: ModelRun | None = None,
    ) -> Turn:
        most_bytes = _REPLY_BYTES + _TOKEN_BYTES * prompt.max_tokens
        # What comes is paid for, or waited for.
        is_streamed = on_lost is not None or on_text is not None
        heard = None if on_text is None else _Heard(on_text, waits=_LATE_TAG in self._lacks)
        lacks: set[str] = set()  # beside what the endpoint is known to lack
        limit = min(prompt.max_tokens, self._most.get(LIMIT, prompt.max_tokens))
        first, is_lasting = None, False
        for tries in range(1, _TRIES + 1):
            body = self._body(prompt, turns, lacks, limit)
            if is_streamed and STREAM not in self._lacks | lacks:
                body |= {STREAM: True, "stream_options": {"include_usage": True}}
            try:
                reply = self._endpoint.post(
                    body,
                    stop=stop,
                    on_lost=on_lost,
                    most_bytes=most_bytes,
                    watch=partial(_Watched, prompt.max_tokens),
                    hear=heard,
                    run=run,
                    part=prompt.part,
                )
                break
            except Refused as refusal:
                first = first or refusal
                remedy = find_remedy(refusal, body, limit)
                if remedy is None or tries == _TRIES:
                    _raise_refusal(first)
                first = None if remedy.is_named else first  # what it says next counts
                lacks |= remedy.fields
                limit, is_lasting = remedy.limit, remedy.is_lasting
        self._lacks.update(lacks)
        if is_lasting:
            self._most[LIMIT] = limit
        turn = self.read_reply(reply)
        if heard is not None:
            heard.end(turn.text)
        return turn

    def count_tokens(
        self, prompt: Prompt, turns: Sequence[Turn] = (), *, run: ModelRun | None = None
    ) -> int | None:
        """Return the token count by a llama.cpp server; other endpoints have no such call."""
        if not self._is_llama:
            return None
        try:
            body = self.request_body(prompt, turns)
            filled = self._at_root("apply-template").post(body, run=run, part="step")
            request = {"content": filled["prompt"], "add_special": True, "parse_special": True}
            counted = self._at_root("tokenize").post(request, run=run, part="step")
            return len(counted["tokens"])
        except (EndpointError, KeyError, TypeError):
            return None  # an old server: it is not known, which is no fault

    def open_batches(self, **of_run: Any) -> Batches:  # noqa: ANN401 -- of `Batches`
        """Return the batches by which an extraction may ask this model, one prompt at a time."""
        from clew.extras.models.batches import Batches

        return Batches(chat=replace(self, concurrency=1), **of_run)

    def request_body(self, prompt: Prompt, turns: Sequence[Turn] = ()) -> dict[str, object]:
        """Return a request body, without what the endpoint is known to refuse."""
        limit = min(prompt.max_tokens, self._most.get(LIMIT, prompt.max_tokens))
        return self._body(prompt, turns, frozenset(), limit)

    def _body(
        self, prompt: Prompt, turns: Sequence[Turn], lacks: AbstractSet[str], limit: int
    ) -> dict[str, object]:
        """Return a request body, without the fields that the endpoint refuses."""
        lacks = self._lacks | lacks
        can_hold = self.json_schema and SCHEMA not in lacks
        held = prompt.schema is not None and can_hold  # to its schema, by the endpoint itself
        # Some take a schema and do not keep to it: a repair has it in words, too.
        conversation = messages(prompt, turns, in_words=not held or bool(turns))
        if SYSTEM in lacks and conversation[0]["role"] == SYSTEM:
            system, first, *rest = conversation
            joined = f"{system['content']}\n\n{first['content']}"
            conversation = [{"role": "user", "content": joined}, *rest]
        if prompt.picture:
            conversation = [_add_picture(each, prompt) for each in conversation]
        body: dict[str, object] = {"model": self.model, "messages": conversation}
        if NEW_LIMIT not in lacks:
            body[NEW_LIMIT if LIMIT in lacks else LIMIT] = limit
        if self.temperature is not None and TEMPERATURE not in lacks:
            body[TEMPERATURE] = self.temperature
        drawn = {"top_p": self.top_p, "seed": self.seed}
        body |= {name: value for name, value in drawn.items() if value is not None}
        if held:
            shape = {"name": "reply", "schema": prompt.schema, "strict": True}
            body[SCHEMA] = {"type": "json_schema", "json_schema": shape}
        return body

    def read_reply(self, reply: Any) -> Turn:  # noqa: ANN401 -- parsed JSON
        """Return the turn in a chat completion, or in its events. Raises BadReply."""
        try:
            whole = _join_events(reply) if isinstance(reply, list) else reply
            turn = read_completion(whole)
            choice = whole["choices"][0]
            if begins_in_thoughts(_plain(choice["message"].get("content"))):
                self._lacks.add(_LATE_TAG)
            elif _LATE_TAG in self._lacks and choice.get("finish_reason") == "length":
                turn = turn._replace(text="", fault=_CUT_IN_THOUGHTS)
            if whole is not reply and turn.prompt_tokens is None:
                self._lacks.add(STREAM)  # it is stated where nothing is streamed
            return turn
        except (KeyError, IndexError, TypeError, AttributeError):
            raise BadReply(
                f"{self._endpoint.shown_address}, model {self.model}: the reply is not a chat"
                f" completion. Hint: check that the base URL is that of an OpenAI-compatible API"
            ) from None

    def _at_root(self, path: str) -> Endpoint:
        """Return an endpoint of a llama.cpp server outside `/v1`."""
        return replace(self.endpoint_at(path), base_url=_V1.sub("", self.base_url))

    @cached_property
    def _is_llama(self) -> bool:
        if urlsplit(self.base_url).hostname == _OPENAI_HOST:
            return False
        props = self._at_root("props").look()
        return isinstance(props, dict) and "default_generation_settings" in props

    def reach(self) -> None:
        """Raise EndpointError if the address does not respond, InputError without a key."""
        self._endpoint.reach()

    @cached_property
    def _endpoint(self) -> Endpoint:
        return replace(self.endpoint_at("chat/completions"), step_s=self.step_s)


@dataclass(frozen=True, kw_only=True)
class OpenAIEmbeddings(Served):
    """An embedder behind /embeddings; the dimension is read from the first reply by default."""

    expected_dimension: int | None = None
    query_prefix: str = ""  # as the model's card asks: "query: ", "search_query: "
    document_prefix: str = ""
    prices: Mapping[str, Price] = field(default_factory=dict)
    batch_size: int = _BATCH  # texts in one request at the most; fewer where that is refused
    _batches: EmbeddingBatches = field(
        default_factory=EmbeddingBatches, init=False, repr=False, compare=False
    )
    _seen: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise InputError(f"batch_size of an embedder is {self.batch_size}: it must be positive")

    @property
    def name(self) -> str:
        if not self.query_prefix and not self.document_prefix:
            return self.model
        return f"{self.model} with {self.query_prefix!r} and {self.document_prefix!r}"

    @property
    def dimension(self) -> int:
        if self.expected_dimension is not None:
            return self.expected_dimension
        for text in self.dimension_texts():
            self.embed([text], kind="query")  # one small request
        return self._seen["dimension"]

    def embed(
        self,
        texts: Sequence[str],
        *,
        kind: Kind,
        keep: Keep | None = None,
        run: ModelRun | None = None,
    ) -> NDArray[np.float32]:
        """Return a unit row for each text; `keep` is called with rows as they arrive."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        prefix = self._prefix(kind)
        inputs = [prefix + text or " " for text in texts]  # an empty input is refused by many

        def job(post: Post, first: int) -> Embedded:
            batch = inputs[first : first + self.batch_size]
            ask = partial(self._embed, post, run)
            return self._batches.embed(ask, batch, first=first, prefix=prefix, keep=keep)

        firsts = range(0, len(inputs), self.batch_size)
        most_bytes = self.batch_size * _VECTOR_BYTES
        rows, cut, bare = join_embedded(self._endpoint.run_jobs(job, firsts, most_bytes, run=run))
        if bare and kind == "query":
            raise bare[min(bare)]  # nothing is found without its vector
        for positions, what in ((cut, _CUT_TEXTS), (bare, _BARE_TEXTS)):
            if positions:
                begin = " ".join(texts[min(positions)].split())[:_SHOWN]
                _log.warning(what, len(positions), len(inputs), self.model, begin)
        return rows

    @property
    def price(self) -> Price | None:
        """Return the dollars per million input tokens, and 0 for output; None if unknown."""
        return self.prices.get(self.model) or embedding_price(self.model, self.base_url)

    def unpaid(self, texts: Sequence[str], *, kind: Kind) -> Sequence[str]:
        """Return all texts with their prefix, as there is no cache here."""
        prefix = self._prefix(kind)
        return [prefix + text for text in texts]

    def dimension_texts(self) -> Sequence[str]:
        is_known = self.expected_dimension is not None or "dimension" in self._seen
        return [] if is_known else ["dimension"]

    def _prefix(self, kind: Kind) -> str:
        return self.query_prefix if kind == "query" else self.document_prefix

    def _buy(self, post: Post, batch: Sequence[str], run: ModelRun | None) -> Any:  # noqa: ANN401
        """Return the parsed reply to a request, charged to the run."""
        body = {"model": self.model, "input": batch}
        if run is None:
            return post(body)
        worst = sum(len(text.encode("utf-8", "replace")) + _AROUND for text in batch)
        at_openai = urlsplit(self.base_url).hostname == _OPENAI_HOST
        exact = at_openai and self.model.startswith("text-embedding-")  # tokens of `cl100k_base`
        with Purchase(run.budget or Budget(), bill(worst, 0, self.price)) as purchase:
            reply = post(body, on_lost=purchase.set_aside_again)
            billed = bill(_count_billed_tokens(reply, batch, exact=exact), 0, self.price)
            purchase.settle(billed)
        run.meter.add_bill(billed)
        return reply

    def _embed(self, post: Post, run: ModelRun | None, batch: Sequence[str]) -> NDArray[np.float32]:
        """Return the unit vectors of one request."""
        reply = self._buy(post, batch, run)
        place = f"{self._endpoint.shown_address}, model {self.model}"
        try:
            rows = [_read_vector(item["embedding"]) for item in reply["data"]]
            order = _find_order([item.get("index") for item in reply["data"]])
            vectors = np.array([rows[i] for i in order], dtype=np.float64)
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
            raise BadReply(f"{place}: the reply is not a list of vectors of one length") from None
        if len(order) != len(batch):
            raise BadReply(f"{place}: {len(rows)} vectors or wrong indexes for {len(batch)} texts")
        if vectors.ndim != 2 or not vectors.size:
            raise BadReply(f"{place}: the reply is not a list of vectors of one length")
        d = vectors.shape[1]
        expected = self.expected_dimension or self._seen.setdefault("dimension", d)
        if d != expected:
            raise EndpointError(
                f"{place}: the vectors have dimension {d}, not {expected}."
                f" Hint: use the model of the other vectors"
            )
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise BadReply(f"{place}: a vector is zero or not finite")
        return np.asarray(vectors / lengths, dtype=np.float32)

    @cached_property
    def _endpoint(self) -> Endpoint:
        return self.endpoint_at("embeddings")


def _count_billed_tokens(reply: Any, batch: Sequence[str], *, exact: bool) -> int:  # noqa: ANN401 -- parsed JSON
    """Return the billed tokens: as stated by the server, but at least our own count.

    `exact`: the model's tokens are those that we count.
    """
    usage = reply.get("usage") if isinstance(reply, dict) else None
    usage = usage if isinstance(usage, dict) else {}
    counts = (_count(usage.get(name)) for name in ("prompt_tokens", "total_tokens"))
    stated = max((count for count in counts if count is not None), default=None)
    count = tokens.count if exact or stated is None else tokens.count_at_least
    return max(stated or 0, sum(map(count, batch)))


class _Watched:
    """Accumulates a streamed reply, and stops it at the requested length."""

    def __init__(self, max_tokens: int) -> None:
        self._most = max_tokens + _SLACK
        self._text = ""
        self._looked = 0  # characters that were counted

    def __call__(self, event: Any) -> None:  # noqa: ANN401 -- parsed JSON
        from clew.extras.models.http import TooMuch

        delta = _delta(event)
        text = (words for name, words in delta.items() if name != "role")  # a model's thoughts, too
        self._text += "".join(words for words in text if isinstance(words, str))
        if len(self._text) < self._looked + self._most:  # so it is counted some times in all
            return
        self._looked = len(self._text)
        if tokens.count_at_least(self._text) > self._most:
            raise TooMuch(f"a reply of more than {self._most:,} tokens")


class _Heard:
    """Passes on a streamed reply's text; `waits` as in `SpokenStream`."""

    def __init__(self, on_text: OnPiece, *, waits: bool) -> None:
        self._pieces = PieceStream(on_text)
        self._spoken = SpokenStream(self._pieces, waits=waits)

    def __call__(self, event: Any) -> None:  # noqa: ANN401 -- parsed JSON, None: another attempt
        if event is None:
            self._spoken.restart()
            return
        content = _delta(event).get("content")
        if isinstance(content, str | list):
            self._spoken.add(_plain(content))

    def end(self, text: str) -> None:
        """Pass on the rest of the text."""
        self._pieces.end(text)


def _delta(event: Any) -> Mapping[str, Any]:  # noqa: ANN401 -- parsed JSON
    """Return the delta of a stream event, empty if missing."""
    try:
        delta = event["choices"][0]["delta"]
    except (KeyError, IndexError, TypeError):
        return {}  # the last one has the usage alone
    return delta if isinstance(delta, dict) else {}


def _join_events(events: Sequence[Any]) -> dict[str, Any]:
    """Join the events of a stream into a chat completion."""
    message = dict.fromkeys(("content", "refusal", *_THOUGHTS), "")
    reason, usage, choices = None, None, 0
    for event in events:
        delta = _delta(event)
        for name in message:
            message[name] += _plain(delta.get(name))
        if event.get("choices"):
            choices += 1
            reason = event["choices"][0].get("finish_reason") or reason
        usage = event.get("usage") or usage
    if not choices:
        raise KeyError("choices")
    return {"choices": [{"message": message, "finish_reason": reason}], "usage": usage}


def read_completion(reply: Any) -> Turn:  # noqa: ANN401 -- parsed JSON
    """Return the turn in a chat completion.

    Raises KeyError, IndexError, TypeError or AttributeError for JSON that is none.
    """
    choice = reply["choices"][0]
    message = choice["message"]
    text, is_thinking = strip_thoughts(_plain(message.get("content")))
    refusal, _ = strip_thoughts(_plain(message.get("refusal")))
    thought = is_thinking or any(message.get(name) for name in _THOUGHTS)
    fault = ""
    if not text:
        fault = f"the reply is empty {refusal}" if refusal else "the reply is empty"
        fault = f"{fault}: the model wrote only its thoughts" if thought and not refusal else fault
        if choice.get("finish_reason") == "content_filter":
            fault = f"{fault}: a content filter withheld it"
    if choice.get("finish_reason") == "length":
        fault = _CUT_IN_THOUGHTS if is_thinking or (thought and not text) else _CUT
    if choice.get("finish_reason") == "error":
        fault = "the reply broke off in an error of the server"
    return Turn(text, fault, *_tokens(reply.get("usage")))


_THOUGHTS = ("reasoning_content", "reasoning", "thinking")  # of a message, beside its content


def _add_picture(message: dict[str, Any], prompt: Prompt) -> dict[str, Any]:
    """Return a message of the user with the picture of its prompt behind the words."""
    if message["content"] != prompt.user:
        return message
    shown = {"type": "image_url", "image_url": {"url": prompt.picture}}
    return {**message, "content": [{"type": "text", "text": prompt.user}, shown]}


def _plain(content: Any) -> str:  # noqa: ANN401 -- parsed JSON
    """Return the text of a message, given as a string or parts, without reasoning parts."""
    if isinstance(content, list):
        parts = (
            p for p in content if p.get("text") and not _OF_THOUGHTS.search(str(p.get("type")))
        )
        return "".join(str(part["text"]) for part in parts)
    return content or ""


_OF_THOUGHTS = re.compile("think|reason|thought")


def _tokens(usage: Any) -> tuple[int | None, int | None]:  # noqa: ANN401 -- parsed JSON
    """Return the prompt and reply tokens, None for both if not stated.

    What the total has beyond the two is billed too, and counts with the reply: some endpoints
    state a model's hidden thoughts nowhere else. Numbers that no reply can have state nothing.
    """
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    stated = {} if not isinstance(usage, dict) else {n: usage[n] for n in names if n in usage}
    counts = {name: _count(value) for name, value in stated.items() if value is not None}
    if None in counts.values() or "prompt_tokens" not in counts or len(counts) == 1:
        return None, None
    given, taken, total = (counts.get(name) or 0 for name in names)
    return given, max(taken, total - given)


def _count(number: Any) -> int | None:  # noqa: ANN401 -- parsed JSON
    """Return a token count, None for an invalid value."""
    try:
        count = int(number)
    except (OverflowError, TypeError, ValueError):  # such as 1e400, which JSON allows
        return None
    return count if 0 <= count <= _MOST_TOKENS else None


def _raise_refusal(refusal: Refused) -> NoReturn:
    """Raise a refusal; as PromptRefused if a different prompt may be accepted."""
    if not refusal.is_of_prompt:
        raise refusal
    of_prompt = PromptRefused(str(refusal))
    of_prompt.brief = refusal.brief
    raise of_prompt from refusal


def _find_order(indexes: Sequence[object]) -> list[int]:
    """Return the positions that sort vectors by text, or None if indexes are not a permutation.

    Some servers leave out the index, that of the first alone, or say 0 for each.
    """
    n = len(indexes)
    if all(index in {None, 0} for index in indexes):
        return list(range(n))
    rest = set(range(n)).difference(each for each in indexes if isinstance(each, int))
    if indexes.count(None) == len(rest) == 1:
        [missing] = rest
        indexes = [missing if each is None else each for each in indexes]
    given = {index: place for place, index in enumerate(indexes)}
    return [given[i] for i in range(n)] if given.keys() == set(range(n)) else []


def _read_vector(embedding: Any) -> Any:  # noqa: ANN401 -- parsed JSON
    """Return a vector given as a list, a nested list, or base64 of float32."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), dtype="<f4")
    is_nested = isinstance(embedding, list) and len(embedding) == 1
    return embedding[0] if is_nested and isinstance(embedding[0], list) else embedding
