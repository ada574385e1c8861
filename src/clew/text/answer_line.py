"""Find the citations in an LLM's reply, and the line of it that is a short answer.

The line stands behind the last marker, "ANSWER:"; a reply without one is the answer itself.
"""

import re
from functools import lru_cache

from clew.base.runtime.lazy import compile_re

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


_FOOTNOTES = compile_re(r"(?<=\d):\d+|†[^\[\]【】]*")
_MARKER = compile_re(r"\bANSWER:", re.IGNORECASE)
# Citations at the end of a part, with what joins them, and what may become another one.
UNFINISHED = compile_re(
    rf"(?:(?:{_NAMED}|\(\d{{1,3}}\))[\s,;]*(?:(?:and|or|&)\s*|an?|o)?)*"
    rf"(?:(?:(?i:{_AROUND_MARKS})(?:{_BRACKETS}{_JOINTS})*)?"
    r"(?:(?:\[{1,2}|[(【［])[^\[\]【】［］()`]{0,48}\]?)?)?\Z"
)


def find_answer_line(reply: str) -> str:
    """Return the line of a reply that is the answer, with its citations."""
    *_, tail = _MARKER.split(reply)
    line = tail if tail is reply else tail.strip().partition("\n")[0]
    return " ".join(line.replace("**", "").split())
