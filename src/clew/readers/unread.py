"""Words for what a file holds beside its text: pictures, and what is not read."""

from collections.abc import Iterator, Mapping

from clew.text.normalize import collapse
from clew.text.quantities import format_count


def describe_picture(alternative: str) -> str:
    """Return the alternative text of a picture as it stands in a text, "" for a lone word.

    >>> describe_picture("Sales rose to 4.2 million"), describe_picture("logo.png")
    ('[Picture: Sales rose to 4.2 million]', '')
    """
    words = collapse(alternative)
    return f"[Picture: {words}]" if " " in words else ""


def describe_unread(counts: Mapping[str, int], verb: str = "not read") -> Iterator[str]:
    """Yield a note on things that are not read, or else treated, by what they are called."""
    for what, n in counts.items():
        if n:
            yield f"{format_count(n, what)} {verb}"
