"""Figures of reports: curves over a grid, bars, and quality against cost.

Its modules need matplotlib, the extra `plots`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure, and the section that it belongs to."""

    name: str  # of its file, without suffix and without what comes before
    section: str  # "ranking", "answers" or "cost"
    title: str
    svg: str
