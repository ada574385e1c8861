"""Decide whether a table holds records, and determine its columns' types.

In a table of records the header names the columns, and the rows are of one shape. Boxes of names
and values, tables that lay out a page, and navigation are none. Identifiers are never amounts,
though they may be numbers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from clew.base.runtime.lazy import compile_re
from clew.text.amounts import Amounts, is_empty, read_amounts
from clew.text.analyze import STOP_WORDS
from clew.text.counting import Token, find_token_base, read_tokens
from clew.text.normalize import fold

ColumnKind = Literal["identifier", "measure", "date", "flag", "text"]

YES = frozenset("yes true y x ja oui si 1 ✓ ✔".split())
NO = frozenset("no false n nein non 0 ✗".split())
_IDENTIFYING = frozenset(
    "id code no nr num number nummer ref reference sku key isbn ean iban zip plz"
    " postcode phone telephone telefon latitude longitude lat lon lng rank position".split()
)
_ORDINAL = frozenset(
    "week month year quarter day floor class version page chapter woche monat jahr".split()
)
# Names of a first column whose numbers are years: those of orders from 2001 on are none.
_YEARS = frozenset(map(find_token_base, "year season date since built founded jahr".split()))
_TOTALS = frozenset(
    "total totals subtotal sum sums average mean overall summe gesamt gesamtsumme zwischensumme"
    " insgesamt durchschnitt mittelwert".split()
)
_BEFORE_TOTAL = frozenset("grand sub net overall".split())
_UNIT = compile_re(
    r"[\(\[]\s*([^)\]]{1,20})\s*[\)\]]|,\s*([a-z%°²³/]{1,6})$|\bin ([a-z²³%]{1,12})$"
    r"|(?<=\w )(mm|cm|m|km|g|kg|eur|usd|gbp|nok|chf|ms|kb|mb)$",
    re.IGNORECASE,
)
_EMPHASIS = compile_re(r"[*_]{1,3}(.*?)[*_]{1,3}")
_OPPOSITES = (  # values of a column that says which way an amount goes
    {"in", "out"}, {"debit", "credit"}, {"income", "expense"}, {"receipt", "payment"},
    {"deposit", "withdrawal"}, {"buy", "sell"}, {"soll", "haben"}, {"eingang", "ausgang"},
    {"einnahme", "ausgabe"}, {"+", "-"},
)  # fmt: skip
_CURRENCY_COLUMNS = frozenset("currency currencies curr ccy währung devise moneda".split())
_LONGEST_NAME, _MOST_WORDS = 60, 8  # characters and words of a column's name
_LONGEST_KEY = 60  # characters of what names a row
_LEAST_ADDED = 2  # rows that one sums up
_NEARLY = 0.011  # between a sum and what is rounded
_MOST = 0.8  # of the rows, so many have the shape of a record


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column: the words and unit of its name, its kind, and its numbers or dates."""

    name: str
    words: tuple[str, ...]  # the bases of the name's words
    unit: str
    kind: ColumnKind
    amounts: Amounts | None  # of measures and dates

    @property
    def is_counted(self) -> bool:
        """Check whether "how many" sums up the column: "Cars" and "Quantity", not "Week"."""
        is_quantity = bool(QUANTITIES.intersection(self.words))
        is_plural = any(map(_is_plural, read_tokens(plain_name(self.name))))
        return self.kind == "measure" and (is_quantity or is_plural)


QUANTITIES = frozenset(
    map(find_token_base, "quantity qty amount pieces units count stück menge anzahl".split())
)


_MONEY = frozenset(
    map(
        find_token_base,
        "amount total sum price cost fee salary wage rent fare revenue sale betrag summe preis"
        " kosten umsatz beitrag gehalt miete".split(),
    )
)
_CURRENCIES = frozenset("$ € £ ¥ eur usd gbp chf nok sek dkk jpy".split())
_RATE = compile_re(r"\b(?:per|unit|each|rate|tax|vat|einzel\w*)\b|/", re.IGNORECASE)
_WHOLE = frozenset(("total", "sum", "summe", "amount", "betrag"))


def are_records(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Check whether a table in a text holds records.

    >>> are_records(["Port", "Boats"], [["Oslo", "12"], ["Moss", "7"]])
    True
    >>> are_records(["Description:", "Sets the level"], [["Default:", "warn"], ["Status:", "Core"]])
    False
    """
    full = [name for name in names if name]
    if len(full) < 2 or len(rows) < 2 or len(set(map(fold, full))) < len(full):
        return False
    if any(map(_is_value, full)):
        return False
    shaped = [row for row in rows if len(set(filter(None, row))) > 1]
    if len(shaped) < _MOST * len(rows):
        return False
    columns = list(zip(*rows, strict=True))
    if sum(cell.endswith(":") for cell in columns[0]) > len(rows) / 2:
        return False
    return any(
        sum(0 < len(cell) <= _LONGEST_KEY for cell in cells) >= _MOST * len(rows)
        for cells in columns
    )


def _is_value(name: str) -> bool:
    """Check whether a header cell is not a column name but a value or a sentence."""
    return (
        name.endswith((":", ";"))
        or len(name) > _LONGEST_NAME
        or len(name.split()) > _MOST_WORDS
        or not any(map(str.isalpha, name))
    )


def skip_totals(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the rows without totals, by their words, or by their numbers for the last row.

    >>> skip_totals([["Oslo", "2", "5"], ["Moss", "1", "3"], ["All ports", "3", "8"]])
    [0, 1]
    """
    kept = [i for i, row in enumerate(rows) if not _is_total(row)]
    if len(kept) > _LEAST_ADDED and kept[-1] == len(rows) - 1 and _has_sum([rows[i] for i in kept]):
        kept.pop()
    return kept


def _has_sum(rows: Sequence[Sequence[str]]) -> bool:
    """Check whether the last row has the sums of the others in at least two columns."""
    read = [read_amounts(cells) for cells in zip(*rows, strict=True)]
    numbers = [each.values for each in read if each is not None and not each.are_dates]
    sums = [abs(float(values[:-1].sum() - values[-1])) < _NEARLY for values in numbers]
    return len(sums) > 1 and all(sums)


def _is_total(cells: Sequence[str]) -> bool:
    """Check for a row of totals: "Total", or "Total cars" followed by numbers only."""
    full = [_EMPHASIS.sub(r"\1", cell) for cell in cells if not is_empty(cell)]
    first, *others = full or [""]
    words = [word.strip(":.,").casefold() for word in first.split()]
    words = words[1:] if len(words) > 1 and words[0] in _BEFORE_TOTAL else words
    if not words or words[0].removeprefix("sub-") not in _TOTALS:
        return False
    return len(words) == 1 or all(any(map(str.isdigit, cell)) for cell in others)


def not_summable(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Check whether amounts cannot be summed: mixed signs or several currencies."""
    for column, name in enumerate(names):
        values = {row[column].strip().casefold().removesuffix("s") for row in rows}
        is_mixed = not _CURRENCY_COLUMNS.isdisjoint(fold(name).split()) and len(values - {""}) > 1
        if is_mixed or any(pair <= values for pair in _OPPOSITES):
            return True
    return False


def read_columns(names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[TableColumn, ...]:
    """Return the columns of a table of records."""
    return tuple(
        _read_column(name, [row[i] for row in rows], is_first=not i) for i, name in enumerate(names)
    )


def _read_column(name: str, cells: Sequence[str], *, is_first: bool) -> TableColumn:
    words = tuple(t.base for t in read_tokens(plain_name(name)) if t.key not in STOP_WORDS)
    match = _UNIT.search(split_name(name))
    unit = next(filter(None, match.groups())).strip() if match else ""
    full = {fold(cell).strip() for cell in cells} - {""}
    if full <= YES | NO and full & YES and (full - {"0", "1"}):
        return TableColumn(name, words, unit, "flag", None)
    amounts = read_amounts(cells)
    if amounts is None:
        kind: ColumnKind = "identifier" if _is_identifying(name) else "text"
        return TableColumn(name, words, unit, kind, None)
    are_years = not is_first or not all(map(str.isdigit, full)) or _YEARS.intersection(words)
    if amounts.are_dates and are_years:
        return TableColumn(name, words, unit, "date", amounts)
    is_plain = not unit and not amounts.unit
    if is_plain and _are_identifiers(name, words, cells, is_first=is_first):
        return TableColumn(name, words, unit, "identifier", None)
    return TableColumn(name, words, unit, "date" if amounts.are_dates else "measure", amounts)


def _are_identifiers(
    name: str, words: Sequence[str], cells: Sequence[str], *, is_first: bool
) -> bool:
    """Check whether a column's numbers are identifiers or ranks rather than amounts.

    Their name says so, one of them begins with a zero, or they are whole numbers in the first
    column, each there once, whose name is no plural.
    """
    full = [cell.strip() for cell in cells if not is_empty(cell)]
    last = read_tokens(split_name(name))[-1:]
    if _is_identifying(name) or _ORDINAL.intersection(words[-1:]):
        return True
    if any(len(cell) > 1 and cell[0] == "0" and cell.isdigit() for cell in full):
        return True
    is_plural = any(map(_is_plural, last))
    is_quantity = bool(QUANTITIES.intersection(words))
    return (
        is_first
        and len(full) > 1
        and len(set(full)) == len(full)
        and all(map(str.isdigit, full))
        and (not is_plural or all(int(b) - int(a) == 1 for a, b in pairwise(full)))
        and not is_quantity
    )


def _is_plural(token: Token) -> bool:
    return token.key != token.base and token.key.endswith("s")


def _is_identifying(name: str) -> bool:
    last = [token.key for token in read_tokens(split_name(name))][-1:]
    return any(key in _IDENTIFYING or key.endswith(("nummer", "nr")) for key in last)


def split_name(name: str) -> str:
    """Split a column or file name into words: "homePort", "sales-2024.csv"."""
    return _WORDS.sub(" ", name)


_WORDS = compile_re(r"(?<=[a-z])(?=[A-Z])|[_.-]")


def plain_name(name: str) -> str:
    """Return a column's name in words, without its unit.

    >>> plain_name("Length (m)"), plain_name("portsOfCall")
    ('Length', 'ports Of Call')
    """
    return " ".join(_UNIT.sub(" ", split_name(name)).split())


def find_main_amount(columns: Sequence[TableColumn]) -> int | None:
    """Return the column meant by "the total" or "spent" if none is named, or None.

    That is the only total, or the only sum of money.
    """
    money = [
        i
        for i, column in enumerate(columns)
        if column.kind == "measure" and is_money(column) and not _RATE.search(column.name)
    ]
    whole = [i for i in money if _WHOLE.intersection(columns[i].words)]
    return next((some[0] for some in (whole, money) if len(some) == 1), None)


def is_money(column: TableColumn) -> bool:
    """Check whether a column has amounts of money, by name and unit."""
    unit = column.unit or (column.amounts.unit if column.amounts else "")
    words = {*column.words, *unit.casefold().split()}
    return bool(words & (_MONEY | _CURRENCIES))


def caption_key(token: Token) -> str:
    """Return the key for matching a caption's word with a question's, "" for a filler.

    In capitals "A" and "IT" are names.

    >>> [caption_key(token) for token in read_tokens("the ferries of fleet A")]
    ['', 'ferry', '', 'fleet', 'A']
    """
    if token.key in STOP_WORDS:
        return token.text if token.text.isupper() else ""
    return token.base
