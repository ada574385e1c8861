"""Remove a model's reasoning from a reply while it is streamed."""

from clew.models.thoughts import begins_in_thoughts, strip_thoughts
from clew.text.pieces import PieceStream

_SHORT = 2048  # characters of a text that is read with every piece
_GROWN = 32  # a longer one is read again when it has grown by one part in so many


class SpokenStream:
    """Passes on a streamed reply without reasoning and the white space around it.

    With `waits` nothing is told before thoughts have ended: the model does not say that they begin.
    """

    def __init__(self, pieces: PieceStream, *, waits: bool = False) -> None:
        self._pieces = pieces
        self._waits = waits
        self._text, self._n_read = "", 0

    def restart(self) -> None:
        """Reset for another reply."""
        self._text, self._n_read = "", 0
        self._pieces.restart()

    def add(self, piece: str) -> None:
        """Add a piece, and pass on the text that is certainly not reasoning.

        All that came is read each time, so a long text is read only once it has grown by a part.
        """
        self._text += piece
        if len(self._text) - self._n_read < (len(self._text) - _SHORT) // _GROWN:
            return
        self._n_read = len(self._text)
        if not self._waits or begins_in_thoughts(self._text):
            self._pieces.end(strip_thoughts(self._text, ended=False)[0])
