"""The static files of the page, which loads its data from the REST API.

Nothing here knows of documents or keys: who is not signed in gets the same files. Their policy lets
no script run that is not one of them, and no text become markup.
"""

from pathlib import Path

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

VIEWS = ("ask", "compare", "documents", "themes", "graph", "jobs", "spend", "keys")
STATIC = Path(__file__).parent / "static"
_SHELL = "index.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {"Cache-Control": "no-cache", "Content-Security-Policy": POLICY}
_FILES = StaticFiles(directory=STATIC)


async def _send(request: Request) -> Response:
    """Send a static file or the page's shell; 304 if the browser has it cached."""
    response = await _FILES.get_response(request.path_params.get("name", _SHELL), request.scope)
    response.headers.update(_HEADERS)
    return response


# Nothing, as of a 304, is not compressed: that has bytes, and the server breaks off.
_COMPRESSED = [Middleware(GZipMiddleware, minimum_size=1)]
ROUTES = tuple(
    Route(path, _send, middleware=_COMPRESSED)
    for path in ("/", *(f"/{name}" for name in VIEWS), "/page/{name}")
)
