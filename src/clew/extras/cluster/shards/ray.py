"""Shards as Ray actors: each lives in one process on some node.

Folders of shards must be readable, by the same paths, on every node; addresses are as they are.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from clew import open as open_index
from clew.errors import ClewError, StoreError
from clew.extras.cluster.shards.exchange import Receive, Reply, Request
from clew.extras.cluster.shards.shard import reply_to_request
from clew.extras.cluster.workers.ray import connect, first_sentence
from clew.index.store import opening

_TRIES = 5  # of a request at which an actor ended: none of them changes anything


class RayShard:
    """A shard opened by an actor, which is restarted for the next question if it died."""

    def __init__(self, ray: Any, folder: Path) -> None:  # noqa: ANN401 -- a module
        self.name = opening.describe_place(folder)
        self._ray = ray
        kind = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=_TRIES)(_ShardActor)
        self._actor = kind.remote(opening.place_of(folder))

    def send(self, request: Request) -> Receive:
        return partial(self._receive, self._actor.reply.remote(request))

    def _receive(self, pending: object) -> Reply:
        try:
            reply = self._ray.get(pending)
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


def start_ray_shards(spec: str, folders: Sequence[Path]) -> list[RayShard]:
    """Start an actor for each shard on the cluster of a spec, as for workers.

    Raises MissingExtra, and ModelError where the cluster cannot be reached.
    """
    ray, _, _ = connect(spec)
    return [RayShard(ray, folder) for folder in folders]
