"""Answers with linked citations, and the events of a streamed answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clew.base.types import Answer, Citation


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedCitation(Citation):
    """A citation with the URL at which the page shows it."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedAnswer(Answer):
    """An answer with linked citations."""

    citations: tuple[LinkedCitation, ...]


@dataclass(frozen=True, kw_only=True)
class TextEvent:
    """A further piece of an answer; None restarts the text."""

    text: str | None


@dataclass(frozen=True, kw_only=True)
class ErrorEvent:
    """The reason why there is no answer, or why a job failed."""

    # For pydantic: not the configuration of what it stands in.
    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "ignore"}

    code: str
    message: str
