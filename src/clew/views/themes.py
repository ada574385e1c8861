"""Themes of a snapshot as plain values."""

from clew.base.types import Theme
from clew.index.snapshot import Snapshot
from clew.steps.theme_descriptions import describe_themes
from clew.steps.themes import themes


def list_themes(snapshot: Snapshot, level: int = 0, most: int | None = None) -> tuple[Theme, ...]:
    """Return the themes of a level, largest first, with undivided ones of the level above."""
    return tuple(describe_themes(snapshot, themes(snapshot).of_level(level)[:most]))


def find_theme(snapshot: Snapshot, name: str) -> Theme | None:
    """Return a theme by its id, or None."""
    row = themes(snapshot).find(name)
    return None if row < 0 else describe_themes(snapshot, [row])[0]
