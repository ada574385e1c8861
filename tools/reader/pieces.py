"""Turn what the reader is shown into pieces, alike in training and where it is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokenizers import Tokenizer

CLS, SEP = 101, 102
MOST = 144  # pieces of an input
OF_QUESTION, OF_BRIDGE, OF_TITLE, OF_ABOVE, OF_STATEMENT = 40, 40, 12, 14, 70


@dataclass(frozen=True)
class Pieces:
    """The pieces of an input, its token types, and the range of each statement (0, 0: cut off)."""

    ids: list[int]
    types: list[int]
    ranges: list[tuple[int, int]]


def encode(
    tokenizer: Tokenizer,
    question: str,
    bridge: str,
    title: str,
    statements: Sequence[str],
    above: Sequence[str],
) -> Pieces:
    """Return the pieces of `[CLS] question [SEP] bridge [SEP] title . statements [SEP]`."""

    def cut(text: str, most: int) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False).ids[:most] if text else []

    ids = [CLS, *cut(question, OF_QUESTION), SEP, *cut(bridge, OF_BRIDGE), SEP]
    n_first = len(ids)
    ids += cut(f"{title}.", OF_TITLE) if title else []
    ranges, last = [], ""
    for text, head in zip(statements, above, strict=True):
        lead = cut(head, OF_ABOVE) if head and head != last else []
        own = cut(text, OF_STATEMENT)
        start = len(ids) + len(lead)
        end = min(start + len(own), MOST - 1)
        ids += [*lead, *own]
        ranges.append((start, end) if end - start > min(3, len(own) - 1) else (0, 0))
        last = head
    ids = [*ids[: MOST - 1], SEP]
    return Pieces(ids, [0] * n_first + [1] * (len(ids) - n_first), ranges)
