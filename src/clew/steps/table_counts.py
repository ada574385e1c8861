"""Count, list, add up, order and group the rows of a table that a question asks for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from clew.runtime.lazy import compile_re
from clew.steps.data_tables import DataRow, DataTable
from clew.steps.table_reading import (
    CAPTION,
    OPERATION,
    SYNONYM,
    VALUE,
    Nearness,
    RowCondition,
    TableReading,
    column_unit,
    column_words,
    read_question,
)
from clew.text.amounts import Amounts, is_empty
from clew.text.counting import CountQuestion, find_token_base, read_tokens
from clew.text.normalize import fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.intp]  # of rows

_QUANTITIES = frozenset(map(find_token_base, "quantity qty amount pieces units count".split()))
_KEYS = frozenset("name title id code no number ref sku key".split())
_WHO = compile_re(r"\W*who\b", re.IGNORECASE)
_BETWEEN = frozenset(("of", "the", "all"))  # "how many of the", and the noun
_CURRENCIES = frozenset("$€£¥")
_AGGREGATES: Mapping[str, Callable[[NDArray[np.float64]], float]] = {
    "sum": lambda values: float(np.sum(values)),
    "mean": lambda values: float(np.mean(values)),
    "median": lambda values: float(np.median(values)),
}


@dataclass(frozen=True, slots=True)
class TableResult:
    """What a table says: the answer in words, and the rows that it rests on, at least one."""

    kind: str  # as of `CountResult`
    text: str
    note: str  # what was computed of which rows, and what was left out
    rows: tuple[DataRow, ...]
    labels: tuple[str, ...]  # of each of these rows
    table: DataTable
    score: float  # how much of the question the table explains
    is_sure: bool  # what is counted is a column, or what the rows are: no value of a column


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The rows of a table that fulfil what a question asks, and the roles of its columns."""

    reading: TableReading
    places: Places
    conditions: tuple[str, ...]
    noun: int | None  # the column that names what is counted or listed
    group: int | None

    @property
    def table(self) -> DataTable:
        return self.reading.table

    @property
    def question(self) -> CountQuestion:
        return self.reading.question

    def cell(self, place: int, column: int) -> str:
        return self.table.rows[place].cells[column] or "(empty)"


def read_table(question: CountQuestion, table: DataTable, near: Nearness) -> TableResult | None:
    """Return what a table answers to a question.

    None where it does not explain each word, or where no row fulfils what is asked. `near` gives
    the (n, m) cosines of n words to m others.
    """
    read = read_question(question, table, near)
    if read is None:
        return None
    reading, conditions = read
    places = np.flatnonzero(_join_conditions(conditions, len(reading.table.rows)))
    if not len(places):
        return None
    chosen = _Chosen(
        reading,
        places,
        tuple(each.words for each in conditions),
        _find_column(reading, reading.question.noun, 3),
        next(
            filter(_is_there, (_find_column(reading, g, 1) for g in reading.question.groups)), None
        ),
    )
    if reading.question.operation in {"most", "least"}:
        return _rank_groups(chosen) or _find_extreme(chosen)
    if reading.question.operation in _AGGREGATES:
        return _add_up(chosen, _choose_measure(reading), reading.question.operation)
    if reading.question.operation == "count" and (column := _find_quantity(chosen)) is not None:
        return _add_up(chosen, column, "sum")
    return _list_groups(chosen) if chosen.group is not None else _list_rows(chosen)


def _is_there(column: int | None) -> bool:
    return column is not None


def _join_conditions(conditions: Sequence[RowCondition], n_rows: int) -> NDArray[np.bool_]:
    """Return (n,) which rows fulfil all conditions; values of one column are alternatives."""
    holds = np.ones(n_rows, dtype=bool)
    either: dict[int, NDArray[np.bool_]] = {}
    for each in conditions:
        if each.is_equal:
            either[each.column] = either.get(each.column, np.zeros(n_rows, bool)) | each.holds
        else:
            holds &= each.holds
    for each_holds in either.values():
        holds &= each_holds
    return holds


# -- columns --------------------------------------------------------------------------------------


def _find_column(reading: TableReading, place: int, most: int) -> int | None:
    """Return the column that is named at a place of the question, a few words on at most."""
    if place < 0:
        return None
    tokens = reading.question.tokens
    start = next((i for i, t in enumerate(tokens) if t.start >= place), len(tokens))
    for first, _, column in sorted(reading.mentions):
        between = range(start, first)
        if start <= first <= start + most and reading.names_column(first):
            weights = (reading.explained.get(k) for k in between)
            known = (w in {OPERATION, SYNONYM, CAPTION, VALUE} for w in weights)
            if all(
                is_known or tokens[k].key in _BETWEEN
                for k, is_known in zip(between, known, strict=True)
            ):
                return column
    return None


def _find_quantity(chosen: _Chosen) -> int | None:
    """Return the column of numbers that a question with "how many" adds up, if it does.

    That is what it counts, "how many passengers", or says how many there are of a value.
    """
    reading, noun = chosen.reading, chosen.noun
    if noun is not None:
        amounts = reading.read_numbers(noun)
        is_quantity = amounts is not None and not amounts.are_dates
        return noun if is_quantity and not _is_key(chosen.table.columns[noun]) else None
    if not _counts_value(reading):
        return None
    columns = enumerate(map(column_words, chosen.table.columns))
    return next((column for column, words in columns if _QUANTITIES & set(words)), None)


def _counts_value(reading: TableReading) -> bool:
    """Say whether the counted noun is a value in a column, not the name of one or of a table."""
    question = reading.question
    start = next((i for i, t in enumerate(question.tokens) if t.start >= question.noun), -1)
    return question.noun >= 0 and reading.explained.get(start) == VALUE


def _is_key(name: str) -> bool:
    return bool(_KEYS & set(column_words(name)))


def _choose_key(reading: TableReading) -> int:
    """Return the column that names rows: by the table's name, else one of names, or most values."""
    table = reading.table
    columns = range(len(table.columns))
    texts = [c for c in columns if reading.read_numbers(c) is None] or list(columns)
    n_values = {c: len(set(table.column(c))) for c in texts}
    caption = {t.base for t in read_tokens(table.caption)}
    for wanted in (caption, {"name", "title"}):
        some = [c for c in texts if wanted & set(column_words(table.columns[c]))]
        if some and n_values[some[0]] > 1:
            return some[0]
    best = [c for c in texts if n_values[c] == max(n_values.values())]
    return next((c for c in best if not _is_key(table.columns[c])), best[0])


def _choose_measure(reading: TableReading) -> int | None:
    """Return the column of numbers that a sum, mean or extreme is of."""
    question, table = reading.question, reading.table
    numeric = [c for c in range(len(table.columns)) if reading.read_numbers(c) is not None]
    tokens = question.tokens
    start = next((i for i, t in enumerate(tokens) if t.start >= question.measure), len(tokens))
    named = [(a < start, abs(a - start), c) for a, _, c in reading.mentions if c in numeric]
    if named:
        return min(named)[2]
    for hint in map(find_token_base, question.hints):
        for column in numeric:
            if hint in column_words(table.columns[column]):
                return column
    return None


# -- answers --------------------------------------------------------------------------------------


def _list_rows(chosen: _Chosen) -> TableResult | None:
    """Return how many rows there are, or which; of a column that is named, its values once each.

    None where that column is empty in all of them.
    """
    key, places = chosen.noun, chosen.places
    if key is None:
        key = _choose_key(chosen.reading)
    else:
        first: dict[str, int] = {}
        for place in places.tolist():
            first.setdefault(fold(chosen.table.rows[place].cells[key]).strip(), place)
        places = np.array([p for value, p in first.items() if not is_empty(value)], dtype=np.intp)
        if not len(places):
            return None
    shown = [column for _, _, column in chosen.reading.mentions]
    if chosen.question.operation == "count":
        return _build(chosen, "count", str(len(places)), (), places, key, shown)
    names = dict.fromkeys(chosen.cell(place, key) for place in places)
    return _build(chosen, "list", ", ".join(names), (), places, key, shown)


def _count_groups(chosen: _Chosen, group: int) -> dict[str, float]:
    """Return how many rows each group has, the largest first."""
    counts = Counter(chosen.cell(place, group) for place in chosen.places)
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def _list_groups(chosen: _Chosen) -> TableResult:
    group = chosen.group
    assert group is not None  # noqa: S101 -- the caller has looked
    text = _format_groups(_count_groups(chosen, group), "")
    return _build(chosen, "amount", text, (), chosen.places, None, [group])


def _add_up(chosen: _Chosen, measure: int | None, operation: str) -> TableResult | None:
    """Return the sum, mean or median of a column, of each group where there are some."""
    amounts = None if measure is None else chosen.reading.read_numbers(measure)
    if measure is None or amounts is None or amounts.are_dates:
        return None
    known = chosen.places[~np.isnan(amounts.values[chosen.places])]
    if not len(known):
        return None
    unit = _find_unit(chosen.table, measure, amounts)
    said = [f"{operation} of {chosen.table.columns[measure]}"] if len(known) > 1 else []
    if missing := len(chosen.places) - len(known):
        said.append(f"{missing} of {len(chosen.places)} rows have no number there")
    compute, group = _AGGREGATES[operation], chosen.group
    if group is None:
        text = _format_amount(compute(amounts.values[known]), unit)
        return _build(chosen, "amount", text, said, known, None, [measure])
    names = np.array([chosen.cell(place, group) for place in known])
    groups = {n: compute(amounts.values[known[names == n]]) for n in sorted(set(names.tolist()))}
    text = _format_groups(groups, unit)
    return _build(chosen, "amount", text, said, known, None, [group, measure])


def _rank_groups(chosen: _Chosen) -> TableResult | None:
    """Return the groups with most or fewest rows, or the highest sum; None for one row of each.

    "Which port has the most ferries" asks for the one, "the most passengers" for the other.
    """
    group = chosen.noun if chosen.group is None else chosen.group
    measure = _choose_measure(chosen.reading)
    if group is None or group == measure:
        return None
    groups = _count_groups(chosen, group)
    is_of_rows = measure is None
    if len(groups) == len(chosen.places) or not (is_of_rows or chosen.question.most_is_count):
        return None
    said = "number of rows"
    if measure is not None:
        amounts = chosen.reading.read_numbers(measure)
        if amounts is None or amounts.are_dates:
            return None
        said = f"sum of {chosen.table.columns[measure]}"
        groups = dict.fromkeys(groups, 0.0)
        for place in chosen.places:
            groups[chosen.cell(place, group)] += float(np.nan_to_num(amounts.values[place]))
    ordered = sorted(groups.values(), reverse=chosen.question.operation == "most")
    ends = ordered[: chosen.question.top]
    best = {name: value for name, value in groups.items() if value in ends}
    rows = [place for place in chosen.places if chosen.cell(place, group) in best]
    text = _format_groups(best, "")
    return _build(chosen, "amount", text, [said], np.array(rows), None, [group])


def _find_extreme(chosen: _Chosen) -> TableResult | None:
    """Return the rows with the highest or lowest number, or the latest or earliest date."""
    table, question = chosen.table, chosen.question
    measure = _choose_measure(chosen.reading)
    amounts = None if measure is None else chosen.reading.read_numbers(measure)
    if measure is None or amounts is None:
        return None
    known = chosen.places[~np.isnan(amounts.values[chosen.places])]
    if not len(known):
        return None
    turned = {"old": not amounts.are_dates, "young": amounts.are_dates}  # by age, or by birth
    is_most = (question.operation == "most") ^ turned.get(question.stem, False)
    values = amounts.values[known] * (-1 if is_most else 1)
    order = np.argsort(values, kind="stable")
    last = values[order[min(question.top, len(known)) - 1]]
    best = known[order[: np.count_nonzero(values <= last)]]
    unit = _find_unit(table, measure, amounts)
    shown = [_show(chosen.cell(place, measure), unit) for place in best]
    key = chosen.noun if chosen.noun not in {None, measure} else _choose_key(chosen.reading)
    assert key is not None  # noqa: S101 -- one of the two is there
    names = [chosen.cell(place, key) for place in best]
    if chosen.noun == measure or (question.noun < 0 and not _WHO.match(question.text)):
        text = f"{shown[0]} ({'; '.join(dict.fromkeys(names))})"
    else:
        text = "; ".join(dict.fromkeys(f"{a} ({b})" for a, b in zip(names, shown, strict=True)))
    ends = ("earliest", "latest") if amounts.are_dates else ("lowest", "highest")
    said = f"{ends[is_most]} {table.columns[measure]}"
    return _build(chosen, "amount", text, [said], best, key, [measure])


def _find_unit(table: DataTable, column: int, amounts: Amounts) -> str:
    return column_unit(table.columns[column]) or amounts.unit


def _show(cell: str, unit: str) -> str:
    return cell if not unit or fold(unit) in fold(cell) else f"{cell} {unit}"


def _format_groups(groups: Mapping[str, float], unit: str) -> str:
    return "; ".join(f"{name}: {_format_amount(value, unit)}" for name, value in groups.items())


def _format_amount(value: float, unit: str) -> str:
    shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
    return f"{unit}{shown}" if unit in _CURRENCIES else f"{shown} {unit}".strip()


def _build(  # noqa: PLR0917 -- private, and all of it is needed
    chosen: _Chosen,
    kind: str,
    text: str,
    said: Sequence[str],
    places: Places,
    key: int | None,
    shown: Sequence[int],
) -> TableResult:
    """Return a result, each row named by the `key` column, with its cells in those `shown`."""
    key = _choose_key(chosen.reading) if key is None else key
    beside = [column for column in dict.fromkeys(shown) if column != key]
    labels = []
    for place in places:
        more = ", ".join(filter(None, (chosen.table.rows[place].cells[c] for c in beside)))
        label = chosen.cell(place, key)
        labels.append(f"{label} ({more})" if more else label)
    return TableResult(
        kind=kind,
        text=text,
        note="; ".join([*said, *chosen.conditions]),
        rows=tuple(chosen.table.rows[place] for place in places),
        labels=tuple(labels),
        table=chosen.table,
        score=sum(chosen.reading.explained.values()),
        is_sure=not _counts_value(chosen.reading),
    )
