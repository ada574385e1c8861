"""A small JSON client: the one module that opens a connection to a model.

The adapters beside it import it on first use, so Clew runs without httpx2. An `Endpoint` posts the
requests of a batch concurrently, tries again where that can help, and gives up with a sentence
that names the address and never the key.
"""

import json
import logging
import math
import os
import random
import re
import ssl
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import cache, cached_property, lru_cache, partial
from ipaddress import ip_address
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from clew.base.runtime.lazy import needs
from clew.errors import EndpointError, InputError
from clew.extras.models.refusals import Refused, ServerFault, is_length_refusal, is_quota_exhausted
from clew.extras.models.served import STEP_S, EndpointAddress
from clew.models import OnLost, Part, Stopped
from clew.models.concurrency import run_jobs
from clew.models.run import ModelRun

with needs("httpx2", "openai", "a model behind an HTTP endpoint"):
    import httpx2

_log = logging.getLogger(__name__)

Post = Callable[..., Any]  # a request body, and `on_lost`, to the parsed reply
Watch = Callable[[Any], None]  # told of each event of a stream; raises TooMuch to cut it off
Hear = Callable[[Any], None]  # told of the same events where they are waited for
Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_BYTES = 16 << 20  # of a reply, where whoever asks knows no better
BUSY_S = 30.0  # between attempts at a busy server in all, in a question
REST_S = 60.0  # in which questions do without an LLM that has timed out
_WHOLE = 5  # times the time-out: for all of a reply, however it drips
_CONNECT_S = 2.0  # for a connection; a server that takes longer is as good as none
_LOOK_S = 5.0  # without a byte, where it is only looked what is there
_LATE = frozenset({504, 524})  # the server behind the gateway may have done the work
_NO_KEY, _TOO_MANY, _FAILED = 401, 429, 500
_RETRIED = frozenset({408, _TOO_MANY, _FAILED, 502, 503, 504, *range(520, 530)})
_OVERLOADED = frozenset({_TOO_MANY, 503, 529})  # it will do it some minutes later
_TOLD_S = 5.0  # a wait that is worth a line in the log
_BY_PROXY = frozenset({403, 407, 502, 503, 504})  # what a proxy may answer itself
_USAGE_S = 5.0  # for the usage, and the end, of a stream that has all of its text
_NO_CONNECTION = f"no connection within {_CONNECT_S:g} s"
_OLLAMA_PORT = 11434
_AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_EVENTS, _DONE = "text/event-stream", "[DONE]"
_OF_EVENTS = {"content-type": _EVENTS}
_SHOWN = 200  # characters of a server's message
_READ = 4000  # of all that it says
_ADDRESS = re.compile(r"\bhttps?://[^\s\"'()<>]+")
_SECRET = 8  # characters of a key at least: a shorter one is a placeholder, and maybe a word

_HINTS = {
    400: "change what the server names, or look into its log",
    _NO_KEY: "check the API key",
    402: "add credit to the account, or use another key",
    403: "check that this key may use this model",
    404: "check the base URL and the name of the model",
    413: "the request is larger than the server takes: raise its limit",
    422: "change what the server names, or look into its log",
    _TOO_MANY: "lower the concurrency, or raise the limit of the account",
}
_WAIT = re.compile(
    r"(?:(?:re)?try (?:again )?(?:in|after)|retryDelay\W+)\s*([\d.]+) ?(ms|m|h)?", re.IGNORECASE
)
_SECONDS = {"ms": 0.001, "": 1.0, "m": 60.0, "h": 3600.0}
_KINDS = (  # of errors that come without a status
    (re.compile("rate.?limit|too.?many|throttl"), _TOO_MANY),
    (re.compile("auth|permission|api.?key"), _NO_KEY),
    (re.compile("invalid|unsupported|not.?found|bad.?request"), 400),
)


class TooMuch(Exception):
    """A reply exceeds the limit on its length or duration."""


class _TooLate(TooMuch):
    """A reply did not arrive in time."""


class _BrokenOff(Exception):
    """A stream of events ended before the reply was complete."""


class _ErrorEvent(Exception):
    """A stream ended with an error event."""

    def __init__(self, event: Any) -> None:  # noqa: ANN401 -- parsed JSON
        self.event = event


class _Fault(NamedTuple):
    """The reason for a failed attempt that is worth retrying."""

    reason: str
    hint: str
    wait_s: float | None = None  # as the server asked
    lost: bool = False  # it was sent and brought no answer, so the request may have been billed
    unreached: bool = False  # there was no connection
    is_final: bool = False  # another attempt would bring, and cost, the same
    is_late: bool = False  # it took all the time that it had
    is_busy: bool = False  # the server says that it will do it later
    is_overload: bool = False  # it may take minutes until it is over
    is_own: bool = False  # the server's own fault, maybe at nothing but this request


class _Request(NamedTuple):
    """A request, and how to receive its reply."""

    content: bytes = b""
    most_bytes: int = MOST_BYTES
    watch: Callable[[], Watch] | None = None
    hear: Hear | None = None
    failed: dict[str, EndpointError] | None = None  # addresses in a question; None: nobody waits
    part: Part | None = None  # of a question, which can do without it
    method: str = "POST"
    kind: str = "application/json"  # of the content
    is_plain: bool = False  # the reply is no JSON


@dataclass(slots=True)
class _Rest:
    """The last time-out of an address, and until when to skip it."""

    fault: _Fault | None = None
    until: float = -math.inf
    told: float = -math.inf  # when the log was last told that it is waited for


@dataclass(frozen=True, kw_only=True)
class Endpoint(EndpointAddress):
    """A JSON endpoint, called by POST."""

    path: str = ""
    query: str = ""
    step_s: float = STEP_S  # time-out, at most, for a step of a question that can do without it
    first_wait_s: float = 1.0  # doubles with every attempt
    longest_wait_s: float = 60.0  # also where Retry-After asks for more
    random: Callable[[], float] = random.random  # in [0, 1): keeps clients from marching in step
    clock: Callable[[], float] = time.monotonic
    _reached: threading.Event = field(
        default_factory=threading.Event, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise InputError("the base URL of an endpoint must begin with http:// or https://")
        if self.attempts < 1 or self.concurrency < 1 or self.timeout_s <= 0:
            raise InputError("attempts, concurrency and timeout_s of an endpoint must be positive")

    @property
    def shown_address(self) -> str:
        """Return the address for messages: without query, user and password."""
        parts = urlsplit(self._url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()

    def run_jobs(
        self,
        job: Callable[[Post, Item], Result],
        items: Sequence[Item],
        most_bytes: int = MOST_BYTES,
        run: ModelRun | None = None,
    ) -> list[Result]:
        """Return job(post, item) for each item, in order, running at most `concurrency` at once.

        The first exception ends the batch: what was not sent stays unsent, and it is raised.
        """
        if not items:
            return []
        _ = self._headers, self._client  # a missing key is found before any thread starts

        def run_job(item: Item, stop: threading.Event) -> Result:
            return job(partial(self.post, stop=stop, most_bytes=most_bytes, run=run), item)

        return run_jobs(run_job, items, self.concurrency)

    def post(
        self,
        body: Mapping[str, object],
        *,
        stop: threading.Event | None = None,
        on_lost: OnLost | None = None,
        most_bytes: int = MOST_BYTES,
        watch: Callable[[], Watch] | None = None,
        hear: Hear | None = None,
        run: ModelRun | None = None,
        part: Part | None = None,
    ) -> Any:  # noqa: ANN401 -- parsed JSON
        """Return the parsed reply to a request, with retries.

        A reply of more than `most_bytes` is cut off, and is an error. A reply that is streamed as
        events is returned as their list. `watch` is called for each attempt, and what it returns
        for each event, in the thread that receives them. `hear` is called for each event in this
        thread, where it may take its time, and with None before another attempt; what it raises
        ends the exchange. `on_lost` is called for each attempt that was sent and brought no answer,
        with whether another follows.

        An overloaded address is tried for `patience_s`. In the `run` of a question, an address that
        cannot be reached or times out is tried once, a busy one as long as it asks for no more than
        BUSY_S in all, any other twice; and one that failed not again. A `part` of a question does
        not ask an address that timed out less than REST_S ago. Raises Refused, EndpointError, and
        Stopped where `stop` is set before an attempt.
        """
        failed = None if run is None else run.failed
        # Half a surrogate pair is no UTF-8 and would be refused: it becomes a question mark.
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        part = None if failed is None else part
        return self._send(_Request(content, most_bytes, watch, hear, failed, part), stop, on_lost)

    def get(self, *, most_bytes: int = MOST_BYTES, is_plain: bool = False) -> Any:  # noqa: ANN401
        """Return the parsed reply to a GET request, or its bytes; retries as `post`."""
        return self._send(_Request(most_bytes=most_bytes, method="GET", is_plain=is_plain))

    def upload(self, name: str, content: bytes) -> Any:  # noqa: ANN401 -- parsed JSON
        """Upload a file for a batch, and return the parsed reply; retries as `post`."""
        file = {"file": (name, content, "application/jsonl")}
        form = httpx2.Request("POST", self._url, data={"purpose": "batch"}, files=file)
        return self._send(_Request(form.read(), kind=form.headers["content-type"]))

    def _send(
        self, request: _Request, stop: threading.Event | None = None, on_lost: OnLost | None = None
    ) -> Any:  # noqa: ANN401 -- parsed JSON
        stop, waited_s = stop or threading.Event(), 0.0
        self._check(request)
        hear, failed = request.hear, request.failed
        for attempt in count(1):
            if stop.is_set():
                raise Stopped
            if hear is not None and attempt > 1:
                hear(None)
            reply = self._try(request)
            if not isinstance(reply, _Fault):
                return reply
            if reply.unreached and (failed is not None or not self._reached.is_set()):
                error = self._unreachable(reply.reason)
                break
            _log.info("%s, attempt %d: %s", self.shown_address, attempt, reply.reason)
            pause_s = self._pause_s(attempt, reply)
            last = not self._should_retry(request, attempt, reply, waited_s + pause_s)
            if reply.lost and on_lost is not None:
                on_lost(not last)
            if last:
                error = self._useless(attempt, reply)
                break
            self._log_wait(reply, waited_s, pause_s)
            (self.sleep or stop.wait)(pause_s)
            waited_s += pause_s
        if failed is not None and (reply.is_late or not reply.is_final):
            error = failed.setdefault(self.shown_address, error)  # of the thread that was first
        raise error

    def _check(self, request: _Request) -> None:
        """Raise EndpointError if the address failed earlier in this question, or recently."""
        failed, rest = request.failed, _timeout_record(self.shown_address)
        if failed is not None and self.shown_address in failed:
            raise failed[self.shown_address]
        if request.part is not None and rest.fault is not None and self.clock() < rest.until:
            raise self._useless(1, rest.fault)

    def _should_retry(
        self, request: _Request, attempt: int, fault: _Fault, waited_s: float
    ) -> bool:
        """Return whether to retry; `waited_s` is the total wait so far."""
        if fault.is_final or self.attempts == 1:
            return False
        if request.failed is None:  # nobody waits
            is_patient = fault.is_overload and waited_s <= self.patience_s
            return attempt < self.attempts or is_patient
        if fault.is_late or attempt >= self.attempts:
            return False
        return waited_s <= BUSY_S if fault.is_busy else attempt == 1

    def _log_wait(self, fault: _Fault, waited_s: float, pause_s: float) -> None:
        """Log, at most once a minute, that the run waits for an overloaded server."""
        rest = _timeout_record(self.shown_address)
        now = self.clock()
        if fault.is_overload and pause_s >= _TOLD_S and now >= rest.told + REST_S:
            rest.told = now
            _log.warning(
                "%s is overloaded, %s: waiting %.0f s, and up to %.0f s more",
                self.shown_address, fault.reason, pause_s,
                max(self.patience_s - waited_s - pause_s, 0),
            )  # fmt: skip

    def reach(self) -> None:
        """Raise EndpointError if the server does not respond in time, InputError for a bad key."""
        try:
            self._get()
        except httpx2.ConnectTimeout:
            raise self._unreachable(_NO_CONNECTION) from None
        except (TooMuch, httpx2.TimeoutException):
            return  # it is there, and slow
        except httpx2.ConnectError as error:
            raise self._unreachable(self._short(str(error))) from None
        except httpx2.RequestError:
            return  # it is there, and the first request will say what is wrong
        self._reached.set()

    def _unreachable(self, reason: str) -> EndpointError:
        error = EndpointError(
            f"{self.shown_address} cannot be reached ({reason}). Hint: {self._find_start(reason)}"
        )
        error.brief = "it cannot be reached"
        return error

    def _useless(self, attempts: int, fault: _Fault) -> EndpointError:
        times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        error = (ServerFault if fault.is_own else EndpointError)(
            f"{self.shown_address} gave no usable answer in {times}; the last was {fault.reason}."
            f" Hint: {fault.hint}"
        )
        error.brief = self._without_addresses(f"no usable answer: {fault.reason}")
        return error

    def _find_start(self, reason: str) -> str:
        """Return a hint for an error without a connection, such as how to start the server."""
        parts = urlsplit(self.base_url)
        if "CERTIFICATE_VERIFY_FAILED" in reason:
            return (
                "set SSL_CERT_FILE to a PEM file with the certificate that signed the server's,"
                " and ask it by a name that its certificate has"
            )
        if "[SSL" in reason:
            return "the server may not speak TLS: write http:// in the base URL"
        if self._proxy:
            return self._proxy
        if parts.port == _OLLAMA_PORT:
            return "start Ollama with 'ollama serve', or set OLLAMA_HOST to where it runs"
        return "check the base URL, and that the server is running"

    @property
    def _proxy(self) -> str:
        """Return a hint about a proxy in front of the server, or ""."""
        parts = urlsplit(self.base_url)
        host, proxies = parts.hostname or "", getproxies()
        proxy = proxies.get(parts.scheme) or proxies.get("all")
        if not proxy or _is_loopback(host) or proxy_bypass(host):
            return ""
        shown = proxy.rpartition("@")[2].removeprefix(f"{parts.scheme}://")
        variable = f"{parts.scheme.upper() if parts.scheme in proxies else 'ALL'}_PROXY"
        return f"it is reached through the proxy {shown} ({variable}): check that, or set NO_PROXY"

    def look(self) -> Any:  # noqa: ANN401 -- parsed JSON
        """Return the JSON of a GET request, or None."""
        try:
            response = self._get()
            return json.loads(response.content) if response.is_success else None
        except (TooMuch, httpx2.RequestError, ValueError, RecursionError):
            return None

    def _get(self) -> httpx2.Response:
        timeout = _timeout(min(self.timeout_s, _LOOK_S))
        ask = partial(self._client.get, self._url, timeout=timeout, headers=self._headers)
        return _run_with_deadline(_WHOLE * _LOOK_S, lambda _: ask(), lambda _: None)

    def _try(self, request: _Request) -> Any:  # noqa: ANN401 -- JSON or a _Fault
        received = self._exchange(request)
        if isinstance(received, _Fault):
            if received.is_late and request.part is not None:
                rest = _timeout_record(self.shown_address)
                rest.fault, rest.until = received, self.clock() + REST_S
            return received
        self._reached.set()
        status, headers, body = received
        error = body if not 200 <= status < 300 else None
        if error is None:
            try:
                if request.is_plain:
                    return body
                reply = json.loads(body) if isinstance(body, bytes) else body
            except (ValueError, RecursionError):
                hint = "check that the base URL is that of the API"
                return _Fault("a reply that is not JSON", hint, lost=True)
            error = _find_error(reply)
            if error is None:
                return reply
        message = _message(error)
        fault = self._refuse(status, headers, message, error)
        return fault._replace(lost=True) if isinstance(body, dict) else fault  # of a stream

    def _refuse(
        self,
        status: int,
        headers: Mapping[str, str],
        message: str,
        error: Any,  # noqa: ANN401 -- parsed JSON
    ) -> _Fault:
        """Return the fault of a failed attempt; raise Refused if a retry cannot help."""
        shown = self._short(message)
        reason = f"HTTP {status}"
        is_in_reply = 200 <= status < 300
        if is_in_reply:
            status, reason = _status_of(error), "an error in its reply"
        reason = f"{reason} ({shown})" if shown else reason
        body = error.decode("utf-8", "replace") if isinstance(error, bytes) else json.dumps(error)
        words = f"{message[:_READ]}\n{body[:_READ]}"
        wait_s = _retry_after(headers.get("retry-after", ""))
        wait_s = _find_wait(words) if wait_s is None else wait_s
        if is_quota_exhausted(words, wait_s):
            hint = "the account's quota is exhausted: add credit, or use another key"
        elif status <= _FAILED and is_length_refusal(status, words):
            hint = "shorten the text, or raise the server's limit"
        else:
            hint = (status in _BY_PROXY and self._proxy) or _HINTS.get(status, "")
            if status in _RETRIED:
                is_late = status in _LATE
                is_busy = status == _TOO_MANY or wait_s is not None
                lost = is_late or (is_in_reply and status >= _FAILED)
                is_overload = status in _OVERLOADED and (wait_s or 0) <= self.patience_s
                return _Fault(
                    reason, hint or "try again later", wait_s, lost=lost, is_late=is_late,
                    is_busy=is_busy, is_overload=is_overload, is_own=status == _FAILED,
                )  # fmt: skip
        hint = hint or "check the base URL and the settings"
        refused = Refused(
            f"{self.shown_address} answered {reason}. Hint: {hint}", status, shown, words
        )
        refused.brief = self._without_addresses(f"it answered {reason}")
        raise refused

    def _exchange(self, request: _Request) -> tuple[int, Mapping[str, str], Any] | _Fault:
        """Send a request; return status, headers, and body or events."""
        is_step = request.part == "step"
        timeout_s = min(self.timeout_s, self.step_s) if is_step else self.timeout_s
        whole_s = _WHOLE * timeout_s
        watch = request.watch and request.watch()
        events: list[Any] = []

        def take(event: object) -> None:
            events.append(event)
            if request.hear is not None:
                request.hear(event)

        def exchange(tell: Hear) -> tuple[int, Mapping[str, str], bytes | list[Any]]:
            with self._client.stream(
                request.method,
                self._url,
                content=request.content or None,
                timeout=_timeout(timeout_s),
                headers={**self._headers, "Content-Type": request.kind},
            ) as response:
                ends = time.monotonic() + whole_s
                pieces = _limit_bytes(response.iter_bytes(), request.most_bytes, ends)
                kind = response.headers.get("content-type", "")
                if watch is not None and response.is_success and kind.startswith(_EVENTS):
                    bounded = httpx2.Response(
                        200, headers=_OF_EVENTS, content=pieces, request=response.request
                    )
                    return response.status_code, response.headers, _events(bounded, watch, tell)
                return response.status_code, response.headers, b"".join(pieces)

        try:
            return _run_with_deadline(whole_s, exchange, take)
        except _ErrorEvent as error:
            return 200, {}, error.event
        except _TooLate as error:
            if any(map(_is_last, events)):
                return 200, {}, events
            return self._fault_of(error, timeout_s)
        except (TooMuch, _BrokenOff, httpx2.RequestError) as error:
            return self._fault_of(error, timeout_s)

    def _fault_of(
        self, error: TooMuch | _BrokenOff | httpx2.RequestError, timeout_s: float
    ) -> _Fault:
        """Return the fault of an exchange without any reply."""
        if isinstance(error, httpx2.ConnectTimeout):
            return _Fault(_NO_CONNECTION, self._find_start(""), unreached=True)
        if not isinstance(error, httpx2.RequestError) or isinstance(error, httpx2.TimeoutException):
            self._reached.set()
        if isinstance(error, TooMuch):
            hint = "check the server, or the base URL; the request may have been billed"
            is_late = isinstance(error, _TooLate)
            return _Fault(str(error), hint, lost=True, is_final=True, is_late=is_late)
        if isinstance(error, _BrokenOff):
            return _Fault(str(error), "try again later", lost=True)
        if isinstance(error, httpx2.TimeoutException):
            hint = "raise the time-out, or lower the concurrency"
            reason = f"no reply within {timeout_s:g} s"
            return _Fault(reason, hint, lost=_may_have_arrived(error), is_late=True)
        reason = self._short(str(error)) or type(error).__name__
        return _Fault(
            reason,
            self._find_start(reason),
            lost=_may_have_arrived(error),
            unreached=isinstance(error, httpx2.ConnectError),
            is_overload=isinstance(error, httpx2.NetworkError | httpx2.RemoteProtocolError)
            and _may_have_arrived(error),
        )

    def _pause_s(self, attempt: int, fault: _Fault) -> float:
        """Return the requested or exponential wait, with jitter, below the maximum.

        Behind the usual attempts it is the longer of the two, as a server may ask for too little.
        """
        longest = self.first_wait_s * 2.0 ** min(attempt - 1, 30)
        own = min(longest, self.longest_wait_s) * (1 + self.random()) / 2
        if fault.wait_s is None:
            return own
        asked = min(fault.wait_s + self.random() * self.first_wait_s, self.longest_wait_s)
        return asked if attempt < self.attempts else max(asked, own)

    def _short(self, text: str) -> str:
        """Return a server's message on one line, with the API key removed."""
        if len(self._key) >= _SECRET:
            text = re.sub(rf"(?<![^\W_]){re.escape(self._key)}(?![^\W_])", "...", text)
        line = " ".join(text.split())
        return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."

    def _without_addresses(self, text: str) -> str:
        """Return a server's message without addresses."""
        parts = urlsplit(self.base_url)
        text = _ADDRESS.sub("...", text)
        for own in (parts.netloc, parts.hostname or ""):
            text = re.sub(rf"(?<![\w.]){re.escape(own)}(?![\w.])", "...", text)
        return text

    @property
    def _url(self) -> str:
        parts = urlsplit(self.base_url)
        path = f"{parts.path.rstrip('/')}/{self.path}" if self.path else parts.path
        query = "&".join(filter(None, (parts.query, self.query)))
        return parts._replace(path=path, query=query, fragment="").geturl()

    @cached_property
    def _key(self) -> str:
        key = self.api_key
        if not key and self.api_key_env:
            key = os.environ.get(self.api_key_env, "")
            if not key.strip():
                raise InputError(
                    f"{self.shown_address} needs an API key, and the environment variable"
                    f" {self.api_key_env} is not set"
                )
        key = key.strip()  # a key read from a file ends in a newline
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"the API key for {self.shown_address} has invalid characters")
        return key

    @property
    def _headers(self) -> dict[str, str]:
        if not self._key:
            return {}
        parts = urlsplit(self.base_url)
        if "api-version=" in parts.query or (parts.hostname or "").endswith(_AZURE):
            return {"api-key": self._key}
        return {"Authorization": f"Bearer {self._key}"}

    @cached_property
    def _client(self) -> httpx2.Client:
        limits = httpx2.Limits(max_connections=self.concurrency)
        variables = tuple(os.environ.get(name, "") for name in _CERTIFICATES)
        verify = _load_certificates(variables)
        try:
            client = httpx2.Client(
                timeout=_timeout(self.timeout_s),
                limits=limits,
                verify=verify,
                trust_env=not _is_loopback(urlsplit(self.base_url).hostname or ""),
            )
        except (ImportError, ValueError) as error:  # such as one that speaks SOCKS
            raise InputError(
                f"{self.shown_address} cannot be reached through the configured proxy: {error}."
                f" Hint: set NO_PROXY, or another HTTPS_PROXY"
            ) from error
        weakref.finalize(self, client.close)
        return client


@lru_cache
def _timeout_record(address: str) -> _Rest:  # noqa: ARG001 -- one for each
    """Return the time-out record of an address, shared by indexes."""
    return _Rest()


def _timeout(seconds: float) -> httpx2.Timeout:
    return httpx2.Timeout(seconds, connect=min(_CONNECT_S, seconds))


_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@cache
def _load_certificates(variables: tuple[str, ...]) -> ssl.SSLContext:
    """Load the trusted certificates, once for all endpoints, since that is slow."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:  # of which an SSLError is one
        read = ", ".join(filter(None, variables))
        raise InputError(f"the certificates in {read} cannot be read: {error}") from error


def _is_loopback(host: str) -> bool:
    """Check whether a host is this machine, for which no proxy is used."""
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


_ENDED = object()  # behind all that is heard


def _run_with_deadline(seconds: float, ask: Callable[[Hear], Result], hear: Hear) -> Result:
    """Call `ask` in a thread; raise _TooLate if it takes longer than `seconds`.

    What it tells meanwhile is passed on to `hear` in this thread, so nobody hears of what was left
    behind, and what is received does not wait for whoever hears it. The time-out of a client
    starts anew with each byte, also among the headers, so a server that drips is only ended by a
    clock of our own.
    """
    future: Future[Result] = Future()
    queue: SimpleQueue[Any] = SimpleQueue()

    def run() -> None:
        try:
            future.set_result(ask(queue.put))
        except BaseException as error:  # noqa: BLE001 -- raised again where it is waited for
            future.set_exception(error)
        finally:
            queue.put(_ENDED)

    threading.Thread(target=run, name="clew-request", daemon=True).start()
    ends = time.monotonic() + seconds
    while True:
        try:
            each = queue.get(timeout=max(ends - time.monotonic(), 0))
        except Empty:
            raise _TooLate(f"no complete reply within {seconds:g} s") from None
        if each is _ENDED:
            return future.result()
        hear(each)
        if _is_last(each):
            ends = min(ends, time.monotonic() + _USAGE_S)


def _limit_bytes(pieces: Iterable[bytes], most_bytes: int, ends: float) -> Iterator[bytes]:
    """Yield the pieces of a reply. Raises TooMuch if it is too long or too late."""
    received = 0
    for piece in pieces:  # unpacked, where it came packed
        received += len(piece)
        if received > most_bytes:
            raise TooMuch(f"a reply of more than {most_bytes:,} bytes")
        if time.monotonic() > ends:  # nobody waits for it any more
            raise _TooLate("no complete reply in time")
        yield piece


def _events(response: httpx2.Response, watch: Watch, tell: Hear) -> list[Any]:
    """Yield the JSON of a stream's events, up to its end mark.

    That may be missing behind one that says why the reply ends. Raises _ErrorEvent for an error,
    and _BrokenOff where the stream is not whole, or an event is not JSON.
    """
    events: list[Any] = []
    try:
        for each in httpx2.EventSource(response, None):
            if not each.data:
                continue
            if each.data == _DONE:
                return events
            event = _read_event(each.data)
            watch(event)
            tell(event)
            events.append(event)
    except (_BrokenOff, _ErrorEvent, _TooLate, httpx2.RequestError):
        if not any(map(_is_last, events)):
            raise
    if any(map(_is_last, events)):
        return events
    raise _BrokenOff("a stream that broke off")


def _read_event(data: str) -> Any:  # noqa: ANN401 -- parsed JSON
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise _BrokenOff("the stream has an event that is not JSON") from None
    if _find_error(event) is not None:
        raise _ErrorEvent(event)
    return event


def _is_last(event: Any) -> bool:  # noqa: ANN401 -- parsed JSON
    """Check whether an event has a finish reason, after which there is no text."""
    try:
        return bool(event["choices"][0].get("finish_reason"))
    except (AttributeError, IndexError, KeyError, TypeError):
        return False


def _find_error(reply: Any) -> Any:  # noqa: ANN401 -- parsed JSON
    """Return the error in a reply, or None."""
    if not isinstance(reply, dict):
        return None
    choices = reply.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    error = reply.get("error") or (first.get("error") if isinstance(first, dict) else None)
    if error or reply.get("object") == "error":
        return error or reply
    base = reply.get("base_resp")  # as MiniMax has it
    failed = isinstance(base, dict) and base.get("status_code") and not choices
    return {"message": base.get("status_msg")} if failed and isinstance(base, dict) else None


def _status_of(error: Any) -> int:  # noqa: ANN401 -- parsed JSON
    """Return the HTTP status equivalent to an error in a reply."""
    if not isinstance(error, dict):
        return _FAILED
    stated = str(error.get("code") or error.get("status") or "")
    if stated.isdecimal() and 400 <= int(stated) < 600:
        return int(stated)
    kind = f"{error.get('type')} {stated}".casefold()
    return next((status for sign, status in _KINDS if sign.search(kind)), _FAILED)


def _find_wait(message: str) -> float | None:
    """Return the seconds to wait as stated in a server's message, or None."""
    match = _WAIT.search(message)
    try:
        return float(match[1]) * _SECONDS[(match[2] or "").casefold()] if match else None
    except ValueError:
        return None


def _may_have_arrived(error: httpx2.RequestError) -> bool:
    """Check whether a failed request may have reached the server."""
    return not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.PoolTimeout)


def _message(error: Any) -> str:  # noqa: ANN401 -- parsed JSON, or bytes
    """Return the message of an error, from JSON or an HTML page."""
    body = error
    if isinstance(error, bytes):
        try:
            body = json.loads(error)
        except (ValueError, RecursionError):
            return error.decode("utf-8", "replace")
    if isinstance(body, list) and len(body) == 1:  # as Gemini has it
        [body] = body
    raw = ""
    while isinstance(body, dict):
        more = body.get("metadata")  # what a provider behind OpenRouter says
        raw = str(more.get("raw") or "") if isinstance(more, dict) else raw
        body = next((body[k] for k in ("error", "message", "detail") if body.get(k)), "")
    message = body if isinstance(body, str) else json.dumps(body)
    return f"{message}: {raw}" if raw else message


def _retry_after(header: str) -> float | None:
    """Return the seconds of a Retry-After header, given as seconds or as a date."""
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
