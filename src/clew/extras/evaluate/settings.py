"""Settings to measure: methods with parameters, and how to score."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from clew.base.types import Scalar

_DEFAULT_K = 5  # of recall, in the papers


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of a report: a method, and the parameters that distinguish its rows."""

    method: str
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    name: str = ""  # of the row, where method and parameters do not tell it from others

    @property
    def label(self) -> str:
        """The row's name, such as "clue depth=2"."""
        varied = (f"{name}={value}" for name, value in self.parameters.items())
        return self.name or " ".join([self.method, *varied])


def grid(method: str, values: Mapping[str, Sequence[Scalar]]) -> list[Setting]:
    """Return a setting for each combination of `values`, the last parameter changing fastest."""
    return [
        Setting(method, dict(zip(values, row, strict=True))) for row in product(*values.values())
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """How rankings, contexts and answers are scored."""

    ks: tuple[int, ...] = (2, 5, 10)  # cut-offs of the ranking
    context_tokens: int = 4_000  # budget of the context that coverage looks into
    answer_tokens: int = 512  # that cap an LLM's short answer
    seed: int = 0  # of the resampling


def main_metrics(have: Collection[str], ks: Sequence[int]) -> tuple[str, ...]:
    """Choose from `have` the metrics to compare by: recall at 5 or middle k, evidence, coverage."""
    middle = _DEFAULT_K if _DEFAULT_K in ks else sorted(ks)[len(ks) // 2]
    return tuple(
        metric for metric in (f"recall@{middle}", "evidence", "coverage") if metric in have
    )
