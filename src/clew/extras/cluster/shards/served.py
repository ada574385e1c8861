"""Shards behind servers: each is an index of a `clew serve` on any machine."""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from clew.base.runtime.lazy import needs
from clew.errors import InputError, StoreError
from clew.extras.cluster.shards.exchange import Receive, Reply, Request
from clew.extras.cluster.shards.shard import GenerationChanged
from clew.extras.cluster.shards.wire import pack, unpack
from clew.extras.wire.names import SHARD_MEDIA_TYPE, SHARD_MOVED

with needs("httpx2", "client", "shards behind servers"):
    import httpx2


KEY_VARIABLE = "CLEW_KEY"
FORM = "https://HOST[:PORT]/api/v1/indexes/NAME"
_TIMEOUT_S, _CONNECT_S = 120.0, 5.0
_AGAIN = frozenset({429, 502, 503})  # nothing changes by asking again
_TRIES = 3
_WAIT_S = 0.5  # before a server is asked again that could not do it
_SHOWN = 200  # characters of what a server says


class ServedShard:
    """A shard behind a server, requested by HTTP with a key of the scope `admin`."""

    def __init__(self, address: str, key: str | None = None) -> None:
        """Name a shard; the `key` defaults to that of the environment.

        Raises InputError for an address that is not one of an index.
        """
        parts = urlsplit(address)
        if not parts.hostname or "/indexes/" not in parts.path or parts.query or "@" in address:
            raise InputError(f"a shard on a server must be {FORM}, not {address!r:.{_SHOWN}}")
        self.name = address.rstrip("/")
        key = (os.environ.get(KEY_VARIABLE, "") if key is None else key).strip()
        self._client = httpx2.Client(
            headers={"Content-Type": SHARD_MEDIA_TYPE}
            | ({"Authorization": f"Bearer {key}"} if key else {}),
            timeout=httpx2.Timeout(_TIMEOUT_S, connect=_CONNECT_S),
        )
        self._thread = ThreadPoolExecutor(1, "clew-shard")  # shards are asked at the same time

    def send(self, request: Request) -> Receive:
        return self._thread.submit(self._post, pack(request)).result

    def _post(self, sent: bytes) -> Reply:
        for left in reversed(range(_TRIES)):
            try:
                reply = self._client.post(f"{self.name}/shard", content=sent)
            except httpx2.HTTPError as error:
                if left:
                    continue
                raise StoreError(
                    f"its server cannot be reached ({error or type(error).__name__}): check that"
                    f" 'clew serve' runs there"
                ) from error
            if reply.status_code not in _AGAIN or not left:
                break
            time.sleep(_WAIT_S)
        if reply.status_code == httpx2.codes.OK:
            return unpack(reply.content)  # type: ignore[no-any-return]  # bytes have no types
        raise _build_error(reply.status_code, reply.content)

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._client.close()


def _build_error(status: int, body: bytes) -> StoreError:
    """Return the error in a server's reply."""
    try:
        refusal = json.loads(body)["error"]
        code, message = str(refusal["code"]), str(refusal["message"])
    except (ValueError, KeyError, TypeError):
        return StoreError(
            f"its server answered HTTP {status}, unlike a Clew server: check the address"
        )
    if code == SHARD_MOVED:
        return GenerationChanged(message)
    if status in {httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN}:
        return StoreError(f"{message} (a key of the scope 'admin', in {KEY_VARIABLE})")
    return StoreError(message)
