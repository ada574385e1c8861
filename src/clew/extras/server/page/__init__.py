"""The static files of the page, which gets all its data by REST.

Nothing here knows of documents or keys: who is not signed in gets the same files. Their policy lets
no script run that is not one of them, and no text become markup.
"""

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clew.base.wire.refusals import no_such_resource
from clew.extras.server.endpoints import respond_to_refusal

VIEWS = ("ask", "compare", "documents", "themes", "graph", "jobs", "spend", "keys")
STATIC = Path(__file__).parent / "static"
_SHELL = "index.html"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page, as it is sent."""

    content: bytes
    packed: bytes
    media_type: str
    tag: str


@cache
def read_static_files() -> dict[str, StaticFile]:
    """Read the files of the page once; return them by name."""
    files = {}
    for path in sorted(each for each in STATIC.iterdir() if each.suffix in _TYPES):
        content = path.read_bytes()
        files[path.name] = StaticFile(
            content=content,
            packed=gzip.compress(content, mtime=0),
            media_type=_TYPES[path.suffix],
            tag=f'"{hashlib.sha256(content).hexdigest()[:20]}"',
        )
    return files


async def _send_view(request: Request) -> Response:
    return _send(request, read_static_files()[_SHELL])


async def _send_file(request: Request) -> Response:
    name = request.path_params["name"]
    file = read_static_files().get(name)
    if file is None:
        return respond_to_refusal(no_such_resource(f"the page has no file {name!r:.80}"))
    return _send(request, file)


def _send(request: Request, file: StaticFile) -> Response:
    """Return a response with a file, compressed if accepted; 304 if the browser has it."""
    headers = {
        "Cache-Control": "no-cache",
        "Content-Security-Policy": POLICY,
        "ETag": file.tag,
        "Vary": "Accept-Encoding",
    }
    if file.tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    content = file.content
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["Content-Encoding"] = file.packed, "gzip"
    return Response(content, headers=headers, media_type=file.media_type)


ROUTES = (
    Route("/", _send_view),
    *(Route(f"/{name}", _send_view) for name in VIEWS),
    Route("/page/{name}", _send_file),
)
