"""A streamed text that may end early, at a stop text or a number of tokens."""

from collections.abc import Sequence

from clew.text import tokens


class StreamedText:
    """The part of a text that is sent, and why it ended.

    It ends before the `stop` text that is whole first, and at `most` tokens.
    """

    def __init__(self, stop: Sequence[str] = (), most: int | None = None) -> None:
        self.text = ""  # what was told
        self.reason = ""  # "stop" or "length" where it ended early
        self._stop = [each for each in stop if each]
        self._most = most
        self._held = ""  # may be the beginning of a text at which to stop
        self._bound = 0  # tokens at the most

    def put(self, piece: str) -> str:
        """Return what to send for a further piece."""
        if self.reason:
            return ""
        text = self._held + piece
        ends = [
            (place + len(each), place) for each in self._stop if (place := text.find(each)) >= 0
        ]
        if ends:
            ready, self._held, ended = text[: min(ends)[1]], "", "stop"
        else:
            keep = max((_count_begun(text, each) for each in self._stop), default=0)
            ready, self._held, ended = text[: len(text) - keep], text[len(text) - keep :], ""
        return self._release(ready, ended)

    def end(self) -> str:
        """Return the text held back to the end."""
        if self.reason:
            return ""
        text, self._held = self._held, ""
        return self._release(text, "")

    def _release(self, piece: str, ended: str) -> str:
        if self._most is not None:
            # The tokens of pieces are at least as many as those of the whole, which are counted
            # where it comes to that.
            self._bound += tokens.count(piece)
            if self._bound > self._most:
                whole = tokens.truncate(self.text + piece, self._most)
                if len(whole) < len(self.text + piece):
                    piece, ended = whole[len(self.text) :], "length"
        self.text += piece
        self.reason = ended
        return piece


def _count_begun(text: str, stop: str) -> int:
    """Return how many characters at the end of a text begin another one."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
