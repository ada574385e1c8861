"""Align texts in terminal columns; a Chinese character or an emoji takes two.

rich knows the widths; it is loaded for the first text that needs them.
"""

from collections.abc import Sequence


def width_of(text: str) -> int:
    """Return the width of a line in columns.

    >>> width_of("Fram"), width_of("南极洲")
    (4, 6)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def fit(text: str, width: int) -> str:
    """Truncate or pad a line to `width` columns."""
    if text.isascii():
        return text.ljust(width)[:width]
    from rich.cells import set_cell_size

    return set_cell_size(text, width)


def wrap(text: str, width: int) -> list[str]:
    """Wrap `text` to lines of at most `width` columns.

    A word that is wider than a line begins where there is room, and goes on in the next lines.

    >>> wrap("The Fram sailed to 南极洲", 10)
    ['The Fram', 'sailed to', '南极洲']
    """
    lines = [""]
    for word in text.split():
        line = f"{lines[-1]} {word}".lstrip()
        if width_of(line) <= width:
            lines[-1] = line
        elif width_of(word) <= width:
            lines.append(word)
        else:
            lines[-1:] = [part.strip() for part in _chop(line, width)]
    return lines


def shorten(line: str, width: int, mark: str) -> str:
    """Truncate a line to `width` columns at a word, and append `mark`.

    >>> shorten("The Fram sailed", 12, " …"), shorten("弗拉姆号探险船", 8, " …")
    ('The Fram …', '弗拉姆 …')
    """
    room = width - width_of(mark)
    while width_of(line) > room:
        line = line.rpartition(" ")[0] or _chop(line, room)[0]
    return line + mark


def align(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return rows as lines with left-aligned columns, then right-aligned ones."""
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        blanks = (" " * (w - width_of(cell)) for cell, w in zip(row, widths, strict=True))
        padded = enumerate(zip(row, blanks, strict=True))
        lines.append("  ".join(c + blank if i < left else blank + c for i, (c, blank) in padded))
    return lines


def _chop(text: str, width: int) -> list[str]:
    from rich.cells import chop_cells

    return chop_cells(text, width)
