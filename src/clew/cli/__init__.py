"""The command line. It knows no more than `clew.api` does: it opens, asks and prints.

Modules that take time to load (numpy and scipy come with them) are imported by the commands that
need them, so that `clew --help` is quick.
"""

import gc
import os

import click

from clew import __version__
from clew.cli import talk
from clew.cli.asking import run_ask, run_hop, run_search, run_verify
from clew.cli.building import (
    backup_index,
    compact_index,
    edit_entity,
    import_graph,
    import_triples,
    merge_names,
    remove_documents,
    restore_index,
    run_index,
    split_index,
    unmerge_name,
)
from clew.cli.changes import show_changes
from clew.cli.classifying import run_classify
from clew.cli.config import run_config
from clew.cli.helping import show_help
from clew.cli.looking import check_index, export_graph, list_documents, show_index, show_methods
from clew.cli.measuring import run_evaluation
from clew.cli.options import open_index
from clew.cli.planning import run_plan
from clew.cli.program import Program
from clew.cli.serving import manage_keys, run_mcp, run_server
from clew.cli.themes import show_themes

__all__ = ["main"]


_ALLOCATIONS = 20_000  # until cycles are looked for, which at 700 takes 5 % of a question
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
    context.obj = context.obj or open_index
    if os.environ.get("NO_COLOR"):
        context.color = False


main.params += talk.build_options()
for _command in (
    run_index, run_ask, run_search, run_hop, run_verify, run_classify, run_plan, show_themes,
    show_changes, show_index,
    list_documents, export_graph, show_methods, remove_documents, compact_index, check_index,
    backup_index, restore_index, split_index, import_graph, import_triples, merge_names,
    unmerge_name, edit_entity, run_server, manage_keys, run_mcp, run_evaluation, run_config,
    show_help,
):  # fmt: skip
    main.add_command(_command)
