"""Read option values from files and the environment, and show them (`clew config`).

A command takes an option's value from the command line, else from the environment
(`CLEW_<COMMAND>_<OPTION>`), else from the nearest `clew.toml`, else from the user's own, else its
default. docs/guides/config.md describes the file.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from clew.base.runtime.toml import read_toml
from clew.cli.plain import align, bold, dim, one_line, print_result
from clew.errors import InputError, suggest

FILE, VARIABLE = "clew.toml", "CLEW_CONFIG"
INDEX = "folder"  # the value of the option that names the index, of every command that has it
_INDEX_NAMES = ("index", "into")
# They run a package's code, or send texts to an address: only a file that is trusted names them.
_TRUSTED = frozenset(
    "answer_llm embedder home host hosts judge llm oidc oidc_claim oidc_client oidc_keys"
    " proxies reader reranker tagger web".split()
)
PRICES, SCHEMA = "prices", "schema"
_SOURCES = {
    ParameterSource.COMMANDLINE: "command line",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT: "default",
}

Values = dict[str, Any]


Origins = dict[tuple[str, str], Path]


def read_settings(program: click.Group) -> tuple[Mapping[str, Values], Origins]:
    """Return the settings of the user's file and of the nearest `clew.toml`, and their origins.

    The values are by command and option. Raises InputError for a file that cannot be read, for a
    name that no option has, and for a value that only a trusted file may have.
    """
    values: dict[str, Values] = {}
    origins: Origins = {}
    for path in find_files():
        for command, option, value in _read_options(path, program):
            resolved = _resolve_index(path, value) if option == INDEX else value
            values.setdefault(command, {})[option] = resolved
            origins[command, option] = path
    return values, origins


def find_files() -> list[Path]:
    """Return the settings files that apply, highest priority last.

    The variable CLEW_CONFIG names one file in place of both; an empty one stands for none.
    """
    path = os.environ.get(VARIABLE)
    if path is not None:
        return [Path(path)] if path else []
    here = Path.cwd()
    nearest = [place / FILE for place in (here, *here.parents) if (place / FILE).is_file()][:1]
    own = _user_folder() / FILE
    return [own, *nearest] if own.is_file() else nearest


def _resolve_index(path: Path, index: object) -> object:
    """Return the index path that a file names, relative to that file."""
    folder = path.parent
    is_found = not os.environ.get(VARIABLE) and folder != _user_folder()
    if not isinstance(index, str) or "://" in index or not is_found or folder == Path.cwd():
        return index
    return os.path.relpath(folder / index)


def _user_folder() -> Path:
    return Path(click.get_app_dir("clew"))


def _read_options(path: Path, program: click.Group) -> Iterator[tuple[str, str, Any]]:
    """Yield the command, option and value of each line of a settings file."""
    tables = read_toml(path)
    prices = tables.pop(PRICES, {})
    if isinstance(tables.get(SCHEMA), Mapping):  # the file itself is what the option names
        tables[SCHEMA] = str(path)
    shared = {name: value for name, value in tables.items() if not isinstance(value, Mapping)}
    options = {
        name: {written: str(param.name) for written, param in list_names(command).items()}
        for name, command in program.commands.items()
    }
    every = {each for names in options.values() for each in names}
    for name, value in shared.items():
        written = _find_option(name, list(every), path)
        for command, names in options.items():
            # `clew eval` has an index for each data set
            if written in names and (written not in _INDEX_NAMES or names[written] == INDEX):
                _check_trust(path, names[written])
                yield command, names[written], value
    for command, table in tables.items():
        if command in shared:
            continue
        if command not in options:
            known = [*options, PRICES, SCHEMA]
            raise InputError(f"{path}: {_explain_unknown(command, known, 'table')}")
        for name, value in table.items():
            option = options[command][_find_option(name, list(options[command]), path, command)]
            _check_trust(path, option)
            yield command, option, value
    if prices:
        priced = tuple(_write_price(path, model, each) for model, each in prices.items())
        yield from ((command, "priced", priced) for command, n in options.items() if "price" in n)


def list_names(command: click.Command) -> dict[str, click.Option]:
    """Return the options of a command by their names in files, spelled with `_`."""
    names: dict[str, click.Option] = {}
    for param in _list_options(command):
        written = [each.lstrip("-") for each in param.opts if each.startswith("--")]
        if param.is_flag and param.flag_value is False:  # --no-gitignore: gitignore = false
            written = [str(param.name)]
        if param.name == INDEX:  # one option, also where a command calls it by one of the names
            written = [*_INDEX_NAMES]
        names |= {each.replace("-", "_"): param for each in written}
    return names


def _list_options(command: click.Command) -> list[click.Option]:
    """Return the options of a command that take values."""
    return [each for each in command.params if isinstance(each, click.Option) and each.expose_value]


def _find_option(name: str, names: list[str], path: Path, command: str = "") -> str:
    """Return the parameter name of an option. Raises InputError if there is none."""
    written = name.replace("-", "_")
    if written not in names:
        where = f" in the table {command!r}" if command else ""
        raise InputError(f"{path}: {_explain_unknown(name, names, 'option')}{where}")
    return written


def _explain_unknown(name: str, names: list[str], what: str) -> str:
    return f"there is no {what} {name!r}{suggest(name.replace('-', '_'), names)}"


def _write_price(path: Path, model: str, price: object) -> str:
    if isinstance(price, list) and len(price) == 2:
        return f"{model}={price[0]},{price[1]}"
    raise InputError(f"{path}: the price of {model!r} is two numbers, of prompts and completions")


def give_variables(command: click.Command, name: str) -> None:
    """Let each option of a command be set by an environment variable: CLEW_ASK_CHUNKS."""
    for param in _list_options(command):
        others = [param.envvar] if isinstance(param.envvar, str) else list(param.envvar or ())
        written = [each for each in param.opts if each.startswith("--")] or param.opts
        own = [f"clew_{name}_{each.lstrip('-')}".upper().replace("-", "_") for each in written]
        param.envvar = [*own, *others]


# -- trust ----------------------------------------------------------------------------------------


def _check_trust(path: Path, option: str) -> None:
    """Raise InputError for options that only the user's own or a trusted file may set."""
    is_own = os.environ.get(VARIABLE) or path.parent == _user_folder()
    if option not in _TRUSTED or is_own:
        return
    if _read_trusted().get(str(path.resolve())) != _hash_file(path):
        raise InputError(
            f"{path} sets {option!r}, which runs code or sends texts elsewhere: look at it, then "
            f"'clew config trust' lets it, until it changes"
        )


def _read_trusted() -> dict[str, str]:
    try:
        hashes = json.loads((_user_folder() / "trusted.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return hashes if isinstance(hashes, dict) else {}


def _hash_file(path: Path) -> str:
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def trust_file(path: Path) -> None:
    """Record a file as trusted with its present contents."""
    hashes = {**_read_trusted(), str(path.resolve()): _hash_file(path)}
    place = _user_folder() / "trusted.json"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(hashes, indent=2), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{place} cannot be written: {error.strerror}") from error


# -- the command ----------------------------------------------------------------------------------


@click.command("config")
@click.argument("action", required=False, type=click.Choice(["trust"]))
@click.option("--all", "everything", is_flag=True, help="Show values that are defaults, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def run_config(
    context: click.Context, action: str | None, *, everything: bool, as_json: bool
) -> None:
    """Show the values of options, and where they come from.

    A value comes from the command line, else from the environment (CLEW_<COMMAND>_<OPTION>), else
    from the nearest clew.toml, else from the user's own, else it is the default. 'clew config
    trust' lets the nearest clew.toml name models and addresses, until it changes.
    """
    if action == "trust":
        nearest = find_files()[-1:]
        if not nearest:
            raise InputError(f"there is no {FILE} here or above")
        trust_file(nearest[0])
        click.echo(f"{one_line(str(nearest[0]))} is trusted, until it changes.")
        return
    program = context.find_root().command
    assert isinstance(program, click.Group)  # noqa: S101 -- this command is in one
    rows = [row for row in _list_values(context, program) if everything or row["from"] != "default"]
    value = {"files": [str(path) for path in find_files()], "values": rows}
    print_result(value, _describe_settings(rows), as_json=as_json)


def _describe_settings(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from (f"{bold('File')}  {one_line(str(path))}" for path in find_files())
    cells = []
    for row in rows:
        value = "none" if row["value"] is None else str(row["value"])
        cells.append(
            (f"{row['command']} --{row['option']}", one_line(value), one_line(row["from"]))
        )
    yield align(cells) if rows else dim("Every option has its default; --all shows them.")


def _list_values(context: click.Context, program: click.Group) -> Iterator[dict[str, Any]]:
    """Yield each option of each command with its value and its source."""
    values, origins = read_settings(program)
    for name, command in program.commands.items():
        inner = click.Context(
            command, info_name=name, parent=context.find_root(), default_map=values.get(name)
        )
        for param in _list_options(command):
            value, source = param.consume_value(inner, {})
            if source is ParameterSource.DEFAULT_MAP:
                origin = str(origins.get((name, str(param.name)), ""))
            elif source is ParameterSource.ENVIRONMENT:
                origin = next(each for each in param.envvar or () if os.environ.get(each))
            else:
                origin = _SOURCES[source]
            option = param.opts[-1].lstrip("-")
            yield {"command": name, "option": option, "value": _to_plain(value), "from": origin}


def _to_plain(value: object) -> object:
    if isinstance(value, Enum):  # click's mark of an option that has neither value nor default
        return None
    if isinstance(value, list | tuple):
        return [_to_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float) else str(value)
