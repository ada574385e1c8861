"""Stream a text piece by piece while it is generated."""

from collections.abc import Callable

# Told of each further piece of a text; None: what was told so far does not count, it begins anew.
OnPiece = Callable[[str | None], None]


class PieceStream:
    """Sends a text piece by piece; what was sent is always a prefix of the text."""

    def __init__(self, tell: OnPiece) -> None:
        self._tell = tell
        self.sent = ""  # since the last restart

    def add(self, piece: str) -> None:
        """Send the next piece, unless it is empty."""
        if piece:
            self.sent += piece
            self._tell(piece)

    def restart(self) -> None:
        """Send None, which tells the listener to discard the pieces sent so far."""
        if self.sent:
            self.sent = ""
            self._tell(None)

    def end(self, text: str) -> None:
        """Send the rest of the final `text`; restart if it does not extend what was sent."""
        if not text.startswith(self.sent):
            self.restart()
        self.add(text[len(self.sent) :])
