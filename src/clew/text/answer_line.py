"""Extract the answer line of an LLM's reply, without citations, whole or streamed.

The line stands behind the last marker, "ANSWER:"; a reply without one is the answer itself.
"""

import re
from collections.abc import Callable
from functools import lru_cache

from clew.base.runtime.lazy import compile_re
from clew.text.pieces import OnPiece, PieceStream

_LABEL = (  # what models call a passage
    r"(?:(?:sources?|passages?|documents?|docs?|ref(?:erence)?s?|citations?|cit(?:e|ation)?|chunks?"
    r"|excerpts?|quellen?|fuentes?|fontes?|来源|資料|出典)[\s.:#№]{0,2})?"
)
_NUMBER = r"\^?#?\d{1,3}\^?"
_MORE = rf"(?:\s?(?:[,;、&–-]|and|or|to)\s?{_LABEL}{_NUMBER})*"  # [1, 2], [1-3]
_INSIDE = rf"\s?{_LABEL}{_NUMBER}{_MORE}(?:†[^\[\]]{{0,40}})?\s?"
_FILED = rf"\s?{_LABEL}{_NUMBER}(?:{_MORE}|:\d{{1,3}})(?:†[^【】]{{0,40}})?\s?"  # 【4:0†source】
_BRACKETS = rf"(?:\[{{1,2}}{_INSIDE}\]{{1,2}}|【{_FILED}】|［{_INSIDE}］)"
_JOINTS = r"[\s,;]*(?:(?:and|or|&)\s*)?"  # "[2], [3] and [4]"
_AROUND_MARKS = r"\((?:(?:see|cf\.?|sources?):?\s?)?"  # ([1]), (see [1])
_NAMED = (  # what can be nothing else, wherever it stands
    rf"(?i:{_BRACKETS}|{_AROUND_MARKS}{_BRACKETS}(?:{_JOINTS}{_BRACKETS})*\)"
    rf"|\({_LABEL.removesuffix('?')}{_NUMBER}{_MORE}\))"
)
_RANGES = compile_re(r"(\d{1,3})\s?(?:[–-]|to\b)\s?[^\d\[\]【】,;]{0,12}(\d{1,3})|(\d{1,3})")
_MAX_RANGE = 20  # passages in a range at the most
_AT_END = r"(?=\s*(?:[.,;!?。、]|\(\d|\Z))"  # in the middle of a sentence it may count something


@lru_cache
def find_marks(n_passages: int = 0) -> re.Pattern[str]:
    """Return a pattern of citations of so many passages, with the text that joins them.

    Models write [1], [1][2], [1, 2], [1-3], [^1], [Source 1], 【1†source】 and the like. (1) is one
    behind what is said, where there is such a passage.
    """
    numbers = "|".join(map(str, range(n_passages, 0, -1)))
    mark = rf"(?:{_NAMED}|(?<![^\W_])\((?:{numbers})\){_AT_END})" if numbers else _NAMED
    return re.compile(rf"[\s,;]*{mark}(?:{_JOINTS}{mark})*")


def parse_numbers(marks: str) -> list[int]:
    """Return the distinct passage numbers in citations, with ranges expanded.

    >>> parse_numbers("[Source 4], [1-3] and 【2†source】")
    [4, 1, 2, 3]
    """
    numbers: list[int] = []
    for match in _RANGES.finditer(_FOOTNOTES.sub("", marks)):
        first, last = int(match[1] or match[3]), int(match[2] or match[3])
        numbers += range(first, last + 1) if first <= last < first + _MAX_RANGE else (first, last)
    return list(dict.fromkeys(numbers))


# Told of what stands between two groups of citations, and of the second; None: it begins anew.
OnMarks = Callable[[str, str | None], None]

_FOOTNOTES = compile_re(r"(?<=\d):\d+|†[^\[\]【】]*")
_MARKER = compile_re(r"\bANSWER:", re.IGNORECASE)
_WORD = "answer:"
AROUND = " ,;"  # what joins citations, and is left off at both ends
_OPEN = " ,;*"  # what may be left off before what follows
# Citations at the end of a part, with what joins them, and what may become another one.
_LAST = compile_re(
    rf"(?:(?:{_NAMED}|\(\d{{1,3}}\))[\s,;]*(?:(?:and|or|&)\s*|an?|o)?)*"
    rf"(?:\*{{0,2}}(?:(?i:{_AROUND_MARKS})(?:{_BRACKETS}{_JOINTS})*)?"
    r"(?:(?:\[{1,2}|[(【［])[^\[\]【】［］()]{0,48}\]?)?)?\Z"
)
_ENDINGS = ".!"
_SPACES = compile_re(r"\s+")


def find_answer_line(reply: str) -> str:
    """Return the line of a reply that is the answer, with its citations."""
    *_, tail = _MARKER.split(reply)
    line = tail if tail is reply else tail.strip().partition("\n")[0]
    return " ".join(line.replace("**", "").split())


def extract_answer(reply: str, n_passages: int = 0) -> str:
    """Return the answer line without citations and the text that joins them."""
    return strip_marks(find_answer_line(reply), n_passages)


def strip_marks(line: str, n_passages: int = 0) -> str:
    """Remove the citations of a line, with the text that joins them."""
    return find_marks(n_passages).sub("", line).strip(AROUND)


class AnswerText:
    """Sends the answer of a streamed reply piece by piece.

    Nobody is told of what stands before a marker; what may be part of a citation, or of the word
    `unknown` for no answer, waits for what follows. Another marker begins the answer anew. In the
    end `end` puts right whatever came otherwise than it seemed.

    `on_marks` is told of citations once what stands before them was told, but not of those at the
    end of the reply.
    """

    def __init__(
        self,
        on_text: OnPiece,
        unknown: str = "",
        on_marks: OnMarks | None = None,
        n_passages: int = 0,
    ) -> None:
        self._marks = find_marks(n_passages)
        self._pieces = PieceStream(on_text)
        self._unknown = unknown
        self._on_marks = on_marks
        self._before = ""  # the character before what waits: does a word begin there?
        self._waiting = ""  # the end of what came, which may be the beginning of a marker
        self._begin_line(behind=False)

    def feed(self, piece: str | None) -> None:
        """Take the next piece of the reply; None restarts it."""
        if piece is None:
            self._before = self._waiting = ""
            self._begin_line(behind=False)
            return
        text, start = self._before + self._waiting + piece, len(self._before)
        for marker in _MARKER.finditer(text):
            start = marker.end()
            self._begin_line(behind=True)
        sizes = range(min(len(_WORD) - 1, len(text) - start), 0, -1)
        waiting = next((n for n in sizes if _WORD.startswith(text[-n:].casefold())), 0)
        end = len(text) - waiting
        self._before, self._waiting = text[max(end - 1, 0) : end], text[end:]
        if self._is_line:
            self._feed_line(text[start:end])

    def end(self, text: str) -> None:
        """Send the rest of the answer `text`; empty means that there is no answer."""
        self._pieces.end(text)

    def _begin_line(self, *, behind: bool) -> None:
        self._is_line = behind
        self._line = ""  # what waits of the line that answers
        self._past = ""  # the character before it
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
        end = len(self._line)
        if not ends:  # a citation may begin at the end
            last = _LAST.search(self._line)
            end = len(self._line[: last.start() if last else end].rstrip(_OPEN))
        start = len(self._past)
        part = self._past + _SPACES.sub(" ", self._line[:end].replace("**", ""))
        self._line = self._line[end:]
        self._past = part[-1:]
        for marks in self._marks.finditer(part, start):
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
    """Check whether an answer is a single lower-case word."""
    return answer.strip(_ENDINGS).casefold() == word
