"""Write to several indexes as one: each document goes to its shard."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from clew import Added, Index
from clew.api.adding import to_remove
from clew.base.types import Document, Usage
from clew.errors import InputError, StoreError
from clew.filters import Filter, match, to_filter
from clew.index.adding import AddReport
from clew.index.extract import ExtractionReport
from clew.index.options import AddOptions
from clew.index.store import opening
from clew.progress import Progress
from clew.readers.part import ShardPart
from clew.readers.sources import Source

Place = Path | str  # a folder, or the address of an index of a server
Open = Callable[[Place], Index]


def add_to_shards(
    places: Sequence[Place], open_one: Open, source: Source, options: AddOptions
) -> Added:
    """Add documents to their shards, one shard after the other; return a summed report."""
    if options.part is not None:
        raise InputError(
            "a part is of one shard, and these are all of them: leave it out, or name that shard"
        )
    again: Any = source  # each shard goes through it
    if not isinstance(source, str | Path | Document | Sequence):
        again = list(source)
    progress, n, reports = options.progress or Progress(), len(places), []
    _make_shards(places, open_one)
    for number, place in enumerate(places):
        progress.enter(f"shard {number} of {n}")
        with open_one(place) as index:
            own = {"part": ShardPart(number, n), "progress": progress}
            one = index.add(again, **{**vars(options), **own})
        reports.append(one)
        if one.report.stopped:
            break
    return _sum_reports(reports)


def _make_shards(places: Sequence[Place], open_one: Open) -> None:
    """Create all shards that `create` named, since a question may precede the first write.

    Raises StoreError where some are there and another is gone.
    """
    missing = [place for place in places if isinstance(place, Path) and not opening.exists(place)]
    for gone in missing:
        is_new = gone.is_dir() and not any(gone.iterdir())
        if len(missing) < len(places) and not is_new:
            raise StoreError(
                f"the shard {opening.describe_place(gone)} is gone, and others are there: put"
                f" it back, or restore it"
            )
    for number, place in enumerate(places):
        if place in missing:
            with open_one(place) as index:
                index.add([], changed=[], part=ShardPart(number, len(places)))


def _sum_reports(reports: Sequence[Added]) -> Added:
    report, extracted = AddReport(), ExtractionReport()
    usage = Usage()
    for one in reports:
        for name in ("added", "changed", "restored", "restated", "gone"):
            getattr(report, name).extend(getattr(one.report, name))
        report.renamed.update(one.report.renamed)
        report.partly.update(one.report.partly)
        report.n_unchanged += one.report.n_unchanged
        report.left_out = one.report.left_out  # each looks through all folders
        report.pruned |= one.report.pruned
        report.stopped |= one.report.stopped
        report.skipped += [each for each in one.report.skipped if each not in report.skipped]
        extracted.add(one.extracted)
        usage += one.usage
    return Added(
        report=report,
        extracted=extracted,
        usage=usage,
        n_documents=sum(one.n_documents for one in reports),
        n_chunks=sum(one.n_chunks for one in reports),
    )


def list_documents(
    places: Sequence[Place], open_one: Open, patterns: Sequence[str], where: str | Filter | None
) -> list[list[str]]:
    """Return the document ids of each shard, filtered by patterns and a filter.

    Raises InputError where a pattern names no document of any, or no document has a field.
    """
    wanted = to_filter(where)
    unknown, fields = set(patterns), dict[str, None]()
    ids = []
    for place in places:
        with open_one(place) as index:
            fields.update(dict.fromkeys(match.field_names(index.snapshot())))
            own: set[str] = set()
            for pattern in patterns:
                with suppress(InputError):  # which other shards may have
                    own.update(index.documents(pattern))
                    unknown.discard(pattern)
            members = sorted(own) if patterns else index.documents()
            if wanted is not None:
                snapshot = index.snapshot()
                fulfil = set(match.find_ids(snapshot, match.resolve_known_fields(snapshot, wanted)))
                members = [each for each in members if each in fulfil]
            ids.append(members)
    for pattern in patterns:
        if pattern in unknown:
            raise InputError(f"no document {pattern!r} in these shards: see 'clew list'")
    if wanted is not None:
        match.check_fields(wanted, list(fields))
    return ids


def remove_from_shards(
    places: Sequence[Place],
    open_one: Open,
    ids: str | Sequence[str],
    where: str | Filter | None,
    *,
    dry_run: bool,
) -> list[str]:
    """Delete documents from all shards as `Index.remove`; return their ids."""
    ids_of = to_remove(
        ids, where, lambda patterns: list_documents(places, open_one, patterns, where)
    )
    for place, own in zip(places, ids_of, strict=True):
        if own and not dry_run:
            with open_one(place) as index:
                index.remove(own)
    return sorted(chain.from_iterable(ids_of))
