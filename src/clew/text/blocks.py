"""Format a context from blocks with additive token counts: passages and table lines.

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
    """Return a passage: a line with number and head, the text, and a blank line.

    The head is title, section and pages (`clew.text.sections.format_head`).
    """
    line = f"[{number}] {collapse(head)}".rstrip()
    return f"{line}\n{text.strip()}\n\n"


def count_passage_tokens(head: str, text: str) -> int:
    """Return the tokens of a passage numbered from 1 to 999."""
    return tokens.count(format_passage(1, head, text))


def format_table(name: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table: name, columns, a line for each row, a rule and a blank line."""
    return "".join([format_table_head(name, columns), *map(format_row, rows), _RULE])


def count_table_tokens(name: str, columns: Sequence[str]) -> int:
    """Return the tokens of a table without rows."""
    return tokens.count(format_table(name, columns, ()))


def count_row_tokens(cells: Sequence[str]) -> int:
    """Return the tokens that a row adds to its table."""
    return tokens.count(format_row(cells))


def truncate_passage(head: str, text: str, limit: int) -> tuple[str, str]:
    """Truncate a head and a text so that their passage has at most `limit` tokens.

    Where the whole does not fit, a head of more than half of the limit is left out. The text is ""
    where no word fits beside the number and the head.
    """
    if 2 * tokens.count(head) > limit and count_passage_tokens(head, text) > limit:
        head = ""
    while text and (over := count_passage_tokens(head, text) - limit) > 0:
        text = tokens.truncate(text, tokens.count(text) - over)
    return head, text if text.strip() else ""


def format_table_head(name: str, columns: Sequence[str]) -> str:
    """Return the head of a table: a line for its name and one for its columns."""
    return f"{collapse(f'Table: {name}')}\n{format_row(columns)}"


def format_row(cells: Sequence[str]) -> str:
    """Join cells by bars; an empty row is a single bar."""
    line = _BAR.join(collapse(cell.replace(_BAR, _INNER_BAR)) for cell in cells)
    return f"{line or _BAR}\n"
