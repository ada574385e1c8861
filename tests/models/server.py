"""A real HTTP server on the loopback address that behaves, and misbehaves, as a test says."""

import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What to send: `body` as JSON, or as it is where it is bytes."""

    body: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    drip_s: float = 0.0  # between two bytes of the body
    missing_bytes: int = 0  # promised by Content-Length and never sent
    head_drip_s: float = 0.0  # between two bytes of the headers


@dataclass(frozen=True)
class Request:
    path: str
    headers: Mapping[str, str]
    json: Any  # bytes, where the request has another type


@dataclass
class Server:
    """`respond` decides every answer; `requests` and `most_at_once` tell what happened."""

    url: str = ""
    respond: Callable[[Request], Answer] = lambda _: Answer({})
    requests: list[Request] = field(default_factory=list)
    most_at_once: int = 0
    _at_once: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, *answers: Answer) -> None:
        """Give these answers in turn, and the last one from then on."""
        left = list(answers)
        self.respond = lambda _: left.pop(0) if len(left) > 1 else left[0]

    def take(self, request: Request) -> Answer:
        with self._lock:
            self.requests.append(request)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
            answer = self.respond(request)
        time.sleep(answer.delay_s)
        with self._lock:
            self._at_once -= 1
        return answer


class _Quiet(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        if not isinstance(
            sys.exception(), ConnectionError | ssl.SSLError
        ):  # a client may be killed
            super().handle_error(request, client_address)


EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}


def streamed(completion: Mapping[str, Any], size: int = 5) -> bytes:
    """Give a chat completion as the events of a stream, `size` characters in each."""
    [choice] = completion["choices"]
    text = choice["message"]["content"]
    deltas: list[dict[str, str]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": text[i : i + size]} for i in range(0, len(text), size)]
    events: list[Any] = [{"choices": [{"delta": each, "finish_reason": None}]} for each in deltas]
    events.append({"choices": [{"delta": {}, "finish_reason": choice["finish_reason"]}]})
    if "usage" in completion:
        events.append({"choices": [], "usage": completion["usage"]})
    return b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in events) + _END


_END = b"data: [DONE]\n\n"


_SLOW_HEAD = b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10_000


def _dripping(content: bytes, pause_s: float) -> Iterator[bytes]:
    """Yield content as it is, or a byte at a time."""
    if not pause_s:
        yield content
        return
    for i in range(len(content)):
        yield content[i : i + 1]
        time.sleep(pause_s)


def _wrap(plain: socket.socket, context: ssl.SSLContext | None) -> socket.socket:
    return plain if context is None else context.wrap_socket(plain, server_side=True)


@contextmanager
def serving(context: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Run a server on a free port for the length of the block; with a context, by HTTPS."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body in one packet

        def do_GET(self):
            self.answer(None)

        def do_POST(self):
            size = int(self.headers["Content-Length"])
            content = self.rfile.read(size)
            if len(content) == size:  # the client has not died while it wrote
                is_json = self.headers["Content-Type"] == "application/json"
                self.answer(json.loads(content) if is_json else content)

        def answer(self, asked):
            answer = server.take(Request(self.path, dict(self.headers), asked))
            body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body)
            content = body if isinstance(body, bytes) else body.encode()
            try:
                self.drip(_SLOW_HEAD if answer.head_drip_s else b"", answer.head_drip_s)
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content) + answer.missing_bytes))
                self.end_headers()
                self.drip(content, answer.drip_s)
            except ConnectionError:  # the client did not wait
                self.close_connection = True
            self.close_connection |= answer.missing_bytes > 0

        def drip(self, content, pause_s):
            for piece in _dripping(content, pause_s):
                self.wfile.write(piece)
                self.wfile.flush()

        def log_message(self, *_):
            """Say nothing."""

    with _Quiet(("127.0.0.1", 0), Handler) as httpd:
        httpd.socket = _wrap(httpd.socket, context)
        httpd.daemon_threads = True
        httpd.block_on_close = False
        server.url = f"http://127.0.0.1:{httpd.server_port}/v1"
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            httpd.shutdown()
            thread.join()
