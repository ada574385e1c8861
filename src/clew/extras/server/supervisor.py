"""A server of several processes: this one accepts connections, the others serve them in turn.

It alone has the port, and starts another process in the place of one that ends. Processes are
forked from it, which has one thread and computes nothing: they share what it has imported.
"""

import gc
import logging
import math
import multiprocessing
import os
import select
import signal
import socket
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prometheus_client.multiprocess import mark_process_dead

from clew import methods
from clew.errors import InputError
from clew.extras.server.child import serve_passed
from clew.extras.server.settings import GRACE_S, REFUSED, STOP_S, WAITING, ServerSettings
from clew.extras.server.state import share_measures

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkProcess  # which Windows does not have

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_LOOK_S = 0.1  # between two looks at processes and signals, where nobody connects
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
    channel: socket.socket  # through which it gets connections
    told: "Connection"  # the names of the indexes once it serves, or why it cannot
    began: float
    pause_s: float  # before another one is started, if this one ends
    is_ready: bool = False


class _Supervisor:
    def __init__(self, settings: ServerSettings, measures: str, listening: socket.socket) -> None:
        self.is_stopping = False
        self._is_hurried = False
        self._settings = settings
        self._measures = measures
        self._listening = listening
        self._running: deque[_Serving] = deque()  # the one whose turn it is first
        self._due: list[tuple[float, float]] = []  # when to start some, and the pause behind that
        self._names: list[str] = []
        self._has_begun = False
        listening.setblocking(False)

    @contextmanager
    def stopped_by_signals(self) -> Iterator[None]:
        """Stop on SIGTERM or Ctrl-C; a second Ctrl-C does not wait for requests."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def note(number: int, _frame: object) -> None:
            self._is_hurried = self.is_stopping and number == signal.SIGINT
            self.is_stopping = True

        before = {each: signal.signal(each, note) for each in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    # -- from the start to the end ----------------------------------------------------------------

    def start(self, n: int) -> list[str]:
        """Start processes; return the index names once all are ready."""
        for _ in range(n):
            self._start(_PAUSE_S)
        while not self.is_stopping and not all(each.is_ready for each in self._running):
            time.sleep(_LOOK_S)
            self._look()
        self._has_begun = True
        self._listening.listen(WAITING)
        return self._names

    def run(self) -> None:
        """Distribute connections until asked to stop."""
        while not self.is_stopping:
            # Where no process is ready, connections wait in the system.
            takes = [self._listening] if any(each.is_ready for each in self._running) else []
            if select.select(takes, [], [], _LOOK_S)[0]:
                self._accept()
            self._look()
            self._due.sort()
            while self._due and self._due[0][0] <= time.monotonic():
                self._start(self._due.pop(0)[1])

    def end(self, grace_s: float) -> None:
        """Let all processes finish their requests, and exit."""
        until = time.monotonic() + grace_s
        self._send_all(signal.SIGTERM)
        while self._running and time.monotonic() < until:
            time.sleep(_LOOK_S)
            if self._is_hurried:
                self._send_all(signal.SIGINT)
                self._is_hurried = False
            self._look()

    def kill(self) -> None:
        """Kill the remaining processes."""
        for each in list(self._running):
            each.process.kill()
            self._forget(each)

    def _send_all(self, number: signal.Signals) -> None:
        for each in self._running:
            if each.process.pid is not None:
                os.kill(each.process.pid, number)

    # -- processes --------------------------------------------------------------------------------

    def _start(self, pause_s: float) -> None:
        context = multiprocessing.get_context("fork")
        channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        channel.setblocking(False)
        told, telling = context.Pipe(duplex=False)
        process = context.Process(target=self._serve, args=(channel, theirs, telling))
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # they would reach both processes
        try:
            with theirs, telling:
                process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        self._running.append(_Serving(process, channel, told, time.monotonic(), pause_s))

    def _serve(self, channel: socket.socket, theirs: socket.socket, telling: "Connection") -> None:
        """Serve in a forked process, after closing the parent's sockets."""
        os.setsid()  # Ctrl-C in a terminal is for the supervisor
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        for each in (channel, self._listening, *(other.channel for other in self._running)):
            each.close()
        serve_passed(self._settings, theirs, telling)

    def _look(self) -> None:
        """Hear what processes tell, and see which have ended."""
        for each in list(self._running):
            if not each.is_ready and each.told.poll():
                self._hear(each)
            if not each.process.is_alive():
                self._schedule_replacement(each)

    def _hear(self, serving: _Serving) -> None:
        """Hear that a process serves, or why it cannot."""
        try:
            message = serving.told.recv()
        except EOFError:  # it ended without a word
            return
        if not isinstance(message, Exception):
            self._names, serving.pause_s, serving.is_ready = message, _PAUSE_S, True
        elif self._has_begun:
            _log.error("a process of the server cannot serve: %s", message)
        else:
            raise message

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
        self._running.remove(serving)
        serving.channel.close()
        serving.told.close()
        serving.process.join()
        return serving.process.exitcode or 0

    # -- connections ------------------------------------------------------------------------------

    def _accept(self) -> None:
        """Accept a connection, and pass it to the process whose turn it is."""
        try:
            connection, _address = self._listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:  # no file is left: one that waits is taken later
            _log.error("no connection can be taken (%s)", error.strerror)
            time.sleep(_PAUSE_S)
            return
        with connection:
            for serving in [each for each in self._running if each.is_ready]:
                self._running.remove(serving)
                self._running.append(serving)
                with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                    socket.send_fds(serving.channel, [b"+"], [connection.fileno()])
                    return
            with suppress(OSError):
                connection.setblocking(False)
                connection.send(REFUSED)
