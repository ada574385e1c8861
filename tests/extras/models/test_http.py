import gzip
import importlib.util
import socket
import ssl
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from ipaddress import ip_address

import pytest

from clew.errors import EndpointError, InputError, ModelError
from clew.models import Stopped
from clew.models.run import ModelRun, evaluating, start_question_run
from tests.models.server import Answer, serving

pytest.importorskip("httpx2")

from clew.extras.models.http import BUSY_S, REST_S, Endpoint, Refused, _timeout_record

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def waits():
    return []


@pytest.fixture
def endpoint(server, waits):
    def build(**settings):
        standard = {
            "base_url": server.url,
            "path": "embeddings",
            "api_key": KEY,
            "attempts": 3,
            "patience_s": 0.0,
        }
        calm = {"sleep": waits.append, "random": lambda: 0.0}
        return Endpoint(**(standard | calm | settings))

    return build


def send(endpoint, *bodies, run=None):
    return endpoint.run_jobs(lambda post, body: post(body), bodies, run=run)


def test_replies_keep_the_order_of_requests(server, endpoint):
    """The slowest request does not change whose reply is whose."""
    server.respond = lambda r: Answer(r.json, delay_s=0.05 if r.json["n"] == 0 else 0.0)
    bodies = [{"n": n} for n in range(20)]
    assert send(endpoint(), *bodies) == bodies
    server.respond = lambda r: Answer(r.json)
    assert send(endpoint(), {"text": "a\ud800b"}) == [{"text": "a?b"}]
    assert send(endpoint(api_key="", api_key_env="NOT_SET_AT_ALL")) == []
    assert len(server.requests) == len(bodies) + 1


def test_concurrency_is_bounded_and_used(server, endpoint):
    """As many requests run at once as were allowed, and no more."""
    server.respond = lambda r: Answer(r.json, delay_s=0.03)
    send(endpoint(concurrency=3), *({"n": n} for n in range(12)))
    assert server.most_at_once == 3


@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({}, f"Bearer {KEY}"),
        ({"api_key": ""}, None),  # as a local server is asked
        ({"api_key": "", "api_key_env": "SOME_KEY"}, f"Bearer {KEY}"),
    ],
)
def test_the_key_is_sent_as_a_bearer_token(server, endpoint, monkeypatch, settings, sent):
    """It need not stand in a settings file, and the newline of a variable does no harm."""
    monkeypatch.setenv("SOME_KEY", f"{KEY}\n")
    send(endpoint(**settings), {})
    assert server.requests[0].headers.get("Authorization") == sent
    assert server.requests[0].path == "/v1/embeddings"


def test_what_base_urls_hold(server, endpoint):
    """An API version stays behind the path; errors show neither it nor a password."""
    built = endpoint(base_url=f"{server.url}/?api-version=7")
    send(built, {})
    assert server.requests[0].path == "/v1/embeddings?api-version=7"
    assert built.shown_address == f"{server.url}/embeddings"
    server.script(Answer({}, 401))
    with pytest.raises(EndpointError) as caught:
        send(endpoint(base_url=server.url.replace("//", "//me:hush@")), {})
    assert "hush" not in str(caught.value)


def test_a_missing_variable_is_named(endpoint, monkeypatch):
    """The user learns which variable to set."""
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(InputError, match="SOME_KEY is not set"):
        send(endpoint(api_key="", api_key_env="SOME_KEY"), {})


@pytest.mark.parametrize(
    "fault",
    [
        *(Answer({}, status) for status in (429, 500, 502, 503, 504)),
        *(Answer(b"<html>unknown error</html>", each) for each in (408, 520, 522, 524, 529)),
        Answer({}, missing_bytes=10),
    ],
)
def test_a_passing_fault_is_tried_again(server, endpoint, waits, fault):
    """An overloaded server, one of Cloudflare, or a connection that broke, is asked once more."""
    server.script(fault, Answer({"ok": 1}))
    assert send(endpoint(), {}) == [{"ok": 1}]
    assert waits == [0.5]


def test_pauses(server, endpoint, waits):
    """They double up to what the user allowed, or are what the server asks for."""
    server.script(Answer({}, 500))
    with pytest.raises(EndpointError):
        send(endpoint(attempts=6, random=lambda: 1.0, longest_wait_s=5.0), {})
    assert waits == [1.0, 2.0, 4.0, 5.0, 5.0]
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    server.script(Answer({}, 503, {"Retry-After": date}), Answer({}))
    send(endpoint(), {})
    assert waits[5:] == [pytest.approx(19, abs=2)]


@pytest.mark.parametrize(
    ("asked", "waited"), [("7", 7.0), ("86400", 9.0), ("-3", 0.0), ("nan", 0.5), ("x", 0.5)]
)
def test_retry_after_in_seconds_is_honoured(server, endpoint, waits, asked, waited):
    """The server knows best; too long is capped, and nonsense means the usual pause."""
    server.script(Answer({}, 429, {"Retry-After": asked}), Answer({}))
    send(endpoint(longest_wait_s=9.0), {})
    assert waits == [waited]


def test_giving_up_names_address_status_and_remedy(server, endpoint):
    """One sentence says where, what and what to do, with the server's own words."""
    server.script(Answer({"error": {"message": "model is loading"}}, 503))
    with pytest.raises(EndpointError) as caught:
        send(endpoint(), {})
    assert str(caught.value) == (
        f"{server.url}/embeddings gave no usable answer in 3 attempts; the last was HTTP 503"
        " (model is loading). Hint: try again later"
    )
    assert len(server.requests) == 3


def test_a_time_out_is_tried_again_then_named(server, endpoint):
    """A server that hangs ends the run after the attempts, not never."""
    server.script(Answer({}, delay_s=0.4))
    with pytest.raises(EndpointError, match=r"in 2 attempts; the last was no reply within 0.05 s"):
        send(endpoint(timeout_s=0.05, attempts=2), {})


@pytest.mark.parametrize("body", [b"{'a': ", b"<html>gateway</html>", b"\xff\xfe", b"[" * 90_000])
def test_a_body_that_is_no_json_is_tried_again_then_named(server, endpoint, body):
    """A web page in place of a reply usually means a wrong base URL."""
    server.script(Answer(body))
    with pytest.raises(EndpointError, match=r"not JSON\. Hint: check that the base URL"):
        send(endpoint(), {})
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (400, "change what the server names"),
        (401, "API key"),
        (403, "may use"),
        (404, "base URL"),
        (402, "add credit"),
        (413, "larger than the server takes"),
        (422, "change what the server names"),
        (302, "base URL"),
    ],
)
def test_a_refusal_is_final(server, endpoint, waits, status, hint):
    """Where asking again cannot help, it is not tried, and the hint fits the status."""
    server.script(Answer({"detail": "no such thing"}, status))
    with pytest.raises(Refused, match=f"HTTP {status} .no such thing.. Hint: .*{hint}") as caught:
        send(endpoint(), {})
    assert (caught.value.status, waits, len(server.requests)) == (status, [], 1)


@pytest.mark.parametrize("status", [401, 500])
def test_the_key_never_appears_in_an_error(server, endpoint, status):
    """A server that repeats the key, even at the end of a long message, does not spread it."""
    server.script(Answer({"error": "x" * 185 + f" wrong key {KEY}"}, status))
    built = endpoint()
    with pytest.raises(EndpointError) as caught:
        send(built, {})
    assert "sk-very" not in f"{caught.value!r} {built!r} {caught.value.__cause__!r}"


@pytest.mark.parametrize(
    ("key", "said", "shown"),
    [
        ("x", "max_tokens exceeds the context", "max_tokens exceeds the context"),
        ("context", "the context is full", "the context is full"),
        ("contexts", "contexts of subcontexts", "... of subcontexts"),
        ("sk-a.b+c", "key=sk-a.b+c, sk-aXb+c", "key=..., sk-aXb+c"),
    ],
)
def test_a_placeholder_for_a_key_spoils_no_message(server, endpoint, key, said, shown):
    """Servers without keys are given any word; only what can be a secret is left out, whole."""
    server.script(Answer({"error": said}, 400))
    with pytest.raises(Refused) as caught:
        send(endpoint(api_key=key), {})
    assert caught.value.reason == shown


@pytest.mark.parametrize("key", ["sk-\nInjected: 1", "sk-é"])
def test_a_key_that_cannot_be_sent_is_not_repeated(endpoint, key):
    """A key with a line break or an accent is a mistake that is named without showing it."""
    with pytest.raises(InputError, match="the API key for .* has invalid characters") as caught:
        send(endpoint(api_key=key), {})
    assert key not in str(caught.value)


def test_a_fatal_error_ends_the_batch(server, endpoint):
    """A wrong key costs a few requests, and nobody waits out a back-off."""
    server.script(Answer({}, 401, delay_s=0.01))
    with pytest.raises(Refused):
        send(endpoint(concurrency=4), *({"n": n} for n in range(200)))
    assert len(server.requests) <= 8

    server.respond = lambda r: Answer({}, 500) if r.json["n"] else Answer({}, 401, delay_s=0.1)
    began = time.monotonic()
    with pytest.raises(Refused):
        send(endpoint(sleep=None, first_wait_s=60.0, concurrency=2), {"n": 0}, {"n": 1})
    assert time.monotonic() - began < 50


@pytest.mark.parametrize(
    ("answer", "lost"),
    [
        (Answer({}, delay_s=1.5), [True, False]),
        (Answer({}, missing_bytes=10), [True, False]),
        (Answer(b"<html>"), [True, False]),
        (Answer({}, 504), [True, False]),
        (Answer({}, 503), []),
        (Answer({}, 429), []),
        (Answer({}, 401), []),
    ],
    ids=["time-out", "hang-up", "no JSON", "504", "503", "429", "401"],
)
def test_attempts_that_may_be_billed_are_told(server, endpoint, answer, lost):
    """Those that were sent and brought no answer, and whether another attempt follows."""
    server.script(answer)
    told = []
    timeout_s = 0.4 if answer.delay_s else 30.0  # a busy machine answers late, too
    with pytest.raises(EndpointError):
        endpoint(attempts=2, timeout_s=timeout_s).post({}, on_lost=told.append)
    assert told == lost


def test_a_connection_that_was_never_made_is_not_lost(endpoint):
    """Nobody can have billed it."""
    told = []
    with pytest.raises(EndpointError):
        endpoint(base_url=f"http://127.0.0.1:{closed_port()}").post({}, on_lost=told.append)
    assert told == []


def test_a_lost_attempt_can_end_the_exchange(server, endpoint):
    """What the listener raises is not followed by another attempt."""

    def enough(again):
        raise ModelError("enough")

    server.script(Answer(b"<html>"))
    with pytest.raises(ModelError, match="enough"):
        endpoint().post({}, on_lost=enough)
    assert len(server.requests) == 1


def test_nothing_is_sent_for_a_batch_that_ended(server, endpoint):
    """Nor is a second attempt made once the batch has ended."""
    stop = threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        endpoint().post({}, stop=stop)
    assert server.requests == []


def test_an_error_of_the_job_itself_is_raised_as_it_is(endpoint):
    """What a reader of replies complains about reaches the caller unchanged."""

    def job(post, item):
        post({})
        raise ModelError(item)

    with pytest.raises(ModelError, match=r"^odd$"):
        endpoint().run_jobs(job, ["odd"])


def test_connections_are_reused_and_threads_end(server, endpoint):
    """Many batches through one endpoint leave no threads behind."""
    built, before = endpoint(), threading.active_count()
    for _ in range(5):
        send(built, {}, {})
    assert threading.active_count() <= before + 2  # the server's, one for each open connection


@pytest.mark.parametrize(
    "settings", [{"base_url": "api.example.org"}, {"attempts": 0}, {"timeout_s": 0.0}]
)
def test_settings_that_cannot_work_are_refused(endpoint, settings):
    """A bad setting fails where it is made, not after an hour of indexing."""
    with pytest.raises(InputError):
        endpoint(**settings)


def closed_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def closed_endpoint(waits):
    """Return an endpoint that was reached once, and whose server went away."""
    with serving() as server:
        found = Endpoint(base_url=server.url, attempts=3, sleep=waits.append, random=lambda: 0.0)
        send(found, {})
    found._client.close()  # noqa: SLF001 -- no connection of before stays open
    found.__dict__.pop("_client")
    return found


def test_an_endpoint_that_is_not_there_is_told_at_once(endpoint, waits):
    """Nothing is tried again before something was reached."""
    port = closed_port()
    reason = rf":{port}/v1/embeddings cannot be reached .*refused.*that the server is running"
    with pytest.raises(EndpointError, match=reason):
        send(endpoint(base_url=f"http://127.0.0.1:{port}/v1"), {})
    assert waits == []
    with pytest.raises(EndpointError, match="cannot be reached"):
        endpoint(base_url=f"http://127.0.0.1:{port}/v1").reach()


def test_a_server_that_went_away_is_waited_for(waits):
    """Once it was reached, a refused connection may be a restart."""
    found = closed_endpoint(waits)
    with pytest.raises(EndpointError, match="gave no usable answer in 3 attempts"):
        send(found, {})
    assert len(waits) == 2


def test_a_question_waits_for_no_server(waits):
    """What cannot be reached is tried once in it, also by the threads of a batch; then no more."""
    found = closed_endpoint(waits)
    question = start_question_run()
    with pytest.raises(EndpointError, match="cannot be reached") as first:
        found.run_jobs(lambda post, each: post({"n": each}), range(4), run=question)
    with pytest.raises(EndpointError) as second:
        send(found, {}, run=question)
    assert second.value is first.value
    assert first.value.brief == "it cannot be reached"
    with serving() as server:
        server.script(Answer({}, 503))
        busy = Endpoint(base_url=server.url, attempts=2, sleep=waits.append)
        question = start_question_run()
        for _ in range(2):
            with pytest.raises(EndpointError, match="in 2 attempts"):
                send(busy, {}, run=question)
        assert len(server.requests) == 2
    assert len(waits) == 1
    with evaluating():
        question = start_question_run()
    with pytest.raises(EndpointError, match="in 3 attempts"):
        send(found, {}, run=question)
    assert len(waits) == 3


@pytest.fixture
def silent():
    """An address that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    _timeout_record.cache_clear()  # another server may have the port then


def test_a_question_waits_once_for_a_server_that_says_nothing(silent, waits):
    """A step has its own time-out; for a while other questions do without that LLM, too."""
    now = [0.0]
    found = Endpoint(
        base_url=silent, step_s=0.2, attempts=3, sleep=waits.append, clock=lambda: now[0]
    )
    lost = []
    question = start_question_run()
    with pytest.raises(EndpointError, match=r"in 1 attempt; .* 0\.2 s") as first:
        found.post({}, on_lost=lost.append, run=question, part="step")
    with pytest.raises(EndpointError) as second:
        found.post({}, on_lost=lost.append, run=question, part="answer")
    assert second.value is first.value
    assert first.value.brief == "no usable answer: no reply within 0.2 s"
    now[0] = REST_S - 1
    other = replace(found)  # of another index
    for each, part in ((found, "answer"), (other, "step")):
        with pytest.raises(EndpointError, match="in 1 attempt"):
            each.post({}, on_lost=lost.append, run=start_question_run(), part=part)
    assert (lost, waits) == ([False], [])
    now[0] = REST_S
    with pytest.raises(EndpointError):
        found.post({}, on_lost=lost.append, run=start_question_run(), part="step")
    assert lost == [False, False]


def test_what_cannot_be_done_without_is_asked_in_every_question(silent, waits):
    """As an embedder: with its own time-out, once in each."""
    found = Endpoint(base_url=silent, timeout_s=0.2, attempts=3, sleep=waits.append)
    lost = []
    for _ in range(2):
        with pytest.raises(EndpointError, match="in 1 attempt"):
            found.post({}, on_lost=lost.append, run=start_question_run())
    assert (lost, waits) == ([False, False], [])


def test_runs_wait_for_a_server_that_says_nothing(silent, waits):
    """They have all attempts, each with the time-out of the endpoint, whatever was measured."""
    found = Endpoint(base_url=silent, timeout_s=0.2, step_s=60, attempts=3, sleep=waits.append)
    with pytest.raises(EndpointError, match="in 3 attempts"):
        found.post({}, run=ModelRun(), part="step")
    assert len(waits) == 2


@pytest.mark.parametrize(
    ("answer", "attempts"),
    [
        (Answer({}, 500), 2),
        (Answer(b"<html>"), 2),
        (Answer({}, 504), 1),
        (Answer({}, 429), 5),
        (Answer({}, 503, {"Retry-After": "9"}), 4),
        (Answer({}, 429, {"Retry-After": "31"}), 1),
    ],
)
def test_a_question_tries_again_where_that_is_soon(server, endpoint, waits, answer, attempts):
    """Once; more often only where the server says that it is busy, for half a minute in all."""
    server.script(answer)
    built = endpoint(attempts=5, longest_wait_s=60)
    with pytest.raises(EndpointError, match=rf"in {attempts} attempt"):
        send(built, {}, run=start_question_run())
    assert len(server.requests) == attempts
    assert sum(waits) <= BUSY_S


def test_servers_that_say_nothing_useful(silent, monkeypatch, endpoint):
    """One that says nothing is there, and says not what it is."""
    monkeypatch.setattr("clew.extras.models.http._LOOK_S", 0.2)
    found = Endpoint(base_url=silent, timeout_s=3_600)
    assert found.look() is None
    found.reach()
    with pytest.raises(EndpointError, match="start Ollama with 'ollama serve', or set OLLAMA_HOST"):
        endpoint(base_url="http://127.0.0.1:11434/v1").reach()


def test_reaching_a_server_costs_one_look(server, endpoint):
    """Whatever it answers, it is there; a key that is missing is found before."""
    server.respond = lambda _: Answer({}, status=404)
    endpoint().reach()
    assert len(server.requests) == 1
    with pytest.raises(InputError, match="NO_SUCH_KEY is not set"):
        endpoint(api_key="", api_key_env="NO_SUCH_KEY").reach()


# -- replies that are too much --------------------------------------------------------------------


def test_replies_that_are_too_much(server, endpoint):
    """A part is read, which may have been billed; a byte now and then is not enough."""
    server.respond = lambda _: Answer(b'{"a": "' + b"x" * (30 << 20) + b'"}')
    lost = []
    began = time.monotonic()
    with pytest.raises(
        EndpointError, match="in 1 attempt; the last was a reply of more than 100,000 b"
    ):
        endpoint().post({}, on_lost=lost.append, most_bytes=100_000)
    assert time.monotonic() - began < 50
    assert lost == [False]
    assert len(server.requests) == 1
    server.respond = lambda _: Answer(b'"' + b"x" * 200 + b'"', drip_s=0.05)
    with pytest.raises(EndpointError, match="no complete reply within 1 s"):
        endpoint(timeout_s=0.2).post({})


@pytest.mark.parametrize(
    "answer",
    [
        Answer(gzip.compress(b'{"a": "' + b" " * (64 << 20)), headers={"Content-Encoding": "gzip"}),
        Answer(b"no " * (10 << 20), status=400),
    ],
    ids=["packed", "an error"],
)
def test_a_packed_reply_is_measured_unpacked(server, endpoint, answer):
    """A bomb of gzip is no smaller than what it becomes; an error is cut like any other reply."""
    server.script(answer)
    with pytest.raises(EndpointError, match="a reply of more than 16,777,216 bytes"):
        send(endpoint(), {})


# -- proxies and certificates ---------------------------------------------------------------------


@pytest.fixture
def proxied(monkeypatch):
    """Let a proxy be set at which nobody listens."""
    for name in ("NO_PROXY", "no_proxy", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    proxy = f"http://anna:secret@127.0.0.1:{closed_port()}"
    monkeypatch.setenv("HTTP_PROXY", proxy)
    return proxy


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_asked_directly(server, endpoint, proxied, host):
    """A proxy would look for it at its own place."""
    server.script(Answer({"a": 1}))
    port = server.url.rpartition(":")[2]
    assert send(endpoint(base_url=f"http://{host}:{port}"), {}) == [{"a": 1}]


def test_the_proxy_is_named(endpoint, proxied, monkeypatch):
    """It may be why an address cannot be reached, or what refuses; its password is not told."""
    shown = rf"proxy {proxied.rpartition('@')[2]} \(HTTP_PROXY\)"
    with pytest.raises(EndpointError, match=rf"models\.invalid.*{shown}.*NO_PROXY") as caught:
        send(endpoint(base_url="http://models.invalid/v1"), {})
    assert "secret" not in str(caught.value)
    with serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        proxy.script(Answer(b"<html>Access denied</html>", 403))
        with pytest.raises(Refused, match=r"HTTP 403 .*Access denied.*through the proxy"):
            send(endpoint(base_url="http://models.invalid/v1"), {})


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "gopher://127.0.0.1:9"])
def test_a_proxy_that_cannot_be_used(server, endpoint, proxied, monkeypatch, proxy):
    """It is named where it is asked; this machine needs none."""
    monkeypatch.setenv("HTTP_PROXY", proxy)
    if proxy.startswith("socks") and importlib.util.find_spec("socksio"):
        pytest.skip("a package for it is installed")
    with pytest.raises(InputError, match="cannot be reached through the configured proxy"):
        send(endpoint(base_url="http://models.invalid/v1"), {})
    assert send(endpoint(), {}) == [{}]


@pytest.fixture
def signed(tmp_path, monkeypatch):
    """Serve HTTPS with a certificate that it signed itself; give its address and the file."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    certificate = built.add_extension(names, critical=False).sign(key, hashes.SHA256())
    files = tmp_path / "certificate.pem", tmp_path / "key.pem"
    encoding = serialization.Encoding.PEM
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files[0].write_bytes(certificate.public_bytes(encoding))
    files[1].write_bytes(key.private_bytes(encoding, form, plain))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    with serving(context) as server:
        server.script(Answer({"a": 1}))
        yield server.url.replace("http:", "https:"), str(files[0])


def test_a_certificate_of_one_s_own(signed, endpoint, monkeypatch):
    """The error says which variable names it; it is trusted by that."""
    url, file = signed
    with pytest.raises(EndpointError, match="CERTIFICATE_VERIFY_FAILED.*Hint: set SSL_CERT_FILE"):
        send(endpoint(base_url=url), {})
    monkeypatch.setenv("SSL_CERT_FILE", file)
    assert send(endpoint(base_url=url), {}) == [{"a": 1}]
    by_name = url.replace("127.0.0.1", "localhost")
    with pytest.raises(EndpointError, match="ask it by a name that its certificate has"):
        send(endpoint(base_url=by_name), {})


def test_certificates_that_cannot_be_read(endpoint, tmp_path, monkeypatch):
    """A file of something else is named."""
    (tmp_path / "odd.pem").write_text("no certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "odd.pem"))
    with pytest.raises(InputError, match=r"certificates in .*odd\.pem.* cannot be read"):
        send(endpoint(), {})


def test_https_at_a_server_that_speaks_none(server, endpoint):
    with pytest.raises(EndpointError, match=r"write http:// in the base URL"):
        send(endpoint(base_url=server.url.replace("http:", "https:")), {})


@pytest.mark.parametrize(
    "fault", [*(Answer({}, status) for status in (429, 503, 529)), Answer({}, missing_bytes=10)]
)
def test_an_overloaded_server_is_waited_for(server, endpoint, waits, caplog, fault):
    """For minutes, each pause longer up to the cap, and the log says so once a minute."""
    server.script(*[fault] * 12, Answer({"ok": 1}))
    patient = endpoint(attempts=5, patience_s=600.0, clock=lambda: sum(waits))
    assert send(patient, {}) == [{"ok": 1}]
    assert waits == [min(2.0**n, 60.0) / 2 for n in range(12)]
    told = [each.message for each in caplog.records if "is overloaded" in each.message]
    assert 1 <= len(told) <= 1 + sum(waits) // 60
    server.script(fault)
    with pytest.raises(EndpointError, match="gave no usable answer"):
        send(endpoint(attempts=5, patience_s=100.0), {})
    assert 60.0 <= sum(waits[12:]) <= 100.0


def test_an_overloaded_server_that_asks_for_too_little_is_not_flooded(server, endpoint, waits):
    """Behind the usual attempts the pauses grow all the same."""
    server.script(Answer({}, 429, {"Retry-After": "0.02"}))
    with pytest.raises(EndpointError):
        send(endpoint(attempts=5, patience_s=600.0), {})
    assert waits[:4] == [0.02] * 4
    assert len(waits) < 30


@pytest.mark.parametrize(
    ("answer", "most"),
    [
        (Answer({"error": {"message": "Daily limit", "code": "insufficient_quota"}}, 429), 1),
        (Answer({"error": {"message": "Please try again in 7h."}}, 429), 5),
        (Answer({}, 500), 5),
    ],
)
def test_what_no_minutes_help_is_not_waited_for(server, endpoint, answer, most):
    """A quota that is used up, a wait of hours, and an error of the server itself."""
    server.script(answer)
    with pytest.raises(EndpointError):
        send(endpoint(attempts=5, patience_s=600.0), {})
    assert len(server.requests) == most
