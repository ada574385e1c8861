"""Shards behind servers: each is an index of a `clew serve` on any machine."""

from collections.abc import Generator
from http import HTTPStatus

from clew.errors import InputError, StoreError
from clew.extras.client.clients import Client
from clew.extras.client.requests import KEY_VARIABLE, ClientRequest, Packed
from clew.extras.cluster.shards.exchange import Reply, Request
from clew.extras.cluster.shards.shard import GenerationChanged
from clew.extras.cluster.shards.wire import pack, unpack
from clew.extras.wire.names import PREFIX, SHARD_MEDIA_TYPE, SHARD_MOVED
from clew.extras.wire.refusals import Refusal

FORM = f"https://HOST[:PORT]{PREFIX}/indexes/NAME"
_ATTEMPTS = 2  # of a request whose reply got lost; then another copy is asked, if there is one


class ServedShard:
    """A shard behind a server, requested by HTTP with a key of the scope `admin`."""

    def __init__(self, address: str, key: str | None, timeout_s: float) -> None:
        """Name a shard; the `key` defaults to that of the environment.

        Raises InputError for an address that is not one of an index.
        """
        self.name = address.rstrip("/")
        base, _, self._path = self.name.partition(PREFIX)
        if not self._path.startswith("/indexes/") or set("?#@").intersection(address):
            raise InputError(f"a shard on a server must be {FORM}, not {address!r:.200}")
        self._client = Client(base, key=key, timeout_s=timeout_s, attempts=_ATTEMPTS)

    def ask(self, request: Request) -> Reply:
        upload = Packed(SHARD_MEDIA_TYPE, pack(request))
        post = ClientRequest(
            verb="POST", path=f"{self._path}/shard", upload=upload, is_raw=True, is_repeatable=True
        )
        try:
            return unpack(self._client.run(_ask(post)))  # type: ignore[no-any-return]  # bytes have no types
        except Refusal as refusal:
            if refusal.code == SHARD_MOVED:
                raise GenerationChanged(str(refusal)) from refusal
            if refusal.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
                hint = f"a key of the scope 'admin', in {KEY_VARIABLE}"
                raise StoreError(f"{refusal} ({hint})") from refusal
            raise

    def close(self) -> None:
        self._client.close()


def _ask(request: ClientRequest) -> Generator[ClientRequest, bytes, bytes]:
    return (yield request)
