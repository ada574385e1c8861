"""Interpret a server's refusal, and find a changed request that it may accept.

Each says it in words of its own, so signs are looked for in all that it says: the names of fields,
and how the fields are spoken of. There is no table of providers, since gateways and versions differ
behind one address.
"""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from clew.errors import EndpointError

STREAM, SYSTEM, TEMPERATURE, SCHEMA = "stream", "system", "temperature", "response_format"
LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
_OPTIONAL = {  # fields that a request can do without, in the order of their signs
    SCHEMA: r"response.?format|json.?(?:schema|output|mode|object)|structured|grammar",
    TEMPERATURE: r"temperature",
    STREAM: r"stream",
    SYSTEM: r"(?:system|developer).{0,3}(?:role|message|prompt|instruction)|roles? must alternate"
    r"|role.{0,20}\b(?:system|developer)\b|only.{0,20}\buser\b.{0,20}\bassistant\b",
}
_SIGNS = {name: re.compile(sign, re.IGNORECASE) for name, sign in _OPTIONAL.items()}
_MAX_TOKENS = re.compile(
    r"max_(?:\w+_)?tokens|maxOutputTokens|(?:completion|output|new) tokens", re.IGNORECASE
)
_OF_FIELDS = frozenset({400, 404, 415, 422, 501})  # a field may be why
_UNNAMED = frozenset({400, 422})  # also where none is named
_OF_THE_PROMPT = frozenset({400, 413, 422})  # another prompt may be taken
_TOO_MANY, _TOO_LARGE = 429, 413
_LEAST_TOKENS = 16  # of a reply: with fewer it says nothing

_TOO_LONG = re.compile(
    r"context.?(?:length|size|window)|too long|too many tokens|input\b.{0,40}\btoo large"
    r"|(?:input|text|prompt) length"
    r"|(?:maximum|max|at most|fewer than|less than|exceed\w*|larger than|longer than|limit)\b"
    r".{0,60}\b(?:tokens|characters|length)|tokens.{0,40}(?:exceed|>|maximum)",
    re.IGNORECASE | re.DOTALL,
)
_EXHAUSTED = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?|funds)|exceeded your current quota|out of credits"
    r"|credit balance is too low|billing_hard_limit|quota (?:is )?exhausted|arrearage|余额不足",
    re.IGNORECASE,
)
_OF_CONTENT = re.compile(r"filter|content.?policy|moderation|safety|flagged|blocked", re.IGNORECASE)
_TOO_LARGE_LIMIT = re.compile(
    r"large|exceed|at most|maximum|greater|less than|range|<=|≤|>|up to|(?:above|over).{0,12}limit",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(r"[>=≤] ?(\d+) ?- ?(\d+)")
_ROOM = re.compile(r"context.?(?:length|size|window)\D{0,30}?(\d+)", re.IGNORECASE)
_GIVEN = re.compile(
    r"(\d+) (?:tokens )?(?:in (?:the|your) )?(?:input|prompt|messages)"
    r"|(?:prompt|input)\D{0,20}(\d+)",
    re.IGNORECASE,
)


class Refused(EndpointError):
    """The server rejected the request; a retry cannot help."""

    def __init__(self, sentence: str, status: int, reason: str, message: str = "") -> None:
        self.status = status
        self.reason = reason
        self.message = message or reason  # all that the server said
        super().__init__(sentence)

    @property
    def is_too_long(self) -> bool:
        """Check whether a text is too long for the model, as far as the message shows."""
        silent = self.status == _TOO_LARGE and not self.reason
        return silent or is_length_refusal(self.status, self.message)

    @property
    def is_of_prompt(self) -> bool:
        """Check whether a different prompt may be accepted."""
        return self.status in _OF_THE_PROMPT or self.is_too_long


class ServerFault(EndpointError):
    """The server failed with HTTP 500 on every attempt."""


def is_length_refusal(status: int, message: str) -> bool:
    """Check whether a refusal is about the length of the input, not of the reply."""
    is_long = status != _TOO_MANY and _TOO_LONG.search(message) is not None
    return is_long and _MAX_TOKENS.search(message) is None


def is_quota_exhausted(text: str, wait_s: float | None) -> bool:
    """Check whether a quota is exhausted, so that a retry is useless."""
    return _EXHAUSTED.search(text) is not None and (wait_s is None or "insufficient_quota" in text)


@dataclass(frozen=True, slots=True)
class Remedy:
    """A changed request: some fields left out, and a reply of at most `limit` tokens."""

    fields: AbstractSet[str]
    limit: int
    is_named: bool = True  # the server said so
    is_lasting: bool = False  # the limit is the model's own, whatever the prompt


def find_remedy(refusal: Refused, body: Mapping[str, Any], limit: int) -> Remedy | None:
    """Return how to change a refused request, or None.

    Where the server names no field, all are left out that the request can do without.
    """
    message = refusal.message
    if refusal.status not in _OF_FIELDS:
        return None
    present = {name for name in _OPTIONAL if name in body}
    if len(body["messages"]) > 1 and body["messages"][0]["role"] == SYSTEM:
        present.add(SYSTEM)
    matches = {name for name in present if _SIGNS[name].search(message)}
    names = {name for name in matches if re.search(rf"\b{name}\b", message)}
    if matches:
        return Remedy(names or matches, limit)
    if _MAX_TOKENS.search(message) or refusal.is_too_long:
        return _find_limit(message, body, limit)
    if not present or refusal.status not in _UNNAMED or _OF_CONTENT.search(message):
        return None
    return Remedy(present, limit, is_named=False)


def _find_limit(message: str, body: Mapping[str, Any], limit: int) -> Remedy | None:
    """Return a smaller token limit, or its other field name, or None."""
    is_limit = _MAX_TOKENS.search(message) is not None
    if _TOO_LARGE_LIMIT.search(message) is None:
        field = NEW_LIMIT if NEW_LIMIT in body else LIMIT
        is_known = field in body and (field == LIMIT or field in message)
        return Remedy({field}, limit) if is_limit and is_known else None
    difference, room, size = (sign.search(message) for sign in (_DIFFERENCE, _ROOM, _GIVEN))
    numbers = [int(each) for each in re.findall(r"\d+", message)]
    own = max((each for each in numbers if _LEAST_TOKENS <= each < limit), default=0)
    is_lasting = is_limit and room is None and own > 0
    if difference is not None:
        new_limit = int(difference[1]) - int(difference[2])
    elif room is not None and size is not None:
        new_limit = int(room[1]) - int(size[1] or size[2])
    elif is_limit:
        new_limit = own if is_lasting else limit // 2
    else:
        return None  # the prompt itself is too long
    new_limit = new_limit if new_limit < limit else limit // 2  # it counts otherwise than it says
    return (
        Remedy(frozenset(), new_limit, is_lasting, is_lasting)
        if new_limit >= _LEAST_TOKENS
        else None
    )
