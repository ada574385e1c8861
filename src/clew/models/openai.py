"""Any OpenAI-compatible endpoint: chat completions and embeddings.

OpenAI, vLLM, Ollama, llama.cpp and many more speak it. Where an endpoint lacks a feature it says
so with HTTP 400; the feature is then left out for the rest of the run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.errors import BadReply, EndpointError, InputError, MissingExtra
from clew.models import Kind, Prompt, Reply

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.models.http import Endpoint, Post, Refused

_PLAIN = "Reply with one JSON value and nothing else. It must satisfy this JSON schema:\n"
_REPAIR = "That reply cannot be used: {fault}. Reply again with nothing but corrected JSON."

_BATCH = 128  # texts in one embedding request
_STARTS = 1000  # brackets tried in one reply, so that a hostile one costs little
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*)```", re.DOTALL)
_BRACKET = re.compile(r"[\[{]")


@dataclass(frozen=True, slots=True)
class _Turn:
    text: str
    fault: str  # why the text is no whole reply
    tokens: tuple[int, int] | None  # of the prompt and the completion


@dataclass(frozen=True, kw_only=True)
class OpenAIChat:
    """An LLM behind /chat/completions. `prices`: model to dollars per 1M tokens, in and out."""

    base_url: str  # up to and with the version: https://api.openai.com/v1
    model: str
    api_key: str = field(default="", repr=False)
    api_key_env: str = ""
    timeout_s: float = 120.0
    concurrency: int = 8
    attempts: int = 5
    temperature: float | None = 0.0  # None: the endpoint's own
    json_schema: bool = True  # the endpoint can hold a reply to a schema
    prices: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    sleep: Callable[[float], None] | None = field(default=None, repr=False, compare=False)
    _lacks: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        return f"{self.model} at temperature {self.temperature}" if self.temperature else self.model

    def complete(self, prompts: Sequence[Prompt]) -> list[Reply]:
        for prompt in prompts:
            _validator(prompt.schema)  # a broken schema is found before anything is paid for
        return self._endpoint.run(self._complete, prompts)

    def _complete(self, post: Post, prompt: Prompt) -> Reply:
        turns = [self._ask(post, prompt, [])]
        data, fault = _check(turns[0], prompt)
        if fault and prompt.schema is not None:
            repair = [
                {"role": "assistant", "content": turns[0].text},
                {"role": "user", "content": _REPAIR.format(fault=fault)},
            ]
            turns.append(self._ask(post, prompt, repair))
            data, fault = _check(turns[1], prompt)
        counted = [turn.tokens for turn in turns if turn.tokens is not None]
        n_prompt, n_completion = (sum(column) for column in zip((0, 0), *counted, strict=True))
        price = self.prices.get(self.model) if len(counted) == len(turns) else None
        return Reply(
            text=turns[-1].text,
            data=data,
            prompt_tokens=n_prompt,
            completion_tokens=n_completion,
            cost_usd=price and (n_prompt * price[0] + n_completion * price[1]) / 1e6,
            calls=len(turns),
            error=fault,
        )

    def _ask(self, post: Post, prompt: Prompt, repair: list[dict[str, str]]) -> _Turn:
        from clew.models.http import Refused

        while True:
            body = self._body(prompt, repair)
            try:
                return self._read(post(body))
            except Refused as refusal:
                lacking = _lacking(refusal, body)
                if not lacking:
                    raise
                self._lacks.add(lacking)

    def _body(self, prompt: Prompt, repair: list[dict[str, str]]) -> dict[str, object]:
        """Return the request, without what the endpoint has refused before."""
        held = prompt.schema is not None and self.json_schema
        held = held and "response_format" not in self._lacks
        system = prompt.system
        if prompt.schema is not None and not held:
            system = f"{system}\n\n{_PLAIN}{json.dumps(prompt.schema)}".lstrip()
        messages = [{"role": "system", "content": system}] if system else []
        limit = "max_completion_tokens" if "max_tokens" in self._lacks else "max_tokens"
        body: dict[str, object] = {
            "model": self.model,
            "messages": [*messages, {"role": "user", "content": prompt.user}, *repair],
            limit: prompt.max_tokens,
        }
        if self.temperature is not None and "temperature" not in self._lacks:
            body["temperature"] = self.temperature
        if held:
            shape = {"name": "reply", "schema": prompt.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        return body

    def _read(self, reply: Any) -> _Turn:  # noqa: ANN401 -- parsed JSON
        try:
            choice = reply["choices"][0]
            message = choice["message"]
            text = _text(message.get("content"))
            refusal = _text(message.get("refusal"))
        except (KeyError, IndexError, TypeError, AttributeError):
            raise BadReply(
                f"{self._endpoint.shown}, model {self.model}: the reply is no chat completion."
                f" Hint: check that the base URL is that of an OpenAI-compatible API"
            ) from None
        fault = "" if text else f"the reply is empty {refusal}".strip()
        if choice.get("finish_reason") == "length":
            fault = "the reply was truncated at the token limit"
        return _Turn(text, fault, _tokens(reply.get("usage")))

    @cached_property
    def _endpoint(self) -> Endpoint:
        from clew.models.http import endpoint_of

        return endpoint_of(self, "chat/completions")


@dataclass(frozen=True, kw_only=True)
class OpenAIEmbeddings:
    """An embedder behind /embeddings. Without `expected_dimension` the first reply teaches it."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    api_key_env: str = ""
    timeout_s: float = 60.0
    concurrency: int = 8
    attempts: int = 5
    expected_dimension: int | None = None
    query_prefix: str = ""  # as the model's card asks: "query: ", "search_query: "
    document_prefix: str = ""
    sleep: Callable[[float], None] | None = field(default=None, repr=False, compare=False)
    _seen: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        if not self.query_prefix and not self.document_prefix:
            return self.model
        return f"{self.model} with {self.query_prefix!r} and {self.document_prefix!r}"

    @property
    def dimension(self) -> int:
        if self.expected_dimension is not None:
            return self.expected_dimension
        if "dimension" not in self._seen:
            self.embed(["dimension"], kind="query")  # one small request
        return self._seen["dimension"]

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        prefix = self.query_prefix if kind == "query" else self.document_prefix
        inputs = [prefix + text or " " for text in texts]  # an empty input is refused by many
        batches = [inputs[i : i + _BATCH] for i in range(0, len(inputs), _BATCH)]
        return np.concatenate(self._endpoint.run(self._embed, batches))

    def _embed(self, post: Post, batch: Sequence[str]) -> NDArray[np.float32]:
        reply = post({"model": self.model, "input": batch})
        place = f"{self._endpoint.shown}, model {self.model}"
        try:
            rows = sorted(reply["data"], key=lambda item: item["index"])
            indexes = [item["index"] for item in rows]
            vectors = np.array([item["embedding"] for item in rows], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise BadReply(f"{place}: the reply is no list of vectors of one length") from None
        if indexes != list(range(len(batch))):
            raise BadReply(f"{place}: {len(rows)} vectors or wrong indexes for {len(batch)} texts")
        if vectors.ndim != 2 or not vectors.size:
            raise BadReply(f"{place}: the reply is no list of vectors of one length")
        d = vectors.shape[1]
        known = self.expected_dimension or self._seen.setdefault("dimension", d)
        if d != known:
            raise EndpointError(
                f"{place}: vectors of dimension {d} came where {known} was expected."
                f" Hint: name the model that the other vectors are from"
            )
        with np.errstate(over="ignore"):
            lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise BadReply(f"{place}: a vector is zero or not finite, so it has no direction")
        return np.asarray(vectors / lengths, dtype=np.float32)

    @cached_property
    def _endpoint(self) -> Endpoint:
        from clew.models.http import endpoint_of

        return endpoint_of(self, "embeddings")


def json_values(text: str) -> Iterator[Any]:
    """Yield the JSON values in a reply: the whole, what a code fence holds, then from each bracket.

    >>> list(json_values('Sure, here it is: {"a": [1]} Anything else?'))
    [{'a': [1]}]
    """
    fence = _FENCED.search(text)
    for whole in (text.strip(), fence[1].strip() if fence else ""):
        try:
            value, end = _value_at(whole, 0)
        except (ValueError, RecursionError):
            continue
        if end == len(whole):
            yield value
    start = 0
    for _ in range(_STARTS):
        bracket = _BRACKET.search(text, start)
        if bracket is None:
            return
        try:
            value, start = _value_at(text, bracket.start())
        except (ValueError, RecursionError):
            start = bracket.end()
        else:
            yield value


def _value_at(text: str, start: int) -> tuple[Any, int]:
    value, end = _DECODER.raw_decode(text, start)
    json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    return value, end


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def _check(turn: _Turn, prompt: Prompt) -> tuple[Any, str]:
    """Return the validated JSON of a reply where a schema was asked for, and what is wrong."""
    validate = _validator(prompt.schema)
    if validate is None:
        # An answer that ran into its limit is still an answer; an empty one is not.
        return None, "" if turn.text else turn.fault
    fault = turn.fault
    for value in () if fault else json_values(turn.text):
        problem = validate(value)
        if not problem:
            return value, ""
        fault = fault or problem
    return None, fault or "there is no JSON in it"


def _validator(schema: Mapping[str, Any] | None) -> Callable[[Any], str] | None:
    return None if schema is None else _compiled(json.dumps(schema))


@lru_cache(maxsize=64)
def _compiled(schema: str) -> Callable[[Any], str]:
    """Return a function from a value to what is wrong with it, empty for nothing."""
    try:
        import fastjsonschema
    except ImportError as error:
        raise MissingExtra("fastjsonschema", "openai", "a reply that follows a schema") from error
    try:
        validate = fastjsonschema.compile(json.loads(schema), use_default=False)
    except fastjsonschema.JsonSchemaDefinitionException as error:
        raise InputError(f"the JSON schema of a prompt is not valid: {error}") from error

    def problem(value: Any) -> str:  # noqa: ANN401 -- parsed JSON
        try:
            validate(value)
        except fastjsonschema.JsonSchemaValueException as error:
            return str(error)
        return ""

    return problem


def _text(content: Any) -> str:  # noqa: ANN401 -- parsed JSON
    """Return the words of a message: a string, or a list of parts; without a model's thoughts."""
    if isinstance(content, list):
        content = "".join(str(part["text"]) for part in content if part.get("text"))
    text = _THOUGHTS.sub("", content or "").strip()
    return text.encode("utf-8", "replace").decode()


def _tokens(usage: Any) -> tuple[int, int] | None:  # noqa: ANN401 -- parsed JSON
    try:
        return int(usage["prompt_tokens"]), int(usage["completion_tokens"])
    except (KeyError, TypeError, ValueError):
        return None


def _lacking(refusal: Refused, body: Mapping[str, object]) -> str:
    """Return which part of a refused request the endpoint does not know, empty if none."""
    signs = {
        "response_format": ("response_format", "json_schema"),
        "max_tokens": ("max_completion_tokens",),  # the new name, which some models insist on
        "temperature": ("temperature",),
    }
    if refusal.status not in {400, 422}:
        return ""
    named = (p for p in signs if p in body and any(s in refusal.reason for s in signs[p]))
    return next(named, "")
