"""URLs of documents and passages on the page."""

from urllib.parse import quote

from starlette.requests import HTTPConnection

from clew.extras.server.settings import ServerSettings

SCHEME = "clew"  # of addresses that no server answers: `clew mcp` has none
VIEW = "documents"  # of the page


def find_base(request: HTTPConnection, settings: ServerSettings) -> str:
    """Return the server's base URL as seen by the client.

    The name is that of the Host header, which `guard` has checked; of a proxy of ours it is
    believed that the outside comes by https.
    """
    host = request.headers.get("host", "")
    peer = request.client.host if request.client else ""
    scheme = request.url.scheme
    if peer in settings.proxies and request.headers.get("x-forwarded-proto") == "https":
        scheme = "https"
    return f"{scheme}://{host}{settings.root_path}"


def build_document_address(
    base: str, index: str, document: str, start: int | None = None, end: int | None = None
) -> str:
    """Return the URL of a document on the page, optionally at a character range.

    It is that of a view of the page, which asks for a key where one is needed.

    >>> build_document_address("http://localhost:8765", "polar", "log/day 1.md", 10, 42)
    'http://localhost:8765/documents?index=polar&doc=log/day%201.md&start=10&end=42'
    >>> build_document_address("", "polar", "fram.md")
    'clew://polar/fram.md'
    """
    place = quote(document, safe="/", errors="replace")
    at = "" if start is None or end is None else f"start={start}&end={end}"
    if not base:
        return f"{SCHEME}://{index}/{place}{at and f'?{at}'}"
    return f"{base}/{VIEW}?index={index}&doc={place}{at and f'&{at}'}"
