"""The line of an LLM's reply that answers, without its citations: of a whole reply, or as it comes.

The line stands behind the last marker, "ANSWER:"; a reply without one is the answer itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from clew.text.pieces import OnPiece, PieceStream

NUMBERS = re.compile(r"\[(\d{1,3}(?:, ?\d{1,3})*)\]")  # [2], [2, 3]
_JOINTS = r"[\s,;]*(?:(?:and|or|&)\s*)?"  # "[2], [3] and [4]"
MARKS = re.compile(rf"[\s,;]*{NUMBERS.pattern}(?:{_JOINTS}{NUMBERS.pattern})*")

# Told of what stands between two groups of citations, and of the second; None: it begins anew.
OnMarks = Callable[[str, str | None], None]

_MARKER = re.compile(r"\bANSWER:", re.IGNORECASE)
_WORD = "answer:"
AROUND = " ,;"  # what joins citations, and is left off at both ends
_OPEN = " ,;*"  # what may be left off before what follows
_OF_MARKS = "0123456789,;*[]&andor "  # what stands in citations, and between two of them
_ENDINGS = ".!"
_SPACES = re.compile(r"\s+")


def find_answer_line(reply: str) -> str:
    """Return the line that answers in one line, with its citations."""
    *_, tail = _MARKER.split(reply)
    line = tail if tail is reply else tail.strip().partition("\n")[0]
    return " ".join(line.replace("**", "").split())


def extract_answer(reply: str) -> str:
    """Return the line that answers without citations, nor what joins them to the words."""
    return strip_marks(find_answer_line(reply))


def strip_marks(line: str) -> str:
    """Return a line without citations, nor what joins them to the words."""
    return MARKS.sub("", line).strip(AROUND)


class AnswerText:
    """Sends the answer of a reply that arrives piece by piece.

    Nobody is told of what stands before a marker; what may be part of a citation, or of the word
    `unknown` for no answer, waits for what follows. Another marker begins the answer anew. In the
    end `end` puts right whatever came otherwise than it seemed.

    `on_marks` is told of citations once what stands before them was told, but not of those at the
    end of the reply.
    """

    def __init__(
        self, on_text: OnPiece, unknown: str = "", on_marks: OnMarks | None = None
    ) -> None:
        self._pieces = PieceStream(on_text)
        self._unknown = unknown
        self._on_marks = on_marks
        self._before = ""  # the character before what waits: does a word begin there?
        self._waiting = ""  # the end of what came, which may be the beginning of a marker
        self._begin_line(behind=False)

    def feed(self, piece: str | None) -> None:
        """Take a further piece of the reply; None: it begins anew."""
        if piece is None:
            self._before = self._waiting = ""
            self._begin_line(behind=False)
            return
        text, start = self._before + self._waiting + piece, len(self._before)
        for marker in _MARKER.finditer(text):
            start = marker.end()
            self._begin_line(behind=True)
        waiting = _may_become_marker(text[start:])
        end = len(text) - waiting
        self._before, self._waiting = text[max(end - 1, 0) : end], text[end:]
        if self._is_line:
            self._feed_line(text[start:end])

    def end(self, text: str) -> None:
        """Send the rest of the answer `text`; an empty text means that there is no answer."""
        self._pieces.end(text)

    def _begin_line(self, *, behind: bool) -> None:
        self._is_line = behind
        self._line = ""  # what waits of the line that answers
        self._answer = ""  # what waits of the answer: it may be the word for none
        self._claim = ""  # what stands behind the last citations
        self._tells_marks = True
        self._pieces.restart()
        if self._on_marks is not None:
            self._on_marks("", None)

    def _feed_line(self, new: str) -> None:
        if not (self._line or self._answer or self._pieces.has_sent):
            new = new.lstrip()
        new, ends, _ = new.partition("\n")
        self._is_line = not ends
        self._line = _SPACES.sub(" ", self._line + new)
        known = len(self._line) if ends else _find_open_end(self._line)
        part = _SPACES.sub(" ", self._line[:known].replace("**", ""))
        self._line = self._line[known:]
        start = 0
        for marks in MARKS.finditer(part):
            self._feed_words(part[start : marks.start()])
            self._feed_marks(marks[0])
            start = marks.end()
        self._feed_words(part[start:].rstrip(AROUND) if ends else part[start:])

    def _feed_marks(self, marks: str) -> None:
        self._tells_marks = self._tells_marks and not self._answer  # it may be the word for none
        if self._on_marks is not None and self._tells_marks:
            self._on_marks(self._claim, marks)
            self._claim = ""

    def _feed_words(self, answer: str) -> None:
        self._claim += answer
        if not (self._answer or self._pieces.has_sent):
            answer = answer.lstrip(AROUND)
        self._answer += answer
        if self._pieces.has_sent or not self._may_be_unknown():
            self._pieces.add(self._answer)
            self._answer = ""

    def _may_be_unknown(self) -> bool:
        beginning = self._answer.lstrip(_ENDINGS).casefold()
        is_whole = beginning.rstrip(_ENDINGS) == self._unknown
        return bool(self._unknown) and (is_whole or self._unknown.startswith(beginning))


def is_word(answer: str, word: str) -> bool:
    """Say whether an answer is nothing but a word, in lower case."""
    return answer.strip(_ENDINGS).casefold() == word


def _may_become_marker(text: str) -> int:
    """Return how many characters at the end of a text may begin a marker."""
    lengths = range(min(len(_WORD) - 1, len(text)), 0, -1)
    return next((n for n in lengths if _WORD.startswith(text[-n:].casefold())), 0)


def _find_open_end(line: str) -> int:
    """Return where a line ends without what may become a citation, or be left off."""
    whole = len(line.rstrip(_OF_MARKS))
    bracket = line.find("[", whole)
    return len(line[: bracket if bracket >= 0 else len(line)].rstrip(_OPEN))
