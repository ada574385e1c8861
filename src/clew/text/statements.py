"""Find the statements of a text, each with the heading or lead-in it depends on.

    How long can I keep items?            the question above an answer
    Films and games: one week
                                          the lead-in above the items of a list
    The crew takes along:                 the item above those that are indented below it
      - 30 m of rope                      the term above its definition
    Port | Summer                         the header above the rows of a table
    Bergen | 12                           the heading above all that has nothing nearer

A line with a label, an event of a log with the lines that go on, a message, a numbered clause and a
stanza are one statement each. Prose is cut into sentences. What only leads to others, such as a
heading, is no statement but their context, and is marked so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from clew.text.layout import (
    CODE,
    ENDS,
    ITEM,
    SHORT,
    WHOLE,
    Block,
    Span,
    end_line,
    ends_as_question,
    find_blocks,
    is_message,
    is_phrase,
    is_tag,
)
from clew.text.sections import Headed
from clew.text.sentences import NUPUNKT, Splitter, has_word, split_pieces, split_prose
from clew.text.tables import find_table

_REPEATED = 3  # terms with definitions, at least
NEAR = 3_000  # characters before a statement among which is what stands above it
_ANSWER = 2_000  # characters behind a question that may answer it


class _Moved(NamedTuple):
    """A heading of a part of a text."""

    start: int
    level: int
    title: str


class Statement(NamedTuple):
    """A self-contained range of a text, and the range that gives it context, if any."""

    start: int
    end: int
    above: Span | None = None
    is_context: bool = False  # it only leads to others, and is quoted where there is nothing else


def find_statements(
    text: str,
    start: int = 0,
    splitter: Splitter = NUPUNKT,
    headings: Sequence[Headed] | None = None,
) -> list[Statement]:
    r"""Return the statements of text[start:] and their contexts, in order.

    White space is outside every range, and every word in exactly one. Without `headings` lines
    that begin with a # and a blank are such.

    >>> text = "Leaders bring:\n- rope\n- an axe"
    >>> [(text[s.start : s.end], s.above) for s in find_statements(text)]
    [('Leaders bring:', None), ('- rope', (0, 14)), ('- an axe', (0, 14))]
    """
    return [
        Statement(a, b, block.above, block.is_context)
        for block in _join_terms(link_blocks(text, start, headings))
        for a, b in _split(text, block, splitter)
    ]


def statement_spans(text: str, start: int = 0, splitter: Splitter = NUPUNKT) -> list[Span]:
    """Return the ranges of the statements of text[start:] and of their contexts, in order."""
    return [(each.start, each.end) for each in find_statements(text, start, splitter)]


def find_above(
    text: str, place: int, headings: Sequence[Headed] | None = None, start: int = 0
) -> Span | None:
    """Return the context of the statement at a position of text[start:], None if it is a heading.

    What stands before `start`, such as the title of a document, is none.
    """
    if (table := find_table(text, place)) and table.n_head:
        return table.rows[0][0], table.rows[table.n_head - 1][1]
    begin = max(text.rfind("\n\n", 0, max(place - NEAR, 0)) + 1, start)
    if headings is not None:
        inside = (h for h in headings if begin <= h.start < place + NEAR)
        headings = [_Moved(h.start - begin, h.level, h.title) for h in inside]
    blocks = link_blocks(text[begin : place + NEAR], 0, headings)
    above = next((b.above for b in blocks if b.start <= place - begin < b.end), None)
    if above is None or any(b.kind == "heading" and b.span == above for b in blocks):
        return None
    return begin + above[0], begin + above[1]


def _split(text: str, block: Block, splitter: Splitter) -> Iterable[Span]:
    is_whole = splitter == NUPUNKT and (block.is_whole or block.kind not in {"prose", "title"})
    if block.kind in {"row", "code"} or (is_whole and block.size <= WHOLE):
        return split_pieces(text, *block.span)
    return split_prose(text, *block.span, splitter)


def link_blocks(text: str, start: int, headings: Sequence[Headed] | None) -> list[Block]:
    """Return the blocks of a text, each with its context."""
    blocks = [b for b in find_blocks(text, start, headings) if has_word(text, *b.span)]
    _name_terms(text, blocks)
    _mark_items(text, blocks)
    levels = _Levels()
    for earlier, block, follower in zip([None, *blocks], blocks, [*blocks[1:], None], strict=False):
        levels.place(text, block, earlier, follower)
    return blocks


@dataclass(slots=True)
class _Levels:
    """The possible contexts of the next block."""

    heading: Span | None = None
    question: Span | None = None
    asked_at: int = -1  # the indentation of the question, where that is an item
    lead: Span | None = None
    parents: list[tuple[int, Span]] = field(default_factory=list)  # by their indentation

    def place(self, text: str, block: Block, earlier: Block | None, follower: Block | None) -> None:
        """Return the context of a block, between an earlier one and its follower."""
        if block.kind == "heading":
            self._open_heading(text, block)
            return
        is_title = block.kind == "title" and follower and not text[: block.start].strip()
        if is_title or is_tag(text, *block.span):
            block.is_context = True
            self.heading = block.span if is_title else self.heading  # of the whole text
            return
        self._close_levels(block)
        wide = self.question or self.heading
        near = self.parents[-1][1] if self.parents else None
        if block.kind == "row":
            block.above = block.above or self.lead or wide
        elif block.kind == "question":
            self._open_question(text, block, follower, near)
        elif block.kind in {"lead", "term", "title"}:
            block.above = _find_lead_in(text, earlier, block) or near or wide
            self._add_context(text, block, follower)
        elif block.kind in {"item", "line"}:
            block.above = near or self.lead or wide
            if earlier is not None and earlier.kind == block.kind == "line":
                is_asked = ends_as_question(text[slice(*earlier.span)])
                is_stanza = "\n" in text[slice(*earlier.span)] and not is_message(
                    text, *earlier.span
                )
                if is_asked and not is_stanza:
                    block.above = earlier.span
        else:
            block.above = _find_lead_in(text, earlier, block) or near or wide
            block.is_whole = self.question is not None and block.above == self.question
            self.lead = None
        if block.kind in {"item", "term", "code"}:
            first = block.start, end_line(text, *block.span)
            self.parents.append((block.indent, first if block.kind == "code" else block.span))

    def _close_levels(self, block: Block) -> None:
        """Drop contexts that no longer apply: a distant question, items of equal depth."""
        if self.question is not None:
            is_next = block.kind in {"item", "term"} and block.indent <= self.asked_at
            if is_next or block.start - self.question[1] > _ANSWER:
                self.question = None
        depth = -2 if block.kind in {"question", "row"} else block.indent
        while self.parents and self.parents[-1][0] >= depth:
            self.parents.pop()

    def _open_heading(self, text: str, block: Block) -> None:
        block.is_context = not CODE.match(text, *block.span)
        self.heading, self.lead, self.parents = block.span, None, []
        self.question = block.span if ends_as_question(text[slice(*block.span)]) else None
        self.asked_at = -1

    def _open_question(
        self, text: str, block: Block, follower: Block | None, near: Span | None
    ) -> None:
        is_answered = follower is not None and follower.kind not in {"question", "heading"}
        block.above, block.is_context = near or self.heading, is_answered
        self.question, self.lead = block.span if is_answered else None, None
        self.asked_at = block.indent if ITEM.match(text, block.start) else -1

    def _add_context(self, text: str, block: Block, follower: Block | None) -> None:
        """Add a lead-in, term or title as context of the following blocks.

        One with a number, and a long lead-in, says something by itself, too.
        """
        behind = None if follower is None else follower.kind
        leads = behind in {"item", "line", "row"} or (behind is not None and block.kind == "term")
        if leads or block.kind == "lead":
            self.lead = block.span
            is_short = block.kind != "lead" or block.size <= SHORT // 2
            has_digit = any(map(str.isdigit, text[block.start : block.end]))
            block.is_context = leads and is_short and (behind == "row" or not has_digit)


def _find_lead_in(text: str, earlier: Block | None, block: Block) -> Span | None:
    """Return the preceding line if this block completes it: "use", or "as follows:"."""
    if earlier is None or earlier.size > WHOLE:
        return None
    is_open = earlier.kind in {"prose", "title"} and not _ends(text, earlier)
    begins = earlier.kind == "lead" or (is_open and block.indent > earlier.indent)
    return earlier.span if begins else None


def _ends(text: str, block: Block) -> bool:
    return text[block.start : block.end].endswith(ENDS)


def _name_terms(text: str, blocks: Sequence[Block]) -> None:
    """Reclassify titles as terms if they alternate with prose or have indented text."""
    for block, follower in pairwise(blocks):
        is_term = block.kind == "title" or (block.kind == "prose" and is_phrase(text, *block.span))
        if is_term and follower.indent > block.indent and not _ends(text, block):
            block.kind = "term"
    kinds = [block.kind for block in blocks]
    titles = [i for i, pair in enumerate(pairwise(kinds)) if pair == ("title", "prose")]
    runs: list[list[int]] = []
    for i in titles:
        between = kinds[runs[-1][-1] + 1 : i] if runs else []
        if 0 < len(between) < _REPEATED and set(between) == {"prose"}:
            runs[-1].append(i)
        else:
            runs.append([i])
    for i in (i for run in runs if len(run) >= _REPEATED for i in run):
        blocks[i].kind = "term"
        for block in blocks[i + 1 :]:
            if block.kind != "prose":
                break
            block.indent, block.is_whole = 1, True
            block.kind = "line" if block.size <= WHOLE else "prose"


def _mark_items(text: str, blocks: Sequence[Block]) -> None:
    """Reclassify short paragraphs after a lead-in as list items."""
    is_behind = False
    for block in blocks:
        said = text[block.start : block.end]
        is_short = block.size <= WHOLE and "\n" not in said and not said.endswith((".", "!"))
        if is_behind and (block.kind == "title" or (block.kind == "prose" and is_short)):
            block.kind = "item"
        is_behind = block.kind == "lead" or (is_behind and block.kind == "item")


def _join_terms(blocks: Sequence[Block]) -> list[Block]:
    """Join each term with its definition if that is one short block."""
    joined: list[Block] = []
    for i, block in enumerate(blocks):
        term = joined[-1] if joined else None
        is_only = i + 1 == len(blocks) or blocks[i + 1].above != block.above
        if (
            term is not None
            and term.kind == "term"
            and block.kind in {"line", "prose"}
            and block.above == term.span
            and block.end - term.start <= WHOLE
            and is_only
        ):
            joined.pop()
            block.start, block.above, block.is_whole = term.start, term.above, True
        joined.append(block)
    return joined
