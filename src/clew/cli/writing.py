"""An answer on a terminal while an LLM writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import click

from clew.cli.plain import dim, one_line, terminal_width
from clew.display.columns import wrap

if TYPE_CHECKING:
    from clew.types import Answer

_ANEW = "(that reply is of no use: another one, or quotes)"
_NARROWEST = 20  # columns


class AnswerWriter:
    """Prints an answer's text as it comes, in the lines of `clew.cli.plain.wrap_text`.

    One piece is always kept back: of an answer that is quoted, or that no LLM wrote, there is but
    one, and that is shown otherwise. As a block it ends the line where an error ends the answer.
    """

    def __init__(self) -> None:
        self._last = ""
        self._reset()

    def _reset(self) -> None:
        self._line = ""  # on which something may still be written
        self._word = ""  # whose end did not come yet
        self._has_printed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None and self._has_printed:
            click.echo()

    def __call__(self, piece: str | None) -> None:
        """Take a further piece; None: what came does not count."""
        if piece is None:
            self._abandon()
            self._last = ""
            return
        self._print(self._last)
        self._last = piece

    def finish(self, answer: Answer) -> bool:
        """Print what is left of an answer, and say whether all of its text stands there."""
        if answer.kind != "generated" or not self._last:
            self._abandon()
            return False
        self._print(f"{self._last} ")
        self._last = ""
        click.echo("\n")
        return True

    def _abandon(self) -> None:
        if self._has_printed:
            click.echo(f"\n{dim(_ANEW)}\n")
        self._reset()

    def _print(self, text: str) -> None:
        *words, self._word = f"{self._word}{text}".split(" ")
        width = max(terminal_width(), _NARROWEST)
        for word in filter(None, map(one_line, words)):
            line = f"{self._line} {word}" if self._line else word
            lines = wrap(line, width)
            click.echo("\n".join(lines)[len(self._line) :], nl=False)
            self._line, self._has_printed = lines[-1], True
