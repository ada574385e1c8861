"""Answers whose citations can be followed, and the data of the events by which one comes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clew.types import Answer, Citation


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedCitation(Citation):
    """A citation with the address at which the page shows its characters."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LinkedAnswer(Answer):
    """An answer whose citations can be followed."""

    citations: tuple[LinkedCitation, ...]


@dataclass(frozen=True, kw_only=True)
class TextEvent:
    """A further piece of an answer; None where what was told does not count and comes anew."""

    text: str | None


@dataclass(frozen=True, kw_only=True)
class ErrorEvent:
    """Why there is no answer, or why a job failed."""

    # For pydantic: not the configuration of what it stands in.
    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "ignore"}

    code: str
    message: str
