"""An index in shards as one caller sees it.

What looks at a whole index, or writes to it, is done on one of the shards instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

from clew.errors import InputError
from clew.filters import to_filter
from clew.filters.match import collect_fields
from clew.server.scoped_questions import Scoped
from clew.server.snapshot_views import make_missing_document
from clew.wire.indexes import IndexView
from clew.wire.refusals import Refusal

if TYPE_CHECKING:
    from clew.filters import Filter
    from clew.shards import Shards
    from clew.snapshot import Snapshot


def make_shards_refusal(name: str) -> Refusal:
    """Return the refusal for what an index in shards does not do."""
    return Refusal(
        HTTPStatus.NOT_IMPLEMENTED,
        "in_shards",
        f"the index {name!r} is in shards, which are searched and asked as one: serve one of them"
        f" for anything else",
    )


@dataclass(frozen=True, slots=True)
class ScopedShards(Scoped):
    """Shards for one caller and one request; a key with a filter cannot ask them."""

    opened: Shards

    @property
    def askable(self) -> Shards:
        """All shards, to search and ask."""
        return self.opened

    def narrow_filter(self, asked: str | Filter | None = None) -> Filter | None:
        """Return the filter of a request. Raises a refusal for a caller who is bound to one."""
        if self.is_bound:
            raise make_shards_refusal(self.name)
        wanted = to_filter(asked)
        if wanted is not None:
            self.check_fields({each.casefold() for each in collect_fields(wanted)})
        return wanted

    def check_where(self, asked: str | None) -> None:
        """Raise a refusal or InputError for a filter by which nothing may be asked."""
        self.askable.sizes(self.narrow_filter(asked))

    def has_match(self, wanted: Filter) -> bool:
        """Say whether a document fulfils a filter."""
        try:
            self.askable.sizes(self.narrow_filter(wanted))
        except InputError:
            return False
        return True

    def count_documents(self) -> tuple[int, int]:
        """Return how many documents there are, and how many chunks."""
        self.narrow_filter()
        return self.askable.sizes()

    def find_snapshot(self, document_id: str) -> Snapshot:
        """Return the snapshot of the shard in which a document is. Raises a refusal, 404."""
        self.narrow_filter()
        found = self.askable.holding(document_id)
        if found is None:
            raise make_missing_document(document_id)
        return found

    def describe(self) -> IndexView:
        """Describe all shards together."""
        n_documents, n_chunks = self.count_documents()
        return IndexView(
            name=self.name,
            n_documents=n_documents,
            n_chunks=n_chunks,
            layers={},
            links={},
            recipe=self.hide_models(self.askable.recipe),
            fields=(),
            folder=str(self.askable.folder) if self.caller.may("admin") else None,
        )
