"""What somebody who means harm may send: each is refused, and the server goes on."""

import gc
import hmac
import re
import select
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest

import clew
from clew import methods, plugins
from clew.errors import ClewError
from clew.extras.server import ServerSettings
from clew.extras.server import keys as keys_of
from clew.extras.server.health import OPEN_PATHS
from clew.extras.server.keys import Keys
from clew.extras.server.rest import ENDPOINTS
from clew.extras.wire.names import COOKIE, PREFIX
from clew.testing import models
from tests.extras.server.conftest import Home
from tests.extras.server.every import reads, writes
from tests.extras.server.served import API, long_text, until
from tests.models.faulty import Billing
from tests.models.server import serving as endpoint_serving

SEARCH = f"{API}/indexes/small/search"
GET = b"GET /api/v1 HTTP/1.1\r\nHost: localhost\r\n"
SENTINEL = "sentinel-of-a-file-outside"


def connected(address):
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=60)


def exchanged(address, content):
    """Send bytes; return all that comes back until the server closes, or says no more."""
    with connected(address) as connection, suppress(OSError):
        connection.sendall(content)
        found = connection.recv(65_536)
        connection.settimeout(0.3)
        with suppress(TimeoutError):
            while more := connection.recv(65_536):
                found += more
        return found
    return b""


def statuses(content):
    return [int(each) for each in re.findall(rb"HTTP/1\.1 (\d{3}) ", content)]


# -- shapes of requests ---------------------------------------------------------------------------

BODY = b'{"query": "x", "method": "bm25"}'
POST = b"POST /api/v1/indexes/small/search HTTP/1.1\r\nHost: localhost\r\n"
FORM = "multipart/form-data; boundary=b"
UPLOAD = POST.replace(b"search", b"documents") + f"Content-Type: {FORM}\r\n".encode()
NEXT = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
ODD = {
    "two lengths": b"Content-Length: 6\r\nContent-Length: 32\r\n\r\n" + BODY,
    "a list of lengths": b"Content-Length: 6, 32\r\n\r\n" + BODY,
    "a sign": b"Content-Length: +32\r\n\r\n" + BODY,
    "a hexadecimal length": b"Content-Length: 0x20\r\n\r\n" + BODY,
    "a negative length": b"Content-Length: -1\r\n\r\n" + BODY,
    "a length and chunks": b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED,
    "chunks and a length": b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n" + CHUNKED,
    "chunks twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED,
    "another coding": b"Transfer-Encoding: gzip, chunked\r\n\r\n" + CHUNKED,
    "a coding in disguise": b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKED,
    "a space before the colon": b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKED,
    "a vertical tab": b"Transfer-Encoding: \x0bchunked\r\n\r\n" + CHUNKED,
    "a size that is none": b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffffff\r\nx",
    "a size with a sign": b"Transfer-Encoding: chunked\r\n\r\n+1\r\nx\r\n0\r\n\r\n",
    "a folded line": b"X: a\r\n b\r\n\x00\r\n\r\n",
    "a null": b"X: a\x00b\r\n\r\n",
    "a second name": b"Host: evil.example\r\n\r\n",
    "long headers": b"X: " + b"a" * 500_000 + b"\r\n\r\n",
    "many headers": b"X: a\r\n" * 90_000 + b"\r\n",
}


@pytest.fixture(scope="module")
def address(tmp_path_factory, _small_index):
    place = tmp_path_factory.mktemp("attacked") / "home"
    with Home(ServerSettings(home=place, indexes={"small": _small_index})).serving() as found:
        yield found


@pytest.mark.parametrize("odd", ODD)
def test_no_request_is_hidden_in_another(address, odd):
    """What two programs may read in two ways is refused, and nothing behind it is read."""
    found = exchanged(address, POST + ODD[odd] + NEXT)
    is_long = len(ODD[odd]) > 100_000  # the connection may be closed before all of it is sent
    assert len(statuses(found)) == 1 or (is_long and not found)
    assert set(statuses(found)) <= {400, 501}
    assert b"smuggled" not in found


@pytest.mark.parametrize(
    "content",
    [
        b"GET /api/v1 HTTP/1.1\r\n\r\n",
        b"GET  /api/v1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"G\x00T / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_what_is_no_request(address, content):
    found = statuses(exchanged(address, content))
    assert found
    assert all(400 <= status < 500 for status in found)


def test_what_may_be_asked_is_answered(address):
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n"
    assert statuses(exchanged(address, GET + upgrade)) == [200]
    h2c = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n"
    assert statuses(exchanged(address, GET + h2c)) == [200]
    whole = b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
    found = exchanged(address, POST + whole + GET + b"\r\n" + NEXT)
    assert statuses(found) == [200, 200, 404]


@pytest.mark.parametrize("method", ["TRACE", "CONNECT", "OPTIONS", "PUT", "PATCH", "FOO"])
def test_odd_methods(client, method):
    """Nothing is traced, tunnelled or told to other sites; the route is told apart from none."""
    for each in ENDPOINTS:
        path = re.sub(r"{\w+(:path)?}", "small", each.path)
        found = client.request(method, f"{PREFIX}{path}")
        assert found.status_code in {405, 404}, each
        assert not [name for name in found.headers if name.startswith("access-control-")]


# -- bodies ---------------------------------------------------------------------------------------


def test_bodies_without_an_end(home):
    """They are refused as soon as they are too long, whether or not they said so."""
    for told in (b"Content-Length: 99999999999999", b"Transfer-Encoding: chunked"):
        with home.serving(head_s=0.2) as address, connected(address) as connection:
            connection.sendall(POST + told + b"\r\n\r\n")
            chunk = b"10000\r\n" + bytes(65_536) + b"\r\n"
            found, sent = b"", 0
            with suppress(OSError):
                while sent < 1 << 33:
                    connection.sendall(chunk)
                    sent += len(chunk)
                    if select.select([connection], [], [], 0)[0]:
                        found += connection.recv(4_096)
            assert statuses(found) == [413]
            assert sent < 1 << 32  # the connection was closed


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 500_000,
        b'{"a":' * 100_000,
        b'{"query": "x", "parameters": ' + b'{"a":' * 5_000,
        b'{"query": "x", "parameters": {"chunks": 1' + b"0" * 100_000 + b"}}",
        b'{"query": "x", "parameters": {"chunks": 1e999}}',
        b'{"query": "x", "parameters": {"chunks": -1}}',
        b'{"query": "\xff\xfe"}',
        b'{"query": "\\ud800"}',
        b'{"query": 1}',
        b'{"query": "x", "query2": "x"}',
        b'{"query": "x", "where": "' + b"(" * 9_000 + b'"}',
        b'{"query": "x", "where": "' + b"not " * 2_400 + b'id = 1"}',
        b'{"query": "x", "context_tokens": 99999999999999999999}',
        b'{"query": "' + b"x" * 20_001 + b'"}',
        b"\x1f\x8b\x08" + bytes(100),
        b"query=x",
    ],
    ids=range(16),
)
def test_bodies_that_are_none(client, body):
    """Depth, numbers and text beyond all bounds are refused in a sentence."""
    found = client.post(SEARCH, content=body, headers={"Content-Encoding": "identity"})
    assert found.status_code in {400, 422}, found.text[:200]
    assert len(found.json()["error"]["message"]) < 400


# Variants read a question alike.
@pytest.mark.parametrize("name", [*methods.list_modules(), *plugins.find_registered("methods")])
def test_a_long_question_of_nothing(client, name):
    for query in ("a" * 20_000, "? " * 10_000, "\u0000\u202e\uffff" * 100, "Comet " * 3_000):
        began = time.process_time()
        found = client.post(SEARCH, json={"query": query, "method": name})
        assert found.status_code < 500, found.text[:300]
        assert time.process_time() - began < 3


# Each is refused in a thread: for its length, by a filter or a method, or as a broken form.
REFUSED = {
    "a long body": {"json": {"query": "x" * 200_000}},
    "a filter": {"json": {"query": "x", "where": "none = 1"}},
    "a method": {"json": {"query": "x", "method": "none"}},
    "a form": {"content": b"--b\r\nbroken", "headers": {"Content-Type": FORM}},
}


def _errors():
    return [each for each in gc.get_objects() if isinstance(each, ClewError)]


@pytest.mark.parametrize("odd", REFUSED)
def test_what_was_refused_is_forgotten(client, odd):
    """No error outlives its reply, and with it what was sent, until Python looks for rings."""
    path = SEARCH if "json" in REFUSED[odd] else f"{API}/indexes/small/documents"
    client.post(path, **REFUSED[odd])  # what is imported only now
    gc.collect()
    gc.disable()
    try:
        assert client.post(path, **REFUSED[odd]).status_code == 400
        until = time.monotonic() + 5  # the thread that raised it may still end
        while _errors() and time.monotonic() < until:
            time.sleep(0.01)
        assert not _errors()
    finally:
        gc.enable()


# -- slow and many --------------------------------------------------------------------------------


def test_slow_clients_are_let_go(home):
    """A head, or a body, that comes byte by byte holds a connection for a moment only."""
    with home.serving(head_s=0.2, body_s=0.3) as address, ExitStack() as stack:
        slow = [stack.enter_context(connected(address)) for _ in range(20)]
        for i, each in enumerate(slow):
            part = (b"", b"G", GET, POST + b"Content-Length: 500\r\n\r\n{")[i % 4]
            each.sendall(part)
        begin = time.monotonic()
        open_ones, ends = list(enumerate(slow)), {}
        while open_ones and time.monotonic() < begin + 60:
            for i, each in list(open_ones):
                try:
                    each.sendall(b" " if i % 4 == 3 else b"a" if i % 4 == 2 else b"")
                    each.settimeout(0.001)
                    if (found := each.recv(4_096)) and i % 4 == 3:
                        ends[i] = ends.get(i, b"") + found
                    elif not found:
                        open_ones.remove((i, each))
                except TimeoutError:
                    pass
                except OSError:
                    open_ones.remove((i, each))
        assert not [i for i, _ in open_ones]
        assert {tuple(statuses(found)) for found in ends.values()} == {(408,)}
        assert httpx2.get(f"{address}/healthz").status_code == 200


def test_a_client_that_goes_while_it_sends_is_no_failure(home, caplog):
    """Its request is counted as one that nobody waited for, and no traceback is logged."""
    with home.serving() as address:
        for head in (POST, UPLOAD):
            with connected(address) as connection:
                connection.sendall(head + b"Content-Length: 500\r\n\r\n--b\r\n")

        def count_replies():
            told = httpx2.get(f"{address}/metrics").text
            return re.findall(r"clew_requests_total.*POST.*/(\w+)\",status=\"(\d+)\"", told)

        assert until(lambda: len(found := count_replies()) == 2 and found)
        assert sorted(count_replies()) == [("documents", "499"), ("search", "499")]
    assert "Traceback" not in caplog.text


def test_a_question_may_take_longer_than_a_head(home):
    """Those bounds are for what is sent, not for what is answered."""
    with home.serving(head_s=0.05, body_s=0.05) as address:
        client = httpx2.Client(base_url=address)
        gate = threading.Event()
        for _ in range(2):
            assert client.post(SEARCH, json={"query": "Comet"}).status_code == 200
            gate.wait(0.02)
        client.close()


def test_more_connections_than_are_taken(home):
    """Those beyond get 503 at once; when others end there is room again."""
    with home.serving(sockets=40) as address:
        held = [connected(address) for _ in range(120)]
        refused = 0
        for each in held[40:]:
            found = b"".join(iter(lambda each=each: each.recv(4_096), b""))
            refused += statuses(found) == [503]
        assert refused == 80
        for each in held:
            each.close()
        assert until(lambda: httpx2.get(f"{address}/healthz").status_code == 200)


# -- names and paths ------------------------------------------------------------------------------

PATHS = (
    "../../../outside.txt", "..%2f..%2f..%2foutside.txt", "%2e%2e/%2e%2e/outside.txt",
    "..%5c..%5coutside.txt", "....//....//outside.txt", "/etc/passwd", "%2fetc%2fpasswd",
    "small%00.txt", "%00", "%0d%0aX-Injected:%20yes", "~root", "file:%2f%2f%2fetc%2fpasswd",
    "a" * 4_000, "%F0%9F%98%80", "%ff%fe", "small/../../../outside.txt", "*", "'%20or%20'1'%3d'1",
)  # fmt: skip


def test_no_part_of_a_path_leads_out_of_the_home(home, tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text(SENTINEL)
    bodies = {each.route: each.body for each in [*reads("small"), *writes("small")]}

    def others():
        found = (p for p in tmp_path.rglob("*") if not p.name.endswith(("lock", "-wal", "-shm")))
        return {each for each in found if home.folder not in (each, *each.parents)}

    before = others()
    with home.client(jobs=0) as client:
        for each in ENDPOINTS:
            for name in re.findall(r"{(\w+)(?::path)?}", each.path):
                for part in PATHS:
                    path = re.sub(rf"{{{name}(:path)?}}", lambda _, part=part: part, each.path)
                    path = re.sub(r"{\w+(:path)?}", "small", path)
                    body = bodies[each.method, each.path]
                    found = client.request(each.method, f"{PREFIX}{path}", json=body)
                    told = (each.method, path, found.text)
                    assert found.status_code in {400, 404, 405, 409}, told
                    assert SENTINEL not in found.text
                    assert "root:" not in found.text
                    assert "x-injected" not in found.headers
    assert others() == before


@pytest.mark.parametrize("name", ["../x", "x/y", "", ".", "X", "a" * 65, "x\n", "ä", "-", "con."])
def test_names_of_indexes(client, name):
    """They are folders, so they are of few characters."""
    assert client.post(f"{API}/indexes", json={"name": name}).status_code == 400


# -- who asks -------------------------------------------------------------------------------------


def test_a_key_is_taken_from_its_header_only(home):
    """Addresses stand in logs and histories: a key in one is never a key."""
    text = home.key("anna", scope="admin")["Authorization"].split()[1]
    names = ("key", "api_key", "token", "access_token", "authorization")
    with home.client() as client:
        for each in [*reads("small"), *writes("small")]:
            if each.path in {"/openapi.json", "/session"}:
                continue
            glue = "&" if "?" in each.url else "?"
            asked = replace(each, url=f"{each.url}{glue}{urlencode(dict.fromkeys(names, text))}")
            assert asked.send(client).status_code == 401, asked
        for headers in (
            {"Authorization": f"Basic {text}"},
            {"Authorization": text},
            {"Authorization": f"Bearer {text[:-1]}"},
            {"Authorization": "Bearer "},
            {"X-Api-Key": text},
            {"Cookie": f"{COOKIE}={text}"},
            {"Cookie": f"key={text}"},
            {"X-Forwarded-User": "anna"},
            {"X-Forwarded-For": "127.0.0.1"},
        ):
            assert client.get(API, headers=headers).status_code == 401, headers
        for path in ("/v1/models", "/mcp", "/metrics", "/v1/responses"):
            method = "GET" if path in {"/v1/models", "/metrics"} else "POST"
            assert client.request(method, f"{path}?key={text}").status_code in {401, 403}, path
        assert [client.get(path).status_code for path in OPEN_PATHS] == [200, 200]


def test_keys_are_compared_in_constant_time(database, monkeypatch):
    compared = []

    real = hmac.compare_digest
    monkeypatch.setattr(
        hmac, "compare_digest", lambda a, b: compared.append((len(a), len(b))) or real(a, b)
    )
    found = Keys(database)
    key, text = found.add("anna", keys_of.KeyOptions())
    for given in (text, text[:-1], text + "x" * 1_000, f"clew_{key.id}_", f"clew_{key.id}_é"):
        assert (found.find(given) is not None) == (given == text)
    assert compared == [(32, 32)] * 5


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
    ],
    ids=str,
)
def test_no_other_site_writes_by_a_cookie(home, headers):
    text = home.key("anna", scope="admin")["Authorization"].split()[1]
    with home.client(jobs=0) as client:
        client.post(f"{API}/session", json={"key": text})
        assert client.get(API).json()["scope"] == "admin"
        before = client.get(f"{API}/indexes").json()
        for each in [*writes("small"), *reads("small")]:
            if each.method == "GET":  # shows something, and changes nothing
                continue
            sent = replace(each, headers=(*each.headers, *headers.items()))
            assert sent.send(client).status_code == 403, each
            form = {"Content-Type": "text/plain", **headers}
            plain = client.request(each.method, f"{PREFIX}{each.url}", content="{}", headers=form)
            assert plain.status_code == 403
        assert client.get(f"{API}/indexes").json() == before
        assert client.get(f"{API}/jobs").json()["total"] == 0


# -- what it costs --------------------------------------------------------------------------------


def test_many_clients_of_two_servers_keep_a_budget(home):
    """32 at once, on two servers over one home: never more than the key may spend is billed."""
    most = 6_000
    key = home.key("anna", tokens=most)
    billing = Billing(seed=2, fault_share=0.2, pause_s=0.01)
    with endpoint_serving() as endpoint, ExitStack() as stack:
        endpoint.respond = billing.respond
        specs = replace(home.settings.specs, llm=f"openai:m@{endpoint.url}")
        addresses = [stack.enter_context(home.serving(open_asked, specs=specs)) for _ in range(2)]

        def ask(i):
            body = {"question": f"Who built the Comet {i}?", "method": "bm25", "min_support": 0}
            url = f"{addresses[i % 2]}{API}/indexes/small/ask"
            return httpx2.post(url, json=body, headers=key, timeout=60).status_code

        with ThreadPoolExecutor(32) as pool:
            assert {*pool.map(ask, range(32))} <= {200, 402, 502}
        spent = httpx2.get(f"{addresses[0]}{API}", headers=key).json()["spent"]["tokens"]
    assert 0 < billing.billed <= spent <= most


def open_asked(folder, **given):
    return clew.open(folder, models=models(llm=clew.load_llm(given["specs"].llm)))


def test_a_key_that_is_revoked_in_the_middle(jobs_home):
    """Streams without an end end, and nothing more is bought; on every server of the home."""
    jobs_home.gate.touch()
    _, header = jobs_home.key("anna", scope="write")
    jobs_home.headers = header
    with jobs_home.client() as client, jobs_home.client() as other:
        documents = [{"id": f"n{i}", "text": long_text(i)} for i in range(3)]
        job = client.post(f"{API}/indexes/notes/documents", json={"documents": documents}).json()
        until(lambda: jobs_home.job(job["id"]).entered)
        told = []
        url = f"{API}/jobs/{job['id']}/events"
        thread = threading.Thread(target=lambda: told.append(other.get(url)))
        thread.start()
        time.sleep(0.3)
        assert not told
        with jobs_home.database() as database:
            Keys(database).revoke("anna")
        thread.join(60)
        assert told[0].status_code == 200
        assert "event: done" not in told[0].text
        for each in (client, other):
            assert each.get(API).status_code == 401
        jobs_home.gate.unlink()
