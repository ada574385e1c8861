"""A model's reply piece by piece: what of it is spoken, and listeners that may fail meanwhile."""

from __future__ import annotations

import re

from clew.text.pieces import OnPiece, PieceStream

THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_OPENS, _CLOSES = "<think>", "</think>"


class Spoken:
    """What a model says, piece by piece, without its thoughts and the white space around it.

    A model that thinks says so at the very beginning: `<think>`, up to `</think>`.
    """

    def __init__(self, pieces: PieceStream) -> None:
        self._pieces = pieces
        self._begin()

    def _begin(self) -> None:
        self._held = ""  # nobody was told of it, and may never be
        self._is_thinking: bool | None = None  # None: it is not known yet

    def restart(self) -> None:
        """Forget what came: another reply begins."""
        self._begin()
        self._pieces.restart()

    def add(self, piece: str) -> None:
        """Take what came; tell of it as far as it is known to be said."""
        self._held += piece.encode("utf-8", "replace").decode()
        if self._is_thinking is None:
            self._held = self._held.lstrip()
            if len(self._held) < len(_OPENS) and _OPENS.startswith(self._held):
                return
            self._is_thinking = self._held.startswith(_OPENS)
        if self._is_thinking:
            _, closed, behind = self._held.partition(_CLOSES)
            self._held = behind if closed else self._held[-len(_CLOSES) :]
            self._is_thinking = not closed
            if not closed:
                return
        if not self._pieces.has_sent:
            self._held = self._held.lstrip()
        said = self._held.rstrip()
        self._held = self._held[len(said) :]
        self._pieces.add(said)


class Kept:
    """Passes pieces on to a caller until that raises; the error waits until the reply is kept.

    What a reply costs is paid, so it is received and recorded whatever becomes of the caller.
    Only Ctrl-C ends it at once, as everywhere.
    """

    def __init__(self, tell: OnPiece) -> None:
        self._tell = tell
        self._error: BaseException | None = None

    def __call__(self, piece: str | None) -> None:
        if self._error is not None:
            return
        try:
            self._tell(piece)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 -- raised again by `check`
            self._error = error

    def check(self) -> None:
        """Raise what the caller raised, if anything."""
        if self._error is not None:
            raise self._error
