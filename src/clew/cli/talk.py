"""How much a command says beside its result: `--quiet`, `--verbose` and `--log FILE`.

Each stands before the command's name or behind it. The library tells what it does to the logger
`clew`: no key, no question and no text of a document, which a log must not hold.
"""

import logging
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import click

from clew.cli.plain import echo_json, one_line
from clew.errors import InputError

_QUIET, _VERBOSE = "clew.quiet", "clew.verbose"
_LOGGER = logging.getLogger("clew")


def build_options() -> list[click.Option]:
    """Return the options that every command has."""
    option = partial(click.Option, expose_value=False)
    return [
        option(
            ["-q", "--quiet"], is_flag=True, callback=_set_quiet, help="Only errors and results."
        ),
        option(
            ["-v", "--verbose"],
            count=True,
            callback=_set_verbose,
            help="Report each step on stderr, and name each skipped file; -vv: more.",
        ),
        option(
            ["--log"],
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            callback=_log_to_file,
            help="Append each step to FILE, with its time.",
        ),
    ]


def shorten_warnings() -> None:
    """Print warnings that no handler takes in a line on stderr, as errors are."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_OneLine("clew: %(message)s"))


def is_quiet() -> bool:
    """Say whether only errors and results are wanted."""
    return bool(_context_meta().get(_QUIET))


def is_verbose() -> bool:
    """Say whether everything is to be named."""
    return bool(_context_meta().get(_VERBOSE))


def say(text: str, *, err: bool = False) -> None:
    """Print what was done, unless nobody wants to know."""
    if not is_quiet():
        click.echo(text, err=err)


def print_result(
    value: object, words: Iterable[str], *, as_json: bool, is_news: bool = False
) -> None:
    """Print a value as JSON, or in words, a line each; `is_news` what --quiet leaves out."""
    if as_json:
        echo_json(value)
    elif not (is_news and is_quiet()):
        for line in words:
            click.echo(line)


def _context_meta() -> dict[str, Any]:
    context = click.get_current_context(silent=True)
    return {} if context is None else context.meta


def _set_quiet(context: click.Context, _option: click.Parameter, value: int) -> None:
    if value:
        context.meta[_QUIET] = True


def _set_verbose(context: click.Context, _option: click.Parameter, value: int) -> None:
    if not value:
        return
    context.meta[_VERBOSE] = value
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.INFO if value == 1 else logging.DEBUG)
    handler.setFormatter(_OneLine("clew: %(message)s"))
    _add_handler(context, handler)


def _log_to_file(context: click.Context, _option: click.Parameter, value: Path | None) -> None:
    if value is None:
        return
    try:
        handler = logging.FileHandler(value, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{value} cannot be written: {error.strerror}") from error
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(name)s %(message)s"))
    _add_handler(context, handler)


def _add_handler(context: click.Context, handler: logging.Handler) -> None:
    """Add a handler to the log until the command ends."""
    _LOGGER.setLevel(logging.DEBUG)
    _LOGGER.addHandler(handler)

    def remove() -> None:
        _LOGGER.removeHandler(handler)
        handler.close()

    context.find_root().call_on_close(remove)


class _OneLine(logging.Formatter):
    """Names of files may hold anything, also line breaks and escape sequences."""

    def format(self, record: logging.LogRecord) -> str:
        return one_line(super().format(record))
