"""Write the numbers of lists as letters, Roman numerals or words of other scripts."""

from collections.abc import Callable, Mapping

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
    (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_HIGHEST = 32_767  # number of a list that Word has
LETTERED = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщыэюя"
_HAN = "〇一二三四五六七八九"


def format_number(number: int, form: str) -> str:
    """Format a list number in one of Word's numbering styles; an unknown style gives digits.

    >>> format_number(4, "upperRoman"), format_number(28, "lowerLetter")
    ('IV', 'bb')
    """
    if form == "none":
        return ""
    write = _FORMS.get(form) if 0 < number <= _HIGHEST else None
    return write(number) if write else str(number)


def _roman(number: int) -> str:
    written = ""
    for value, letters in _ROMAN:
        written += letters * (number // value)
        number %= value
    return written


def _letter(number: int, letters: str = "abcdefghijklmnopqrstuvwxyz") -> str:
    times, place = divmod(number - 1, len(letters))
    return letters[place] * (times + 1)


def _han(number: int) -> str:
    if number > 99:
        return str(number)
    tens, ones = divmod(number, 10)
    ten = "" if not tens else "十" if tens == 1 else f"{_HAN[tens]}十"
    return ten + (_HAN[ones] if ones or not tens else "")


_FORMS: Mapping[str, Callable[[int], str]] = {
    "lowerRoman": _roman,
    "upperRoman": lambda number: _roman(number).upper(),
    "lowerLetter": _letter,
    "upperLetter": lambda number: _letter(number).upper(),
    "russianLower": lambda number: _letter(number, _RUSSIAN),
    "russianUpper": lambda number: _letter(number, _RUSSIAN.upper()),
    "decimalZero": lambda number: f"{number:02}",
    **dict.fromkeys(
        "chineseCounting chineseCountingThousand japaneseCounting taiwaneseCounting".split(), _han
    ),
}
