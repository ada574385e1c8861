"""What routes reply that is no other module's: made by them, and read again by `clew.client`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clew.server.jobs.queue import JobView
from clew.types import Scalar, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexLine:
    """An index in a list."""

    name: str
    n_documents: int
    n_chunks: int
    is_own: bool  # made here, so that it may be deleted here
    problem: str  # why it cannot be read, "" where it can


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """What one write of an index cost."""

    kind: str
    before: int  # the generation before it
    generation: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedAlias:
    """Two names that may be of one thing."""

    name: str
    into: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasView:
    """Which names stand for others, by their keys, and which may."""

    merged: Mapping[str, str]
    names: Mapping[str, str]  # the keys of `merged` as they are first written
    proposed: tuple[ProposedAlias, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AboutServer:
    """The server's version, and what the caller may do and has spent."""

    version: str
    caller: str
    scope: str
    llm: bool  # whether answers are written by an LLM, where a key may pay for it; else quoted
    key: Mapping[str, Any] | None  # None: no key is needed here
    spent: Mapping[str, int | float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterView:
    """A parameter of a method."""

    name: str
    default: Scalar
    choices: tuple[str, ...]
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodView:
    """A method of retrieval, as `clew methods --json` has it."""

    name: str
    summary: str
    description: str
    group: str
    default: bool
    layers: tuple[str, ...]
    parameters: tuple[ParameterView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentLine:
    """What was billed under a key on a day."""

    key: str  # its id, "" for what needed none
    name: str
    day: str
    tokens: int
    usd: float
    unpriced_tokens: int
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationView(JobView):
    """An evaluation: a job with its report, once it is done."""

    report: Mapping[str, Any] | None
