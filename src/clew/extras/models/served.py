"""Settings shared by models behind an endpoint, and a reranker endpoint.

It is asked by POST /rerank, as Jina, Cohere and vLLM understand that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from clew.base.runtime.lazy import check_installed
from clew.errors import BadReply
from clew.extras.models.refusals import Refused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.extras.models.http import Endpoint, Post
    from clew.models.run import ModelRun

STEP_S = 30.0  # for a step of a question on the way to its passages
PATIENCE_S = 600.0  # between attempts at a busy server in all, where nobody waits
_BATCH = 100  # texts in one request; a text's score does not depend on the others


@dataclass(frozen=True, kw_only=True)
class EndpointAddress:
    """The address of a server, and the settings of its requests."""

    base_url: str  # up to and with the version: https://api.openai.com/v1
    api_key: str = field(default="", repr=False)
    api_key_env: str = ""  # the environment variable to read the key from, if `api_key` is empty
    timeout_s: float = 60.0  # without a byte
    concurrency: int = 8
    attempts: int = 5
    patience_s: float = PATIENCE_S  # between attempts in all, where a server is overloaded
    # None: real time, cut short by a fatal error.
    sleep: Callable[[float], None] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Served(EndpointAddress):
    """A model at an address."""

    model: str

    def check(self) -> None:
        """Raise MissingExtra if the package for HTTP is missing."""
        check_installed("httpx2", "openai", "a model behind an HTTP endpoint")

    def endpoint_at(self, path: str) -> Endpoint:
        """Return the endpoint of these settings at `path` below the base URL."""
        from clew.extras.models.http import Endpoint

        settings = {each.name: getattr(self, each.name) for each in fields(EndpointAddress)}
        return Endpoint(path=path, **settings)


@dataclass(frozen=True, kw_only=True)
class RerankEndpoint(Served):
    """A cross-encoder behind an HTTP endpoint."""

    @property
    def name(self) -> str:
        return self.model

    def score(
        self, query: str, texts: Sequence[str], *, run: ModelRun | None = None
    ) -> NDArray[np.float64]:
        batches = [texts[i : i + _BATCH] for i in range(0, len(texts), _BATCH)]
        scores = self._endpoint.run_jobs(partial(self._score, query), batches, run=run)
        return np.concatenate([np.zeros(0), *scores])

    def _score(self, query: str, post: Post, batch: Sequence[str]) -> NDArray[np.float64]:
        n = len(batch)
        body = {"model": self.model, "query": query, "documents": list(batch), "top_n": n}
        try:
            reply = post(body)
        except Refused as refusal:
            if n == 1 or not refusal.is_of_prompt:
                raise
            size = -(-n // 2)  # too many, or one is too long
            parts = [batch[i : i + size] for i in range(0, n, size)]
            return np.concatenate([self._score(query, post, part) for part in parts])
        place = f"{self._endpoint.shown_address}, model {self.model}"
        try:
            results = sorted(reply["results"], key=lambda result: result["index"])
            indexes = [result["index"] for result in results]
            scores = np.array([float(result["relevance_score"]) for result in results])
        except (KeyError, OverflowError, TypeError, ValueError):
            raise BadReply(
                f"{place}: the reply is not a list of results with index and relevance_score"
            ) from None
        if indexes != list(range(n)):
            raise BadReply(f"{place}: {n} texts were sent, and not every one came back once")
        if not np.isfinite(scores).all():
            raise BadReply(f"{place}: a relevance score is not finite")
        return scores

    @cached_property
    def _endpoint(self) -> Endpoint:
        return self.endpoint_at("rerank")
