"""Settings of a server."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from clew import Specs
from clew.errors import InputError
from clew.extras.cluster.workers import parse_workers
from clew.models import Price

PORT = 8765
GRACE_S = 30  # for what is under way when the server is asked to stop
STOP_S = 10.0  # for jobs that end with it, behind that
WAITING = 512  # connections that the system holds before they are taken
REFUSED = (  # a connection, where there are too many
    b"HTTP/1.1 503 Service Unavailable\r\n"
    b"Content-Length: 0\r\nConnection: close\r\nRetry-After: 1\r\n\r\n"
)
NAME = r"[a-z0-9][a-z0-9_-]{0,63}"  # what an index is called
_ROOT_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)+")
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


EVERYBODY = "*"  # in place of a value of the claim


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    """The provider for signing in, and the key for each role of its claims.

    A value of the claim has a key, by its name or id; of several values that a person has, the
    first one here counts.
    """

    issuer: str
    client: str  # the id that the provider gave this server
    roles: tuple[tuple[str, str], ...]  # values, and keys
    claim: str = "groups"  # or a path with dots
    hours: int = 12  # that a session lasts: the provider cannot end it
    secret: str = field(default="", repr=False)  # "": a public client

    def __post_init__(self) -> None:
        parts = split_address(self.issuer)
        is_safe = parts.scheme == "https" or (
            parts.scheme == "http" and is_loopback(parts.hostname or "")
        )
        if not is_safe or not parts.hostname or parts.query or parts.fragment or parts.username:
            example = "such as https://login.example.org; http is for this machine alone"
            raise InputError(f"--oidc takes the issuer's URL, {example}, not {self.issuer!r:.100}")
        if not self.client:
            raise InputError("--oidc needs --oidc-client, the id that the provider gave to Clew")
        _check_roles(self.roles)
        if not all(self.claim.split(".")):
            raise InputError(f"--oidc-claim must be a claim or a path a.b, not {self.claim!r:.60}")
        if self.hours < 1:
            raise InputError(f"--oidc-hours must be at least 1, not {self.hours}")

    @property
    def host(self) -> str:
        """Return the provider's display name."""
        return urlsplit(self.issuer).netloc


def _check_roles(roles: tuple[tuple[str, str], ...]) -> None:
    if not roles:
        raise InputError("--oidc needs an --oidc-key VALUE=KEY: otherwise nobody can sign in")
    values = [value for value, _ in roles]
    twice = next((each for each in values if values.count(each) > 1), None)
    if twice is not None:
        raise InputError(f"--oidc-key {twice!r:.60} is given twice: choose one key for it")
    if EVERYBODY in values[:-1]:
        raise InputError(f"--oidc-key {EVERYBODY}=KEY is for all others, and must be last")


def split_address(address: str) -> SplitResult:
    """Split an address into its parts, empty if it is invalid."""
    try:
        parts = urlsplit(address)
        parts.port  # noqa: B018 -- raises ValueError where it is none
    except ValueError:
        return urlsplit("")
    return parts


def parse_role(text: str) -> tuple[str, str]:
    """Return the value of a claim and the key of "VALUE=KEY". Raises InputError.

    >>> parse_role("cn=staff,ou=groups=anna")
    ('cn=staff,ou=groups', 'anna')
    """
    value, _, key = text.rpartition("=")
    if not value or not key:
        raise InputError(f"--oidc-key must be VALUE=KEY, such as staff=anna, not {text!r:.80}")
    return value, key


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """The served indexes, the address, and the limits."""

    home: Path  # what the server keeps: keys, jobs, uploaded files, indexes made at run time
    indexes: Mapping[str, Path] = field(default_factory=dict)  # folders of indexes, by name
    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()  # further names by which browsers may call the server
    proxies: tuple[str, ...] = ()  # addresses of peers whose identity headers are believed
    root_path: str = ""  # what a proxy takes off the front of each path
    oidc: OidcSettings | None = None  # who signs people in, beside keys
    specs: Specs = field(default_factory=Specs)
    prices: Mapping[str, Price] | None = None
    processes: int = 1  # that serve, of which each has the limits below but those of connections
    threads: int = 4  # searches and answers at one time; others wait
    connections: int = 1_000  # requests under way; more are refused with 503
    sockets: int = 4_000  # connections; more are closed with 503
    head_s: float = 15.0  # for the head of a request
    body_s: float = 30.0  # for its body, and more as more of it has come
    body_bytes: int = 1 << 20  # of a request that is no upload
    upload_bytes: int = 1 << 28  # of all files of one upload
    upload_files: int = 1_000
    text_bytes: int = 1 << 24  # of the JSON in which documents are given as texts
    jobs: int = 2  # at one time, of different indexes; others wait
    job_grace_s: float = 20.0  # for a job that is cancelled, before it is ended at once
    stop_jobs: bool = False  # with the server; else they go on, and the next server follows them
    mcp_writes: bool = False  # whether agents with the scope 'write' have tools that write
    workers: int | str = 1  # of each job that indexes, as `clew.Index.add` takes them

    def __post_init__(self) -> None:
        for name in self.indexes:
            check_name(name)
        parse_workers(self.workers)
        if self.root_path and not _ROOT_PATH.fullmatch(self.root_path):
            raise InputError(f"a root path is such as '/clew', not {self.root_path!r:.80}")

    @property
    def is_local(self) -> bool:
        """Check whether only this machine can reach the server."""
        return is_loopback(self.host)

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """Return the host names allowed in Host and Origin headers."""
        own = () if self.host in {"0.0.0.0", "::"} else (self.host.casefold(),)  # noqa: S104 -- told apart
        return frozenset({*_LOCAL, *own, *(each.casefold() for each in self.hosts)})


def is_loopback(host: str) -> bool:
    """Check whether a host name or address refers only to this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def is_name(text: str) -> bool:
    """Check whether a text is a valid index name."""
    return re.fullmatch(NAME, text) is not None


def check_name(name: str) -> str:
    """Return a valid index name. Raises InputError if it is no safe folder name."""
    if not is_name(name):
        raise InputError(
            f"an index name is up to 64 lower-case letters, digits, - and _, not {name!r:.80}"
        )
    return name


def make_name(folder: Path) -> str:
    """Return the default name of the index in a folder.

    >>> make_name(Path("notes/My Notes.clew"))
    'my-notes'
    """
    plain = re.sub(r"[^a-z0-9_-]+", "-", folder.resolve().stem.casefold()).strip("-_")
    return check_name(plain[:64] or "index")
