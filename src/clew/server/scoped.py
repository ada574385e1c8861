"""An index as one caller sees it: the one way by which routes come to documents.

A key may be bound to a filter. Then every function here works on the documents that fulfil it, as
if the index held no others, and there is no function that gives the whole index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clew.errors import InputError
from clew.filters import Filter, as_filter, match
from clew.server.errors import not_found

if TYPE_CHECKING:
    from collections.abc import Callable

    from clew.api import Index
    from clew.models.budget import Budget
    from clew.server.callers import Caller
    from clew.types import Answer, Evidence, Snapshot


@dataclass(frozen=True, slots=True)
class ScopedIndex:
    """One index, one caller, one request."""

    name: str
    index: Index  # of which routes take nothing that is not asked for through this class
    caller: Caller
    budget: Budget

    def check(self, scope: str) -> None:
        """Raise a refusal where the caller lacks a scope."""
        self.caller.check(scope)

    @property
    def is_bound(self) -> bool:
        """Say whether the caller sees some of the documents only."""
        return bool(self.caller.where)

    def where(self, asked: str | Filter | None = None) -> Filter | None:
        """Return the filter of a request and the caller's own, both of which must hold.

        What is asked for is tried on the caller's documents first, so that no error tells of
        fields or values of others.
        """
        own, wanted = as_filter(self.caller.where), as_filter(asked)
        if own is None:
            return wanted
        if wanted is None:
            return own
        seen = self.snapshot()
        if not len(match.rows(seen, wanted)):
            raise InputError(f"no document fulfils the filter {str(wanted)!r:.200}")
        return own & wanted

    def snapshot(self, asked: str | Filter | None = None) -> Snapshot:
        """Return the newest generation of the documents that the caller may see."""
        own = as_filter(self.caller.where)
        if asked is None or not str(asked).strip():
            if own is None:
                return self.index.snapshot()
            try:
                return self.index.snapshot(own)
            except InputError:
                # The sentence would name the filter, which is not the caller's to know.
                raise not_found("this index has no document that your key may see") from None
        return self.index.snapshot(self.where(asked))

    def search(self, query: str, *, where: str | None = None, **given: Any) -> Evidence:  # noqa: ANN401 -- as `Index.search` takes them
        """Do as `Index.search` does."""
        self.snapshot()
        found = self.index.search(query, where=self.where(where), budget=self.budget, **given)
        return self._own(found, where)

    def ask(
        self,
        question: str,
        *,
        where: str | None = None,
        on_evidence: Callable[[Evidence], None] | None = None,
        **given: Any,  # noqa: ANN401 -- as `Index.ask` takes them
    ) -> Answer:
        """Do as `Index.ask` does."""
        from dataclasses import replace

        def tell(evidence: Evidence) -> None:
            if on_evidence is not None:
                on_evidence(self._own(evidence, where))

        self.snapshot()
        found = self.index.ask(
            question, where=self.where(where), budget=self.budget, on_evidence=tell, **given
        )
        return replace(found, evidence=self._own(found.evidence, where))

    def _own(self, evidence: Evidence, where: str | None) -> Evidence:
        """Return evidence that names the filter of the request, and not the caller's own."""
        from dataclasses import replace

        return replace(evidence, where=where or "") if self.is_bound else evidence
