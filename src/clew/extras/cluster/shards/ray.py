"""Shards as Ray actors: some copies of each, on different nodes where there are as many.

Folders of shards must be readable, by the same paths, on every node; addresses are as they are.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clew import open as open_index
from clew.errors import ClewError, StoreError
from clew.extras.cluster.shards.exchange import Reply, Request
from clew.extras.cluster.shards.shard import reply_to_request
from clew.extras.cluster.workers.ray import connect, first_sentence
from clew.index.store import opening

_TRIES = 5  # of a request at which an actor ended: none of them changes anything
_START_S = 120  # for all actors to start, before the first question; then no actor is waited for


class RayShard:
    """A copy of a shard: an index opened by an actor, which Ray places, and restarts."""

    def __init__(self, ray: Any, folder: Path, timeout_s: float) -> None:  # noqa: ANN401 -- a module
        self.name = opening.describe_place(folder)
        self._ray, self._timeout_s = ray, timeout_s
        how = {"max_restarts": -1, "max_task_retries": _TRIES, "scheduling_strategy": "SPREAD"}
        self._actor = ray.remote(num_cpus=0, **how)(_ShardActor).remote(opening.place_of(folder))
        self.started = self._actor.__ray_ready__.remote()

    def ask(self, request: Request) -> Reply:
        try:
            reply = self._ray.get(self._actor.reply.remote(request), timeout=self._timeout_s)
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise StoreError(
                f"its actor failed ({first_sentence(error)}): see 'ray status'"
            ) from error
        if isinstance(reply, ClewError):
            raise reply
        return reply  # type: ignore[no-any-return]  # Ray has no types

    def close(self) -> None:
        self._ray.kill(self._actor)


class _ShardActor:
    """The actor: an open index."""

    def __init__(self, folder: str) -> None:
        self._index = open_index(folder)

    def reply(self, request: Request) -> Reply | ClewError:
        try:
            return reply_to_request(self._index, request)
        except ClewError as error:
            return error


def start_ray_shards(
    spec: str, folders: Sequence[Path], copies: int, timeout_s: float
) -> list[list[RayShard]]:
    """Start the actors of each shard on the cluster of a spec, as for workers.

    Raises MissingExtra, and ModelError where the cluster cannot be reached.
    """
    ray, _, _ = connect(spec)
    shards = [[RayShard(ray, folder, timeout_s) for _ in range(copies)] for folder in folders]
    started = [each.started for several in shards for each in several]
    ray.wait(started, num_returns=len(started), timeout=_START_S)
    return shards
