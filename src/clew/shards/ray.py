"""Shards as actors of a Ray cluster: each is opened by one process on some node, and stays there.

Folders of shards must be readable, by the same paths, on every node; addresses are as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.api import open_index
from clew.errors import ClewError, StoreError
from clew.shards.shard import reply_or_error
from clew.store import opening
from clew.workers.ray import connect, first_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.shards.exchange import Reply, Request


_TRIES = 5  # of a request at which an actor ended: none of them changes anything


class RayShard:
    """A shard that an actor opens. One that ends is started again for the next question."""

    def __init__(self, ray: Any, folder: Path) -> None:  # noqa: ANN401 -- a module
        self._ray = ray
        self._folder = folder
        self._waiting: list[Any] = []
        kind = ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=_TRIES)(_ShardActor)
        self._actor = kind.remote(opening.place_of(folder))

    @property
    def name(self) -> str:
        return opening.describe_place(self._folder)

    def send(self, request: Request) -> None:
        self._waiting.append(self._actor.reply.remote(request))

    def receive(self) -> Reply:
        try:
            reply = self._ray.get(self._waiting.pop(0))
        except (self._ray.exceptions.RayError, ConnectionError) as error:
            raise StoreError(
                f"its actor did not do its work ({first_sentence(error)}): see 'ray status'"
            ) from error
        if isinstance(reply, ClewError):
            raise reply
        return reply  # type: ignore[no-any-return]  # Ray has no types

    def forget(self) -> None:
        self._waiting.clear()

    def close(self) -> None:
        self._ray.kill(self._actor)


class _ShardActor:
    """What an actor is: an open index."""

    def __init__(self, folder: str) -> None:
        self._index = open_index(folder)

    def reply(self, request: Request) -> Reply | ClewError:
        return reply_or_error(self._index, request)


def start_ray_shards(spec: str, folders: Sequence[Path]) -> list[RayShard]:
    """Return an actor for each shard, of the cluster that a spec names as for workers.

    Raises MissingExtra, and ModelError where the cluster cannot be reached.
    """
    ray, _, _ = connect(spec)
    return [RayShard(ray, folder) for folder in folders]
