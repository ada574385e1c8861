"""Find the steps of a procedure: the list of which one, or the lead-in, stands at a position."""

import re
from collections.abc import Iterator, Sequence

from clew.base.runtime.lazy import compile_re
from clew.text.analyze import term_set
from clew.text.layout import ITEM, Block, Span, ends_as_question
from clew.text.sections import Headed
from clew.text.statements import NEAR, link_blocks

_NUMBER = compile_re(r"\(?(?:(\d{1,3})|([a-zA-Z]))[.)][ \t]")
_ANNOUNCES = compile_re(
    r"\b(?:steps?|procedure|following|follows|in (?:this|that) order|checklist"
    r"|schritte?|wie folgt|folgende\w*|reihenfolge|étapes?|pasos?)\b",
    re.IGNORECASE,
)


def find_steps(
    text: str, place: int, headings: Sequence[Headed], question: str, longest: int
) -> Span | None:
    r"""Return the range of the steps around a position, as many whole ones as fit `longest`.

    Steps are numbered from 1 or A on, or stand below words that announce them, or of which the
    question has half. None where there are fewer than two, or the position is behind those.

    >>> text = "Do this:\n1. Stop.\n2. Look.\n\nThat is all."
    >>> text[slice(*find_steps(text, 12, (), "How do I cross?", 900))]
    '1. Stop.\n2. Look.'
    """
    begin = text.rfind("\n\n", 0, max(place - NEAR, 0)) + 1
    end = min([place + NEAR, *(h.start for h in headings if h.start > place)])
    blocks = link_blocks(text[:end], begin, None)
    at = next((i for i, b in enumerate(blocks) if b.start <= place < b.end), None)
    own = None if at is None else _find_item(text, blocks, at)
    if at is None or own is None:
        return None
    items = [*reversed([*_walk(text, blocks, own, -1)]), own, *_walk(text, blocks, own, 1)]
    above = [blocks[i].span for i in {items[0] - 1, at} if 0 <= i < items[0]]
    above += filter(None, [blocks[items[0]].above])
    if len(items) < 2 or not _are_steps(text, [blocks[i] for i in items], above, question):
        return None
    start, indent = blocks[min(at, items[0])].start, blocks[own].indent
    behind = range(items[-1] + 1, len(blocks))
    stops = [*items[1:], next((i for i in behind if blocks[i].indent <= indent), len(blocks))]
    fitting = [end for i in stops if (end := blocks[i - 1].end) - start <= longest]
    return (start, fitting[-1]) if len(fitting) > 1 and place < fitting[-1] else None


def _find_item(text: str, blocks: Sequence[Block], at: int) -> int | None:
    """Return the item that a block is, belongs to or leads to; a numbered one around others."""
    block, number = blocks[at], _number(text, blocks[at])
    if number is None and at + 1 < len(blocks) and _number(text, blocks[at + 1]) is not None:
        leads = block.kind == "lead" or _ANNOUNCES.search(text, *block.span)
        if leads or blocks[at + 1].above == block.span:
            return at + 1
    found = None if number is None else at
    indent = block.indent
    for i in range(at - 1, -1, -1):
        each = blocks[i]
        if each.indent < indent:
            other = _number(text, each)
            if other is None:
                break
            found, indent = (i if other or found is None else found), each.indent
    return found


def _walk(text: str, blocks: Sequence[Block], own: int, step: int) -> Iterator[int]:
    """Yield the items of the same list before (-1) or behind (1) an item, nearest first.

    Between two numbers that follow each other may stand what is not indented, such as code.
    """
    indent, number = blocks[own].indent, _number(text, blocks[own])
    for i in range(own + step, len(blocks) if step > 0 else -1, step):
        each, other = blocks[i], _number(text, blocks[i])
        if each.indent == indent and other is not None:
            if other != (number + step if number else 0) or (number and not other):
                return
            number = other
            yield i
        elif each.kind in {"heading", "question"} or (each.indent <= indent and not number):
            return


def _are_steps(text: str, items: Sequence[Block], above: Sequence[Span], question: str) -> bool:
    if any(ends_as_question(text[slice(*each.span)]) for each in items):
        return False
    if _number(text, items[0]):
        return _number(text, items[0]) == 1
    asked, words = term_set(question), [term_set(text[slice(*span)]) for span in above]
    is_asked = any(each and 2 * len(asked & each) >= len(each) for each in words)
    return is_asked or any(_ANNOUNCES.search(text, *span) for span in above)


def _number(text: str, block: Block) -> int | None:
    """Return the number of an item, a letter's place in the alphabet, 0 of a mark, else None."""
    if match := _NUMBER.match(text, block.start, block.end):
        return int(match[1]) if match[1] else ord(match[2].lower()) - ord("a") + 1
    return 0 if ITEM.match(text, block.start, block.end) else None
