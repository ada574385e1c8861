"""Send one request to a provider by httpx2, with limits on time and size."""

from functools import cache
from typing import Any

import anyio
import httpx2

OK = 200
_TIMEOUT_S = 10.0  # for a whole reply
_MOST_BYTES = 1 << 20
_load_certificates = cache(httpx2.create_ssl_context)  # once, as it takes long


class NoReply(Exception):
    """The reply is missing or incomplete; the message continues the provider's name."""


async def exchange(
    method: str,
    address: str,
    *,
    is_here: bool,
    **given: Any,  # noqa: ANN401 -- httpx2's
) -> tuple[int, bytes]:
    """Return status and body of a reply, without following redirects or decompressing.

    No proxy is asked where the provider `is_here`, on this machine. Raises NoReply.
    """
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    headers |= given.pop("headers", {})
    content = bytearray()
    try:
        with anyio.fail_after(_TIMEOUT_S):
            async with (
                httpx2.AsyncClient(
                    timeout=_TIMEOUT_S, trust_env=not is_here, verify=_load_certificates()
                ) as client,
                client.stream(method, address, headers=headers, **given) as reply,
            ):
                async for part in reply.aiter_raw():
                    content += part
                    if len(content) > _MOST_BYTES:
                        raise NoReply("sent too much")
                return reply.status_code, bytes(content)
    except (TimeoutError, httpx2.HTTPError, httpx2.InvalidURL, ImportError) as error:
        raise NoReply(f"does not answer ({type(error).__name__})") from error
