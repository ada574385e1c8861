"""The messages of a mailbox: imaps://USER@HOST/FOLDER, INBOX where none is named.

The password is in the variable CLEW_IMAP_PASSWORD, or in the file `.netrc`. The mailbox is opened
for reading only, so that nothing is marked as seen. A message never changes, so each is fetched
once; its id has the number that the server gave it.
"""

import imaplib
import netrc
import os
import re
from binascii import b2a_base64
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import unquote, urlsplit

from clew.base.types import Skipped
from clew.errors import InputError, UnreadableSource
from clew.readers.remote import Entry, RemotePlace

PASSWORD = "CLEW_IMAP_PASSWORD"  # noqa: S105 -- the name of a variable
_WAIT_S = 30
_PORT, _PORT_SSL = 143, 993
_AT_ONCE = 500  # messages whose sizes are asked for at once
_ABOUT = re.compile(rb"UID (\d+).*?RFC822\.SIZE (\d+)|RFC822\.SIZE (\d+).*?UID (\d+)")


def list_entries(place: RemotePlace) -> Iterator[Entry | Skipped]:
    """Yield the messages of a mailbox in the order of their numbers.

    Raises UnreadableSource where the server does not answer or refuses, InputError where there is
    no password.
    """
    parts = urlsplit(place.address)
    folder = unquote(parts.path.strip("/")) or "INBOX"
    try:
        port = parts.port
    except ValueError as error:
        raise InputError(f"{place.id} is not an address: {error}") from None
    try:
        with _connect(place, parts.scheme, parts.hostname or "", port) as server:
            user = unquote(parts.username or "")
            server.login(_quote(user), _find_password(parts.hostname or ""))
            _check(place, server.select(_quote(_to_utf7(folder)), readonly=True))
            [validity] = server.response("UIDVALIDITY")[1] or [b""]
            sizes = _list_messages(place, server)
            for number, size in sorted(sizes.items()):
                yield Entry(
                    id=f"{place.id}/{number}",
                    below=f"{number}",
                    suffix=".eml",
                    fetch=partial(_fetch, place, server, number),
                    fingerprint=f"{(validity or b'').decode()} {number}",
                    size=size,
                )
    except UnicodeError:
        why = "cannot be read: its address or password has letters that the protocol lacks"
        raise UnreadableSource(place.id, why) from None
    except (OSError, imaplib.IMAP4.error) as error:
        raise UnreadableSource(place.id, f"cannot be read: {_words(error)}") from None


def _quote(text: str) -> str:
    text = re.sub(r"[\x00-\x1f]", "", text)  # a line would be another command
    return '"' + text.replace("\\", r"\\").replace('"', r"\"") + '"'


def _to_utf7(folder: str) -> str:
    """Return the name of a folder as the protocol has it.

    >>> _to_utf7("Entwürfe & mehr")
    'Entw&APw-rfe &- mehr'
    """

    def encode(match: re.Match[str]) -> str:
        code = b2a_base64(match[0].encode("utf-16-be"), newline=False).decode()
        return f"&{code.rstrip('=').replace('/', ',')}-"

    return re.sub(r"[^\x00-\x7f]+", encode, folder.replace("&", "&-"))


def _connect(place: RemotePlace, scheme: str, host: str, port: int | None) -> imaplib.IMAP4:
    """Return a connection, which is encrypted unless the server is on this machine."""
    if scheme == "imaps":
        return imaplib.IMAP4_SSL(host, port or _PORT_SSL, timeout=_WAIT_S)
    if host not in {"localhost", "127.0.0.1", "::1"}:
        raise InputError(f"{place.id} would send a password unencrypted: write imaps://")
    return imaplib.IMAP4(host, port or _PORT, timeout=_WAIT_S)


def _find_password(host: str) -> str:
    if password := os.environ.get(PASSWORD):
        return password
    with suppress(OSError, netrc.NetrcParseError):
        if found := netrc.netrc().authenticators(host):
            return found[2]
    raise InputError(f"the password for {host} is missing: set {PASSWORD}, or write it to .netrc")


def _list_messages(place: RemotePlace, server: imaplib.IMAP4) -> dict[int, int]:
    """Return the size of each message in bytes, by its number."""
    found = [each for each in _check(place, server.uid("SEARCH", "ALL")) if isinstance(each, bytes)]
    numbers = b" ".join(found).decode().split()
    sizes: dict[int, int] = {}
    for start in range(0, len(numbers), _AT_ONCE):
        some = ",".join(numbers[start : start + _AT_ONCE])
        for each in _check(place, server.uid("FETCH", some, "(UID RFC822.SIZE)")):
            if isinstance(each, bytes) and (match := _ABOUT.search(each)):
                one, size, other_size, other = match.groups()
                sizes[int(one or other)] = int(size or other_size)
    return sizes


def _fetch(place: RemotePlace, server: imaplib.IMAP4, number: int, path: Path) -> Path:
    try:
        answer = _check(place, server.uid("FETCH", str(number), "(BODY.PEEK[])"))
    except (OSError, imaplib.IMAP4.error) as error:
        raise UnreadableSource(f"{place.id}/{number}", f"cannot be read: {_words(error)}") from None
    parts = [each[1] for each in answer if isinstance(each, tuple)]
    if not parts:
        raise UnreadableSource(f"{place.id}/{number}", "is no longer there")
    path.write_bytes(parts[0])
    return path


def _check(place: RemotePlace, answer: tuple[str, Sequence[object]]) -> Sequence[object]:
    """Return the data of a server's response. Raises UnreadableSource for a refusal."""
    status, data = answer
    if status != "OK":
        said = data[0].decode("utf-8", "replace") if data and isinstance(data[0], bytes) else status
        raise UnreadableSource(place.id, f"is refused by the server: {said}")
    return data


def _words(error: Exception) -> str:
    text = error.args[0] if error.args else error
    text = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(error)
    return " ".join(text.split())[:200]
