"""Find the statements of a text: what says something by itself, and what it is read below.

    How long can I keep items?            the question above an answer
    Films and games: one week
                                          the lead-in above the items of a list
    The crew takes along:                 the item above those that are indented below it
      - 30 m of rope                      the term above its definition
    Port | Summer                         the header above the rows of a table
    Bergen | 12                           the heading above all that has nothing nearer

Layout decides: blank lines, indentation, marks of items, and line breaks that no width asked for.
A line with a label, an event of a log with the lines that go on, a message, a numbered clause and a
stanza are one statement each. Prose is cut into sentences. What only leads to others, such as a
heading, is no statement but their context, and is marked so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from clew.base.runtime.lazy import compile_re
from clew.text.questions import QUESTION_MARKS
from clew.text.sections import Headed
from clew.text.sentences import NUPUNKT, Splitter, has_word, split_pieces, split_prose
from clew.text.tables import TextTable, find_tables

Span = tuple[int, int]
_Kind = Literal["heading", "question", "lead", "term", "title", "item", "line", "row", "prose"]

_WHOLE = 300  # characters of an answer, item or message that are one statement
_SHORT = 80  # characters of a term or title
_WIDTH = 60  # columns that a wrapped line has at least
_REPEATED = 3  # terms with definitions, at least
_NEAR = 3_000  # characters before a statement among which is what stands above it
_ANSWER = 2_000  # characters behind a question that may answer it

_PARAGRAPH = compile_re(r"[^\n]*\S[^\n]*(?:\n[^\n]*\S[^\n]*)*")
_MARKED = compile_re(r"[ \t]*#{1,6}[ \t]+\S")
_ITEM = compile_re(
    r"[ \t]*(?:[-*+•‣▪◦☐☑☒✓–][ \t]+|\(?(?:\d{1,3}|[a-zA-Z])[.)][ \t]+|\d{1,3}(?:\.\d{1,3})+\.?[ \t]+"
    r"|[（(]?[\d一二三四五六七八九十]{1,3}[、）])(?=\S)"
)
_STAMP = compile_re(
    r"[ \t]*[\[(<]?(?:[A-Z][a-z]{2} +\d{1,2} +)?(?:\d{1,4}[-./年]\d{1,2}[-./月]\d{1,4}日?[,T]? *-? *)?"
    r"\d{1,2}[:.]\d\d(?::\d\d)?(?:[.,]\d+)?(?![\d.:]*\d)"
)
_DATED = compile_re(r"[ \t]*[\[(<]?\d{4}-\d\d-\d\d[T ]")
_LABEL = compile_re(
    r"[ \t]*[*_`\"'<]{0,3}[^\W\d_](?:[^:=：\n|.!?。;]{0,40}?)[*_`\"'>]{0,3}[ \t]*"
    r"(?:[:：][*_]{0,2}(?!//)|=)[ \t]*"
)
_SECTION = compile_re(r"[ \t]*\[{1,2}[\w .:\"/-]+\]{1,2}[ \t]*$")
_COMMENT = compile_re(r"[ \t]*(?:#|;|//)")
_DEFINITION = compile_re(r"[ \t]*:[ \t]+\S")
_NAMES = {
    "question": "q|question|frage|f|pregunta|domanda|pergunta|вопрос|問|问|質問|问题|質问",
    "answer": "a|answer|antwort|réponse|reponse|r|respuesta|risposta|resposta|ответ|答|回答",
}
_ASKED = compile_re(rf"[ \t]*[*_]{{0,2}}(?:{_NAMES['question']})[ \d]{{0,3}}[*_]{{0,2}}[:：.)][*_ ]", 2)
_ANSWERED = compile_re(rf"[ \t]*[*_]{{0,2}}(?:{_NAMES['answer']})[ \d]{{0,3}}[*_]{{0,2}}[:：.)]", 2)
_BOLD_QUESTION = compile_re(r"[ \t]*(\*\*|__)[^*_\n]+[?？]\1(?=[ \t]*\S)")
_BOLD_ITEM = compile_re(r"[^\w\n*]*[*+-]?[^\w\n*]*\*\*[^*\n]{1,80}\*\*\s*$")
_NO_VALUE = compile_re(r"[ \t]*(?:[|>][+-]?[ \t]*)?(?:#.*)?$", 8)
_FIELD = compile_re(r"(?:^|; )([^\W\d][\w /().-]{0,40}): ")
_SENTENCE_END = compile_re(r"[!?]\s|[。？！]|[^\W\d_]{3}\.\s+[A-Z]")
_ENDS = (".", "!", "?", ";", ",", ":", "。", "！", "？", "：", "…", "؟", "।")
_MARKUP = " \t*_`"


@dataclass(frozen=True, slots=True)
class Statement:
    """A range that says something by itself, and the range that makes it understood, if any."""

    start: int
    end: int
    above: Span | None = None
    is_context: bool = False  # it only leads to others, and is quoted where there is nothing else


@dataclass(slots=True)
class _Block:
    """A paragraph, item, line, row or heading."""

    start: int
    end: int
    kind: _Kind
    indent: int = 0
    above: Span | None = None
    is_context: bool = False
    is_whole: bool = False  # it is one statement, unless it is long

    @property
    def span(self) -> Span:
        return self.start, self.end

    @property
    def size(self) -> int:
        return self.end - self.start


def find_statements(
    text: str,
    start: int = 0,
    splitter: Splitter = NUPUNKT,
    headings: Sequence[Headed] | None = None,
) -> list[Statement]:
    """Return the statements of text[start:] and their contexts, in order.

    White space is outside every range, and every word in exactly one. Without `headings` lines
    that begin with a # and a blank are such.
    """
    blocks = list(_find_blocks(text, start, headings))
    _link(text, blocks)
    found: list[Statement] = []
    for block in blocks:
        for begin, end in _split(text, block, splitter):
            found.append(Statement(begin, end, block.above, block.is_context))
    return found


def find_above(text: str, place: int) -> Span | None:
    """Return what stands above the statement around a place, None where that is a heading."""
    begin = text.rfind("\n\n", 0, max(place - _NEAR, 0)) + 1
    part = text[begin : place + _NEAR]
    blocks = list(_find_blocks(part, 0, None))
    _link(part, blocks)
    place -= begin
    above = next((b.above for b in blocks if b.start <= place < b.end), None)
    if above is None or any(b.kind == "heading" and b.span == above for b in blocks):
        return None
    return begin + above[0], begin + above[1]


def _split(text: str, block: _Block, splitter: Splitter) -> Iterable[Span]:
    is_whole = block.is_whole or block.kind != "prose"
    if is_whole and (block.size <= _WHOLE or block.kind == "row"):
        return split_pieces(text, *block.span)
    return split_prose(text, *block.span, splitter)


# -- blocks ---------------------------------------------------------------------------------------


def _find_blocks(text: str, start: int, headings: Sequence[Headed] | None) -> Iterator[_Block]:
    places = None if headings is None else [h.start for h in headings if h.start >= start]
    for table in find_tables(text):
        if table.end > start:
            yield from _find_paragraphs(text, start, max(table.start, start), places)
            yield from _read_table(text, table, start)
            start = table.end
    yield from _find_paragraphs(text, start, len(text), places)


def _read_table(text: str, table: TextTable, start: int) -> Iterator[_Block]:
    head = table.rows[: table.n_head]
    above = (head[0][0], head[-1][1]) if head else None
    for i, (a, b) in enumerate(table.rows):
        if b > start:
            block = _trim(text, _Block(max(a, start), b, "row"))
            block.above, block.is_context = (None, True) if i < len(head) else (above, False)
            yield block


def _find_paragraphs(
    text: str, start: int, end: int, places: Sequence[int] | None
) -> Iterator[_Block]:
    for match in _PARAGRAPH.finditer(text, start, end):
        begin, stop = match.span()
        cuts = [p for p in places or () if begin <= p < stop]
        for a, b in pairwise([begin, *[p for p in cuts if p > begin], stop]):
            if a in cuts or (not cuts and a == begin and _begins_heading(text, a, places)):
                line = _line_end(text, a, b)
                yield _trim(text, _Block(a, line, "heading"))
                a = line
            yield from _read_paragraph(text, a, b, places)


def _line_end(text: str, start: int, end: int) -> int:
    stop = text.find("\n", start, end)
    return end if stop < 0 else stop


def _begins_heading(text: str, place: int, places: Sequence[int] | None) -> bool:
    return places is None and _MARKED.match(text, place) is not None


def _read_paragraph(
    text: str, start: int, end: int, places: Sequence[int] | None
) -> Iterator[_Block]:
    """Yield the blocks of a paragraph, which has no blank line."""
    lines = _find_lines(text, start, end)
    if not lines:
        return
    if places is None:
        for i, (a, b) in enumerate(lines):
            if i and _MARKED.match(text, a):
                yield from _read_lines(text, lines[:i])
                yield _trim(text, _Block(a, b, "heading"))
                yield from _read_paragraph(text, b, end, places)
                return
    yield from _read_lines(text, lines)


def _find_lines(text: str, start: int, end: int) -> list[Span]:
    lines, a = [], start
    while a < end:
        b = _line_end(text, a, end)
        if has_word(text, a, b):
            lines.append((a, b))
        a = b + 1
    return lines


def _read_lines(text: str, lines: Sequence[Span]) -> Iterator[_Block]:
    stamps = [i for i, (a, b) in enumerate(lines) if _is_event(text, a, b)]
    if len(stamps) > 1:
        yield from _group(text, lines, stamps, "line")
        return
    if len(lines) == 1 and len(fields := list(_FIELD.finditer(text, *lines[0]))) > 1:
        if fields[0].start() == lines[0][0]:
            yield from _read_record(text, lines[0], [f.end() for f in fields])
            return
    if _are_labels(text, lines):
        yield from _read_labels(text, lines)
    elif len(lines) > 1 and _is_term(text, lines):
        yield _make(text, *lines[0], "term")
        yield from _read_lines(text, lines[1:])
    else:
        firsts = [i for i, (a, _) in enumerate(lines) if _begins_block(text, a)]
        groups = sorted({0, *firsts})
        for i, j in pairwise([*groups, len(lines)]):
            yield from _read_group(text, lines[i:j], is_item=i in firsts)


def _is_event(text: str, start: int, end: int) -> bool:
    stamp = _STAMP.match(text, start, end) or _DATED.match(text, start, end)
    return stamp is not None and not _ITEM.match(text, start, end)


def _group(
    text: str, lines: Sequence[Span], firsts: Sequence[int], kind: _Kind
) -> Iterator[_Block]:
    """Yield lines in groups that begin at `firsts`; what stands before these leads to them."""
    if firsts[0]:
        yield from _read_lines(text, lines[: firsts[0]])
    for i, j in pairwise([*firsts, len(lines)]):
        yield _make(text, lines[i][0], lines[j - 1][1], kind)


def _begins_block(text: str, start: int) -> bool:
    patterns = _ITEM, _ASKED, _ANSWERED, _DEFINITION
    return text[start : start + 1] == ">" or any(p.match(text, start) for p in patterns)


def _read_group(text: str, lines: Sequence[Span], *, is_item: bool) -> Iterator[_Block]:
    """Yield the blocks of lines of which only the first may have a mark."""
    start, end = lines[0][0], lines[-1][1]
    if bold := _BOLD_QUESTION.match(text, start, end):
        yield _make(text, start, bold.end(), "question")
        yield _make(text, bold.end(), end, "line")
        return
    said = text[start:end].rstrip(_MARKUP + "\n")
    asks = said.endswith(QUESTION_MARKS)
    asks = asks and (len(lines) == 1 or _is_wrapped(text, lines))
    if _ASKED.match(text, start, end) or (asks and _is_one(text, start, end)):
        yield _make(text, start, end, "question")
    elif _ANSWERED.match(text, start, end) or _DEFINITION.match(text, start, end):
        yield _make(text, start, end, "line" if end - start <= _WHOLE else "prose")
    elif is_item and _BOLD_ITEM.match(text, start, end):
        yield _make(text, start, end, "term", _indent(text, start) - 1)
    elif is_item:
        yield _make(text, start, end, "item")
    elif said.endswith((":", "：")) and len(said) <= _WHOLE:
        yield _make(text, start, end, "lead")
    elif len(lines) > 1 and not _is_wrapped(text, lines):
        yield from _read_broken(text, lines)
    elif len(lines) == 1 and len(said) <= _SHORT and not said.endswith(_ENDS):
        yield _make(text, start, end, "title")
    else:
        yield _make(text, start, end, "prose")


def _is_one(text: str, start: int, end: int) -> bool:
    """Say whether a question is alone: no sentence ends inside."""
    inner = text[start:end].rstrip(_MARKUP + "\n")[:-1]
    return len(inner) <= _WHOLE and not _SENTENCE_END.search(inner)


def _is_wrapped(text: str, lines: Sequence[Span]) -> bool:
    """Say whether lines go on: where the next word had no room, or begins in lower case."""
    width = max(_WIDTH, *(b - a for a, b in lines))
    needed = 0
    for (a, b), (c, d) in pairwise(lines):
        words = text[c:d].lstrip("#;/>* \t").split(None, 1) or [""]
        goes_on = words[0][:1].islower() and not text[a:b].rstrip().endswith((".", "!", "?"))
        needed += goes_on or (b - a) + 1 + len(words[0]) > width
    return 2 * needed >= len(lines) - 1


def _read_broken(text: str, lines: Sequence[Span]) -> Iterator[_Block]:
    """Yield lines of which each stands by itself: one block of a stanza, or one of each line."""
    ended = sum(text[a:b].rstrip(_MARKUP).endswith((".", "。")) for a, b in lines)
    start, end = lines[0][0], lines[-1][1]
    if end - start <= _WHOLE and 2 * ended <= len(lines):
        yield _make(text, start, end, "line")
        return
    for a, b in lines:
        yield _make(text, a, b, "line" if b - a <= _WHOLE else "prose")


def _is_term(text: str, lines: Sequence[Span]) -> bool:
    """Say whether the first of several lines is a term or lead-in above the others."""
    a, b = lines[0]
    said = text[a:b].strip(_MARKUP)
    if _begins_block(text, a) or len(said) > _SHORT or said.endswith((".", "!", "?", ";", ",")):
        return False
    if _DEFINITION.match(text, lines[1][0]):
        return True
    deeper = min(_indent(text, c) for c, _ in lines[1:]) > _indent(text, a)
    items = _ITEM.match(text, lines[1][0]) is not None
    first = text[lines[1][0] : lines[1][1]].split(None, 1)[0]
    return (deeper or items) and (items or (b - a) + 1 + len(first) <= _WIDTH)


def _are_labels(text: str, lines: Sequence[Span]) -> bool:
    plain = [(a, b) for a, b in lines if not _COMMENT.match(text, a)]
    labels = sum(_has_label(text, a, b) for a, b in plain)
    return labels > 1 and 2 * labels >= len(plain) and not any(
        _ASKED.match(text, a) for a, _ in lines
    )


def _has_label(text: str, start: int, end: int) -> bool:
    label = _LABEL.match(text, start, end)
    return label is not None or _SECTION.match(text, start, end) is not None


def _read_labels(text: str, lines: Sequence[Span]) -> Iterator[_Block]:
    """Yield a block of each label with its value, behind the comment above it."""
    begin: int | None = None
    open_: _Block | None = None
    for a, b in lines:
        if _COMMENT.match(text, a):
            if open_ is not None:
                yield open_
            open_, begin = None, a if begin is None else begin
            continue
        if not _has_label(text, a, b) and open_ is not None and not _ITEM.match(text, a):
            open_ = _make(text, open_.start, b, open_.kind, open_.indent)
            continue
        if open_ is not None:
            yield open_
        label = _LABEL.match(text, a, b)
        is_section = _SECTION.match(text, a, b) is not None
        is_parent = is_section or (label is not None and _NO_VALUE.match(text, label.end(), b) is not None)
        kind: _Kind = "term" if is_parent else "line"
        indent = -1 if is_section else _indent(text, a)
        open_ = _make(text, a if begin is None else begin, b, kind, indent)
        begin = None
    if open_ is not None:
        yield open_
    elif begin is not None:
        yield _make(text, begin, lines[-1][1], "prose")


def _read_record(text: str, line: Span, values: Sequence[int]) -> Iterator[_Block]:
    """Yield the fields of a record: a question and what answers it, or short ones together."""
    ends = [*(text.rfind("; ", a, b) for a, b in pairwise(values)), line[1]]
    fields = list(zip(values, ends, strict=True))
    names = [text[max(line[0], (text.rfind("; ", line[0], a) + 2) if i else line[0]) : a]
             for i, a in enumerate(values)]
    asked = [
        i
        for i, (a, b) in enumerate(fields[:-1])
        if text[a:b].rstrip().endswith(QUESTION_MARKS) or _ASKED.match(names[i])
    ]
    if asked and asked[0] + 1 < len(fields):
        answer = values[asked[0] + 1]
        yield _make(text, line[0], answer, "question")
        kind: _Kind = "line" if line[1] - answer <= _WHOLE else "prose"
        yield _make(text, answer, line[1], kind)
    elif line[1] - line[0] <= _WHOLE or all(b - a <= _SHORT for a, b in fields):
        yield _make(text, *line, "row")
    else:
        begin = line[0]
        for a, b in fields:
            if b - a > _SHORT:
                if begin < a:
                    yield _make(text, begin, a, "term")
                yield _make(text, a, b, "prose")
                begin = b
        if begin < line[1]:
            yield _make(text, begin, line[1], "row")


def _make(text: str, start: int, end: int, kind: _Kind, indent: int | None = None) -> _Block:
    own = _indent(text, start) if indent is None else indent
    return _trim(text, _Block(start, end, kind, own))


def _indent(text: str, start: int) -> int:
    """Return the columns before the first character of a line."""
    begin = text.rfind("\n", 0, start) + 1
    blank = text[begin : start + 40]
    blank = blank[: len(blank) - len(blank.lstrip(" \t>"))]
    return len(blank.expandtabs(4))


def _trim(text: str, block: _Block) -> _Block:
    piece = text[block.start : block.end]
    block.start += len(piece) - len(piece.lstrip())
    block.end = block.start + len(piece.strip())
    return block


# -- what stands above what -----------------------------------------------------------------------


def _link(text: str, blocks: list[_Block]) -> None:
    """Give each block what stands above it, and mark those that only lead to others."""
    blocks[:] = [b for b in blocks if has_word(text, b.start, b.end)]
    _name_titles(blocks)
    _mark_items(text, blocks)
    heading: Span | None = None
    question: Span | None = None
    asked_at = -1  # the indentation of the question, where that is an item
    lead: Span | None = None
    stack: list[tuple[int, Span]] = []
    for i, block in enumerate(blocks):
        follower = blocks[i + 1] if i + 1 < len(blocks) else None
        wide = question or heading
        is_item = block.kind in {"item", "term"} and block.indent <= asked_at
        if question and (block.start - question[1] > _ANSWER or is_item):
            question, wide = None, heading
        if block.kind == "heading":
            block.is_context = True
            asks = text[block.start : block.end].rstrip(_MARKUP + "#").endswith(QUESTION_MARKS)
            heading, question = block.span, block.span if asks else None
            lead, stack = None, []
            continue
        if block.kind == "row" and (block.is_context or block.above):
            block.above = block.above or lead or wide
            continue
        while stack and (stack[-1][0] >= block.indent or block.kind == "question"):
            stack.pop()
        near = stack[-1][1] if stack else None
        if block.kind == "question":
            is_asked = follower is not None and follower.kind not in {"question", "heading"}
            block.above, block.is_context = near or heading, is_asked
            question, lead = block.span if is_asked else None, None
            asked_at = block.indent if _ITEM.match(text, block.start) else -1
        elif block.kind in {"lead", "term", "title"}:
            block.above = near or wide
            leads = follower is not None and (
                follower.kind in {"item", "line", "row"} or block.kind == "term"
            )
            if leads or block.kind == "lead":
                lead = block.span
                block.is_context = leads and (block.size <= _SHORT // 2 or block.kind != "lead")
            if block.kind == "term":
                stack.append((block.indent, block.span))
        elif block.kind == "item":
            block.above = near or lead or wide
            stack.append((block.indent, block.span))
        elif block.kind == "line":
            earlier = blocks[i - 1] if i else None
            block.above = near or lead or wide
            if earlier is not None and earlier.kind == "line" and _asks(text, earlier):
                block.above = earlier.span
        else:
            block.above = near or wide
            block.is_whole = question is not None and block.above == question
            lead = None


def _asks(text: str, block: _Block) -> bool:
    return text[block.start : block.end].rstrip(_MARKUP).endswith(QUESTION_MARKS)


def _name_titles(blocks: Sequence[_Block]) -> None:
    """Make terms of titles where title and prose take turns, as in a glossary."""
    pairs = [i for i, (a, b) in enumerate(pairwise(blocks)) if a.kind == "title" and b.kind == "prose"]
    runs = [[*pairs[:1]]]
    for i in pairs[1:]:
        between = blocks[runs[-1][-1] + 1 : i]
        if all(b.kind == "prose" for b in between) and len(between) < _REPEATED:
            runs[-1].append(i)
        else:
            runs.append([i])
    for run in runs:
        if len(run) >= _REPEATED:
            for i in run:
                blocks[i].kind = "term"
                for each in blocks[i + 1 :]:
                    if each.kind != "prose":
                        break
                    each.indent = 1
                    each.kind = "line" if each.size <= _WHOLE else "prose"


def _mark_items(text: str, blocks: Sequence[_Block]) -> None:
    """Make items of short paragraphs behind a lead-in, which readers write without marks."""
    behind = False
    for block in blocks:
        if block.kind == "lead":
            behind = True
        elif behind and block.kind == "title":
            block.kind = "item"
        elif behind and block.kind == "prose" and block.size <= _WHOLE and (
            "\n" not in text[block.start : block.end]
            and not text[block.start : block.end].endswith((".", "!"))
        ):
            block.kind = "item"
        elif block.kind != "item":
            behind = False
