"""Paid results beside an index in a folder: recorded LLM replies and cached vectors.

An index keeps a note of which of these files it has, so that one that is gone is missed, and one
that never was is not.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from clew.index.store.segmented import Store

CALLS = "calls.sqlite"
EMBEDDINGS = "embeddings.sqlite"
NOTE = "paid"  # what a store keeps under it: which files there are
_FILES = "files"


FILES = (CALLS, EMBEDDINGS)
_HELD = {CALLS: "replies", EMBEDDINGS: "vectors"}


def record_paid_files(store: Store, folder: Path) -> None:
    """Record the names of the paid files beside an index."""
    there = {name for name in FILES if (folder / name).exists()}
    if there != noted_files(store.note(NOTE)):
        store.set_note(NOTE, {_FILES: sorted(there)})


def noted_files(note: Mapping[str, Any] | None) -> set[str]:
    """Return the recorded names of an index's paid files."""
    return {*(note or {}).get(_FILES, ())}


def find_faults(folder: Path, names: set[str]) -> Iterator[tuple[str, str]]:
    """Yield each damaged or missing paid file among `names`, with its fault."""
    from clew.models.sqlite import owner

    for name in FILES:
        faults = _list_faults(folder / name)
        if faults:
            advice = "restore it from a backup, or delete it"
            yield name, f"{faults[0]}; {advice}: the {_HELD[name]} that it held are paid for again"
        elif name in names and not owner(folder / name):
            yield name, f"it is missing: the {_HELD[name]} that it held are paid for again"


def _list_faults(path: Path) -> list[str]:
    from clew.models import cache, ledger

    return ledger.Ledger(path).faults() if path.name == CALLS else cache.faults(path)
