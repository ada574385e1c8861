"""Interpret a question by a table: which words name columns, values or bounds.

No word may be left over that the table does not explain: it might say which rows are meant.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.base.runtime.lazy import compile_re
from clew.steps.data_tables import LONGEST_VALUE, DataTable, join_tables, split_cell
from clew.text.analyze import STOP_WORDS
from clew.text.columns import (
    NO,
    YES,
    TableColumn,
    caption_key,
    find_main_amount,
    is_money,
    plain_name,
)
from clew.text.counting import (
    FILLERS,
    GENERAL,
    PAYING,
    ROWS,
    SAID_BY,
    CountQuestion,
    QuestionBound,
    Token,
    find_token_base,
    read_count_question,
    read_tokens,
)
from clew.text.dates import format_day
from clew.text.normalize import fold

# How much a word that is explained says for a table, by what explains it. Different numbers.
OPERATION, ALIKE, CAPTION, COLUMN, VALUE = 0.0, 0.9, 1.0, 1.5, 2.0

_NEGATING = frozenset(
    "not no without except excluding never non neither nor other isn't aren't don't doesn't didn't"
    " wasn't weren't".split()
)
_JOINING = compile_re(r" (?:per|by|of|each) ", re.IGNORECASE)
_STEM = 6  # letters that "operate" and "operator" share
_NEAR, _FAR = 3, 4  # words before a value that may negate it; from a bound to what it bounds
_SEXES = {
    word: find_token_base(sex)
    for words, sex in (("woman women girls", "female"), ("man men boys", "male"))
    for word in words.split()
}
# What a table of people has of each, and what they are called.
_OF_PEOPLE = frozenset(
    map(find_token_base, "age gender sex salary surname birth birthday born nationality".split())
)
_PEOPLE = frozenset(
    map(
        find_token_base,
        "staff employee member people person passenger player student patient customer team holder"
        " shareholder owner author captain speaker".split(),
    )
)
_ANYONE = frozenset(map(find_token_base, "staff employee person".split()))
_WHO = compile_re(r"\W*who\b", re.IGNORECASE)
_COMPARE = {
    ">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal, "=": np.equal,
}  # fmt: skip
_TURNED = {"<": ">", "<=": ">="}


class RowCondition(NamedTuple):
    """A condition on one column, in words and as (n,) booleans."""

    column: int
    words: str
    holds: NDArray[np.bool_]
    is_equal: bool = False  # to a value; several of one column are alternatives


@dataclass(slots=True)
class TableReading:
    """A question interpreted by a table: which words are explained, and by what."""

    question: CountQuestion
    table: DataTable
    explained: dict[int, float] = field(default_factory=dict)  # tokens, with their weights
    mentions: list[tuple[int, int, int]] = field(default_factory=list)  # tokens[a:b] and column

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of the table."""
        return self.table.columns

    def explain(self, first: int, last: int, weight: float) -> None:
        """Mark tokens as explained."""
        for i in range(first, last):
            self.explained[i] = max(self.explained.get(i, OPERATION), weight)


def read_question(
    question: CountQuestion, table: DataTable
) -> tuple[TableReading, list[RowCondition]] | None:
    """Interpret a question by a table, or return None if a word is left unexplained."""
    reading = TableReading(_join_names(question, table), table)
    tokens = reading.question.tokens
    for i, token in enumerate(tokens):
        if any(a < token.end and token.start < b for a, b in reading.question.taken):
            reading.explained[i] = OPERATION
    reading.mentions = list(_find_columns(reading))
    conditions = [*_find_values(reading), *_find_flags(reading)]
    for each in reading.question.comparisons:
        bound = _read_bound(reading, each)
        if bound is None:
            return None
        conditions.append(bound)
    conditions += _find_numbers(reading)
    named = _choose_parts(reading, _explain_caption(reading))
    if named:
        return read_question(question, join_tables(named))
    _explain_money_verbs(reading)
    if not _has_table_heading(reading) or _has_comparison(reading):
        return None
    left = (i for i in range(len(tokens)) if i not in reading.explained)
    is_clear = any(reading.explained.values()) and all(_says_nothing(tokens, i) for i in left)
    return (reading, conditions) if is_clear and _knows_noun(reading) else None


def _says_nothing(tokens: Sequence[Token], i: int) -> bool:
    """Check whether a word is a filler: "are", "kinds" with "of", "table" with "in"."""
    token, around = tokens[i], {each.key for each in tokens[max(0, i - 2) : i + 2]}
    if token.key in STOP_WORDS:
        is_name = i > 0 and token.text.isupper()  # "IT"
        return not is_name and token.key not in _NEGATING
    is_about = token.base in GENERAL and not around.isdisjoint(("in", "of", "from", "this"))
    return token.base in FILLERS or is_about


def _has_table_heading(reading: TableReading) -> bool:
    """Check whether a question contains the whole heading above a table within a text.

    Of a document that is nothing but tables any of its words are enough.
    """
    words = reading.table.caption_words
    is_named = bool(words) and words <= set(map(caption_key, reading.question.tokens))
    return reading.table.is_tabular or is_named


def _explain_money_verbs(reading: TableReading) -> None:
    """Explain "spend" and "pay" if the sums are of money, or of a named column."""
    columns = reading.columns
    if reading.question.operation not in {"sum", "count", "most"}:
        return
    main = None if reading.question.operation == "count" else find_main_amount(columns)
    named = any(columns[column].kind == "measure" for *_, column in reading.mentions)
    if named or (main is not None and is_money(columns[main])):
        for i, token in enumerate(reading.question.tokens):
            if token.base in PAYING:
                reading.explain(i, i + 1, OPERATION)


def _join_names(question: CountQuestion, table: DataTable) -> CountQuestion:
    """Remove "per" and "by" from column names in a question, so that they form no groups."""
    text = question.text
    for name in map(plain_name, table.names):
        if _JOINING.search(name):
            text = re.sub(re.escape(name), _JOINING.sub(" ", name), text, flags=re.IGNORECASE)
    return question if text == question.text else read_count_question(text) or question


def _has_comparison(reading: TableReading) -> bool:
    """Check whether a question compares with anything but a number: "longer than the Fram"."""
    places = (i for i, t in enumerate(reading.question.tokens) if t.key == "than")
    return any(
        i not in reading.explained and reading.explained.get(i - 1) != OPERATION for i in places
    )


def _knows_noun(reading: TableReading) -> bool:
    """Check whether the counted noun is a column, a value, the caption, or the rows."""
    question = reading.question
    is_of_people = _is_of_people(reading.table)
    if _WHO.match(question.text) and not is_of_people:
        return False
    if question.operation not in {"count", "list"} or question.noun < 0:
        return True
    first = find_word(question, question.noun)
    if first is None or reading.explained.get(first):
        return True
    base = question.tokens[first].base
    return base in ROWS and (base != "person" or is_of_people)


def _is_of_people(table: DataTable) -> bool:
    """Check whether the rows are people, by the caption, the first column, or an age column."""
    columns = table.columns
    first = next((c.words for c in columns if c.kind == "text"), ())
    words = {word for column in columns for word in column.words}
    return bool(words & _OF_PEOPLE or {*first, *table.caption_words} & _PEOPLE)


def find_word(question: CountQuestion, place: int) -> int | None:
    """Return the first meaningful token from a position of the question on, if any."""
    behind = (i for i, t in enumerate(question.tokens) if 0 <= place <= t.start)
    return next((i for i in behind if question.tokens[i].key not in STOP_WORDS), None)


# -- columns --------------------------------------------------------------------------------------


def _find_columns(reading: TableReading) -> Iterator[tuple[int, int, int]]:
    """Yield runs of words that name a column: whole names, then parts, then similar words."""
    bases = [t.base for t in reading.question.tokens]
    columns = [column.words for column in reading.columns]
    runs: list[tuple[int, int, int, int]] = []  # a rank, where, which column, how many words
    for column, words in enumerate(columns):
        for part, rank in _name_parts(words, columns):
            runs += ((-rank, i, column, len(part)) for i in _find_run(part, bases))
        alike = (i for i, b in enumerate(bases) if any(_are_alike(b, word) for word in words))
        runs += ((-1, i, column, 0) for i in alike)
    for _, i, column, size in sorted(runs):
        last = i + max(size, 1)
        if not any(k in reading.explained for k in range(i, last)):
            reading.explain(i, last, COLUMN if size else ALIKE)
            yield i, last, column
            unit = find_token_base(fold(reading.columns[column].unit))
            if last < len(bases) and bases[last] == unit:  # "Total EUR"
                reading.explain(last, last + 1, CAPTION)


def _name_parts(
    words: Sequence[str], columns: Sequence[Sequence[str]]
) -> Iterator[tuple[list[str], int]]:
    """Yield a column's name and parts of it, with their ranks.

    A part that other names have, too, is one only where it ends the name.
    """
    for size in range(1, len(words) + 1):
        for at in range(len(words) - size + 1):
            part = list(words[at : at + size])
            if size == len(words):
                yield part, 2 * size + 1
                continue
            n = sum(len(list(_find_run(part, name))) for name in columns)
            if (size > 1 or len(part[0]) > 2) and (n == 1 or at + size == len(words)):
                yield part, 2 * size


def _find_run(part: Sequence[str], words: Sequence[str]) -> Iterator[int]:
    """Yield the positions of a run of words among others."""
    for i in range(len(words) - len(part) + 1):
        if list(words[i : i + len(part)]) == list(part):
            yield i


def _are_alike(base: str, word: str) -> bool:
    """Check whether a word ends a column's name, is a verb for it, or shares its stem."""
    ends = len(base) > 3 and word.endswith(base)
    has_stem = len(base) >= _STEM and base[:_STEM] == word[:_STEM]
    return ends or word in SAID_BY.get(base, ()) or (has_stem and abs(len(base) - len(word)) < 4)


# -- values ---------------------------------------------------------------------------------------


def _find_values(reading: TableReading) -> list[RowCondition]:
    """Return conditions on columns with a cell, or a part of one, that occurs in the question."""
    table = reading.table
    found = dict(_find_runs(reading))
    used: set[int] = set()
    conditions: list[RowCondition] = []
    for (first, last), columns in sorted(found.items(), key=lambda r: (r[0][0] - r[0][1], r[0])):
        run = range(first, last)
        if used.intersection(run) or not _may_be_value(reading, run, columns):
            continue
        used.update(run)
        beside = {c for a, b, c in reading.mentions if min(abs(a - last), abs(first - b)) <= 2}
        # The one that is named beside the value, else the one of fewest values.
        column = min(columns, key=lambda c: (c not in beside, len(set(table.cells(c))), c))
        reading.explain(first, last, VALUE)
        reading.mentions = [m for m in reading.mentions if not (first <= m[0] and m[1] <= last)]
        values = {fold(value) for value in columns[column]}
        holds = np.array([_has_value(cell, values) for cell in table.cells(column)], dtype=bool)
        conditions.append(_make_condition(reading, first, column, min(columns[column]), holds))
    return conditions


def _find_runs(reading: TableReading) -> Iterator[tuple[tuple[int, int], dict[int, list[str]]]]:
    """Yield runs of tokens that are values, with the values by column."""
    tokens, text = reading.question.tokens, fold(reading.question.text)
    bases = [_SEXES.get(t.key) or find_token_base(t.base) for t in tokens]
    told = {(b + n, column) for _, b, column in reading.mentions for n in (0, 1)}
    for first in range(len(bases)):
        for last in range(first + 1, min(first + LONGEST_VALUE, len(bases)) + 1):
            columns = reading.table.values.get(tuple(bases[first:last]), {})
            said = {
                column: [
                    value
                    for value in values
                    if _says(tokens[first:last], text, value, is_told=(first, column) in told)
                ]
                for column, values in columns.items()
            }
            if any(said.values()):
                yield (first, last), {column: own for column, own in said.items() if own}


def _says(run: Sequence[Token], text: str, value: str, *, is_told: bool) -> bool:
    """Check whether tokens are a value: not a bare number, and "off" only after its column's name.

    Or else a word that mostly says nothing must be written like the value: "IT".
    """
    key = fold(value).strip()
    is_word = len(key) > 1 and any(map(str.isalpha, key)) and key not in YES | NO
    if not is_word or (" " in key and key not in text):
        return False
    is_marked = is_told or (value.isupper() and run[0].text == value)
    return is_marked or any(token.key not in STOP_WORDS for token in run)


def _may_be_value(reading: TableReading, run: range, columns: Iterable[int]) -> bool:
    """Check whether words may be a value, not a column's name or part of the operation.

    Those that are a column's name, too, are a value of another column with a capital: "Port".
    """
    if any(reading.explained.get(i) == OPERATION for i in run):
        return False
    named = {i: column for a, b, column in reading.mentions for i in range(a, b)}
    if any(a <= run.start and run.stop <= b and len(run) < b - a for a, b, _ in reading.mentions):
        return False
    if not all(i in named for i in run):
        return True
    has_other = bool(set(columns) - {named[i] for i in run})
    return has_other and reading.question.tokens[run.start].text[0].isupper()


def _has_value(cell: str, values: set[str]) -> bool:
    return any(fold(part).strip() in values for part in split_cell(cell))


def _make_condition(
    reading: TableReading, place: int, column: int, value: str, holds: NDArray[np.bool_]
) -> RowCondition:
    """Return a condition, negated if a negating word precedes it."""
    name = reading.table.names[column]
    for k in range(max(0, place - _NEAR), place):
        if reading.question.tokens[k].key in _NEGATING and k not in reading.explained:
            reading.explain(k, k + 1, OPERATION)
            return RowCondition(column, f"{name} is not {value}", ~holds)
    return RowCondition(column, f"{name} is {value}", holds, is_equal=True)


def _find_flags(reading: TableReading) -> Iterator[RowCondition]:
    """Yield conditions on yes/no columns that the question names: "paid", not "pay"."""
    tokens = reading.question.tokens
    for first, last, column in reading.mentions:
        said = {token.key for token in tokens[first:last]}
        names = {token.key for token in read_tokens(plain_name(reading.columns[column].name))}
        if reading.columns[column].kind == "flag" and said & names:
            cells = (fold(cell).strip() for cell in reading.table.cells(column))
            holds = np.array([cell in YES for cell in cells], dtype=bool)
            yield _make_condition(reading, first, column, "yes", holds)


def _find_numbers(reading: TableReading) -> Iterator[RowCondition]:
    """Yield conditions by numbers next to a column's name: "8 cylinders", "week 2"."""
    tokens = reading.question.tokens
    for i, token in enumerate(tokens):
        if i in reading.explained or not token.key.isdigit():
            continue
        is_apart = i + 1 < len(tokens) and tokens[i + 1].key in STOP_WORDS  # "1 in physics"
        behind = {i + 1, i + 2} if is_apart else {i + 1}
        column = next((c for a, b, c in sorted(reading.mentions) if b == i or a in behind), None)
        if column is None:
            continue
        amounts, cells = reading.columns[column].amounts, reading.table.cells(column)
        if amounts is None:
            holds = np.array([cell.strip(" #") == token.key for cell in cells], dtype=bool)
        else:
            values = amounts.values // 10_000 if amounts.are_dates else amounts.values
            holds = values == float(token.key)
        reading.explain(i, i + 1, VALUE)
        yield _make_condition(reading, i, column, token.text, holds)


# -- bounds ---------------------------------------------------------------------------------------


def _read_bound(reading: TableReading, each: QuestionBound) -> RowCondition | None:
    """Return the condition of a comparison, None if it fits no column."""
    tokens = reading.question.tokens
    inside = [i for i, t in enumerate(tokens) if t.start < each.end and each.start < t.end]
    first, last = inside[0], inside[-1] + 1
    columns = range(len(reading.columns))
    scores = {c: _score_bound(reading, each, c, first, last) for c in columns}
    scored = {column: score for column, score in scores.items() if score is not None}
    if not scored:
        return None
    column = max(scored, key=lambda c: (scored[c], -c))
    amounts = reading.columns[column].amounts
    if amounts is None or (not scored[column] and len(scored) > 1):
        return None
    unit = reading.columns[column].unit or amounts.unit
    for k in range(first, min(last + 2, len(tokens))):
        if k < last or tokens[k].base == find_token_base(fold(unit)):
            reading.explain(k, k + 1, CAPTION)
    holds = np.ones(len(reading.table.rows), dtype=bool)
    said = []
    is_age = {"age", "built"} <= set(each.hints) and not amounts.are_dates  # "older than 60"
    for said_sign, number, is_date in each.bounds:
        values, bound = amounts.values, number
        sign = _TURNED.get(said_sign, said_sign) if is_age else said_sign
        if amounts.are_dates:
            values, bound = _cut_dates(values, number)
        elif is_date:  # a number like a year
            bound = number // 10_000
        holds &= _COMPARE[sign](values, bound)
        shown = format_day(int(number)) if amounts.are_dates else f"{bound:,.12g}"
        said.append(f"{sign} {shown}")
    words = f"{reading.table.names[column]} {' and '.join(said)}"
    return RowCondition(column, words, holds)


def _score_bound(
    reading: TableReading, each: QuestionBound, column: int, first: int, last: int
) -> float | None:
    """Score a column as the one that tokens[first:last] bound, None if impossible.

    It is named near by, has the unit behind the number, or is what "longer" and "before" mean.
    """
    own = reading.columns[column]
    amounts = own.amounts
    is_date = all(bound[2] for bound in each.bounds)
    if amounts is None or (amounts.are_dates and not is_date):
        return None
    if each.is_time and not amounts.are_dates:
        return None
    named = [(a, b) for a, b, c in reading.mentions if c == column]
    gaps = (a - last if a >= last else first - b for a, b in named)
    scores = [3.0 - 0.5 * min(abs(gap), _FAR) for gap in gaps]
    behind = [t.base for t in reading.question.tokens[last : last + 2]]
    unit = find_token_base(fold(own.unit or amounts.unit))
    scores += [2.5] * bool(unit and unit in {*behind, "".join(behind)})
    scores += [2.2] * bool(set(map(find_token_base, each.hints)) & set(own.words))
    return max(scores, default=0.0) + 1.2 * (amounts.are_dates and is_date)


def _cut_dates(values: NDArray[np.float64], bound: float) -> tuple[NDArray[np.float64], float]:
    """Truncate dates to the precision of the bound: to years or months."""
    step = next(step for step in (10_000, 100, 1) if bound % step == 0)
    return np.floor(values / step), bound // step


# -- other words ----------------------------------------------------------------------------------


def _explain_caption(reading: TableReading) -> list[int]:
    """Explain words of the caption, and return which tokens these are."""
    words, tokens = reading.table.caption_words, reading.question.tokens
    words |= _ANYONE if _is_of_people(reading.table) else frozenset()
    found = [
        i for i, t in enumerate(tokens) if i not in reading.explained and caption_key(t) in words
    ]
    for i in found:
        reading.explain(i, i + 1, CAPTION)
    return found


def _choose_parts(reading: TableReading, found: Sequence[int]) -> list[DataTable]:
    """Return the parts of a table whose captions share most tokens, [] if all share equally many.

    What is counted may have another name in each: "How many ships are in the Oslo fleet?"
    """
    question, parts = reading.question, reading.table.parts
    noun = find_word(question, question.noun)
    asked = {caption_key(question.tokens[i]) for i in found if i != noun} - FILLERS
    counts = [len(asked & part.caption_words) for part in parts]
    if not counts or min(counts) == max(counts):
        return []
    return [part for part, n in zip(parts, counts, strict=True) if n == max(counts)]
