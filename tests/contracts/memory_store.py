"""A store that keeps an index in the memory of this process, as another package might bring one.

It shows how little a store must do. Every commit makes a new state; a view is an old one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from clew.errors import IndexLocked, NotAnIndex
from clew.store import schema
from clew.store.segments import Blocks
from clew.types import KINDS

_KEPT = {}  # the indexes of this process by their places


@dataclass(frozen=True)
class State:
    """One generation: documents and keys in rows, arrays in segments."""

    generation: int = 0
    numbering: int = 0
    documents: tuple = ()  # (document, hash, whether it is live)
    keys: dict = field(default_factory=lambda: {"entity": (), "term": ()})
    named: frozenset = frozenset()
    segments: tuple = ()
    aliases: dict = field(default_factory=dict)


@dataclass
class Kept:
    """What all sessions of one index have in common."""

    notes: dict
    state: State = State()
    work: dict = field(default_factory=lambda: {kind: {} for kind in KINDS})
    arrays: dict = field(default_factory=dict)
    writer: object = None


class MemoryStore:
    """A session on an index in memory."""

    def __init__(self, kept):
        self._kept = kept
        self.cache = MemoryCache(kept.arrays)

    @property
    def recipe(self):
        return self._kept.notes["recipe"]

    def settle(self, more):
        self.lock()
        recipe = {**self.recipe, **more}
        self._kept.notes["recipe"] = {n: v for n, v in recipe.items() if v is not None}

    @property
    def generation(self):
        return self._kept.state.generation

    def hashes(self, ids=None):
        found = {d.id: content for d, content, live in self._kept.state.documents if live}
        return found if ids is None else {i: found[i] for i in ids if i in found}

    def unnamed(self, keys):
        state = self._kept.state
        named = {state.keys["entity"][row] for row in state.named}
        return [i for i, key in enumerate(keys) if key not in named]

    def lock(self):
        if self._kept.writer not in (None, self):
            raise IndexLocked("another session writes: wait until it is done")
        self._kept.writer = self

    def _advance(self, **changes):
        state = self._kept.state
        self._kept.state = replace(state, generation=state.generation + 1, **changes)
        return self.generation

    def commit(self, batch, hashes):
        self.lock()
        state = self._kept.state
        rows, keys = {}, dict(state.keys)
        for table, wanted in (("entity", batch.entities), ("term", batch.terms)):
            keys[table] = tuple(dict.fromkeys([*keys[table], *wanted]))
            place = {key: row for row, key in enumerate(keys[table])}
            rows[table] = [place[key] for key in wanted]
        first = Counter(document=len(state.documents))
        for segment in state.segments:
            first.update(schema.count_rows(segment))
        arrays = schema.place_batch(batch, rows, first, self.recipe)
        for number, kind in enumerate(KINDS if "extraction.chunk" in arrays else ()):
            for chunk in arrays["extraction.chunk"][arrays["extraction.kind"] == number].tolist():
                self._kept.work[kind].pop(chunk, None)
        new = {document.id for document in batch.documents}
        old = ((d, h, live and d.id not in new) for d, h, live in state.documents)
        added = ((d, h, True) for d, h in zip(batch.documents, hashes, strict=False))
        return self._advance(
            documents=(*old, *added),
            keys=keys,
            named=state.named | set(arrays.get("name.entity", np.zeros(0, int)).tolist()),
            segments=(*state.segments, arrays),
        )

    def note(self, name):
        return dict(self._kept.notes.get(name, {}))

    def set_note(self, name, values):
        self.lock()
        self._kept.notes[name] = dict(values)

    def work(self, kind):
        return dict(sorted(self._kept.work[kind].items()))

    def set_work(self, kind, packs, *, anew=False):
        self.lock()
        self._kept.work[kind] = {**({} if anew else self._kept.work[kind]), **packs}

    def aliases(self):
        return dict(sorted(self._kept.state.aliases.items()))

    def set_aliases(self, targets):
        self.lock()
        aliases = {**self._kept.state.aliases, **targets}
        return self._advance(aliases={a: b for a, b in aliases.items() if b is not None})

    def revive(self, hashes):
        self.lock()
        documents, there = list(self._kept.state.documents), self.hashes()
        back = []
        for i, content in hashes.items():
            found = [row for row, (d, h, _) in enumerate(documents) if (d.id, h) == (i, content)]
            if found and there.get(i) != content:
                for row, (document, h, live) in enumerate(documents):
                    documents[row] = document, h, row == found[-1] or (live and document.id != i)
                back.append(i)
        if back:
            self._advance(documents=tuple(documents))
        return back

    def rename(self, documents):
        self.lock()
        kept, renamed = list(self._kept.state.documents), []
        for i, new in documents.items():
            live = {d.id: row for row, (d, _, is_live) in enumerate(kept) if is_live}
            if i in live and new.id not in live:
                document, content, _ = kept[live[i]]
                kept[live[i]] = replace(document, id=new.id, source=new.source), content, True
                renamed.append(i)
        if renamed:
            self._advance(documents=tuple(kept))
        return renamed

    def restate(self, documents, hashes):
        self.lock()
        new = {d.id: (d, h) for d, h in zip(documents, hashes, strict=True)}
        kept = []
        for document, content, live in self._kept.state.documents:
            if live and document.id in new:
                other, content = new[document.id]  # noqa: PLW2901 -- what it is now
                document = replace(  # noqa: PLW2901
                    document,
                    source=other.source,
                    metadata=other.metadata,
                    pages=other.pages,
                    apparatus=other.apparatus,
                )
            kept.append((document, content, live))
        self._advance(documents=tuple(kept))

    def remove(self, ids):
        self.lock()
        gone = [i for i in dict.fromkeys(ids) if i in self.hashes()]
        if gone:
            kept = ((d, h, live and d.id not in gone) for d, h, live in self._kept.state.documents)
            self._advance(documents=tuple(kept))
        return gone

    def rewrite(self, live):
        self.lock()
        state = self._kept.state
        arrays = {
            name: array.to_array() if isinstance(array, Blocks) else array
            for name, array in live.arrays.items()
        }
        place = {old: new for new, old in enumerate(live.chunks.tolist())}
        for kind, packs in self._kept.work.items():
            self._kept.work[kind] = {place[c]: pack for c, pack in packs.items() if c in place}
        self._advance(
            numbering=state.numbering + 1,
            documents=tuple(state.documents[row] for row in live.documents.tolist()),
            keys={
                "entity": tuple(state.keys["entity"][row] for row in live.entities.tolist()),
                "term": tuple(state.keys["term"][row] for row in live.terms.tolist()),
            },
            named=frozenset(live.named),
            segments=(arrays,) if len(live.documents) else (),
        )

    def view(self):
        return MemoryView(self._kept.state, self.recipe)

    def sweep(self):
        self.cache.drop(self.generation if self._kept.state.numbering else 0)

    def close(self):
        if self._kept.writer is self:
            self._kept.writer = None


@dataclass
class MemoryView:
    """One generation; states never change."""

    state: State
    recipe: dict

    @property
    def generation(self):
        return self.state.generation

    @property
    def numbering(self):
        return self.state.numbering

    @property
    def segments(self):
        return self.state.segments

    def live_documents(self):
        rows = enumerate(self.state.documents)
        return sorted((document.id, row) for row, (document, _, live) in rows if live)

    def documents(self, rows, *, texts=True):
        found = [self.state.documents[row][0] for row in rows]
        return found if texts else [replace(each, text="") for each in found]

    def keys(self, table, rows):
        return [self.state.keys[table][row] for row in rows]

    def rows(self, table, keys):
        if table == "document":
            live = dict(self.live_documents())
            return {key: live[key] for key in keys if key in live}
        place = {key: row for row, key in enumerate(self.state.keys[table])}
        return {key: place[key] for key in keys if key in place}

    def count(self, table):
        return len(self.state.documents if table == "document" else self.state.keys[table])

    def aliases(self):
        return self.state.aliases

    def touched(self, since, first):  # noqa: ARG002
        return None

    def close(self):
        pass


class MemoryCache:
    """Arrays by name, with the generation that they are of."""

    def __init__(self, kept):
        self._kept = kept

    def names(self):
        return sorted(self._kept)

    def generations(self, name):
        return [self._kept[name][0]] if name in self._kept else []

    def load(self, name, generation):
        found, arrays = self._kept.get(name, (None, None))
        return arrays if found == generation else None

    def newest(self, name):
        return self._kept.get(name, (None, None))[1]

    def save(self, name, generation, arrays):
        if name not in self._kept or self._kept[name][0] <= generation:
            self._kept[name] = generation, dict(arrays)

    def drop(self, before):
        for name, (generation, _) in list(self._kept.items()):
            if generation < before:
                del self._kept[name]


class MemoryKind:
    """What a package registers under `clew.stores`."""

    @staticmethod
    def exists(place):
        return str(Path(place)) in _KEPT

    @staticmethod
    def create(place, recipe):
        kept = _KEPT.setdefault(str(Path(place)), Kept(notes={"recipe": dict(recipe)}))
        return MemoryStore(kept)

    @staticmethod
    def open(place):
        if not MemoryKind.exists(place):
            raise NotAnIndex(f"{place} is not in the memory of this process: index again")
        return MemoryStore(_KEPT[str(Path(place))])
