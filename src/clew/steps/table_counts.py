"""Count, list, add up, order and group the rows of a table that a question asks for."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.base.runtime.lazy import compile_re
from clew.base.types import CountedItem, CountResult
from clew.steps.data_tables import DataTable
from clew.steps.table_reading import (
    ALIKE,
    CAPTION,
    COLUMN,
    OPERATION,
    VALUE,
    RowCondition,
    TableReading,
    find_word,
    read_question,
)
from clew.text.amounts import Amounts, is_empty
from clew.text.columns import QUANTITIES, find_main_amount, not_summable
from clew.text.counting import PAYING, CountQuestion, find_token_base
from clew.text.normalize import collapse, fold
from clew.text.quantities import format_count

Places = NDArray[np.intp]  # of rows

_WHO = compile_re(r"\W*who\b", re.IGNORECASE)
_BETWEEN = frozenset(("of", "the", "all"))  # "how many of the", and the noun
_EMPTY = "(empty)"
_DURATIONS = frozenset(("duration", "time", "min", "s", "h", find_token_base("minutes")))
_CURRENCIES = frozenset("$€£¥")
_AGGREGATES: Mapping[str, Callable[[NDArray[np.float64]], float]] = {
    "sum": lambda values: float(np.sum(values)),
    "mean": lambda values: float(np.mean(values)),
    "median": lambda values: float(np.median(values)),
}


class TableResult(NamedTuple):
    """A table's answer, and how much of the question it explains."""

    counted: CountResult
    score: float


class _Chosen(NamedTuple):
    """Matching rows of a table for a question, and the roles of its columns in it."""

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
        return self.table.rows[place].cells[column] or _EMPTY


def read_table(question: CountQuestion, table: DataTable) -> TableResult | None:
    """Return a table's answer to a question.

    None where it does not explain each word, or where no row fulfils what is asked.
    """
    read = read_question(question, table)
    if read is None:
        return None
    reading, conditions = read
    places = np.flatnonzero(_join_conditions(conditions, len(reading.table.rows)))
    if not len(places):
        return None
    groups = (_find_column(reading, place, 1) for place in reading.question.groups)
    chosen = _Chosen(
        reading,
        places,
        tuple(each.words for each in conditions),
        _find_column(reading, reading.question.noun, 3),
        next((group for group in groups if group is not None), None),
    )
    return None if _is_trivial(chosen, conditions) else _compute(chosen)


def _compute(chosen: _Chosen) -> TableResult | None:
    operation = chosen.question.operation
    if operation in {"most", "least"}:
        return _rank_groups(chosen) or _find_extreme(chosen)
    if operation in _AGGREGATES:
        return _add_up(chosen, _choose_measure(chosen.reading, {"measure"}), operation)
    if operation == "count" and (column := _find_quantity(chosen)) is not None:
        return _add_up(chosen, column, "sum")
    return _list_groups(chosen) if chosen.group is not None else _list_rows(chosen)


def _is_trivial(chosen: _Chosen, conditions: Sequence[RowCondition]) -> bool:
    """Check whether a question counts a single row or value, or dates.

    Such questions ask for something other than rows: "How many reserved words" in an index of
    words, or "how many releases" in a table of release dates.
    """
    reading, question, noun = chosen.reading, chosen.question, chosen.noun
    if question.operation not in {"count", "list"}:
        return False
    if noun is not None and reading.columns[noun].is_counted:
        return False
    amounts = None if noun is None else reading.columns[noun].amounts
    if question.operation == "count" and amounts is not None and amounts.are_dates:
        return bool(np.any(np.nan_to_num(amounts.values) % 10_000))
    equal = [each.column for each in conditions if each.is_equal]
    start = find_word(question, question.noun)
    is_named = noun is not None or (start is not None and reading.explained.get(start) == CAPTION)
    names = [c for c in equal if len(set(reading.table.cells(c))) == len(reading.table.rows)]
    says_rows = len(conditions) > 1 or {CAPTION, COLUMN}.intersection(reading.explained.values())
    if _counts_cell_value(reading) and not says_rows and _find_quantity(chosen) is None:
        return True
    is_label = noun is None and _choose_key(reading) in names
    return noun in equal or is_label or (not is_named and bool(names))


def _join_conditions(conditions: Sequence[RowCondition], n_rows: int) -> NDArray[np.bool_]:
    """Return (n,) which rows match all conditions; values of one column are alternatives."""
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
    """Return the column named at a position of the question, or within a few words after it."""
    if place < 0:
        return None
    tokens = reading.question.tokens
    start = next((i for i, t in enumerate(tokens) if t.start >= place), len(tokens))
    for first, _, column in sorted(reading.mentions):
        between = range(start, first)
        if start <= first <= start + most and reading.explained[first] != ALIKE:
            weights = (reading.explained.get(k) for k in between)
            known = (w in {OPERATION, CAPTION, VALUE} for w in weights)
            if all(
                is_known or tokens[k].key in _BETWEEN
                for k, is_known in zip(between, known, strict=True)
            ):
                return column
    return None


def _find_quantity(chosen: _Chosen) -> int | None:
    """Return the numeric column that a "how many" question adds up, if any.

    That is what it counts, "how many passengers", or says how many there are of a value.
    """
    reading, noun = chosen.reading, chosen.noun
    if noun is not None:
        return noun if reading.columns[noun].is_counted else None
    if not _counts_cell_value(reading):
        return None
    return next((i for i, c in enumerate(reading.columns) if QUANTITIES & set(c.words)), None)


def _counts_cell_value(reading: TableReading) -> bool:
    """Check whether the counted noun is a value in a column, not the name of one or of a table."""
    question = reading.question
    start = next((i for i, t in enumerate(question.tokens) if t.start >= question.noun), -1)
    return question.noun >= 0 and reading.explained.get(start) == VALUE


def _choose_key(reading: TableReading) -> int:
    """Return the column that identifies rows: by the table's name, else by names or most values."""
    table = reading.table
    n_values = {
        i: len(set(table.cells(i))) for i, c in enumerate(reading.columns) if c.amounts is None
    } or {i: len(set(table.cells(i))) for i in range(len(reading.columns))}
    texts = [i for i in n_values if reading.columns[i].kind == "text"]
    for wanted in (table.caption_words, {find_token_base("name"), "title"}):
        some = [i for i in texts if wanted.intersection(reading.columns[i].words)]
        if some and n_values[some[0]] > 1:
            return some[0]
    best = [i for i, n in n_values.items() if n == max(n_values.values())]
    return next((i for i in best if i in texts), best[0])


def _choose_measure(reading: TableReading, kinds: Collection[str]) -> int | None:
    """Return the numeric column for a sum, mean or extreme.

    It is named, or what the adjective means, or else the main amount of the table.
    """
    question, columns = reading.question, reading.columns
    first = find_word(question, question.measure)
    others = {a for a, _, c in reading.mentions if columns[c].kind in {"date", "text", "flag"}}
    if question.operation in _AGGREGATES and first in others:
        return None
    fit = [i for i, c in enumerate(columns) if c.kind in kinds]
    tokens = question.tokens
    start = next((i for i, t in enumerate(tokens) if t.start >= question.measure), len(tokens))
    named = [
        (a < start, abs(a - start), c)
        for a, _, c in reading.mentions
        if c in fit and not (question.operation == "sum" and tokens[a].base in PAYING)
    ]
    if named:
        return min(named)[2]
    hinted = (
        i for hint in map(find_token_base, question.hints) for i in fit if hint in columns[i].words
    )
    found = next(hinted, None)
    gives_most = question.most_is_count and first is None  # "who gave the most"
    if found is None and (question.operation == "sum" or gives_most):
        return find_main_amount(columns)
    return found


# -- answers --------------------------------------------------------------------------------------


def _list_rows(chosen: _Chosen) -> TableResult | None:
    """Count or list the rows; of a named column its distinct values.

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
    """Count the rows of each group, largest first."""
    counts = Counter(chosen.cell(place, group) for place in chosen.places)
    return dict(sorted(counts.items(), key=lambda each: (-each[1], each[0])))


def _list_groups(chosen: _Chosen) -> TableResult:
    group = chosen.group
    assert group is not None  # noqa: S101 -- the caller has looked
    text = _format_groups(_count_groups(chosen, group), "")
    return _build(chosen, "amount", text, (), chosen.places, None, [group])


def _add_up(chosen: _Chosen, measure: int | None, operation: str) -> TableResult | None:
    """Return the sum, mean or median of a column, for each group if there are groups."""
    amounts = None if measure is None else chosen.reading.columns[measure].amounts
    if measure is None or amounts is None:
        return None
    known = chosen.places[~np.isnan(amounts.values[chosen.places])]
    if not len(known) or not_summable(
        chosen.table.names, [chosen.table.rows[place].cells for place in known]
    ):
        return None
    unit = _find_unit(chosen.table, measure, amounts)
    said = [f"{operation} of {chosen.table.names[measure]}"] if len(known) > 1 else []
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
    measure = _choose_measure(chosen.reading, {"measure"})
    if group is None or group == measure:
        return None
    groups = _count_groups(chosen, group)
    counts = chosen.question.most_is_count or "number" in {t.key for t in chosen.question.tokens}
    says_what = (
        measure is not None or find_word(chosen.question, chosen.question.measure) is not None
    )
    if len(groups) == len(chosen.places) or not (counts and says_what):
        return None
    said = "number of rows"
    if measure is not None:
        amounts = chosen.reading.columns[measure].amounts
        assert amounts is not None  # noqa: S101 -- it is a measure
        said = f"sum of {chosen.table.names[measure]}"
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
    measure = _choose_measure(chosen.reading, {"measure", "date"})
    amounts = None if measure is None else chosen.reading.columns[measure].amounts
    if measure is None or amounts is None:
        return None
    known = chosen.places[~np.isnan(amounts.values[chosen.places])]
    if not len(known):
        return None
    lasts = not _DURATIONS.isdisjoint((table.columns[measure].unit, *table.columns[measure].words))
    turned = {"old": not amounts.are_dates, "young": amounts.are_dates}  # by age, or by birth
    turned |= {"fast": lasts, "slow": lasts}
    is_most = (question.operation == "most") ^ turned.get(question.stem, False)
    values = amounts.values[known] * (-1 if is_most else 1)
    order = np.argsort(values, kind="stable")
    last = values[order[min(question.top, len(known)) - 1]]
    best = known[order[: np.count_nonzero(values <= last)]]
    if _is_ambiguous(chosen, amounts, best):
        return None
    unit = _find_unit(table, measure, amounts)
    shown = [_show(chosen.cell(place, measure), unit) for place in best]
    key = chosen.noun
    if key is None or key == measure or table.columns[key].kind == "date":
        key = _choose_key(chosen.reading)
    names = [chosen.cell(place, key) for place in best]
    asks_amount = question.noun < 0 and not _WHO.match(question.text)
    is_named = any(column == measure for *_, column in chosen.reading.mentions)
    if chosen.noun == measure or (asks_amount and is_named):
        text = f"{shown[0]} ({'; '.join(dict.fromkeys(names))})"
    else:
        text = "; ".join(dict.fromkeys(f"{a} ({b})" for a, b in zip(names, shown, strict=True)))
    ends = ("earliest", "latest") if amounts.are_dates else ("lowest", "highest")
    said = f"{ends[is_most]} {table.names[measure]}"
    return _build(chosen, "amount", text, [said], best, key, [measure])


def _is_ambiguous(chosen: _Chosen, amounts: Amounts, best: Places) -> bool:
    """Check whether the extreme over single rows and over their sums names different things."""
    noun = chosen.noun
    if noun is None or amounts.are_dates or chosen.reading.columns[noun].kind != "text":
        return False
    sums: dict[str, float] = {}
    for place in chosen.places:
        name = chosen.cell(place, noun)
        sums[name] = sums.get(name, 0.0) + float(np.nan_to_num(amounts.values[place]))
    if len(sums) == len(chosen.places):
        return False
    is_most = chosen.question.operation == "most"
    end = max(sums.values()) if is_most else min(sums.values())
    return any(sums[chosen.cell(place, noun)] != end for place in best)


def _find_unit(table: DataTable, column: int, amounts: Amounts) -> str:
    return table.columns[column].unit or amounts.unit


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
    items = []
    for row in (chosen.table.rows[place] for place in places):
        more = ", ".join(filter(None, (row.cells[column] for column in beside)))
        label = collapse(
            f"{row.cells[key] or _EMPTY} ({more})" if more else row.cells[key] or _EMPTY
        )
        items.append(
            CountedItem(label=label, document_id=row.document_id, start=row.start, end=row.end)
        )
    files = chosen.table.files
    where = files[0] if len(files) == 1 else format_count(len(files), "file")
    rows = f"of {format_count(len(chosen.table.rows), 'row')} in {where}"
    note = "; ".join([*said, *chosen.conditions, rows])
    counted = CountResult(text=text, kind=kind, note=note, items=tuple(items))
    return TableResult(counted, sum(chosen.reading.explained.values()))
