"""Drop invisible characters inside words before comparing them.

They are soft hyphens, zero-width spaces and joiners of words, marks of a direction, byte order
marks, and the escape codes by which programs colour their output. What joins or parts the letters
of a script stays: ZWJ and ZWNJ, and zero-width spaces in scripts without spaces.
"""

from collections.abc import Sequence

from clew.base.runtime.lazy import compile_re

# Written without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_CODE = "\x1b(?:\\[[0-9:;<=>?]*[ -/]*[@-~]|\\][^\x07\x1b]{0,300}(?:\x07|\x1b\\\\))"  # ECMA-48
_CODES = compile_re(_CODE)
_UNSEEN = compile_re(
    f"{_CODE}|["
    "\u00ad\u061c\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
    f"|(?<![{UNSPACED}])\u200b(?![{UNSPACED}])"
)


def drop_unseen(text: str) -> str:
    r"""Return a text without invisible characters.

    >>> drop_unseen("co\u00adop\u00aderative"), drop_unseen("\x1b[1mstarted\x1b[0m")
    ('cooperative', 'started')
    """
    return text if _is_plain(text) else _UNSEEN.sub("", text)


def drop_and_place(text: str) -> tuple[str, Sequence[int]]:
    """Drop invisible characters; also return the offset of each other one and the end.

    A range of the new text is `places[start], places[end - 1] + 1` of the old one.
    """
    if _is_plain(text) or not (spans := [match.span() for match in _UNSEEN.finditer(text)]):
        return text, range(len(text) + 1)
    starts = [0, *(end for _, end in spans)]
    ends = [*(start for start, _ in spans), len(text) + 1]
    places = [place for pair in zip(starts, ends, strict=True) for place in range(*pair)]
    return _UNSEEN.sub("", text), places


def blank_codes(text: str) -> str:
    """Replace escape codes by spaces of the same length, for models that read them."""
    if "\x1b" not in text:
        return text
    return _CODES.sub(lambda match: " " * len(match[0]), text)


def _is_plain(text: str) -> bool:
    """Check whether a text has none of these: none of them is printable."""
    if text.isascii():
        return "\x1b" not in text
    return text.replace("\n", " ").isprintable()
