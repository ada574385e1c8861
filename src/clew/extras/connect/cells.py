"""Guard table cells against being read as formulas by a spreadsheet.

A cell that begins with = + - @, or with a full-width form of these, is a formula to a spreadsheet,
and a formula can open a link or a program. An apostrophe before it makes it a text. Numbers are
left as they are.
"""

import re

_FORMULA = re.compile(r"'*[=+\-@＝＋－＠]")
_GUARDED = re.compile(r"'(?='*[=+\-@＝＋－＠])")
_NUMBER = re.compile(r"[+-]?(?:\d[\d,]*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?%?")


def guard(cell: str) -> str:
    """Prefix a cell that would be a formula; `unguard` undoes this.

    >>> guard("=1+1"), guard("-1.5")
    ("'=1+1", '-1.5')
    """
    is_formula = _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def unguard(cell: str) -> str:
    """Undo `guard`.

    >>> unguard("'=1+1"), unguard("'t Hooft")
    ('=1+1', "'t Hooft")
    """
    return _GUARDED.sub("", cell, count=1) if _GUARDED.match(cell) else cell
