"""Maintain an index: aliases, checks, compaction, backups, costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.api.opened import OpenIndex, checked, one_at_a_time
from clew.base.types import Usage, VocabularyEntry
from clew.errors import AlreadyExists, InputError, StoreError
from clew.index.store import opening
from clew.text.keys import name_key

if TYPE_CHECKING:
    from clew.index.store.backup import Backup
    from clew.index.store.check import Damage
    from clew.models.ledger import Cost


class Upkeep(OpenIndex):
    """The maintenance methods of an index."""

    @one_at_a_time
    def merge(self, name: str, into: str) -> None:
        """Merge the entity `name` into the entity `into`; `unmerge` undoes it.

        Nothing is done where it does already. Raises InputError where the index has no such entity,
        and AlreadyExists where both are one in another way.
        """
        from clew.steps.entity_types import find_entry

        rows = self.snapshot().layer("entity").rows([name_key(name), name_key(into)])
        missing = next((n for n, row in zip((name, into), rows, strict=True) if row < 0), None)
        if missing is not None:
            raise InputError(f"the index has no entity {missing!r}: see 'clew show'")
        if self._open_store().aliases().get(name_key(name)) == name_key(into):
            return self._renew(self._open_store())  # which a process that was killed did not
        entries = self._open_store().vocabulary()
        kept = next((n for n in (name, into) if find_entry(entries, name_key(n)).apart), None)
        if kept is not None:
            raise InputError(f"{kept!r} is kept apart: 'clew edit NAME --together' allows merging")
        if rows[0] == rows[1]:
            raise AlreadyExists(f"{name!r} and {into!r} are already the same entity")
        return self._set_alias(name_key(name), name_key(into))

    @one_at_a_time
    def edit(
        self,
        name: str,
        *,
        rename: str | None = None,
        type: str | None = None,  # noqa: A002 -- as it is called everywhere
        apart: bool | None = None,
    ) -> VocabularyEntry:
        """Rename or retype an entity, or keep it apart from others; edits survive updates.

            index.edit("Fram", type="ship")

        Args:
            name: The entity's name or id.
            rename: How it is to be shown; "" takes that back. It is found by the new name, too.
            type: What it is: person, place, organization, date, number, work, code, or a word of
                your own; "" takes that back.
            apart: Whether rules never merge it with another entity, nor propose that.

        Raises:
            InputError: There is no such entity, another one has the new name, or that is no type.
        """
        from clew.index.vocabulary import check_type

        store, layer = self._open_store(), self.snapshot().layer("entity")
        [row] = layer.rows([name_key(name)])
        if row < 0:
            raise InputError(f"the index has no entity {name!r:.200}: see 'clew show'")
        key = layer.ids([row])[0]
        store.lock()  # so that nobody says more of it meanwhile, which would be lost
        entries = store.vocabulary()
        entry = replace(entries.get(key, VocabularyEntry()), listed=False)
        changed: dict[str, VocabularyEntry] = {}
        if rename is not None:
            new, old = name_key(rename), name_key(entry.name)
            is_name = any(map(str.isalnum, new)) and layer.rows([new])[0] in {-1, row}
            if rename.strip() and not is_name:
                raise InputError(f"{rename!r:.200} is not a name, or is taken: see 'clew merge'")
            if old in entries and entries[old].target == key and layer.rows([old])[0] == row:
                changed[old] = replace(entries[old], target="")
            if new and layer.rows([new])[0] < 0:
                changed[new] = replace(entries.get(new, VocabularyEntry()), target=key)
            entry = replace(entry, name=" ".join(rename.split()))
        if type is not None:
            entry = replace(entry, type=check_type(type) if type.strip() else "")
        if apart is not None:
            entry = replace(entry, apart=apart)
        changed[key] = entry
        store.set_vocabulary(changed)
        self._renew(store)
        return entry

    @one_at_a_time
    def take_vocabulary(self, path: str | Path) -> Mapping[str, VocabularyEntry]:
        """Replace the vocabulary by the names, aliases and types of a CSV file.

        It has the columns name, aliases (between semicolons), type and apart; the first alone is
        needed. What `edit` or `merge` said by hand stays. Raises InputError for what is no such
        file.
        """
        from clew.index.vocabulary import read_vocabulary

        store, listed = self._open_store(), read_vocabulary(Path(path))
        store.lock()
        before = store.vocabulary()
        changed = {key: VocabularyEntry() for key, entry in before.items() if entry.listed}
        changed |= {
            key: entry for key, entry in listed.items() if key not in before or before[key].listed
        }
        if any(before.get(key, VocabularyEntry()) != entry for key, entry in changed.items()):
            store.set_vocabulary(changed)
            self._renew(store)
        return listed

    def vocabulary(self) -> Mapping[str, VocabularyEntry]:
        """Return the edits and vocabulary entries of entities, by key."""
        return self._open_store().vocabulary()

    @one_at_a_time
    def merge_by_rules(self) -> dict[str, str]:
        """Merge names that differ only by an article, "&" or a legal form; return the merges.

        `unmerge` takes each of them back.
        """
        from clew.index.layers.aliases import rule_merges

        store, layer = self._open_store(), self.snapshot().layer("entity")
        keys = layer.ids(range(len(layer)))
        apart = {key for key, entry in store.vocabulary().items() if entry.apart}
        pairs = [sorted((keys[a], keys[b]), key=len) for a, b in rule_merges(keys)]
        pairs = [pair for pair in pairs if apart.isdisjoint(pair)]
        targets = {longer: shorter for shorter, longer in pairs}
        if targets:
            store.set_aliases(targets)
            self._renew(store)
        return targets

    @one_at_a_time
    def unmerge(self, name: str) -> None:
        """Undo the merge of an entity."""
        if name_key(name) not in self._open_store().aliases():
            raise InputError(f"{name!r} is not merged into an entity: see 'clew show --aliases'")
        self._set_alias(name_key(name), None)

    def _set_alias(self, key: str, target: str | None) -> None:
        store = self._open_store()
        store.set_aliases({key: target})
        self._renew(store)

    def aliases(self) -> dict[str, Any]:
        """Return the merged names, and pairs of names that may be aliases."""
        from clew.views.describe import describe_aliases

        return describe_aliases(self._open_store().aliases(), self.snapshot())

    @one_at_a_time
    def compact(self) -> None:
        """Rewrite the index without deleted or replaced data, erasing it."""
        store = self._open_store()
        with self._lock:  # an open reader keeps deleted text on disk
            self._snapshot = None
        self._renew(store, compact=True)

    def check(self) -> list[Damage]:
        """Verify every byte of the index and of its paid replies; return the damage.

        Files that can be computed again are dropped if they are damaged. Of an index in PostgreSQL
        every object is downloaded. Raises NotAnIndex where there is no index.
        """
        from clew.index.adding import hash_content

        return opening.damages(self.folder, hash_content)

    @checked
    def backup(self, path: str | Path) -> Backup:
        """Back up the newest generation to a .tar.gz or .tar archive, without blocking writers.

        With what was paid for: the ledger and the cached vectors. `clew.restore` makes an index of
        it. Raises InputError for a file that is there, or another ending, and for an index in
        PostgreSQL; NotAnIndex; and StoreError where the archive cannot be written.
        """
        from clew.index.store.backup import write_backup

        return write_backup(self.folder, Path(path))

    def spent(self) -> Usage | None:
        """Return the total cost of all writes to the index, or None if unknown.

        What a process spent that was killed is missing. It is not known of an index that another
        version of Clew made, or whose ledger is gone.
        """
        costs = self.costs()
        if not costs or costs[0].before:
            return None
        return reduce(add, (cost.usage for cost in costs))

    def costs(self) -> list[Cost]:
        """Return the cost of each write, oldest first, or none if unknown.

        What a process spent that was killed is missing.
        """
        try:
            return self._ledger.costs() if self._ledger.exists() else []
        except StoreError:  # the index does not need its ledger
            return []

    def hashes(self) -> Mapping[str, str]:
        """Return the content hash of every document by its id."""
        return self._open_store().hashes()

    def digest(self) -> str:
        """Return the SHA-256, in hex, of the ids and contents of all documents."""
        from hashlib import sha256

        from clew.index.adding import get_rows_hash

        hashes = sorted(self._open_store().hashes().items())
        rows = (f"{id_} {get_rows_hash(content)}" for id_, content in hashes)
        return sha256("\n".join(rows).encode()).hexdigest()


def restore(source: str | Path, folder: str | Path) -> Backup:
    """Restore an index into a new folder from an archive of `Index.backup`.

    Every byte is looked at before the folder is there. Raises InputError for what is no whole
    backup, for a folder that is there and not empty, and for an index that is damaged.
    """
    from clew.index.adding import hash_content
    from clew.index.store.backup import unpack
    from clew.index.store.check import find_damages

    with unpack(Path(source), Path(folder)) as (place, report):
        for each in find_damages(place, hash_content):
            if each.is_paid and not (place / each.file).exists():
                continue  # as it was when the backup was made
            raise InputError(
                f"{source} holds a damaged index ({each.file}: {each.what}): so it was when the"
                f" backup was made; use another backup"
            )
    return report
