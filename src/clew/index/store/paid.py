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
    earlier = noted_files(store.note(NOTE))
    there = earlier | {name for name in FILES if (folder / name).exists()}
    if there != earlier:
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
            yield name, f"{faults[0]}; the {_HELD[name]} that cannot be read are paid for again"
        elif name in names and not owner(folder / name):
            yield name, f"it is missing: the {_HELD[name]} that it held are paid for again"


def _list_faults(path: Path) -> list[str]:
    from clew.models import cache, ledger

    return ledger.Ledger(path).faults() if path.name == CALLS else cache.faults(path)


def mend(folder: Path, names: set[str]) -> list[str]:
    """Salvage damaged files; return their names, and those of missing files."""
    from clew.models import cache, ledger

    _restore_names(folder)
    damaged = [name for name, _ in find_faults(folder, names)]
    for path in (folder / name for name in damaged):
        if _list_faults(path):
            if path.name == CALLS:
                ledger.Ledger(path).mend()
            else:
                cache.mend(path)
    return damaged


def forget_missing(store: Store, folder: Path) -> None:
    """Remove missing files from the recorded names."""
    from clew.models.sqlite import owner

    there = sorted(name for name in FILES if owner(folder / name))
    if set(there) != noted_files(store.note(NOTE)):
        store.set_note(NOTE, {_FILES: there})


def _restore_names(folder: Path) -> None:
    """Swap two files back that bear each other's names."""
    from clew.models import cache, ledger
    from clew.models.sqlite import owner

    first, second = folder / CALLS, folder / EMBEDDINGS
    if (owner(first), owner(second)) == (cache.APPLICATION_ID, ledger.APPLICATION_ID):
        aside = first.with_name(f"{first.name}.aside")
        first.replace(aside)
        second.replace(first)
        aside.replace(second)
