"""Find the two states of an index to compare: generations, dates, or another index."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clew.base.reports import IndexState
from clew.errors import InputError
from clew.filters import match, to_filter
from clew.index.adding import get_rows_hash
from clew.index.generation import open_former
from clew.index.store import opening
from clew.text.dates import parse_period
from clew.views.changes import ComparedState, compare_states

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clew.api.index import Index
    from clew.base.reports import Changes
    from clew.filters import Filter
    from clew.index.snapshot import Snapshot
    from clew.index.store.segmented import View


def find_changes(
    opened: Index,
    since: int | str | Path | None,
    until: int | str | None,
    *,
    dated: bool,
    where: Filter | None,
    most: int | None,
) -> Changes:
    """Return the differences between two states of an index (`Index.changes`)."""
    if dated:
        return _compare_dates(opened, since, until, where, most)
    store = opened._open_store()  # noqa: SLF001 -- the index's own
    with closing(store.view()) as view:
        if isinstance(since, Path | str) and _is_other_index(since):
            if until is not None:
                raise InputError("another index is only compared with the newest state of this one")
            return _compare_with(opened, Path(since), where, most)
        newest = view.generation
        last = _find_generation(view, until, is_end=True) if until is not None else newest
        first = (
            _find_generation(view, since, is_end=False)
            if since is not None
            else _before_last_write(opened, view)
        )
        if last < first <= newest:
            raise InputError(f"{since} is later than {until}: swap them")
        sides = [
            (_describe_state(opened, number, view), open_former(store, number))
            for number in (first, last)
        ]
        ids = [view.documents_at(number) for number in (first, last)]
    names = {row: name for name, row in ids[0]}
    both = {row for _, row in ids[1]} & names.keys()
    kept = set(_select_known(sides[1][1], where))
    renamed = {
        name: names[row]
        for place, (name, row) in enumerate(ids[1])
        if row in both and names[row] != name and place in kept
    }
    looked = [{i for i, (_, row) in enumerate(some) if row not in both} for some in ids]
    return _compare(sides, looked, [where, where], renamed, most)


_MOST_EDITS = 20  # generations that are looked at for the last write
_LONGEST = 100  # digits
_Side = tuple[IndexState, "Snapshot"]  # of a comparison


def _describe_state(opened: Index, generation: int, view: View) -> IndexState:
    written = view.list_times().get(generation, "")
    return IndexState(index=opened.shown, generation=generation, written=written)


def _read_newest(opened: Index) -> _Side:
    """Return the newest generation of an index."""
    snapshot = opened.snapshot()
    with closing(opened._open_store().view()) as view:  # noqa: SLF001 -- the index's own
        return _describe_state(opened, snapshot.generation, view), snapshot


def _is_other_index(since: Path | str) -> bool:
    """Check whether the earlier state is another index. Raises InputError for an invalid one."""
    text = str(since)
    if _is_generation(text) or parse_period(text) is not None:
        return False
    if not opening.exists(Path(since)):
        why = "is not a generation, date or index: see 'clew changes --help'"
        raise InputError(f"{text!r:.200} {why}")
    return True


def _is_generation(text: str) -> bool:
    return text.isdecimal() and len(text) < _LONGEST


def _find_generation(view: View, named: int | str | Path, *, is_end: bool) -> int:
    """Return a generation by its number, or the last one written before a date.

    Of the end of a comparison the date itself counts, too.
    """
    text = str(named)
    if _is_generation(text):
        return int(text)
    period = parse_period(text)
    if period is None:
        raise InputError(f"{text!r:.200} is neither a generation nor a date such as 2026-11-01")
    before = period.end if is_end else period.start
    written = ((number, parse_period(time)) for number, time in view.list_times().items())
    earlier = [number for number, at in written if at is not None and at.start < before]
    return max(earlier, default=0)


def _before_last_write(opened: Index, view: View) -> int:
    """Return the generation before the last recorded write of documents."""
    last, now = view.generation, view.documents_at(view.generation)
    for _ in range(_MOST_EDITS):  # which change no document
        if last <= view.remembered or view.documents_at(last - 1) != now:
            break
        last -= 1
    billed = (each.before for each in opened.costs() if each.before < last <= each.generation)
    return next(billed, max(last - 1, 0))


def _compare_dates(
    opened: Index,
    since: int | str | Path | None,
    until: int | str | None,
    where: Filter | None,
    most: int | None,
) -> Changes:
    """Compare the documents valid at two dates; the second defaults to any time."""
    if since is None or parse_period(str(since)) is None:
        raise InputError("compare dates of documents since a date such as 2024-05-01 or 2024")
    if until is not None and parse_period(str(until)) is None:
        raise InputError(f"{until!r:.200} is not a date such as 2024-05-01 or 2024")
    side = _read_newest(opened)
    conditions = [
        to_filter(f"valid on {date}") if date is not None else None for date in (since, until)
    ]
    former, present = (set(_select_rows(side[1], each)) for each in conditions)
    filters = [
        where if each is None else each if where is None else each & where for each in conditions
    ]
    return _compare([side, side], [former - present, present - former], filters, {}, most)


def _compare_with(opened: Index, place: Path, where: Filter | None, most: int | None) -> Changes:
    """Compare another index with the current generation."""
    from clew.api.index import open_index

    with open_index(place) as other:
        sides = [_read_newest(each) for each in (other, opened)]
        hashes = [
            {i: get_rows_hash(h) for i, h in each.hashes().items()} for each in (other, opened)
        ]
        looked = [
            {row for row, i in enumerate(sorted(own)) if others.get(i) != own[i]}
            for own, others in (hashes, hashes[::-1])
        ]
        return _compare(sides, looked, [where, where], {}, most)


def _compare(
    sides: Sequence[_Side],
    looked: Sequence[set[int]],
    filters: Sequence[Filter | None],
    renamed: Mapping[str, str],
    most: int | None,
) -> Changes:
    before, after = (
        _restrict(side, rows, where)
        for side, rows, where in zip(sides, looked, filters, strict=True)
    )
    if before.snapshot is None and after.snapshot is None and filters[1] is not None:
        _select_rows(sides[1][1], filters[1])  # says what is wrong with the filter
        raise InputError(f"no document matches the filter {str(filters[1])!r:.200}")
    return compare_states(before, after, renamed, most)


def _restrict(side: _Side, looked: set[int], where: Filter | None) -> ComparedState:
    """Return one state of a comparison, restricted to documents that match a filter."""
    state, whole = side
    snapshot: Snapshot | None = whole
    rows = _select_known(whole, where)
    if not rows:
        snapshot = None
    elif len(rows) < len(whole.document_layer) and whole.among is not None:
        import numpy as np

        snapshot = whole.among(np.array(rows))
    state = replace(state, where="" if where is None else str(where), n_documents=len(rows))
    places = [place for place, row in enumerate(rows) if row in looked]
    return ComparedState(state, snapshot, places)


def _select_rows(snapshot: Snapshot, where: Filter | None) -> list[int]:
    if where is None:
        return list(range(len(snapshot.document_layer)))
    rows: list[int] = match.find_rows(snapshot, where).tolist()
    return rows


def _select_known(snapshot: Snapshot, where: Filter | None) -> list[int]:
    """Return the rows that match a filter, none if no document has its fields."""
    try:
        return _select_rows(snapshot, where)
    except InputError:  # the other side of a comparison may have them
        return []
