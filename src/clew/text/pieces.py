"""A text that comes in pieces: who is told of them, and what was told so far."""

from __future__ import annotations

from collections.abc import Callable

# Told of each further piece of a text; None: what was told so far does not count, it begins anew.
OnPiece = Callable[[str | None], None]


class PieceStream:
    """Tells of a text piece by piece, such that what was told is always the beginning of it."""

    def __init__(self, tell: OnPiece) -> None:
        self._tell = tell
        self._told: list[str] = []

    @property
    def has_told(self) -> bool:
        """Whether somebody was told of any piece that counts."""
        return bool(self._told)

    def add(self, piece: str) -> None:
        """Tell of a further piece; nobody is told of an empty one."""
        if piece:
            self._told.append(piece)
            self._tell(piece)

    def restart(self) -> None:
        """Say that nothing of what was told counts, if anything was."""
        if self._told:
            self._told.clear()
            self._tell(None)

    def end(self, text: str) -> None:
        """Tell what is left of the whole `text`; all of it, anew, where it began otherwise."""
        sent = "".join(self._told)
        if not text.startswith(sent):
            self.restart()
            sent = ""
        self.add(text[len(sent) :])
