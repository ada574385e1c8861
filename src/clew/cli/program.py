"""Format help and errors of commands: grouped options, and one-line errors on stderr."""

import errno
import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Never

import click

from clew import plugins
from clew.base.display.visible import has_hidden
from clew.cli import config, plain
from clew.cli.plain import make_printable, one_line
from clew.errors import BudgetSpent, ClewError, InputError

SKIPPED = 3  # the exit status where some input gave no document
BUDGET_ENDED = 4  # before the work did
REFUSED = 5  # where nothing that was found answers the question
INTERRUPTED = 130  # by Ctrl-C: 128 + SIGINT, as shells have it


class Failure(click.ClickException):
    """An error that is printed on one line: `clew: <message>`."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # the class's is click's default

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"clew: {one_line(self.message)}", file=file, err=file is None)


def _reraise_escaped(error: click.UsageError) -> Never:
    """Re-raise a usage error with control and invisible characters escaped."""
    message = error.format_message()
    raise click.UsageError(one_line(message), error.ctx) if has_hidden(message) else error


class Commands(Mapping[str, click.Command]):
    """A mapping of commands by name, imported on first access.

    Those that other packages register come last. Whoever lists all does not see a command that
    cannot be imported; whoever looks it up gets an InputError.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places  # MODULE:FUNCTION, "" for that of a satellite
        self._loaded: dict[str, click.Command] = {}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            command = self._load(name)
            config.give_variables(command, name)
            command.params += plain.build_options()
            self._loaded[name] = command
        return self._loaded[name]

    def _load(self, name: str) -> click.Command:
        module, _, function = self._places.get(name, "").partition(":")
        if module:
            command: click.Command = getattr(import_module(f"clew.cli.{module}"), function)
        elif name in self._places:
            command = plugins.load("commands", name, f"'clew {name}'")
        else:
            command = plugins.find("commands", name)
        if command is None:
            raise KeyError(name)
        return command

    def _is_there(self, name: str) -> bool:
        try:
            return name in self
        except InputError:
            return False

    def __iter__(self) -> Iterator[str]:
        names = dict.fromkeys([*self._places, *plugins.find_registered("commands")])
        return filter(self._is_there, names)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Program(click.Group):
    """The group of all commands."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> Any:  # noqa: ANN401 -- click's
        make_printable()
        try:
            values = {} if args[:1] == ["config"] else dict(config.read_settings(self)[0])
            return super().make_context(info_name, args, *more, default_map=values, **extra)
        except ClewError as error:
            raise Failure(str(error)) from error
        except click.UsageError as error:
            _reraise_escaped(error)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            _reraise_escaped(error)
        except BudgetSpent as error:
            raise Failure(str(error), BUDGET_ENDED) from error
        except ClewError as error:
            raise Failure(str(error)) from error
        except KeyboardInterrupt as error:
            note = "what was committed is kept; run the same command again to continue"
            raise Failure(f"stopped; {note}", INTERRUPTED) from error
        except OSError as error:
            if error.errno == errno.EPIPE:  # `clew search ... | head`; click ends silently
                raise
            if os.name == "nt" and error.errno == errno.EINVAL and not error.filename:
                raise BrokenPipeError(errno.EPIPE, error.strerror) from error  # as Windows tells it
            place = f"{error.filename}: " if error.filename else ""
            raise Failure(f"{place}{error.strerror or error}") from error


# By the names of the options' values. A command has the headings that it has options for.
HEADINGS: Mapping[str, str] = {
    "Where the index is": "folder into shards part home",
    "What is read": "file",
    "Which rows and columns": "",
    "How it is cut and embedded": "chunk_size chunk_overlap subchunk_depth splitter "
    "vectors vector_bits unit_bits token_bits papers embedder tagger",
    "What is extracted": "vocabulary",
    "What the LLM is asked for": "",
    "Which data set": "dataset corpus",
    "Which questions": "split limit sample",
    "How it is searched": "method names chunks given grids reranker filters as_of dated",
    "How it is answered": "anyway writes mcp_writes history reader answers answer_llm "
    "answer_tokens",
    "How it is scored": "ks judge judged metrics",
    "LLM and budget": "llm priced budget_tokens budget_usd",
    "How the LLM replies": "temperature top_p seed prompts",
    "Address": "host port hosts proxies root_path",
    "Single sign-on": "oidc oidc_client oidc_keys oidc_claim oidc_hours",
    "Concurrency": "processes threads workers stop_jobs concurrency",
    "What to set": "rename type_ apart together",
    "Output": "rows runs published contexts reports plot as_json log_format quiet verbose",
}
_LAST = "Output"


def find_headings() -> dict[str, str]:
    """Return the heading of each option, by the name of its value."""
    from clew.answers.question import ExportOptions, Question
    from clew.base.options import plain_options
    from clew.index.options import AddOptions, PlanOptions

    headings = {name: heading for heading, names in HEADINGS.items() for name in names.split()}
    doors = {AddOptions: "index", PlanOptions: "plan", Question: "answer", ExportOptions: "export"}
    for value, door in doors.items():
        headings |= {name: each.heading for name, each in plain_options(value, door).items()}
    return headings


def _is_index_name(word: str) -> bool:
    """Check whether a word is the folder of an existing index, or an index address."""
    if "://" in word:
        return " " not in word and word.partition(":")[0] in plugins.find_registered("stores")
    if not word or not Path(word).is_dir():
        return False
    from clew.index.store import opening, sharded

    return opening.exists(Path(word)) or sharded.is_home(Path(word))


class GroupedCommand(click.Command):
    """A command with grouped options, whose last argument may be its index."""

    @property
    def takes_index(self) -> bool:
        """Check whether an existing index may be given without --index."""
        return any(each.name == config.INDEX and "--into" not in each.opts for each in self.params)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return super().collect_usage_pieces(ctx) + ["[INDEX]"] * self.takes_index

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if self.takes_index and (word := self._find_index(ctx, args)) is not None:
            at = len(args) - 1 - args[::-1].index(word)
            args = ["--index", word, *args[:at], *args[at + 1 :]]
        return super().parse_args(ctx, args)

    def _find_index(self, ctx: click.Context, args: list[str]) -> str | None:
        """Return the last argument, or the first of too many, if it names an index, else None."""
        values, rest, _ = self.make_parser(ctx).parse_args(list(args))
        if config.INDEX in values:
            return None
        names = [each.name for each in self.params if isinstance(each, click.Argument)]
        given = [each for each in map(values.get, names) if isinstance(each, str | tuple)]
        words: list[str] = []
        for each in given:
            words += [each] if isinstance(each, str) else each
        for word in (rest[-1], *words[:1]) if rest else words[-1:]:
            is_meant = rest and (word.endswith(".clew") or Path(word).is_dir())
            if is_meant or _is_index_name(word):
                return word
        return None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        heading_of = find_headings()
        for param in self.get_params(ctx):  # that of the help is click's own, and the last
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections[heading_of.get(str(param.name), _LAST)].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
