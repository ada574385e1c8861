"""A conversation as a file: JSON lines, each a question and its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from clew.cli.plain import to_json_line
from clew.errors import InputError

if TYPE_CHECKING:
    from clew.types import Exchange


def read_turns(path: Path | None) -> tuple[Exchange, ...]:
    """Return the turns in a file, none where it is not there. Raises InputError."""
    if path is None or not path.exists():
        return ()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read as a conversation: {error}") from error
    return tuple(_parse_turns(path, lines))


def _parse_turns(path: Path, lines: list[str]) -> Iterator[Exchange]:
    from clew.types import Exchange

    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            turn = json.loads(line)
            asked, said = turn["question"], turn["answer"]
        except (ValueError, RecursionError, KeyError, TypeError):
            asked = said = None
        if not (isinstance(asked, str) and isinstance(said, str)):
            raise InputError(
                f"{path}, line {number}, is no turn of a conversation: write each as one JSON"
                f' object such as {{"question": "Who?", "answer": "He."}}'
            )
        yield Exchange(asked, said)


def write_turn(path: Path, question: str, answer: str) -> None:
    """Write a turn at the end of a file. Raises InputError."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{to_json_line({'question': question, 'answer': answer})}\n")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
