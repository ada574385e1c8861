"""Format a context from blocks whose tokens add up: passages, and the lines of tables.

A block begins with a character that is no white space and ends with a line break. The splitter of
cl100k_base cuts there whatever stands on either side, and it merges nothing across a cut. So a
context has as many tokens as its blocks have, each counted by itself.
"""

from collections.abc import Iterable, Sequence

from clew.text import tokens
from clew.text.normalize import collapse

_BAR, _INNER_BAR = "|", "/"
_RULE = "---\n\n"  # below a table: a blank line of its own would be no block


def format_passage(number: int, head: str, text: str) -> str:
    """Return a passage: its number and head on a line, its text below, and a blank line.

    The head is title, section and pages (`clew.text.sections.format_head`).
    """
    line = f"[{number}] {collapse(head)}".rstrip()
    return f"{line}\n{text.strip()}\n\n"


def count_passage_tokens(head: str, text: str) -> int:
    """Return the tokens of a passage, whatever its number from 1 to 999."""
    return tokens.count(format_passage(1, head, text))


def format_table(name: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table: its name, its columns, a line for each row, a rule and a blank line."""
    return "".join([format_table_head(name, columns), *map(format_row, rows), _RULE])


def count_table_tokens(name: str, columns: Sequence[str]) -> int:
    """Return how many tokens a table without rows has."""
    return tokens.count(format_table(name, columns, ()))


def count_row_tokens(cells: Sequence[str]) -> int:
    """Return how many tokens a row adds to its table."""
    return tokens.count(format_row(cells))


def truncate_passage(head: str, text: str, limit: int) -> tuple[str, str]:
    """Return a head and text, cut between tokens so that their passage has `limit` at most.

    Where the whole does not fit, a head of more than half of the limit is left out. The text is ""
    where no word fits beside the number and the head.
    """
    if 2 * tokens.count(head) > limit and count_passage_tokens(head, text) > limit:
        head = ""
    while text and (over := count_passage_tokens(head, text) - limit) > 0:
        text = tokens.truncate(text, tokens.count(text) - over)
    return head, text if text.strip() else ""


def format_table_head(name: str, columns: Sequence[str]) -> str:
    """Return the head of a table: its name and its columns, a line each."""
    return f"{collapse(f'Table: {name}')}\n{format_row(columns)}"


def format_row(cells: Sequence[str]) -> str:
    """Return cells as one line, kept apart by bars; a row without a word is a bar."""
    line = _BAR.join(collapse(cell.replace(_BAR, _INNER_BAR)) for cell in cells)
    return f"{line or _BAR}\n"
