"""What the adapters behind an endpoint have in common: their settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.models.waiting import PATIENCE_S
from clew.runtime.lazy import check_installed

if TYPE_CHECKING:
    from clew.models.http import Endpoint


@dataclass(frozen=True, kw_only=True)
class Served:
    """A model at an address."""

    base_url: str  # up to and with the version: https://api.openai.com/v1
    model: str
    api_key: str = field(default="", repr=False)
    api_key_env: str = ""
    timeout_s: float = 60.0
    concurrency: int = 8
    attempts: int = 5
    patience_s: float = PATIENCE_S  # between attempts in all, at a server that is overloaded
    sleep: Callable[[float], None] | None = field(default=None, repr=False, compare=False)
    certificates: str = ""  # a PEM file of further certificates that are trusted

    def check(self) -> None:
        """Raise MissingExtra for want of the package that asks an endpoint."""
        check_installed("httpx2", "openai", "a model behind an HTTP endpoint")

    def endpoint_at(self, path: str) -> Endpoint:
        """Return the endpoint of these settings at `path` below the base URL."""
        from clew.models.http import Endpoint

        return Endpoint(
            base_url=self.base_url,
            path=path,
            api_key=self.api_key,
            api_key_env=self.api_key_env,
            timeout_s=self.timeout_s,
            concurrency=self.concurrency,
            attempts=self.attempts,
            patience_s=self.patience_s,
            sleep=self.sleep,
            certificates=self.certificates,
        )
