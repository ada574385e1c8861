"""The command line: a thin layer over `clew.api` that opens, asks and prints.

Modules that take time to load (numpy and scipy come with them) are imported by the commands that
need them, so that `clew --help` is quick.
"""

import atexit
import gc
import os

import click

from clew import __version__
from clew.base.runtime.threads import bound_threads, cores
from clew.cli import plain
from clew.cli.options import open_index
from clew.cli.program import Commands, Program

__all__ = ["main"]


# MODULE:FUNCTION of each command, in the order in which a newcomer needs them; "" for that of a
# satellite, which registers it (`clew.plugins`).
_COMMANDS = {
    "index": "building:run_index",
    "ask": "asking:run_ask",
    "chat": "asking:run_chat",
    "search": "asking:run_search",
    "hop": "asking:run_hop",
    "plan": "building:run_plan",
    "themes": "looking:show_themes",
    "changes": "looking:show_changes",
    "show": "looking:show_index",
    "list": "looking:list_documents",
    "export": "looking:export_graph",
    "methods": "looking:show_methods",
    "remove": "building:remove_documents",
    "compact": "building:compact_index",
    "check": "looking:check_index",
    "backup": "building:backup_index",
    "restore": "building:restore_index",
    "split": "",
    "import": "building:import_graph",
    "import-triples": "building:import_triples",
    "merge": "building:merge_names",
    "unmerge": "building:unmerge_name",
    "edit": "building:edit_entity",
    "serve": "",
    "keys": "",
    "mcp": "",
    "eval": "",
    "config": "config:run_config",
    "help": "helping:show_help",
}
_ALLOCATIONS = 100_000  # until cycles are looked for, which at 700 takes 5 % of a question
_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=Program, context_settings=_SETTINGS)
@click.version_option(__version__, message="clew %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Search your own documents by a graph, and see the thread behind every answer.

    \b
      clew index docs/            read documents into my.clew
      clew ask "Who built ...?"   the answer, its sources, and how it was found

    No key, no network and no LLM are needed. The exit status is 0 for success, 1 for an error,
    2 for a wrong command line, 3 where some input was skipped, 4 where a budget ended before the
    work did, and 5 where nothing in the index answers the question.
    """  # noqa: D301 -- click reads the backspace: these lines are not to be joined
    gc.set_threshold(_ALLOCATIONS)
    atexit.register(gc.freeze)  # the end looks for cycles in all that was loaded, for 60 ms
    bound_threads(cores())  # before any command imports NumPy
    context.obj = context.obj or open_index
    if os.environ.get("NO_COLOR"):
        context.color = False


main.params += plain.build_options()
main.commands = Commands(_COMMANDS)  # type: ignore[assignment]  # nothing is added to them
