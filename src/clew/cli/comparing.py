"""`clew eval compare`: runs that were written before, in one report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.options import json_option
from clew.cli.plain import echo_json
from clew.cli.settings import check_reports, report_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clew.evaluate import Report


@click.command("compare")
@click.argument("paths", metavar="RUN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    default="",
    metavar="LABEL",
    help="The setting that the others are compared with. "
    "[default: the first named, and of a folder the first by name]",
)
@report_option
@json_option
def compare_runs(
    paths: tuple[Path, ...], *, baseline: str, reports: tuple[Path, ...], as_json: bool
) -> None:
    """Compare runs that 'clew eval --runs' wrote: the same report, and nothing is asked again.

    RUN is a file, or a folder of such. All runs must be over the same questions and documents, and
    scored the same way. Settings of one name are told apart by their folders.
    """
    from clew.evaluate import read_runs, report_of

    check_reports(reports)
    report = report_of(read_runs(paths), baseline)
    print_report(report, reports, as_json=as_json)


def print_report(
    report: Report, files: Sequence[Path], *, as_json: bool, with_rows: bool = False
) -> None:
    """Print a report, and write it to the files."""
    from clew.evaluate import render

    if as_json:
        echo_json(report.to_json(with_rows=with_rows))
    else:
        click.echo(render(report), nl=False)
    if files:
        from clew.evaluate.pages.page import write

        for file in files:
            write(report, file)
