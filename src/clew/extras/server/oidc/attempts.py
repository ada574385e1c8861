"""A sign-in attempt, bound to the browser that began it."""

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Self

ATTEMPT_S = 600  # that a person has at the provider
_AHEAD_S = 60  # of clocks of several servers
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_TEXT = re.compile(r"([0-9]{1,12})\.[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A sign-in attempt: a cookie's secret, from which state, nonce and code verifier derive.

    No server remembers it, so any server of a home may end what another one began. Who changes
    when it was begun has other derived values, which no provider sends back.
    """

    text: str = field(repr=False)  # when it was begun, in seconds since 1970, and 256 random bits

    @classmethod
    def begin(cls, now: float) -> Self:
        return cls(f"{int(now)}.{secrets.token_urlsafe(32)}")

    @classmethod
    def read(cls, text: str, now: float) -> Self | None:
        """Return the attempt of a cookie, or None if it is invalid or expired."""
        match = _TEXT.fullmatch(text)
        if match is None or not -_AHEAD_S <= now - int(match[1]) <= ATTEMPT_S:
            return None
        return cls(text)

    @property
    def state(self) -> str:
        return self._derive("state")

    @property
    def nonce(self) -> str:
        return self._derive("nonce")

    @property
    def verifier(self) -> str:
        """The code verifier of PKCE: 43 characters."""
        return self._derive("verifier")

    def is_of(self, state: str) -> bool:
        return hmac.compare_digest(self.state.encode(), state.encode("utf-8", "replace"))

    def _derive(self, name: str) -> str:
        found = hmac.digest(self.text.encode(), name.encode(), hashlib.sha256)
        return base64.urlsafe_b64encode(found).rstrip(b"=").decode()


def is_error_code(text: str) -> bool:
    """Check for an OAuth error code such as "access_denied", which is safe to show."""
    return _CODE.fullmatch(text) is not None
