"""A server of several processes: this one accepts connections, the others serve them.

It alone has the port. It hands each connection to the process that serves the fewest, and starts
another process in the place of one that ends. A connection that a process has not taken when it
ends is handed to another one. Processes are forked from this one, which has one thread: they share
what it has imported.
"""

import gc
import logging
import math
import multiprocessing
import os
import pickle
import selectors
import signal
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from prometheus_client.multiprocess import mark_process_dead

from clew import methods
from clew.errors import InputError
from clew.extras.server.child import CLOSED, STOPPING, TAKEN, serve_handed
from clew.extras.server.settings import GRACE_S, REFUSED, STOP_S, WAITING, ServerSettings
from clew.extras.server.state import share_measures

if TYPE_CHECKING:
    from multiprocessing.context import ForkProcess  # which Windows does not have

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_AT_ONCE = 64  # connections that are taken before anything else is looked at
_PAUSE_S = 1.0  # between two starts of a process; doubles as long as it does not come up
_LONGEST_S = 30.0
_END_S = 5.0  # for processes to end when all is done
_log = logging.getLogger(__name__)


def supervise(
    settings: ServerSettings,
    listening: socket.socket,
    on_ready: Callable[[Sequence[str]], None],
    on_stop: Callable[[], None],
) -> None:
    """Run serving processes for a socket until asked to stop.

    `on_ready` gets the names of the indexes once all of them serve. Raises what the first of them
    could not start for.
    """
    n = settings.processes
    share = replace(
        settings,
        connections=math.ceil(settings.connections / n),
        sockets=math.ceil(settings.sockets / n),
    )
    methods.load(methods.DEFAULT)
    gc.freeze()
    with tempfile.TemporaryDirectory(prefix="clew-measures-") as measures:
        share_measures(measures)
        server = _Supervisor(share, measures, listening)
        try:
            with server.stopped_by_signals():
                names = server.start(n)
                if not server.is_stopping:
                    on_ready(names)
                    server.run()
                on_stop()
                listening.close()
                server.end(GRACE_S + (STOP_S if settings.stop_jobs else 0) + _END_S)
        finally:
            server.kill()


@dataclass(eq=False)
class _Serving:
    """A serving process and its state."""

    process: "ForkProcess"
    channel: socket.socket
    began: float
    pause_s: float  # before another one is started, if this one ends
    buffer: bytes = b""  # that it begins with
    has_begun: bool = False
    takes: bool = False  # connections
    n_open: int = 0  # of them
    last: int = 0  # the number of the one that it was handed last
    handed: deque[socket.socket] = field(default_factory=deque)  # that it has not taken yet


class _Supervisor:
    def __init__(self, settings: ServerSettings, measures: str, listening: socket.socket) -> None:
        self.is_stopping = False
        self._settings = settings
        self._measures = measures
        self._listening = listening
        self._running: list[_Serving] = []
        self._due: list[tuple[float, float]] = []  # when to start some, and the pause behind that
        self._n_handed = 0
        self._waiting: list[socket.socket] = []  # connections of processes that ended
        self._is_hurried = False
        self._names: list[str] | None = None
        self._has_begun = False
        self._selector = selectors.DefaultSelector()
        self._woken, self._wake = socket.socketpair()
        for each in (self._woken, self._wake, listening):
            each.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ, self._hear_signal)

    # -- signals ----------------------------------------------------------------------------------

    @contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        """Stop on SIGTERM or Ctrl-C; a second Ctrl-C does not wait for requests."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(number: int, _frame: object) -> None:
            self._is_hurried = self.is_stopping and number == signal.SIGINT
            self.is_stopping = True
            with suppress(BlockingIOError):
                self._wake.send(b"!")

        before = {each: signal.signal(each, note) for each in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _hear_signal(self) -> None:
        self._woken.recv(_AT_ONCE)
        if self._is_hurried:
            self._send_all(signal.SIGINT)

    def _send_all(self, number: signal.Signals) -> None:
        for each in self._running:
            if each.process.pid is not None:
                os.kill(each.process.pid, number)

    # -- from the start to the end ----------------------------------------------------------------

    def start(self, n: int) -> list[str]:
        """Start processes; return the index names once all are ready."""
        for _ in range(n):
            self._start(_PAUSE_S)
        while not self.is_stopping and not all(each.takes for each in self._running):
            self._look()
        self._has_begun = True
        self._listening.listen(WAITING)
        return self._names or []

    def run(self) -> None:
        """Distribute connections until asked to stop."""
        listens = False
        while not self.is_stopping:
            if listens != (listens := any(each.takes for each in self._running)):
                if listens:  # else connections wait in the system
                    self._selector.register(self._listening, selectors.EVENT_READ, self._take)
                else:
                    self._selector.unregister(self._listening)
            while listens and self._waiting:
                self._pass_connection(self._waiting.pop())
            self._due.sort()
            self._look(self._due[0][0] if self._due else None)
            while self._due and self._due[0][0] <= time.monotonic():
                self._start(self._due.pop(0)[1])
        if listens:
            self._selector.unregister(self._listening)

    def end(self, grace_s: float) -> None:
        """Let all processes finish their requests, and exit."""
        until = time.monotonic() + grace_s
        self._send_all(signal.SIGTERM)
        while self._running and time.monotonic() < until:
            self._look(until)

    def kill(self) -> None:
        """Kill the remaining processes."""
        for each in list(self._running):
            each.process.kill()
            self._forget(each)
        for connection in self._waiting:
            connection.close()
        self._selector.close()
        self._woken.close()
        self._wake.close()

    def _look(self, until: float | None = None) -> None:
        """Wait for an event until `until`, and handle it."""
        wait_s = None if until is None else max(0.0, until - time.monotonic())
        for key, _ in self._selector.select(wait_s):
            key.data()

    # -- processes --------------------------------------------------------------------------------

    def _start(self, pause_s: float) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        process = multiprocessing.get_context("fork").Process(
            target=self._serve, args=(ours, theirs)
        )
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # they would reach both processes
        try:
            with theirs:
                process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        started = _Serving(process, ours, time.monotonic(), pause_s)
        self._running.append(started)
        self._selector.register(ours, selectors.EVENT_READ, lambda: self._handle_message(started))

    def _serve(self, ours: socket.socket, theirs: socket.socket) -> None:
        """Serve in a forked process, after closing the parent's resources."""
        os.setsid()  # Ctrl-C in a terminal is for the supervisor
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        self._selector.close()
        held = [ours, self._listening, self._woken, self._wake, *self._waiting]
        for other in self._running:
            held += [other.channel, *other.handed]
        for each in held:
            each.close()
        serve_handed(self._settings, theirs)

    def _handle_message(self, serving: _Serving) -> None:
        """Handle a message from a process."""
        try:
            data = serving.channel.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        if not data:
            self._schedule_replacement(serving)
            return
        if not serving.has_begun:
            serving.buffer += data
            line, end_of_line, data = serving.buffer.partition(b"\n")
            if not end_of_line:
                return
            message = pickle.loads(bytes.fromhex(line.decode()))  # noqa: S301 -- of our own process
            if isinstance(message, Exception):
                if not self._has_begun:
                    raise message
                _log.error("a process of the server cannot serve: %s", message)
                return
            self._names, serving.pause_s = message, _PAUSE_S
            serving.has_begun = serving.takes = True
        serving.n_open -= data.count(CLOSED)
        for _ in range(data.count(TAKEN)):
            serving.handed.popleft().close()
        if STOPPING in data:
            serving.takes = False

    def _schedule_replacement(self, serving: _Serving) -> None:
        """Schedule a replacement for a dead process, unless the server stops."""
        status = self._forget(serving)
        if self.is_stopping:
            return
        why = f"status {status}" if status >= 0 else signal.Signals(-status).name
        if not self._has_begun:
            raise InputError(f"a process of the server ended by {why} while starting: see the log")
        _log.error("a process of the server ended by %s: another one is started", why)
        mark_process_dead(serving.process.pid, self._measures)  # type: ignore[no-untyped-call]
        at = max(time.monotonic(), serving.began + serving.pause_s)
        self._due.append((at, min(2 * serving.pause_s, _LONGEST_S)))

    def _forget(self, serving: _Serving) -> int:
        """Remove a process; return its exit status."""
        self._selector.unregister(serving.channel)
        serving.channel.close()
        self._running.remove(serving)
        self._waiting += serving.handed
        serving.process.join()
        return serving.process.exitcode or 0

    # -- connections ------------------------------------------------------------------------------

    def _take(self) -> None:
        """Accept the waiting connections."""
        for _ in range(_AT_ONCE):
            try:
                connection, _address = self._listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:  # no file is left: one that waits is taken later
                _log.error("no connection can be taken (%s)", error.strerror)
                time.sleep(_PAUSE_S)
                return
            self._pass_connection(connection)

    def _pass_connection(self, connection: socket.socket) -> None:
        """Pass a connection to the least busy process, round robin on ties."""
        able = [each for each in self._running if each.takes]
        for serving in sorted(able, key=lambda each: (each.n_open, each.last)):
            with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                socket.send_fds(serving.channel, [b"+"], [connection.fileno()])
                self._n_handed += 1
                serving.last = self._n_handed
                serving.n_open += 1
                serving.handed.append(connection)
                return
        with connection, suppress(OSError):
            connection.setblocking(False)
            connection.send(REFUSED)
