"""Stream a text piece by piece while it is generated."""

from collections.abc import Callable

# Told of each further piece of a text; None: what was told so far does not count, it begins anew.
OnPiece = Callable[[str | None], None]


class PieceStream:
    """Sends a text piece by piece; what was sent is always a prefix of the text."""

    def __init__(self, tell: OnPiece) -> None:
        self._tell = tell
        self._pieces: list[str] = []

    @property
    def has_sent(self) -> bool:
        """Check whether any piece was sent since the last restart."""
        return bool(self._pieces)

    def add(self, piece: str) -> None:
        """Send the next piece, unless it is empty."""
        if piece:
            self._pieces.append(piece)
            self._tell(piece)

    def restart(self) -> None:
        """Send None, which tells the listener to discard the pieces sent so far."""
        if self._pieces:
            self._pieces.clear()
            self._tell(None)

    def end(self, text: str) -> None:
        """Send the rest of the final `text`; restart if it does not extend what was sent."""
        sent = "".join(self._pieces)
        if not text.startswith(sent):
            self.restart()
            sent = ""
        self.add(text[len(sent) :])
