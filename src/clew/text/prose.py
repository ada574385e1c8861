"""Read an LLM's answer in prose: its Markdown, and the citations apart from it."""

import re
from collections.abc import Callable

from clew.base.runtime.lazy import compile_re
from clew.text.answer_line import UNFINISHED, find_marks
from clew.text.pieces import OnPiece, PieceStream

OnMarks = Callable[[str, str], None]  # called with a text and the citations behind it

UNKNOWN = "unknown"  # what an LLM writes that finds no answer
_LABEL = "answer:"  # with which some models begin, whatever they are told
_BEGINS = compile_re(r"\A(?:[\s*#_]*answer:[\s*_]*)?[\s,;]*", re.IGNORECASE)
_REFUSED = compile_re(rf"[\W_]*{UNKNOWN}\b[\s*_\"'`]*?(?:[.!:;\[【\n]|\Z)", re.IGNORECASE)
_CODE = compile_re(r"^[ \t]*```.*?(?:^[ \t]*```|\Z)|`[^`\n]*`", re.DOTALL | re.MULTILINE)
_BETWEEN = " ,;\t\n"  # may stand around citations
_MARKUP = compile_re(r"[\s*#_]+")
_LONGEST = 400  # characters of citations and what joins them


def read_prose(reply: str, n_passages: int) -> list[tuple[str, str]]:
    """Return the texts of a reply without its label, each with the citations behind it.

    One at the start of a line is of the text that follows; in code there are none.

    >>> read_prose("**Answer:** Larvik [1].", 1)
    [('Larvik', '[1]'), ('.', '')]
    """
    reply = _BEGINS.sub("", reply).rstrip(_BETWEEN)
    code = [match.span() for match in _CODE.finditer(reply)]
    parts, start = list[tuple[str, str]](), 0
    for match in find_marks(n_passages).finditer(reply):
        marks = match[0].lstrip(_BETWEEN)
        place = match.end() - len(marks)
        if any(a <= place < b for a, b in code):
            continue
        behind = reply[match.end() :].partition("\n")[0]
        if reply[:place].rstrip(" \t*-")[-1:] in {"", "\n"} and behind.strip():
            parts += (reply[start:place], ""), ("", marks)  # they are of what follows in their line
            start = match.end() + len(behind) - len(behind.lstrip())
        else:
            parts.append((reply[start : match.start()], marks))
            start = match.end()
    return [*parts, (reply[start:], "")]


def is_unknown(reply: str) -> bool:
    """Check whether a reply begins with the word for no answer as a sentence or line."""
    return _REFUSED.match(_BEGINS.sub("", reply)) is not None


def _settle(reply: str) -> str:
    """Return the beginning of a reply that what is still to come does not change."""
    for word, begin in ((_LABEL, reply), (UNKNOWN, _BEGINS.sub("", reply))):
        if word.startswith(_MARKUP.sub("", begin).casefold()):
            return ""
    tail = reply[-_LONGEST:]
    if tail.rpartition("\n")[2].count("`") % 2:  # code that is not closed yet
        tail = tail[: tail.rfind("`")]
    unfinished = UNFINISHED.search(tail)
    tail = tail[: unfinished.start() if unfinished else None]
    return (reply[:-_LONGEST] + tail).rstrip(_BETWEEN)


class ProseStream:
    """Sends an answer in prose while it is written, and its citations where they stand.

    What may become a citation, or the word for no answer where that `refuses`, waits for what
    follows. `begin` gives what is told of the citations, each time that the reply begins.
    """

    def __init__(
        self, on_text: OnPiece, begin: Callable[[], OnMarks], n_passages: int, *, refuses: bool
    ) -> None:
        self._pieces = PieceStream(on_text)
        self._begin = begin
        self._n_passages = n_passages
        self._refuses = refuses
        self._reply, self._n_marked, self._on_marks = "", 0, begin()

    def feed(self, piece: str | None) -> None:
        """Take the next piece of the reply; None restarts it."""
        if piece is not None:
            self._reply += piece
            self._send(_settle(self._reply))
            return
        self._reply, self._n_marked, self._on_marks = "", 0, self._begin()
        self._pieces.restart()

    def end(self, text: str) -> None:
        """Send the rest of the answer `text`, which may be another one; empty: there is none."""
        if self._reply:
            self._send(self._reply)
        self._pieces.end(text)

    def _send(self, reply: str) -> None:
        if self._refuses and is_unknown(self._reply):
            return
        text = ""
        *parts, (rest, _) = read_prose(reply, self._n_passages)
        for i, (claim, marks) in enumerate(parts):
            text += claim
            self._pieces.add(text.rstrip()[len(self._pieces.sent) :])
            if i >= self._n_marked:
                self._on_marks(claim, marks)
                self._n_marked = i + 1
        self._pieces.add((text + rest).rstrip()[len(self._pieces.sent) :])
