"""Pack several short texts into one prompt, and split the reply.

A text is what models read of a chunk: its document's title on a line of its own, then the chunk's
text. In a prompt each text is one numbered line. No text has a line break left in it, so none can
begin a line and pass for another; and a reply has one key for each number, which its schema fixes.
A text that imitates parts of a prompt all the same shares its prompt with no other.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clew.models.prompts.quoted import Excerpt
from clew.text import tokens
from clew.text.imitations import imitates
from clew.text.normalize import collapse

_MOST, _LIMIT = 8, 256  # texts that share a prompt, and their tokens


def pack_texts(texts: Sequence[str], sizes: Sequence[int]) -> list[list[int]]:
    """Group texts, given their token counts, to share prompts; return their positions.

    A group has at most 8 texts of at most 256 tokens together. A longer text stands alone, and so
    does one that imitates a prompt. Texts that share a prompt also share its instruction's tokens.
    """
    groups: list[list[int]] = []
    n_held = 0
    for position, (text, size) in enumerate(zip(texts, sizes, strict=True)):
        n_needed = max(size, _LIMIT + 1) if imitates(text) else size
        if groups and len(groups[-1]) < _MOST and n_held + n_needed <= _LIMIT:
            groups[-1].append(position)
            n_held += n_needed
        else:
            groups.append([position])
            n_held = n_needed
    return groups


def to_line(text: str) -> str:
    """Return `text` on one line, with a bar in place of each line break."""
    return " | ".join(filter(None, map(collapse, text.splitlines())))


def number_texts(texts: Sequence[str]) -> list[Excerpt]:
    """Return each text as one line, with its number in brackets."""
    return [Excerpt(f"[{number}] ", to_line(text)) for number, text in enumerate(texts, 1)]


def shorten(text: str) -> str:
    """Return the beginning of a text as one line of at most 40 tokens."""
    return tokens.truncate(collapse(text), 40)


def valid_places(numbers: Iterable[float], n: int) -> list[int]:
    """Return the distinct indices, from 0, of valid numbers between 1 and `n`.

    JSON may write a whole number as 2.0.
    """
    return [int(number) - 1 for number in dict.fromkeys(numbers) if 1 <= number <= n]


def reply_schema(n_texts: int, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a reply with one `part` for each of `n_texts` numbered texts."""
    return closed_schema({str(number): part for number in range(1, n_texts + 1)})


def closed_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these properties."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def split_reply(data: Any, n_texts: int) -> list[Any]:  # noqa: ANN401 -- parsed JSON
    """Return the part of a reply for each numbered text, or None."""
    if not isinstance(data, Mapping):
        return [None] * n_texts
    return [data.get(str(number)) for number in range(1, n_texts + 1)]
