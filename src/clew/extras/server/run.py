"""Run a server in one process or several."""

import socket
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from clew.errors import InputError
from clew.extras.server.app import application
from clew.extras.server.database import ServerDatabase
from clew.extras.server.indexes import Indexes
from clew.extras.server.keys import Keys
from clew.extras.server.logs import RUN
from clew.extras.server.logs import configure as log_to_stderr
from clew.extras.server.serving import Server, run_server
from clew.extras.server.settings import GRACE_S, OidcSettings, ServerSettings
from clew.extras.server.supervisor import supervise

__all__ = ["RUN", "check_open", "log_to_stderr", "serve"]


def serve(settings: ServerSettings, on_ready: Callable[[str, Sequence[str]], None]) -> None:
    """Serve until asked to stop; `on_ready` gets the address and the indexes.

    Raises InputError for an address that cannot be had, and as `check_open` does.
    """
    if settings.processes > 1 and sys.platform != "linux":
        raise InputError("several processes are supported on Linux only: leave out --processes")
    check_open(settings)
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    with bind(settings.host, settings.port) as listening:
        address = f"http://{host}:{listening.getsockname()[1]}"

        def tell_start(names: Sequence[str]) -> None:
            on_ready(address, names)

        if settings.processes == 1:
            app = application(settings)
            run_server(Server(app, settings, tell_start, _tell_stop), [listening])
        else:
            supervise(settings, listening, tell_start, _tell_stop)
    RUN.info("Clew has stopped")


def _tell_stop() -> None:
    RUN.info("Clew stops: what is under way has %d seconds to end", GRACE_S)


def check_open(settings: ServerSettings) -> None:
    """Raise InputError if the server would be open to the network without keys.

    Also raises StoreError for a home that cannot be used, and NotAnIndex for a folder without one.
    """
    database = ServerDatabase(settings.home)
    try:
        Indexes(settings, database).check()
        keys = Keys(database)
        if settings.oidc is not None:
            _check_sign_in(settings.oidc, keys)
        is_reached = not settings.is_local or settings.hosts or settings.proxies
        if is_reached and not keys.has_keys():
            raise InputError(
                f"{settings.host} is open to other machines: create a key with 'clew keys add NAME'"
            )
    finally:
        database.close()


def _check_sign_in(oidc: OidcSettings, keys: Keys) -> None:
    """Raise MissingExtra without the token library, InputError if a key is missing."""
    import_module("clew.extras.server.oidc.id_tokens")
    for _, name in oidc.roles:
        try:
            keys.get(name)
        except InputError as error:
            raise InputError(f"--oidc-key: {error}") from None


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address. Raises InputError if that fails."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named, or asyncio takes the connections for no TCP and holds the end of each reply back.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        # By the other option Windows would let a second server have a port that is in use.
        alone = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
        listening.setsockopt(socket.SOL_SOCKET, alone, 1)
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"{host}:{port} is not available ({error.strerror or error}): choose another --port"
        ) from error
    listening.set_inheritable(False)
    return listening
