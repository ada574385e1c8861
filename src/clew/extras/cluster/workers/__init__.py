"""Workers: processes that load the models and build rows of documents for a process that commits.

`processes` has those of this machine, `ray` those of a Ray cluster, and `tasks` what either does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.base.runtime.lazy import compile_re
from clew.base.runtime.threads import cores
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.index.building import Workers
    from clew.models.loading import Specs

_MIN_ALLOWED, _PER_CORE = 16, 4  # processes that are always allowed, and for each core
_RAY = compile_re(r"ray(?::(//)?[^/]+)?")


def parse_workers(spec: int | str) -> int | str:
    """Return a checked spec for `open_workers`. Raises InputError if it is invalid."""
    if isinstance(spec, str) and spec.isdecimal():
        spec = int(spec)
    is_count = isinstance(spec, int) and not isinstance(spec, bool) and spec >= 0
    if is_count or (isinstance(spec, str) and _RAY.fullmatch(spec)):
        return spec
    raise InputError(
        f"workers must be a number of processes, or ray, ray:HOST:PORT or ray://HOST:PORT of"
        f" a Ray cluster, not {spec!r:.60}"
    )


def open_workers(spec: int | str, models: Specs) -> Workers | None:
    """Return workers that load models by name, or None to work in this process.

    `spec` is a number of processes, 0 for one on each core that this process may use, or the
    address of a Ray cluster. Raises InputError, MissingExtra, ModelError where the cluster cannot
    be reached.
    """
    spec = parse_workers(spec)
    if isinstance(spec, str):
        from clew.extras.cluster.workers.ray import RayWorkers

        return RayWorkers(spec, models)
    n, most = spec or cores(), max(_MIN_ALLOWED, _PER_CORE * cores())
    if n == 1:
        return None
    if n > most:
        raise InputError(
            f"{n} workers are more than the {cores()} cores of this machine can use: take {most} at"
            f" the most, or 0 for one on each core"
        )
    from clew.extras.cluster.workers.processes import ProcessWorkers

    return ProcessWorkers(n, models)
