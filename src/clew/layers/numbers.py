"""Numbers for strings, by first occurrence."""

from __future__ import annotations

from collections.abc import Callable


class Numbers:
    """`numbers[text]` is the number of a string, which gets the next one when it is new.

    `form` brings spellings of one string together; it is applied to what is not known as it is.
    """

    def __init__(self, form: Callable[[str], str] = str) -> None:
        self._form = form
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers.setdefault(self._form(text), len(self._numbers))
        return number

    def texts(self) -> list[str]:
        """Return the strings in the order of their numbers."""
        return list(self._numbers)
