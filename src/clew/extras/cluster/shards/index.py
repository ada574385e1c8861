"""Several indexes as one: methods run on the neighbourhood gathered for each question."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from clew import Added, Index, Settings, Snapshot
from clew import methods as retrieval
from clew import open as open_index
from clew.answers.askable import Askable
from clew.answers.question import Question
from clew.api import checked
from clew.base.options import with_options
from clew.base.runtime.cached_values import Once
from clew.base.runtime.closing import Closing
from clew.base.runtime.threads import awaitable
from clew.base.types import Scalar
from clew.errors import InputError, RecipeMismatch, StoreError
from clew.extras.cluster.postgres.address import cache_root
from clew.extras.cluster.shards import writing
from clew.extras.cluster.shards.exchange import (
    Count,
    Counts,
    Describe,
    Neighbourhood,
    ShardDescription,
)
from clew.extras.cluster.shards.gather import CombinedShards, Gathered, gather_snapshot
from clew.extras.cluster.shards.links import LocalShard, ProcessShard, Shard, ask_all
from clew.extras.cluster.shards.shard import GenerationChanged
from clew.extras.cluster.shards.whole import CorpusTotals
from clew.extras.cluster.shards.writing import Place
from clew.extras.cluster.workers import parse_workers
from clew.filters import Filter, match, parse, to_filter
from clew.index import recipe as recipes
from clew.index.layers.statistical import STATISTICAL
from clew.index.options import AddOptions
from clew.index.store import opening, sharded
from clew.methods import Method
from clew.models import Models, Price, loading
from clew.models.bound import bind_models
from clew.models.run import start_question_run
from clew.readers.sources import Source

_TRIES = 5  # of a question while shards are written to
_TOO_FAST = "the shards changed while they were asked: ask again"
_CACHED_FILTERS = 8  # filters whose numbers stay in memory


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
        **how: Any,  # noqa: ANN401 -- of `clew.open`
    ) -> None:
        self.size = size or Neighbourhood()
        self.folder = home
        self._shards = shards
        self._places = places
        self._how = how
        self._models: Models | None = None
        self._described: tuple[ShardDescription, ...] = ()
        self._together: Once[str] = Once(_CACHED_FILTERS)
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return sum(each.n_documents for each in self._get_descriptions())

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

    def _get_descriptions(self) -> tuple[ShardDescription, ...]:
        """Return the descriptions of the shards as of the last request."""
        with self._lock:
            return self._described or self._describe_newest()

    def _describe_newest(self) -> tuple[ShardDescription, ...]:
        """Return the current descriptions of the shards; counts are renewed after a write."""
        with self._lock:
            requests = [(number, Describe()) for number in range(len(self._shards))]
            replies = ask_all(self._shards, requests)
            described = tuple(each for each in replies if isinstance(each, ShardDescription))
            _check_alike(described, self._shards)
            if described != self._described:
                self._described, self._together = described, Once(_CACHED_FILTERS)
            return described

    def _combine(self, where: str) -> CombinedShards:
        """Combine all shards into one index, restricted to documents that match a filter."""
        return self._together.get(where, partial(self._count, where))

    def _count(self, where: str) -> CombinedShards:
        shards = self._get_descriptions()
        aliases = {a: b for each in shards for a, b in each.aliases.items()}
        requests = [Count(generation=each.generation, where=where) for each in shards]
        replies = ask_all(self._shards, list(enumerate(requests)))
        counts = [each for each in replies if isinstance(each, Counts)]
        if where:
            names = dict.fromkeys(chain.from_iterable(each.fields for each in counts))
            match.check_fields(parse(where), list(names))
        some = [number for number, each in enumerate(counts) if each.n_chunks]
        if not some:
            if where:
                raise InputError(f"no document matches the filter {where!r:.200}: see 'clew list'")
            raise InputError("these shards are empty: add documents first")
        return CombinedShards(
            shards=some,
            generations=[shards[number].generation for number in some],
            whole=CorpusTotals.from_counts(counts, aliases),
            recipe=shards[0].recipe,
            aliases=aliases,
            where=where,
        )

    @property
    def recipe(self) -> Mapping[str, Scalar]:
        """The settings that all shards were built with."""
        return self._get_descriptions()[0].recipe

    @property
    def generation(self) -> int:
        """The sum of the shards' newest generations, which grows with every write."""
        return sum(each.generation for each in self._describe_newest())

    @checked
    def sizes(self, where: str | Filter | None = None) -> tuple[int, int]:
        """Return the number of documents, and of chunks in documents that match a filter.

        Raises InputError for a filter, as `Index.snapshot`.
        """
        wanted = to_filter(where)
        for _ in range(_TRIES):
            with suppress(GenerationChanged), self._lock:
                n_documents = sum(each.n_documents for each in self._describe_newest())
                if not n_documents and wanted is None:
                    return 0, 0
                one = self._combine("" if wanted is None else str(wanted))
                return n_documents, one.whole.n_chunks
        raise StoreError(_TOO_FAST)

    def holding(self, document_id: str) -> Snapshot | None:
        """Return a snapshot of the shard with a document, None if no shard has it.

        Raises InputError where it may be in a shard that is behind a server or in another process.
        """
        elsewhere = ""
        with self._lock:
            for shard in self._shards:
                if not isinstance(shard, LocalShard):
                    elsewhere = shard.name
                elif (snapshot := shard.snapshot()).layer("document").rows([document_id]) != [-1]:
                    return snapshot
        if elsewhere:
            raise InputError(
                f"the document {document_id!r:.80} may be in the shard {elsewhere}: query it"
            )
        return None

    def list_snapshots(self) -> list[Snapshot]:
        """Return a snapshot of every shard's newest generation.

        Raises InputError where one is behind a server or in another process.
        """
        snapshots = []
        for shard in self._shards:
            if not isinstance(shard, LocalShard):
                raise InputError(
                    f"the documents of the remote shard {shard.name} cannot be read here"
                )
            snapshots.append(shard.snapshot())
        return snapshots

    def refresh(self) -> None:
        """Use the newest generation of every shard from the next question on."""
        with self._lock:
            self._described, self._together = (), Once(_CACHED_FILTERS)

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
        with self._lock:
            for _ in range(_TRIES):
                with suppress(GenerationChanged):
                    one = self._combine("" if wanted is None else str(wanted))
                    one = replace(one, exact=exact)
                    others = [n for n in range(len(self._shards)) if n not in one.shards]
                    now = ask_all(self._shards, [(number, Describe()) for number in others])
                    if now != [self._described[number] for number in others]:
                        raise GenerationChanged("a shard was written to that was empty")
                    ask = partial(ask_all, self._shards)
                    facts = not retrievers or any("triple" in each.layers for each in retrievers)
                    size = self.size if facts else replace(self.size, triples=0)
                    salient = any(STATISTICAL in getattr(each, "needs", ()) for each in retrievers)
                    seekers = [each.seeks for each in retrievers if hasattr(each, "seeks")]
                    return gather_snapshot(
                        question, models, one, ask, size, salient=salient, seekers=seekers
                    )
                self.refresh()
        raise StoreError(_TOO_FAST)

    # -- read -------------------------------------------------------------------------------------

    def choose_method(self, question: str) -> str:  # noqa: ARG002 -- one index has themes, too
        """Return the default method."""
        has_graphs = any(each.of_graphs for each in self._get_descriptions())
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


def _check_alike(descriptions: Sequence[ShardDescription], shards: Sequence[Shard]) -> None:
    """Raise RecipeMismatch for a shard built with other settings than the first one."""
    for shard, each in zip(shards, descriptions, strict=True):
        for name in sorted({*each.recipe, *descriptions[0].recipe}):
            own, first = each.recipe.get(name), descriptions[0].recipe.get(name)
            if own != first:
                raise RecipeMismatch(
                    f"the shard {shard.name} was built with {name} {own!r}, and"
                    f" {shards[0].name} with {first!r}: index one of them again"
                )


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
    cluster: str = "",
    key: str | None = None,
    size: Neighbourhood | None = None,
) -> Shards:
    """Open several indexes to be queried as one.

        clew.shards.open_shards(["a.clew", "b.clew"]).ask("Who built the Fram?")

    Args:
        folders: Those of the shards, or the one that `create` or `split` made. An address of an
            index of a server, "https://HOST/api/v1/indexes/NAME", is asked there.
        models: As of `clew.open`, for the process that asks.
        specs: As of `clew.open`; a shard loads an embedder only where a method needs statistical
            entities.
        settings: How shards are built that have no document yet.
        prices: As of `clew.open`.
        processes: Let each shard live in a process of its own.
        cluster: The address of a Ray cluster, "ray:HOST:PORT", where each shard is an actor.
        key: For servers, of the scope "admin"; by default that of $CLEW_KEY.
        size: How much a question gathers.

    Raises InputError without any shard, MissingExtra where a package that is needed is not
    installed, and ModelError where the cluster cannot be reached.
    """
    home, places = _paid_places(folders)
    own = [place for place in places if isinstance(place, Path)]
    links: Iterator[Shard]
    if cluster:
        from clew.extras.cluster.shards.ray import start_ray_shards

        links = iter(start_ray_shards(str(parse_workers(cluster)), own))
    elif processes:
        links = map(ProcessShard, own)
    else:
        links = (LocalShard(open_index(place, models=models)) for place in own)
    return Shards(
        [next(links) if isinstance(place, Path) else _open_served(place, key) for place in places],
        home,
        places=places,
        size=size,
        models=models,
        specs=specs,
        settings=settings,
        prices=prices,
    )


def _open_served(address: str, key: str | None) -> Shard:
    from clew.extras.cluster.shards.served import ServedShard

    return ServedShard(address, key)


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
