"""Stored sentences and LLM-made statements as one sequence of codes.

Both are known by a code, by which they ascend in a chunk: `clew.generation.lookups.unit_codes`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.generation.lookups import FIRST_STATEMENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clew.generation.rows import Rows
    from clew.store.columns import StoredColumns

_MENTION = ("entity", "term", "start", "end", "label")


@dataclass(frozen=True, slots=True)
class StoredUnits:
    """Stored sentences and statements, by their codes."""

    stored: StoredColumns

    def are_statements(self, codes: Rows) -> NDArray[np.bool_]:
        return np.asarray(codes >= FIRST_STATEMENT)

    def keys(self, codes: NDArray[Any]) -> NDArray[np.uint64]:
        """Return the hashes of their texts."""
        return self._take_both("sentence.key", "statement.key", codes).astype(np.uint64)

    def column(self, name: str, codes: Rows) -> NDArray[Any]:
        """Return where sentences start or end; a statement has its chunk's range."""
        values = self._take_both(f"sentence.{name}", "statement.extraction", codes)
        is_statement = self.are_statements(codes)
        chunks = self.stored.take("extraction.chunk", values[is_statement])
        values[is_statement] = self.stored.take(f"chunk.{name}", chunks)
        return values

    def tokens(self, name: str, codes: Rows) -> NDArray[Any]:
        """Return a place among the tokens of its chunk of each sentence, -1 for a statement."""
        tokens = np.full(len(codes), -1, dtype=np.int64)
        own = ~self.are_statements(codes)
        tokens[own] = self.stored.take(f"sentence.{name}", codes[own])
        return tokens

    def places(self, codes: Rows) -> Rows:
        """Return the place of statements among those of their chunk, -1 for a sentence."""
        places = np.full(len(codes), -1, dtype=np.int64)
        statements = np.flatnonzero(self.are_statements(codes))
        rows = codes[statements] - FIRST_STATEMENT
        extractions = self.stored.take("statement.extraction", rows).astype(np.int64)
        beside, owner = self.stored.rows_below("statement", extractions)
        first = np.zeros(len(statements), dtype=np.int64)
        first[owner[::-1]] = beside[::-1]
        places[statements] = rows - first
        return places

    def mentions_of(self, codes: Rows) -> tuple[Rows, dict[str, NDArray[Any]]]:
        """Return the mentions in some of these, in their order, and in which of them each is."""
        is_statement = self.are_statements(codes)
        own, other = np.flatnonzero(~is_statement), np.flatnonzero(is_statement)
        rows, in_own = self.stored.rows_below("mention", codes[own])
        more, in_other = self.stored.rows_below("statement_mention", codes[other] - FIRST_STATEMENT)
        place = np.concatenate([own[in_own], other[in_other]])
        order = np.argsort(place, kind="stable")
        columns = {}
        for name in _MENTION:
            of_sentences = self.stored.take(f"mention.{name}", rows)
            of_statements = self.stored.take(f"statement_mention.{name}", more)
            columns[name] = np.concatenate([of_sentences, of_statements])[order]
        return place[order], columns

    def mentions_with(self, column: str, values: Rows) -> tuple[Rows, Rows]:
        """Return in what each stored mention is that has one of some values, and the value."""
        codes, matched_values = [], []
        for layer, above in (("mention", "sentence"), ("statement_mention", "statement")):
            stored_values = self.stored.tail(f"{layer}.{column}", 0)
            last = max(stored_values.max(initial=-1), values.max(initial=-1))
            is_wanted = np.zeros(int(last) + 2, bool)
            is_wanted[values] = True  # the last one, which is that of -1, is not
            rows = np.flatnonzero(is_wanted[stored_values])
            parents = self.stored.take(f"{layer}.{above}", rows).astype(np.int64)
            codes.append(parents if layer == "mention" else FIRST_STATEMENT + parents)
            matched_values.append(stored_values[rows].astype(np.int64))
        return np.concatenate(codes), np.concatenate(matched_values)

    def _take_both(
        self, of_sentences: str, of_statements: str, codes: NDArray[Any]
    ) -> NDArray[Any]:
        codes, is_statement = codes.astype(np.int64), self.are_statements(codes)
        first = self.stored.take(of_sentences, codes[~is_statement])
        if not is_statement.any():
            return first
        second = self.stored.take(of_statements, codes[is_statement] - FIRST_STATEMENT)
        dtype = np.result_type(first, second) if len(first) else second.dtype
        values = np.empty(len(codes), dtype)
        values[~is_statement], values[is_statement] = first, second
        return values
