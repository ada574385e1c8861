"""Find the blocks of a text by its layout: headings, items, labels, events, rows and prose.

Blank lines end a block, and so does a line that begins with the mark of an item, with a label or
with a time, where its neighbours do, too. A line break that no width asked for tells a list of
lines from prose: the next word had room before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from clew.base.runtime.lazy import compile_re
from clew.text.questions import QUESTION_MARKS
from clew.text.sections import Headed
from clew.text.sentences import has_word
from clew.text.tables import TextTable, find_tables

Span = tuple[int, int]
Kind = Literal[
    "heading", "question", "lead", "term", "title", "item", "line", "row", "code", "prose"
]

WHOLE = 300  # characters of an answer, item or message that are one statement
SHORT = 80  # characters of a term or title
MARKUP = " \t*_`"  # may stand around the words of a line
_WIDTH = 60  # columns that a wrapped line has at least
_LONGEST_CODE = 600  # characters of a piece of a program

_PARAGRAPH = compile_re(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")
_MARKED = compile_re(r"[ \t]*#{1,6}[ \t]+\S")
_DEEPER = compile_re(r"[ \t]*#{2,6}[ \t]+\S")  # one mark may be of a comment
ITEM = compile_re(
    r"[ \t]*(?:[-*+•‣▪◦☐☑☒✓–][ \t]+|\(?(?:\d{1,3}|[a-zA-Z])[.)][ \t]+"
    r"|\d{1,3}(?:\.\d{1,3})+\.?[ \t]+|[（(]?[\d一二三四五六七八九十]{1,3}[、）])(?=\S)"
)
_STAMP = compile_re(
    r"[ \t]*[\[(<]?(?:(?:[A-Z][a-z]{2} )?[A-Z][^\W\d_]{2}\.? +\d{1,2} +)?"
    r"(?:\d{1,4}[-./年]\d{1,2}[-./月]\d{1,4}日?[,T]? *-? *)?"
    r"\d{1,2}[:.]\d\d(?::\d\d)?(?:[.,]\d+)?(?![\d.:]*\d)|[ \t]*[\[(<]?\d{4}-\d\d-\d\d[T ]"
)
_LEVEL = (
    r"(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERR(?:OR)?|CRIT(?:ICAL)?|FATAL|SEVERE|ALERT|EMERG)"
)
_EVENT = compile_re(  # of a log, with another beginning than its time
    rf"\[(?:{_LEVEL}|{_LEVEL.lower()})\][ \t]|{_LEVEL}(?::|[ \t]+-)"
    r"|\[ *\d+\.\d{3,}\]|\d{10}(?:\d{3}|\.\d+)?[ \t]|\{\".*\}[ \t]*$"
    r"|(?:[^\s:=]+[ \t]+){0,3}[\[(]?(?:\d{4}-\d\d-\d\d[T ]|\d\d/[A-Z][a-z]{2}/\d{4}[: ])\d\d:\d\d",
    re.MULTILINE,
)
_DAY = "today|yesterday|heute|gestern|aujourd'hui|hier|hoy|ayer|今日|昨日|今天|昨天"
_SPOKEN = compile_re(  # a line of a copied chat, above the message: who and when
    r"[ \t]*\[?(?=[^\n]{0,40}[^\W\d_])[^\n:|]{1,50}?"
    r"(?:[ \t]+[—–-][ \t]+|[ \t]{2,}|\t|,[ \t]*|[ \t]+)\[?"
    rf"(?:(?:{_DAY}),?(?:[ \t]+(?:at|um|à|a las))?[ \t]+)?"
    r"(?:\d{1,4}[-./年]\d{1,2}(?:[-./月]\d{1,4}日?)?,?(?:[ \t]+(?:at|um))?[ \t]+)?"
    r"\d{1,2}:\d\d(?::\d\d)?(?:[ \t]?[AaPp]\.?[Mm]\.?)?\]?[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_LABEL = compile_re(
    r"[ \t]*[*_`\"'<]{0,3}[^\W\d_]"
    r"(?:[^:=：\n|.!?。;{}\[\]*&+()]|(?<=\s)\([^()\n]{0,20}\)){0,40}?[*_`\"'>]{0,3}[ \t]*"
    r"(?:[:：][*_]{0,2}(?!//)|=)[ \t]*"
)
_NO_VALUE = compile_re(r"[ \t]*(?:[|>][+-]?|[\[{])?[ \t]*(?:#.*)?$", re.MULTILINE)
_SECTION = compile_re(r"[ \t]*\[{1,2}[\w .:\"/-]+\]{1,2}[ \t]*$", re.MULTILINE)
_COMMENT = compile_re(r"[ \t]*(?:#|;|//)")
CODE = compile_re(
    r"[^\n]*(?:[;{}(]|\):|->.*:|\*/|\"{3})[ \t]*(?://.*|#.*)?$|[ \t]*(?:/\*|\"{3})", re.MULTILINE
)
_TAG = compile_re(r"</?[a-z][\w-]*(?:\s[^<>]*)?>")
_DEFINITION = compile_re(r"[ \t]*:[ \t]+\S")
_ASKING = "q|question|frage|f|pregunta|domanda|pergunta|вопрос|問|问|質問|问题"
_ANSWERING = "a|answer|antwort|réponse|r|respuesta|risposta|resposta|ответ|答|回答"
_NAMED = r"[ \t]*[*_]{{0,2}}(?:{})[ \d]{{0,3}}[*_]{{0,2}}"
_ASKED = compile_re(rf"{_NAMED.format(_ASKING)}(?:[:.)][*_ ]|：)", re.IGNORECASE)
_ANSWERED = compile_re(rf"{_NAMED.format(_ANSWERING)}[:：.)]", re.IGNORECASE)
_BOLD_QUESTION = compile_re(r"[ \t]*(\*\*|__)[^*_\n]+[?？]\1(?=\s*\S)")
_BOLD_ITEM = compile_re(r"[^\w\n*]*[*+-]?[^\w\n*]*\*\*[^*\n]{1,80}\*\*\s*$")
_FIELD = compile_re(r"(?:(?<![^\n])|; )([^\W\d][\w /().-]{0,40}): ")
_SENTENCE_END = compile_re(r"[!?؟]\s|[。？！।॥።۔]|[^\W\d_]{3}\.\s+[A-Z]")
_ASKS = (*QUESTION_MARKS, "か。", "吗。")
_PERMALINK = "¶🔗"  # behind a heading or term of a manual
_STOPS = (".", "!", "?", "。", "！", "？", "؟", "।")
ENDS = (*_STOPS, ";", ",", ":", "：", "…")


@dataclass(slots=True)
class Block:
    """A paragraph, item, line, row or heading: text[start:end]."""

    start: int
    end: int
    kind: Kind
    indent: int = 0
    above: Span | None = None  # what makes it understood
    is_context: bool = False  # it only leads to others
    is_whole: bool = False  # prose that is one statement, unless it is long

    @property
    def span(self) -> Span:
        return self.start, self.end

    @property
    def size(self) -> int:
        return self.end - self.start


def find_blocks(text: str, start: int, headings: Sequence[Headed] | None) -> Iterator[Block]:
    """Yield the blocks of text[start:], which together cover all words.

    Without `headings` lines that begin with a # and a blank are such; where a document has none,
    those with two or more.
    """
    places = None if headings is None else [h.start for h in headings if h.start >= start]
    for table in find_tables(text):
        if table.end > start:
            yield from _find_paragraphs(text, start, max(table.start, start), places)
            yield from _read_table(text, table, start)
            start = table.end
    yield from _find_paragraphs(text, start, len(text), places)


def ends_as_question(text: str) -> bool:
    """Check whether a text ends with a question mark."""
    return text.rstrip().removesuffix("</summary>").rstrip(f"{MARKUP}#\n").endswith(_ASKS)


def is_message(text: str, start: int, end: int) -> bool:
    """Check whether a block begins with a message's time or author."""
    first = end_line(text, start, end)
    return any(p.match(text, start, first) for p in (_STAMP, _SPOKEN))


def is_phrase(text: str, start: int, end: int) -> bool:
    """Check whether a block is short and at most one sentence."""
    return end - start <= WHOLE and not _SENTENCE_END.search(text, start, end)


def is_tag(text: str, start: int, end: int) -> bool:
    """Check whether a block is a single HTML tag."""
    return _TAG.fullmatch(text, start, end) is not None


def end_line(text: str, start: int, end: int) -> int:
    """Return the end of the line at a position."""
    stop = text.find("\n", start, end)
    return end if stop < 0 else stop


def _read_table(text: str, table: TextTable, start: int) -> Iterator[Block]:
    head = table.rows[: table.n_head]
    header = (head[0][0], head[-1][1]) if head else None
    for i, (a, b) in enumerate(table.rows):
        if b > start:
            block = _make(text, max(a, start), b, "row", 0)
            block.above, block.is_context = (None, True) if i < len(head) else (header, False)
            yield block


def _find_paragraphs(
    text: str, start: int, end: int, places: Sequence[int] | None
) -> Iterator[Block]:
    for match in _PARAGRAPH.finditer(text, start, end):
        begin, stop = match.span()
        if places:
            cuts = [place for place in places if begin <= place < stop]
        else:
            marked = _MARKED if places is None else _DEEPER
            cuts = [a for a, _ in _find_lines(text, begin, stop) if marked.match(text, a)]
        for a, b in pairwise([begin, *(cut for cut in cuts if cut > begin), stop]):
            behind = a
            if a in cuts:
                behind = end_line(text, a, b)
                yield _make(text, a, behind, "heading")
            yield from _read_lines(text, _find_lines(text, behind, b))


def _find_lines(text: str, start: int, end: int) -> list[Span]:
    """Return the lines with a word, each with the comment marks above it."""
    lines: list[Span] = []
    opened: int | None = None
    while start < end:
        stop = end_line(text, start, end)
        if has_word(text, start, stop):
            lines.append((start if opened is None else opened, stop))
            opened = None
        elif text[start:stop].lstrip().startswith(("/*", '"""')):
            opened = start
        start = stop + 1
    return lines


def _read_lines(text: str, lines: Sequence[Span]) -> Iterator[Block]:
    """Yield the blocks of consecutive lines without a blank one."""
    if not lines:
        return
    events = lines if len(lines) > 1 else ()  # one line alone is no list of them
    stamps = [i for i, (a, b) in enumerate(events) if _begins_event(text, a, b)]
    spoken = [i for i, (a, b) in enumerate(lines[:-1]) if _SPOKEN.match(text, a, b)]
    stamps = spoken if spoken and (len(spoken) > 1 or not spoken[0]) else stamps
    values = [match.end() for match in _FIELD.finditer(text, *lines[0])] if len(lines) == 1 else []
    if len(stamps) > 1 or spoken == [0]:
        yield from _read_lines(text, lines[: stamps[0]])
        for i, j in pairwise([*stamps, len(lines)]):
            yield _make(text, lines[i][0], lines[j - 1][1], "line")
    elif len(values) > 1 and _FIELD.match(text, *lines[0]):
        yield from _read_record(text, lines[0], values)
    elif _is_code(text, lines):
        yield from _read_code(text, lines)
    elif len(lines) > 1 and _are_labels(text, lines):
        yield from _read_labels(text, lines)
    elif _is_term(text, lines):
        yield _make(text, *lines[0], "term")
        yield from _read_lines(text, lines[1:])
    else:
        firsts = [i for i, (a, _) in enumerate(lines) if _begins_block(text, a)]
        quoted = [text[a] == ">" for a, _ in lines]  # lines of one mail go on
        gaps = [end + 1 < start for (_, end), (start, _) in pairwise(lines)]  # a lone mark
        firsts += [i for i, gap in enumerate(gaps, 1) if gap or quoted[i] != quoted[i - 1]]
        for i, j in pairwise([*sorted({0, *firsts}), len(lines)]):
            yield from _read_group(text, lines[i:j], is_item=_begins_block(text, lines[i][0]))


def _begins_event(text: str, start: int, end: int) -> bool:
    is_event = any(pattern.match(text, start, end) for pattern in (_STAMP, _EVENT))
    return is_event and not ITEM.match(text, start, end)


def _begins_block(text: str, start: int) -> bool:
    return any(p.match(text, start) for p in (ITEM, _ASKED, _ANSWERED, _DEFINITION))


def _read_group(text: str, lines: Sequence[Span], *, is_item: bool) -> Iterator[Block]:
    """Yield the blocks of lines of which only the first may have a list mark."""
    start, end = lines[0][0], lines[-1][1]
    if bold := _BOLD_QUESTION.match(text, start, end):
        yield _make(text, start, bold.end(), "question")
        yield _make(text, bold.end(), end, "line")
    elif not is_item and len(lines) > 1 and _is_question(text, *lines[0]):
        yield _make(text, *lines[0], "question")
        yield from _read_lines(text, lines[1:])
    elif is_item and _BOLD_ITEM.match(text, start, end) and not ends_as_question(text[start:end]):
        yield _make(text, start, end, "term", _indent(text, start) - 1)
    elif not is_item and len(lines) > 1 and not _are_wrapped(text, lines):
        groups = _join_wrapped(text, lines)
        if len(groups) == len(lines):
            yield from _read_broken(text, lines)
        for a, b in groups if len(groups) < len(lines) else ():
            yield _make(text, a, b, _find_kind(text, a, b, is_item=False))
    else:
        yield _make(text, start, end, _find_kind(text, start, end, is_item=is_item))


def _find_kind(text: str, start: int, end: int, *, is_item: bool) -> Kind:
    """Return the kind of a block that is not a table, code or a list."""
    said = text[start:end].rstrip(f"{MARKUP}\n")
    if _ASKED.match(text, start, end) or _is_question(text, start, end):
        return "question"
    if _ANSWERED.match(text, start, end) or _DEFINITION.match(text, start, end):
        return "line" if end - start <= WHOLE else "prose"
    if is_item:
        return "item"
    if said.endswith((":", "：")) and len(said) <= WHOLE:
        return "lead"
    is_title = "\n" not in said and len(said) <= SHORT and not said.endswith(ENDS)
    return "title" if is_title and not _SENTENCE_END.search(said) else "prose"


def _is_question(text: str, start: int, end: int) -> bool:
    """Check whether text[start:end] is a single question."""
    said = text[start:end].rstrip(f"{MARKUP}\n")
    is_alone = len(said) <= WHOLE and not _SENTENCE_END.search(said[:-1])
    return is_alone and said.endswith(_ASKS)


def _are_wrapped(text: str, lines: Sequence[Span]) -> bool:
    """Check whether lines are wrapped prose."""
    width = max(_WIDTH, *(b - a for a, b in lines))
    needed = 0
    for (a, b), (c, d) in pairwise(lines):
        [word, *_] = text[c:d].lstrip("#;/>* \t").split(None, 1) or [""]
        goes_on = word[:1].islower() and not text[a:b].rstrip().endswith(_STOPS)
        needed += goes_on or b - a + 1 + len(word) > width
    return 2 * needed >= len(lines) - 1


def _join_wrapped(text: str, lines: Sequence[Span]) -> list[Span]:
    """Return the lines, those joined that wrap one paragraph among several.

    A line goes on where the next word had no room, if one such word is in lower case, as in the
    text of a PDF without blank lines. The widest line may have ended by itself, in a list of lines.
    """
    width = max(_WIDTH, *(b - a for a, b in lines))
    joined: list[Span] = [lines[0]]
    goes_on = False
    for (a, b), (c, d) in pairwise(lines):
        [word, *_] = text[c:d].split(None, 1)
        if b - a + 1 + len(word) > width and not text[a:b].rstrip().endswith(_STOPS):
            joined[-1] = joined[-1][0], d
            goes_on = goes_on or word[:1].islower()
        else:
            joined.append((c, d))
    return joined if goes_on else list(lines)


def _read_broken(text: str, lines: Sequence[Span]) -> Iterator[Block]:
    """Yield non-prose lines as blocks: a stanza as one, other lines singly."""
    n_ended = sum(text[a:b].rstrip(MARKUP).endswith((".", "。")) for a, b in lines)
    start, end = lines[0][0], lines[-1][1]
    if end - start <= WHOLE and 2 * n_ended <= len(lines):
        yield _make(text, start, end, "line")
        return
    for a, b in lines:
        yield _make(text, a, b, "line" if b - a <= WHOLE else "prose")


def _is_term(text: str, lines: Sequence[Span]) -> bool:
    """Check whether the first line is a term or lead-in of the others."""
    (a, b), *others = lines
    said = text[a:b].strip(MARKUP)
    if not others or _begins_block(text, a) or CODE.match(text, a, b) or len(said) > SHORT:
        return False
    if said.endswith((*_STOPS, ";", ",")):
        return False
    if ITEM.match(text, others[0][0]) or _DEFINITION.match(text, others[0][0]):
        return True
    word = text[slice(*others[0])].split(None, 1)[0]
    is_deeper = min(_indent(text, c) for c, _ in others) > _indent(text, a)
    return is_deeper and b - a + 1 + len(word) <= _WIDTH


# -- programs, labels and records -----------------------------------------------------------------


def _is_code(text: str, lines: Sequence[Span]) -> bool:
    """Check whether most lines end like code or are in a comment."""
    in_comment = text[slice(*lines[0])].lstrip().startswith("/*")
    marks = [
        CODE.match(text, a, b) is not None or (in_comment and text[a:b].lstrip().startswith("*"))
        for a, b in lines
    ]
    return any(marks) and 2 * sum(marks) >= len(lines)


def _read_code(text: str, lines: Sequence[Span]) -> Iterator[Block]:
    """Yield code as one block, or split at its least indented lines."""
    least = min(_indent(text, a) for a, _ in lines)
    begin = 0
    for i, (a, _) in enumerate(lines):
        is_outer = _indent(text, a) == least and text[a:].lstrip()[:1] not in {*"*})]"}
        is_long = lines[-1][1] - lines[begin][0] > _LONGEST_CODE
        if i > begin and is_outer and is_long and not _COMMENT.match(text, lines[i - 1][0]):
            yield _make(text, lines[begin][0], lines[i - 1][1], "code")
            begin = i
    yield _make(text, lines[begin][0], lines[-1][1], "code")


def _are_labels(text: str, lines: Sequence[Span]) -> bool:
    plain = [(a, b) for a, b in lines if not _COMMENT.match(text, a)]
    n_labels = sum(_has_label(text, a, b) for a, b in plain)
    has_questions = any(_ASKED.match(text, a) for a, _ in lines)
    return n_labels > 1 and 2 * n_labels >= len(plain) and not has_questions


def _has_label(text: str, start: int, end: int) -> bool:
    return any(pattern.match(text, start, end) for pattern in (_LABEL, _SECTION))


def _read_labels(text: str, lines: Sequence[Span]) -> Iterator[Block]:
    """Yield a block for each label with its value, after the comment above it."""
    last: Block | None = None
    comment: int | None = None
    for a, b in lines:
        if _COMMENT.match(text, a):
            comment = a if comment is None else comment
            continue
        if last and comment is None and not (_has_label(text, a, b) or ITEM.match(text, a)):
            last = _make(text, last.start, b, "line", last.indent)  # its value goes on
            continue
        if last:
            yield last
        last = _read_label(text, a, b)
        last.start = last.start if comment is None else comment
        comment = None
    if last:
        yield last
    if comment is not None:
        yield _make(text, comment, lines[-1][1], "prose")


def _read_label(text: str, start: int, end: int) -> Block:
    """Return a label with its value, or a section or bare label above others."""
    label = _LABEL.match(text, start, end)
    if label is None and _SECTION.match(text, start, end):
        return _make(text, start, end, "term", -1)
    is_alone = label is not None and _NO_VALUE.match(text, label.end(), end)
    return _make(text, start, end, "term" if is_alone else "line")


def _read_record(text: str, line: Span, values: Sequence[int]) -> Iterator[Block]:
    """Yield a question and answer, or a record with long values as separate blocks."""
    start, end = line
    ends = [*(text.rfind("; ", a, b) for a, b in pairwise(values)), end]
    names = [start, *(stop + 2 for stop in ends[:-1])]
    asked = [
        i
        for i, place in enumerate(names[:-1])
        if _ASKED.match(text, place) or ends_as_question(text[values[i] : ends[i]])
    ]
    if asked:
        answer = values[asked[0] + 1]
        yield _make(text, start, answer, "question")
        yield _make(text, answer, end, "line" if end - answer <= WHOLE else "prose")
        return
    if end - start > WHOLE:
        for a, b in zip(values, ends, strict=True):
            if b - a > SHORT:
                yield _make(text, start, a, "term", 0)
                yield _make(text, a, b, "prose", 1)
                start = b
    if start < end:
        yield _make(text, start, end, "row")


def _make(text: str, start: int, end: int, kind: Kind, indent: int | None = None) -> Block:
    """Return a block stripped of white space."""
    indent = _indent(text, start) if indent is None else indent
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return Block(start, start + len(piece.strip().rstrip(_PERMALINK).rstrip()), kind, indent)


def _indent(text: str, start: int) -> int:
    """Return the indentation of a line, in columns."""
    begin = text.rfind("\n", 0, start) + 1
    head = text[begin : start + 40].partition("\n")[0]
    return len(head[: len(head) - len(head.lstrip(" \t>"))].expandtabs(4))
