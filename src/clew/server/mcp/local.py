"""`clew mcp`: the tools for the program that started this one, over folders of indexes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from clew.server import state
from clew.server.callers import Caller
from clew.server.endpoints import Access
from clew.server.mcp.protocol import serve_stdio
from clew.server.mcp.tools import Place
from clew.server.settings import ServerSettings
from clew.shards import open_any

if TYPE_CHECKING:
    from clew.loading import Specs
    from clew.models.budget import Budget
    from clew.models.prices import Price
    from clew.server.indexes import Opener


def serve(
    indexes: Mapping[str, Path],
    *,
    specs: Specs,
    prices: Mapping[str, Price],
    budget: Budget | None,
    opener: Opener = open_any,
) -> None:
    """Serve by standard input and output until the input ends. Raises NotAnIndex.

    Nothing of a server is needed or kept: its home is a folder that is deleted at the end.
    """
    with tempfile.TemporaryDirectory(prefix="clew-mcp-") as home:
        settings = ServerSettings(home=Path(home), indexes=indexes, specs=specs, prices=prices)

        async def run() -> None:
            async with state.open_state(settings, opener) as server:
                await serve_stdio(Place(Access(server, Caller(), budget=budget)))

        anyio.run(run)
