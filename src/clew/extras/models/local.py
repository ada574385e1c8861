"""Run a language model from a GGUF file in-process with llama.cpp: no key, no cost.

llama.cpp is spoken to as any other OpenAI-compatible endpoint, at an address of this machine that
it opens for this process.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.base.runtime.lazy import check_installed
from clew.errors import InputError, ModelError
from clew.models import Turn
from clew.models.prices import FREE, Price

if TYPE_CHECKING:
    from clew.extras.models.openai import OpenAIChat

_TOLD_BY = 1 << 20  # bytes at the start of a file that tell it apart, with its size
_LONGEST_S = 3600.0  # for one reply


@dataclass(frozen=True, kw_only=True)
class LocalChat:
    """The model in a GGUF `file`.

    Nothing is loaded before the first use. `n_ctx` is tokens of prompt and reply together; more
    `n_threads` than idle cores make it much slower.
    """

    file: Path
    n_threads: int = 1
    n_ctx: int = 8192
    temperature: float = 0.0
    top_p: float | None = None
    seed: int | None = None
    _starting: threading.Lock = field(
        default_factory=threading.Lock, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not 1 <= self.n_threads <= (os.cpu_count() or 1):
            raise InputError(
                f"n_threads of a local model is {self.n_threads}, but this machine has"
                f" {os.cpu_count()} cores"
            )

    @cached_property
    def name(self) -> str:
        from clew.extras.models.openai import name_sampled

        return name_sampled(self._model, self.temperature, self.top_p, self.seed)

    @cached_property
    def _model(self) -> str:
        """The file's name with its digest, without sampling parameters."""
        try:
            with self.file.open("rb") as opened:
                start = opened.read(_TOLD_BY)
            size = self.file.stat().st_size
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            raise InputError(f"the model file {self.file} {reason}") from error
        if not start.startswith(b"GGUF"):
            raise InputError(f"{self.file} is not a GGUF file")
        digest = hashlib.sha256(start + size.to_bytes(8, "little")).hexdigest()
        return f"{self.file.stem}-{digest[:8]}"

    @property
    def concurrency(self) -> int:
        return 1

    @property
    def price(self) -> Price | None:
        return FREE

    def ask(self, *given: Any, **options: Any) -> Turn:  # noqa: ANN401 -- those of `OpenAIChat.ask`
        return self._chat.ask(*given, **options)

    def count_tokens(self, *given: Any, **options: Any) -> int | None:  # noqa: ANN401 -- as above
        return self._chat.count_tokens(*given, **options)

    @property
    def _chat(self) -> OpenAIChat:
        with self._starting:  # one copy of the weights, whoever asks first
            return self._server[1]

    def check(self) -> None:
        """Raise MissingExtra if llama.cpp's package is missing."""
        check_installed("xllamacpp", "local", "a local model")

    @cached_property
    def _server(self) -> tuple[Any, OpenAIChat]:
        """Return the llama.cpp server owned by this object, and a chat client for it."""
        from clew.extras.models.openai import OpenAIChat

        self.check()
        import xllamacpp

        key = secrets.token_hex()  # other programs on this machine see the address
        settings = xllamacpp.CommonParams()
        settings.model.path = str(self.file)
        settings.n_ctx = self.n_ctx
        settings.n_parallel = 1
        settings.n_gpu_layers = 0  # the same replies on every machine
        settings.cpuparams.n_threads = self.n_threads
        settings.cpuparams_batch.n_threads = self.n_threads
        settings.api_keys = [key]
        settings.cache_prompt = False  # what was asked before must not change a reply
        settings.ui = False
        settings.verbosity = 0
        try:
            server = xllamacpp.Server(settings)
        except RuntimeError as error:
            raise ModelError(f"{settings.model.path} cannot be loaded: {error}") from error
        chat = OpenAIChat(
            base_url=f"{server.listening_address}/v1",
            model=self._model,
            api_key=key,
            temperature=self.temperature,
            top_p=self.top_p,
            seed=self.seed,
            timeout_s=_LONGEST_S,
            step_s=_LONGEST_S,
            concurrency=1,
            attempts=1,
        )
        return server, chat
