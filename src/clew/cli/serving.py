"""`clew serve` and `clew keys`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.headings import GroupedCommand
from clew.cli.options import (
    PAID_OPTIONS,
    FolderOrAddress,
    default_index,
    json_option,
    llm_option,
    reranker_option,
)
from clew.cli.plain import align, dim, echo_json, one_line
from clew.cli.talk import say
from clew.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from clew.server.keys import Keys

PORT = 8765

_home_option = click.option(
    "--home",
    type=FolderOrAddress(path_type=Path, file_okay=False),
    envvar="CLEW_HOME",
    show_envvar=True,
    metavar="FOLDER",
    help="What the server keeps: keys, jobs, uploaded files, indexes that it makes; or "
    "the address of a home in PostgreSQL, which servers share. [default: 'server' in the folder "
    "for applications of your system]",
)


def _server_home(home: Path | None) -> Path:
    return home or Path(click.get_app_dir("clew")) / "server"


@click.command("serve", cls=GroupedCommand)
@click.argument("folders", nargs=-1, metavar="[FOLDER | NAME=FOLDER]...")
@_home_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on; one that others can reach needs a key ('clew keys add').",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=PORT,
    show_default=True,
    metavar="N",
    help="Port to listen on; 0 takes a free one.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="A further name by which browsers and proxies call this server; may be repeated.",
)
@click.option(
    "--proxy",
    "proxies",
    multiple=True,
    metavar="ADDRESS",
    help="A proxy whose X-Forwarded-User names the user in the audit log; may be repeated.",
)
@click.option(
    "--root-path",
    default="",
    metavar="PATH",
    help="What a proxy takes off the front of each path, such as /clew.",
)
@llm_option
@PAID_OPTIONS["priced"]
@reranker_option
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    metavar="N",
    help="Searches and answers at one time; others wait.",
)
@click.option(
    "--workers",
    default="1",
    metavar="N|RAY",
    help="Processes that make rows and vectors for a job, as of 'clew index'. [default: 1]",
)
@click.option(
    "--stop-jobs",
    is_flag=True,
    help="End jobs with the server, behind what they have at hand; the next server goes on.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json", "none"]),
    default="text",
    show_default=True,
    help="A line on stderr for each request, without texts or keys; none: warnings alone.",
)
def run_server(  # noqa: PLR0913, PLR0917 -- one argument for each option
    folders: tuple[str, ...],
    home: Path | None,
    host: str,
    port: int,
    hosts: tuple[str, ...],
    proxies: tuple[str, ...],
    root_path: str,
    llm: str | None,
    priced: tuple[str, ...],
    reranker: str | None,
    threads: int,
    *,
    workers: str,
    stop_jobs: bool,
    log_format: str,
) -> None:
    """Serve the indexes in FOLDERs: a page to ask and look at, REST, OpenAI-compatible, and MCP.

    An index is called by its folder's name, or by NAME. The command line may be used on the same
    folders meanwhile. Nobody but this machine can reach the server unless --host says so.
    """
    from clew.loading import Specs
    from clew.models.prices import parse_prices

    ServerSettings, run = _import_server()  # noqa: N806 -- a class
    prices = {model: price for text in priced for model, price in parse_prices(text).items()}
    settings = ServerSettings(
        home=_server_home(home),
        indexes=name_folders(folders),
        host=host,
        port=port,
        hosts=hosts,
        proxies=proxies,
        specs=Specs(llm=llm, reranker=reranker),
        prices=prices,
        threads=threads,
        root_path=root_path,
        stop_jobs=stop_jobs,
        workers=workers,
    )

    def tell(address: str, names: Sequence[str]) -> None:
        told = f"Clew serves {', '.join(names) or 'no index yet'} at {address}"
        if log_format == "json":  # all lines are for a program
            run.RUN.info("%s", told)
        else:
            say(told, err=True)
            say(dim("Ctrl-C stops it."), err=True)

    run.log_to_stderr(log_format)
    with suppress(KeyboardInterrupt):  # it has stopped gracefully
        run.serve(settings, tell)


def name_folders(folders: tuple[str, ...]) -> Mapping[str, Path]:
    """Return the folder of each index by its name."""
    from clew.server.settings import make_name
    from clew.store import opening
    from clew.store.postgres.address import parse_address

    if not folders:
        usual = default_index()
        address = opening.address_of(usual)
        name = make_name(usual if address is None else Path(address.index))
        return {name: usual.absolute()} if usual.exists() else {}
    found: dict[str, Path] = {}
    for text in folders:
        before, is_address, _ = text.partition("://")
        name, is_named, _rest = (before if is_address else text).partition("=")
        given = text.removeprefix(f"{name}=") if is_named else text
        folder = opening.folder_of(given)
        if not is_named:
            name = make_name(Path(parse_address(given).index) if is_address else folder)
        if name in found:
            raise InputError(f"two indexes would be called {name!r}: name one as NAME=FOLDER")
        found[name] = folder.absolute()
    return found


def _import_server() -> tuple[Any, Any]:
    """Return the settings' class and the module that serves. Raises MissingExtra."""
    try:
        from clew.server import run
        from clew.server.settings import ServerSettings
    except ImportError as error:
        if (error.name or "").startswith("clew"):
            raise
        raise MissingExtra(error.name or "starlette", "server", "clew serve") from error
    return ServerSettings, run


# -- keys -----------------------------------------------------------------------------------------


@click.group("keys")
def manage_keys() -> None:
    """Say who may use a server, for what, and for how much."""


@manage_keys.command("add")
@click.argument("name")
@_home_option
@click.option(
    "--scope",
    type=click.Choice(["read", "write", "admin"]),
    default="read",
    show_default=True,
    help="read: ask and look; write: add and remove documents; admin: keys and indexes, too.",
)
@click.option(
    "--index", "indexes", multiple=True, metavar="NAME", help="Only this index; may be repeated."
)
@click.option(
    "--where",
    default="",
    metavar="FILTER",
    help="Only documents that fulfil it; no others are ever seen, counted or named.",
)
@click.option(
    "--requests-per-minute", type=click.IntRange(min=0), metavar="N", help="Requests a minute."
)
@click.option("--tokens", type=click.IntRange(min=0), metavar="N", help="Tokens of LLMs, in all.")
@click.option(
    "--tokens-per-day", type=click.IntRange(min=0), metavar="N", help="Tokens of LLMs, each day."
)
@click.option("--usd", type=click.FloatRange(min=0), metavar="X", help="Dollars, in all.")
@click.option(
    "--usd-per-day", type=click.FloatRange(min=0), metavar="X", help="Dollars, each day (UTC)."
)
@click.option(
    "--citations",
    type=click.Choice(["annotations", "open-webui", "markdown", "none"]),
    default="annotations",
    show_default=True,
    help="How OpenAI-compatible answers cite: as a program of the other side shows them.",
)
@json_option
def add_key(name: str, home: Path | None, *, as_json: bool, **options: Any) -> None:  # noqa: ANN401 -- click's
    """Make a key called NAME, and print it. It is shown this once."""
    from clew.server.keys import KeyOptions

    found, text = _open_keys(home).add(name, KeyOptions(**options))
    if as_json:
        echo_json({**found.to_dict(), "text": text})
    else:
        click.echo(text)
        say(dim("Keep it: it cannot be shown again."), err=True)


@manage_keys.command("list")
@_home_option
@json_option
def list_keys(home: Path | None, *, as_json: bool) -> None:
    """List the keys, with what each may do and spent."""
    from clew.server.database import ServerDatabase
    from clew.server.keys import Keys
    from clew.server.process_locks import ProcessLock
    from clew.server.spending import KeySpending

    database = ServerDatabase(_server_home(home))
    alive = ProcessLock(_server_home(home))
    spending = KeySpending(database, alive)
    found = [
        {**each.to_dict(), "spent": dict(spending.sum_of_key(each.id))}
        for each in Keys(database).list_keys()
    ]
    alive.end()
    if as_json:
        echo_json(found)
        return
    if not found:
        click.echo("There is no key: on this machine everyone may do everything.")
        return
    click.echo(
        align(
            [("id", "name", "scope", "tokens spent", "what it may do"), *map(_describe_key, found)]
        )
    )


def _describe_key(key: Mapping[str, Any]) -> tuple[str, ...]:
    told = [f"only {', '.join(key['indexes'])}"] if key["indexes"] else []
    told += [f"where {key['where']}"] if key["where"] else []
    bounds = {
        "requests_per_minute": "{:,} requests a minute",
        "tokens": "{:,} tokens in all",
        "tokens_per_day": "{:,} tokens a day",
        "usd": "${:,.2f} in all",
        "usd_per_day": "${:,.2f} a day",
    }
    told += [text.format(key[name]) for name, text in bounds.items() if key[name] is not None]
    told += ["revoked"] if key["revoked"] else []
    spent = f"{key['spent']['tokens']:,}"
    return key["id"], key["name"], key["scope"], spent, "; ".join(told) or "without bounds"


@manage_keys.command("revoke")
@click.argument("key", metavar="ID|NAME")
@_home_option
def revoke_key(key: str, home: Path | None) -> None:
    """End a key: no request is done by it any more."""
    ended = _open_keys(home).revoke(key)
    say(f"The key {one_line(ended.name)} ({ended.id}) is revoked.")


def _open_keys(home: Path | None) -> Keys:
    from clew.server.database import ServerDatabase
    from clew.server.keys import Keys

    return Keys(ServerDatabase(_server_home(home)))
