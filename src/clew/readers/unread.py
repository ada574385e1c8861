"""Describe the non-text content of files: pictures, and unread parts."""

from collections.abc import Iterator, Mapping

from clew.text.normalize import collapse
from clew.text.quantities import format_count


def describe_picture(alternative: str) -> str:
    """Return a picture's alternative text for a document, "" for a single word.

    >>> describe_picture("Sales rose to 4.2 million"), describe_picture("logo.png")
    ('[Picture: Sales rose to 4.2 million]', '')
    """
    words = collapse(alternative)
    return f"[Picture: {words}]" if " " in words else ""


def describe_unread(counts: Mapping[str, int], verb: str = "not read") -> Iterator[str]:
    """Yield a note on each kind of unread or otherwise treated content."""
    for what, n in counts.items():
        if n:
            yield f"{format_count(n, what)} {verb}"
