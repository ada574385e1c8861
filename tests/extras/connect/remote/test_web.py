"""Web pages: what is fetched, and what is refused."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from clew.base.types import Skipped
from clew.errors import InputError
from clew.extras.connect.remote import web
from clew.limits import ReadingLimits
from clew.readers import inputs

PAGES = {
    "/a.html": (200, {"Content-Type": "text/html"}, b"<title>Rope</title><p>One.</p>"),
    "/": (200, {"Content-Type": "text/html"}, b"<p>Root.</p>"),
    "/latin": (200, {"Content-Type": "text/plain; charset=latin-1"}, "caf\u00e9".encode("latin-1")),
    "/notes.md": (200, {"Content-Type": "text/plain"}, b"# Note"),
    "/data": (200, {"Content-Type": "application/json"}, b'{"text": "One."}'),
    "/picture": (200, {"Content-Type": "image/png"}, b"x"),
    "/moved": (302, {"Location": "/a.html"}, b""),
    "/round": (302, {"Location": "/round"}, b""),
    "/away": (302, {"Location": "file:///etc/passwd"}, b""),
    "/inside": (302, {"Location": "http://127.0.0.1:1/a.html"}, b""),
    "/big": (200, {"Content-Type": "text/plain"}, b"a" * 70_000),
}


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self):
        status, headers, body = PAGES.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("path", "name", "data"),
    [
        ("/a.html", "a.html", PAGES["/a.html"][2]),
        ("/a.html?x=1", None, None),
        ("/", "127.0.0.1.html", PAGES["/"][2]),
        ("/latin", "latin.txt", "caf\u00e9".encode()),
        ("/notes.md", "notes.md", b"# Note"),
        ("/data", "data.json", b'{"text": "One."}'),
        ("/moved", "moved.html", PAGES["/a.html"][2]),
    ],
)
def test_pages(site, path, name, data):
    """A page is a file of the format that the server says, whose id is the address."""
    with web.fetch_page(inputs.locate_input(f"{site}{path}#part")) as file:
        if name is None:
            assert file.reason == "was answered with status 404"
            return
        assert (file.id, file.source, file.named) == (f"{site}{path}", f"{site}{path}", True)
        assert file.path.read_bytes() == data
        assert file.path.name.split(":")[0].removesuffix(".html") in {
            name,
            name.removesuffix(".html"),
        }
        folder = file.path.parent
    assert not folder.exists()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/gone", "was answered with status 404"),
        ("/picture", "is of the type image/png, which no reader takes"),
        ("/round", "was answered with status 302"),
        ("/away", "was answered with status 302"),
        ("/big", "has more than 60,000 bytes: --limit received_bytes=240000 reads it"),
    ],
)
def test_pages_that_are_refused(site, path, reason):
    """Each with a reason; nothing else than a web page is ever opened."""
    few = ReadingLimits(received_bytes=60_000)
    with web.fetch_page(inputs.locate_input(site + path), few) as found:
        assert isinstance(found, Skipped)
        assert found.source == site + path
        assert found.reason.startswith(reason)


def test_a_public_page_does_not_lead_into_this_network(site, monkeypatch):
    """Who names a near address means it; who names a public one does not."""
    monkeypatch.setattr(web, "is_public", lambda host: host == "public.example")
    redirects = web._Redirects("http://public.example/")  # noqa: SLF001 -- a rule of its own
    request = web.Request("http://public.example/")
    with pytest.raises(InputError, match="leads to 127.0.0.1, an address of this network"):
        redirects.redirect_request(request, None, 302, "", {}, f"{site}/a.html")
    near = web._Redirects(site)  # noqa: SLF001
    assert near.redirect_request(request, None, 302, "", {}, f"{site}/a.html").full_url


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "::1", "169.254.169.254", "192.168.1.1"])
def test_near_addresses(host):
    """Loopback, private and link-local ones, among them the metadata service of clouds."""
    assert not web.is_public(host)


def test_an_address_where_nobody_answers():
    """One sentence with the address."""
    with web.fetch_page(inputs.Page("http://127.0.0.1:9/a")) as found:
        assert str(found).startswith("http://127.0.0.1:9/a: cannot be reached: ")
