"""`clew mcp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clew.cli.options import PaidModels, paid_options, reranker_option
from clew.cli.serving import name_folders
from clew.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from types import ModuleType


@click.command("mcp")
@click.argument("folders", nargs=-1, metavar="[FOLDER | NAME=FOLDER]...")
@paid_options
@reranker_option
def run_mcp(folders: tuple[str, ...], paid: PaidModels, reranker: str | None) -> None:
    """Offer the indexes in FOLDERs as tools to a model, by standard input and output.

    This is for programs that start their tools themselves, such as Claude Desktop and VS Code:
    they speak the Model Context Protocol with it. The tools only read. A budget is for all that is
    asked until the program ends.
    """
    from clew.loading import Specs

    indexes = name_folders(folders)
    if not indexes:
        raise InputError("there is no index here: name the folder of one, or make one first")
    specs = Specs(llm=paid.llm, reranker=reranker)
    _import_local().serve(indexes, specs=specs, prices=paid.prices, budget=paid.budget)


def _import_local() -> ModuleType:
    """Return the module that serves. Raises MissingExtra."""
    try:
        from clew.server.mcp import local
    except ImportError as error:
        if (error.name or "").startswith("clew"):
            raise
        raise MissingExtra(error.name or "mcp", "server", "clew mcp") from error
    return local
