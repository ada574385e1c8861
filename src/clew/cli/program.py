"""What ends a command early becomes one line on stderr and an exit status."""

from __future__ import annotations

import errno
from typing import IO, Any

import click

from clew.cli import config, talk
from clew.cli.plain import one_line
from clew.display.visible import has_hidden
from clew.errors import BudgetSpent, ClewError

SKIPPED = 3  # the exit status where some input gave no document
REFUSED = 5  # where nothing that was found answers the question


class Failure(click.ClickException):
    """An error that is printed in one line: `clew: <message>`."""

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"clew: {one_line(self.message)}", file=file, err=file is None)


class BudgetEnded(Failure):
    """The budget ended before the work did."""

    exit_code = 4


class UserInterrupt(Failure):
    """The user pressed Ctrl-C."""

    exit_code = 130  # 128 + SIGINT, as shells have it


class Program(click.Group):
    """The group of all commands, in the order in which a newcomer needs them."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        config.give_variables(cmd, name or str(cmd.name))
        cmd.params += talk.build_options()
        super().add_command(cmd, name)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 -- click's
    ) -> click.Context:
        talk.shorten_warnings()
        try:
            values = {} if args[:1] == ["config"] else dict(config.read_settings(self).values)
            return super().make_context(info_name, args, parent, default_map=values, **extra)
        except ClewError as error:
            raise Failure(str(error)) from error
        except click.UsageError as error:
            if not has_hidden(said := error.format_message()):
                raise
            raise click.UsageError(one_line(said), error.ctx) from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            if not has_hidden(said := error.format_message()):
                raise
            raise click.UsageError(one_line(said), error.ctx) from error
        except BudgetSpent as error:
            raise BudgetEnded(str(error)) from error
        except ClewError as error:
            raise Failure(str(error)) from error
        except KeyboardInterrupt as error:
            kept = "what was committed is kept, and the same command goes on from there"
            raise UserInterrupt(f"stopped; {kept}") from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # `clew search ... | head`; click ends silently
                raise
            place = f"{error.filename}: " if error.filename else ""
            raise Failure(f"{place}{error.strerror or error}") from error
