"""Several indexes as one: methods run on the neighbourhood gathered for each question."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from clew import Added, Index, Settings, Snapshot
from clew import methods as retrieval
from clew import open as open_index
from clew.answers.askable import Askable
from clew.answers.question import Question
from clew.api import checked
from clew.base.options import with_options
from clew.base.runtime import arguments
from clew.base.runtime.closing import Closing
from clew.base.runtime.threads import awaitable
from clew.base.types import Evidence, Scalar
from clew.errors import InputError, StoreError
from clew.extras.cluster.postgres.address import cache_root
from clew.extras.cluster.shards import writing
from clew.extras.cluster.shards.asking import DEADLINE_S, Inquiry, Shard, ShardCopy, ShardLost
from clew.extras.cluster.shards.exchange import Neighbourhood, ShardDescription
from clew.extras.cluster.shards.gather import Gathered, gather_snapshot
from clew.extras.cluster.shards.known import KnownShards
from clew.extras.cluster.shards.links import LocalShard, ProcessShard
from clew.extras.cluster.shards.shard import GenerationChanged
from clew.extras.cluster.shards.writing import Place
from clew.extras.cluster.workers import parse_workers
from clew.filters import Filter, to_filter
from clew.index import recipe as recipes
from clew.index.layers.statistical import STATISTICAL
from clew.index.options import AddOptions
from clew.index.store import opening, sharded
from clew.methods import Method
from clew.models import Models, Price, loading
from clew.models.bound import bind_models
from clew.models.run import start_question_run
from clew.readers.sources import Source
from clew.text.quantities import format_count

_TRIES = 5  # of a question while shards are written to
# What may stand beside the names in `shards.json`: the default, and what it may be.
_OPTIONS: Mapping[str, tuple[Any, arguments.Kind]] = {
    "cluster": ("", arguments.TEXT),
    "copies": (1, arguments.whole_numbers(1, 100)),
    "deadline_s": (DEADLINE_S, arguments.number(0.001)),
    "strict": (False, arguments.TRUTH),
}
T = TypeVar("T")


class Shards(Askable, Closing):
    """Several indexes, queried as one. Threads may share it; their calls are serialized.

    Nothing is loaded before it is needed. An answer is that of one index of all documents, as far
    as the neighbourhood of the question reaches.
    """

    opening = "gather"

    def __init__(
        self,
        shards: Sequence[Shard],
        home: Path,
        *,
        places: Sequence[Place] = (),
        size: Neighbourhood | None = None,
        deadline_s: float = DEADLINE_S,
        strict: bool = False,
        **how: Any,  # noqa: ANN401 -- of `clew.open`
    ) -> None:
        self.size = size or Neighbourhood()
        self.folder = home
        self._shards = shards
        self._places = places
        self._how = how
        self._models: Models | None = None
        self._known = KnownShards(shards)
        self._deadline_s, self._strict = deadline_s, strict
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return sum(each.n_documents for each in self._describe().values())

    def __bool__(self) -> bool:
        """Return True, even if the shards have no documents."""
        return True

    def __repr__(self) -> str:
        return f"<Shards: {len(self._shards)} below {str(self.folder)!r}>"

    @property
    def models(self) -> Models:
        """The models, loaded on first use; see `Index.models`."""
        with self._lock:
            if self._models is None:
                self._models = recipes.record_models(
                    self._how.get("models"),
                    self._how.get("specs") or loading.Specs(),
                    self.recipe,
                    self.folder,
                    self._how.get("prices"),
                )
            return self._models

    # -- the shards -------------------------------------------------------------------------------

    def _describe(self) -> Mapping[int, ShardDescription]:
        """Return the descriptions of the shards as of the last request."""
        return self._run(self._known.describe)

    @property
    def recipe(self) -> Mapping[str, Scalar]:
        """The settings that all shards were built with."""
        return next(iter(self._describe().values())).recipe

    @property
    def generation(self) -> int:
        """The sum of the shards' newest generations, which grows with every write."""
        self.refresh()
        return sum(each.generation for each in self._describe().values())

    @checked
    def sizes(self, where: str | Filter | None = None) -> tuple[int, int]:
        """Return the number of documents, and of chunks in documents that match a filter.

        Raises InputError for a filter, as `Index.snapshot`.
        """
        wanted = to_filter(where)

        def count(inquiry: Inquiry) -> tuple[int, int]:
            described = self._known.describe(inquiry).values()
            n_documents = sum(each.n_documents for each in described)
            if not n_documents and wanted is None:
                return 0, 0
            one = self._known.combine("" if wanted is None else str(wanted), inquiry)
            return n_documents, one.whole.n_chunks

        self.refresh()
        return self._run(count)

    def _run(self, ask: Callable[[Inquiry], T]) -> T:
        """Ask the shards; start over when one is lost or was written to meanwhile."""
        with self._lock:
            inquiry = Inquiry(self._shards, self._deadline_s, strict=self._strict)
            changes = 0
            while changes < _TRIES:
                try:
                    return ask(inquiry)
                except ShardLost:
                    continue
                except GenerationChanged:
                    self.refresh()
                    changes += 1
        raise StoreError("the shards changed while they were asked: ask again")

    def holding(self, document_id: str) -> Snapshot | None:
        """Return a snapshot of the shard with a document, None if no shard has it.

        Raises InputError where it may be in a shard that is behind a server or in another process.
        """
        elsewhere = ""
        with self._lock:
            for shard in self._shards:
                if not isinstance(link := shard.copies[0], LocalShard):
                    elsewhere = shard.name
                elif (snapshot := link.snapshot()).layer("document").rows([document_id]) != [-1]:
                    return snapshot
        if elsewhere:
            raise InputError(
                f"the document {document_id!r:.80} may be in the shard {elsewhere}: query it"
            )
        return None

    def refresh(self) -> None:
        """Use the newest generation of every shard from the next question on."""
        with self._lock:
            self._known.expire()

    @checked
    def gathered(
        self,
        question: str,
        where: str | Filter | None = None,
        *,
        models: Models | None = None,
        retrievers: Sequence[retrieval.Method] = (),
        exact: bool = False,
    ) -> Gathered:
        """Return the snapshot gathered for a question, and the seconds it took.

        Where `retrievers` are given, it has what these methods need and no more: the nearest facts
        only where one looks for such, and the statistical entities, which it lacks else.

        Raises StoreError where a shard fails, and InputError for a filter, as `Index.snapshot`.
        """
        wanted = to_filter(where)
        models = models or bind_models(self.models, start_question_run())
        facts = not retrievers or any("triple" in each.layers for each in retrievers)
        size = self.size if facts else replace(self.size, triples=0)
        salient = any(STATISTICAL in getattr(each, "needs", ()) for each in retrievers)
        seekers = [each.seeks for each in retrievers if hasattr(each, "seeks")]

        def gather(inquiry: Inquiry) -> Gathered:
            one = self._known.combine("" if wanted is None else str(wanted), inquiry)
            one = replace(one, exact=exact)
            gathered = gather_snapshot(
                question, models, one, inquiry.ask, size, salient=salient, seekers=seekers
            )
            self._known.check_current(gathered.asked, inquiry)
            return gathered

        return self._run(gather)

    # -- read -------------------------------------------------------------------------------------

    def choose_method(self, question: str) -> str:  # noqa: ARG002 -- one index has themes, too
        """Return the default method."""
        has_graphs = any(each.of_graphs for each in self._describe().values())
        return "auto" if has_graphs else retrieval.DEFAULT

    def snapshot_for(self, question: Question, method: Method, models: Models) -> Snapshot:
        """Return the snapshot gathered for a question and the turn before it."""
        before = [f"{turn.question} {turn.answer}" for turn in question.history[-1:]]
        return self.gathered(
            " ".join([question.text, *before]).strip(),
            question.where,
            models=models,
            retrievers=[method],
            exact=question.exact,
        ).snapshot

    def note_missing(self, evidence: Evidence, snapshot: Snapshot) -> Evidence:
        """Return evidence that names the lost shards; its support is lowered by their share."""
        totals = snapshot.totals
        if totals is None or not totals.missing:
            return evidence
        what = format_count(len(totals.missing), "shard")
        note = f"partial: {what} of {len(self._shards)} did not reply ({', '.join(totals.missing)})"
        support = None if evidence.support is None else evidence.support * totals.reached
        notes, missing = (*evidence.notes, note), totals.missing
        return replace(evidence, partial=True, missing=missing, notes=notes, support=support)

    # -- write ------------------------------------------------------------------------------------

    def _open_shard(self, place: Place) -> Index:
        """Open one shard for writing; the instance that is queried never writes."""
        if not isinstance(place, Path):
            raise InputError(
                f"the shard {place} is behind a server: list it, and write to it, where it is"
            )
        return open_index(place, **self._how)

    @checked
    @with_options(AddOptions)
    def add(self, source: Source, options: AddOptions) -> Added:
        """Add documents to their shards, one shard after the other, as `Index.add`.

        Of folders each shard reads the files that are its own; a file of records is read for each
        of them. What is chosen of all chunks for an LLM to read is chosen in each shard by itself.
        One that lacks documents as yet is made empty. `part` is for one shard, which
        `open_index` opens: so several machines may each fill their own.
        """
        return writing.add_to_shards(self._places, self._open_shard, source, options)

    @checked
    def documents(self, *patterns: str, where: str | Filter | None = None) -> list[str]:
        """Return the document ids of all shards, as `Index.documents`."""
        ids = writing.list_documents(self._places, self._open_shard, patterns, where)
        return sorted(chain.from_iterable(ids))

    @checked
    def remove(
        self,
        ids: str | Sequence[str] = (),
        *,
        where: str | Filter | None = None,
        dry_run: bool = False,
    ) -> list[str]:
        """Delete documents from any shard, as `Index.remove`; return their ids."""
        return writing.remove_from_shards(
            self._places, self._open_shard, ids, where, dry_run=dry_run
        )

    def each(self) -> Iterator[Index]:
        """Yield the shards; each is open until the next one is requested."""
        for place in self._places:
            with self._open_shard(place) as index:
                yield index

    def close(self) -> None:
        """Close all shards, and end their processes."""
        with self._lock:
            for shard in self._shards:
                shard.close()

    aadd = awaitable(add)
    aremove = awaitable(remove)


def open_any(folder: str | Path, **how: Any) -> Index | Shards:  # noqa: ANN401 -- of `clew.open`
    """Open the index in a folder, or all shards of a shard folder. Raises InputError."""
    return (open_shards if sharded.is_home(Path(folder)) else open_index)(folder, **how)


@checked
def open_shards(  # noqa: PLR0913 -- one argument for each option
    folders: str | Path | Sequence[str | Path],
    *,
    models: Models | None = None,
    specs: loading.Specs | None = None,
    settings: Settings | None = None,
    prices: Mapping[str, Price] | None = None,
    processes: bool = False,
    cluster: str | None = None,
    copies: int | None = None,
    key: str | None = None,
    size: Neighbourhood | None = None,
    deadline_s: float | None = None,
    strict: bool | None = None,
) -> Shards:
    """Open several indexes to be queried as one.

        clew.shards.open_shards(["a.clew", "b.clew"]).ask("Who built the Fram?")

    The defaults of `cluster`, `copies`, `deadline_s` and `strict` may stand in `shards.json`.

    Args:
        folders: Those of the shards, or the one that `create` or `split` made. An address of an
            index of a server, "https://HOST/api/v1/indexes/NAME", is asked there; several of them
            with commas between are copies of one shard.
        models: As of `clew.open`, for the process that asks.
        specs: As of `clew.open`; a shard loads an embedder only where a method needs statistical
            entities.
        settings: How shards are built that have no document yet.
        prices: As of `clew.open`.
        processes: Let each shard live in a process of its own.
        cluster: The address of a Ray cluster, "ray:HOST:PORT", where each shard is an actor.
        copies: How many actors of each shard there are.
        key: For servers, of the scope "admin"; by default that of $CLEW_KEY.
        size: How much a question gathers.
        deadline_s: How long a question waits for shards of other processes in all, 10 s by
            default. What did not reply by then is missing from a partial answer.
        strict: Raise StoreError where a shard does not reply, instead of a partial answer.

    Raises InputError without any shard, MissingExtra where a package that is needed is not
    installed, and ModelError where the cluster cannot be reached.
    """
    home, places = _paid_places(folders)
    given = {"cluster": cluster, "copies": copies, "deadline_s": deadline_s, "strict": strict}
    listed = home if isinstance(folders, str | Path) else None
    cluster, copies, deadline_s, strict = _read_options(listed, given).values()
    own = [place for place in places if isinstance(place, Path)]
    links: Iterator[Sequence[ShardCopy]]
    if cluster:
        from clew.extras.cluster.shards.ray import start_ray_shards

        links = iter(start_ray_shards(str(parse_workers(cluster)), own, copies, deadline_s))
    elif processes:
        links = ([ProcessShard(place)] for place in own)
    else:
        links = ([LocalShard(open_index(place, models=models))] for place in own)
    return Shards(
        [
            Shard(next(links), label, is_here=not (cluster or processes))
            if isinstance(place, Path)
            else Shard(_open_served(place, key, deadline_s), label)
            for place, label in zip(places, _label_places(places), strict=True)
        ],
        home,
        places=places,
        size=size,
        deadline_s=deadline_s,
        strict=strict,
        models=models,
        specs=specs,
        settings=settings,
        prices=prices,
    )


def _open_served(addresses: str, key: str | None, timeout_s: float) -> list[ShardCopy]:
    from clew.extras.cluster.shards.served import ServedShard

    return [ServedShard(address, key, timeout_s) for address in addresses.split(",")]


def _read_options(home: Path | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options, else those of a folder of shards. Raises InputError."""
    listed = json.loads((home / sharded.SHARDS).read_text(encoding="utf-8")) if home else {}
    some = {name: each for name, each in given.items() if each is not None}
    values = {name: each for name, each in {**listed, **some}.items() if name in _OPTIONS}
    arguments.check_arguments(values, {name: kind for name, (_, kind) in _OPTIONS.items()})
    return {name: default for name, (default, _) in _OPTIONS.items()} | values


def _label_places(places: Sequence[Place]) -> list[str]:
    """Return a name of each shard that does not tell where it is: the last part of its path."""
    names = [Path(str(each).partition(",")[0].partition("?")[0]).name for each in places]
    return [name if names.count(name) == 1 else f"{n}: {name}" for n, name in enumerate(names)]


def _paid_places(folders: str | Path | Sequence[str | Path]) -> tuple[Path, list[Place]]:
    """Return the folder of paid model results, and the name of each shard."""
    if isinstance(folders, str | Path):
        home = Path(folders)
        return home, [
            _parse_place(name) if "://" in name else home / name
            for name in sharded.read_places(home)
        ]
    places = [_parse_place(each) for each in folders]
    if not places:
        raise InputError("there is no shard to open: give the folders of some indexes")
    first = places[0]
    if isinstance(first, Path):
        return first, places
    digest = sha256("\n".join(map(str, places)).encode()).hexdigest()[:12]
    return cache_root() / f"shards-{digest}", places


def _parse_place(name: str | Path) -> Place:
    is_served = isinstance(name, str) and name.startswith(("http://", "https://"))
    return str(name) if is_served else opening.folder_of(name)
