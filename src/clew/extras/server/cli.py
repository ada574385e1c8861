"""`clew serve`, `clew mcp` and `clew keys`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.base.runtime.threads import bound_threads, cores
from clew.cli import options
from clew.cli.plain import align, dim, echo_json, one_line, print_result, say
from clew.cli.program import GroupedCommand
from clew.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from clew.extras.server.keys import Keys
    from clew.extras.server.settings import OidcSettings

PORT = 8765

_home_option = options.text(
    "--home FOLDER",
    "What the server keeps: keys, jobs, uploaded files, indexes that it makes; or the address of a "
    "home in PostgreSQL, which servers share. [default: 'server' in the folder for applications of "
    "your system]",
    type=options.FolderOrAddress(path_type=Path, file_okay=False),
    envvar="CLEW_HOME",
    show_envvar=True,
)
_folders_argument = click.argument("folders", nargs=-1, metavar="[FOLDER | NAME=FOLDER]...")


def _server_home(home: Path | None) -> Path:
    return home or Path(click.get_app_dir("clew")) / "server"


_SECRET = "CLEW_OIDC_SECRET"  # noqa: S105 -- the name of a variable


def _read_provider(
    oidc: str | None, oidc_client: str, oidc_keys: tuple[str, ...], oidc_claim: str, oidc_hours: int
) -> OidcSettings | None:
    """Return the sign-in provider, if configured. Raises InputError."""
    from clew.extras.server.settings import OidcSettings, parse_role

    if not oidc:
        if oidc_client or oidc_keys:
            raise InputError("--oidc-client and --oidc-key need --oidc, the issuer's URL")
        return None
    return OidcSettings(
        issuer=oidc,
        client=oidc_client,
        roles=tuple(map(parse_role, oidc_keys)),
        claim=oidc_claim,
        hours=oidc_hours,
        secret=os.environ.pop(_SECRET, ""),  # no job that this process starts has it
    )


_oidc_options = options.gather_options(
    [
        options.text(
            "--oidc ISSUER",
            "Issuer whose users may sign in by OpenID Connect, such as https://login.example.org; "
            f"the client's secret is read from {_SECRET}.",
        ),
        options.text("--oidc-client ID", "Client id that the issuer gave to Clew.", default=""),
        options.several(
            "--oidc-key VALUE=KEY",
            "Users with this value of the claim ('*': all users) get the rights of the key of "
            "this name; the first match counts",
            "oidc_keys",
            type=options.TEXT,
        ),
        options.text("--oidc-claim NAME", "Claim, such as realm_access.roles.", default="groups"),
        options.number("--oidc-hours N", "Hours until a sign-in expires.", default=12),
    ],
    "oidc",
    _read_provider,
)


@click.command("serve", cls=GroupedCommand)
@_folders_argument
@_home_option
@options.text(
    "--host ADDRESS", "Address; a public one needs a key ('clew keys add').", default="127.0.0.1"
)
@options.text("--port N", "Port; 0 takes a free one.", type=click.IntRange(0, 65_535), default=PORT)
@options.several("--allow-host NAME", "Another host name of this server", "hosts")
@options.several("--proxy ADDRESS", "Proxy whose X-Forwarded-User names the user", "proxies")
@options.text("--root-path PATH", "Prefix that a proxy strips, such as /clew.", default="")
@_oidc_options
@options.served_options
@options.reranker
@options.reader
@options.number("--processes N", "Processes that serve. [default: as many as there are cores]")
@options.number("--threads N", "Searches and answers at one time in each; others wait.", default=4)
@options.text("--workers N|RAY", "Workers of a job, as of 'clew index'. [default: 1]", default="1")
@options.flag("--stop-jobs", "Stop jobs with the server; the next one resumes them.")
@options.flag("--mcp-writes", "Agents with a key that may write can add, remember and edit.")
@options.choice(
    "--log-format text|json|none",
    "A line on stderr per request, without texts or keys; none: warnings only.",
    default="text",
)
def run_server(
    folders: tuple[str, ...],
    home: Path | None,
    paid: options.PaidModels,
    reranker: str | None,
    reader: str | None,
    *,
    processes: int | None,
    log_format: str,
    **given: Any,  # noqa: ANN401 -- fields of `ServerSettings`
) -> None:
    """Serve the indexes in FOLDERs: a web page, REST, OpenAI-compatible, and MCP.

    An index is called by its folder's name, or by NAME. The command line can use the same folders
    at the same time. Only this machine can reach the server unless --host is given.
    """
    processes = processes or (cores() if sys.platform == "linux" else 1)
    bound_threads(max(1, cores() // processes))
    from clew.extras.server.settings import ServerSettings

    run = _import_server("run", "starlette", "clew serve")
    settings = ServerSettings(
        home=_server_home(home),
        indexes=name_folders(folders),
        specs=paid.name_models(reranker, reader),
        prices=paid.prices,
        processes=processes,
        **given,
    )

    def tell(address: str, names: Sequence[str]) -> None:
        line = f"Clew serves {', '.join(names) or 'no index yet'} at {address}"
        if log_format == "json":  # all lines are for a program
            run.RUN.info("%s", line)
        else:
            say(line, err=True)
            say(dim("Ctrl-C stops it."), err=True)

    run.log_to_stderr(log_format)
    with suppress(KeyboardInterrupt):  # it has stopped gracefully
        run.serve(settings, tell)


def name_folders(folders: tuple[str, ...]) -> Mapping[str, Path]:
    """Return the folder of each index by its name."""
    from clew.extras.cluster.postgres.address import parse_address
    from clew.extras.server.settings import make_name
    from clew.index.store import opening

    if not folders:
        usual = options.default_index()
        address = opening.address_of(usual)
        name = make_name(usual if address is None else Path(address.index))
        return {name: usual.absolute()} if usual.exists() else {}
    by_name: dict[str, Path] = {}
    for text in folders:
        before, is_address, _ = text.partition("://")
        name, is_named, _rest = (before if is_address else text).partition("=")
        given = text.removeprefix(f"{name}=") if is_named else text
        folder = opening.folder_of(given)
        if not is_named:
            name = make_name(Path(parse_address(given).index) if is_address else folder)
        if name in by_name:
            raise InputError(f"two indexes have the name {name!r}: rename one with NAME=FOLDER")
        by_name[name] = folder.absolute()
    return by_name


@click.command("mcp", cls=GroupedCommand)
@_folders_argument
@options.paid_options
@options.reranker
@options.reader
@options.flag("--writes", "The agent can also add documents, remember notes and edit both.")
def run_mcp(
    folders: tuple[str, ...],
    paid: options.PaidModels,
    reranker: str | None,
    reader: str | None,
    *,
    writes: bool,
) -> None:
    """Serve the indexes in FOLDERs to an agent, by the Model Context Protocol on standard input.

    This is for programs that start their tools themselves, such as Claude Desktop and VS Code. The
    tools only read, unless --writes is given. A budget covers all calls until the program ends.
    """
    indexes = name_folders(folders)
    if not indexes:
        raise InputError("there is no index here: give its folder, or create one first")
    protocol = _import_server("mcp.protocol", "mcp", "clew mcp")
    chosen = paid.choose_models(reranker, reader)
    protocol.serve_stdio(indexes, **chosen, budget=paid.budget, writes=writes)


def _import_server(module: str, package: str, command: str) -> Any:  # noqa: ANN401 -- a module
    """Import and return a module of the server. Raises MissingExtra."""
    try:
        return import_module(f"clew.extras.server.{module}")
    except ImportError as error:
        if (error.name or "").startswith("clew"):
            raise
        raise MissingExtra(error.name or package, "server", command) from error


# -- keys -----------------------------------------------------------------------------------------


@click.group("keys")
def manage_keys() -> None:
    """Manage the keys of a server: who may use it, for what, and for how much."""


@manage_keys.command("add")
@click.argument("name")
@_home_option
@options.choice(
    "--scope read|write|admin",
    "read: ask and look; write: add and remove documents; admin: keys and indexes, too.",
    default="read",
)
@options.several("--index NAME", "Only this index", "indexes")
@options.text("--where FILTER", "Only documents that match; no others are visible.", default="")
@options.number("--requests-per-minute N", "Requests a minute.", least=0)
@options.number("--tokens N", "Tokens of LLMs, in all.", least=0)
@options.number("--tokens-per-day N", "Tokens of LLMs, each day.", least=0)
@options.text("--usd X", "Dollars, in all.", type=click.FloatRange(min=0))
@options.text("--usd-per-day X", "Dollars, each day (UTC).", type=click.FloatRange(min=0))
@options.choice(
    "--citations annotations|open-webui|markdown|none",
    "Form of citations for OpenAI-compatible clients, which differ in how they show them.",
    default="annotations",
)
@options.json
def add_key(name: str, home: Path | None, *, as_json: bool, **given: Any) -> None:  # noqa: ANN401 -- click's
    """Make a key called NAME, and print it. It is shown this once."""
    from clew.extras.server.keys import KeyOptions

    key, text = _open_keys(home).add(name, KeyOptions(**given))
    if as_json:
        echo_json({**key.to_dict(), "text": text})
    else:
        click.echo(text)
        say(dim("Keep it: it is shown only once."), err=True)


@manage_keys.command("list")
@_home_option
@options.json
def list_keys(home: Path | None, *, as_json: bool) -> None:
    """List the keys, with what each may do and spent."""
    from clew.extras.server.database import ServerDatabase
    from clew.extras.server.keys import Keys
    from clew.extras.server.process_locks import ProcessLock
    from clew.extras.server.spending import KeySpending

    database = ServerDatabase(_server_home(home))
    alive = ProcessLock(_server_home(home))
    spending = KeySpending(database, alive)
    keys = [
        {**each.to_dict(), "spent": dict(spending.sum_of_key(each.id))}
        for each in Keys(database).list_keys()
    ]
    alive.end()
    head = ("id", "name", "scope", "tokens spent", "what it may do")
    nobody = "There are no keys: everyone on this machine has full access."
    table = align([head, *map(_describe_key, keys)]) if keys else nobody
    print_result(keys, [table], as_json=as_json)


def _describe_key(key: Mapping[str, Any]) -> tuple[str, ...]:
    limits = [f"only {', '.join(key['indexes'])}"] if key["indexes"] else []
    limits += [f"where {key['where']}"] if key["where"] else []
    bounds = {
        "requests_per_minute": "{:,} requests a minute",
        "tokens": "{:,} tokens in all",
        "tokens_per_day": "{:,} tokens a day",
        "usd": "${:,.2f} in all",
        "usd_per_day": "${:,.2f} a day",
    }
    limits += [text.format(key[name]) for name, text in bounds.items() if key[name] is not None]
    limits += ["revoked"] if key["revoked"] else []
    spent = f"{key['spent']['tokens']:,}"
    return key["id"], key["name"], key["scope"], spent, "; ".join(limits) or "without bounds"


@manage_keys.command("revoke")
@click.argument("key", metavar="ID|NAME")
@_home_option
def revoke_key(key: str, home: Path | None) -> None:
    """Revoke a key: requests with it are refused from now on."""
    ended = _open_keys(home).revoke(key)
    say(f"The key {one_line(ended.name)} ({ended.id}) is revoked.")


def _open_keys(home: Path | None) -> Keys:
    from clew.extras.server.database import ServerDatabase
    from clew.extras.server.keys import Keys

    return Keys(ServerDatabase(_server_home(home)))
