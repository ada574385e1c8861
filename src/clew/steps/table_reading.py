"""Read a question beside a table: which words name columns, values of them, or bounds.

No word may be left over that the table does not explain: it might say which rows are meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from clew.runtime.lazy import compile_re
from clew.steps.data_tables import DataTable, join_tables, split_name
from clew.text.amounts import Amounts, format_date, read_amounts
from clew.text.analyze import STOP_WORDS
from clew.text.counting import (
    FILLERS,
    ROWS,
    SAID_BY,
    CountQuestion,
    QuestionBound,
    find_token_base,
    read_count_question,
    read_tokens,
)
from clew.text.normalize import fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

Nearness = Callable[[Sequence[str], Sequence[str]], "NDArray[np.floating]"]
# How much a word that is explained says for a table, by what explains it. Different numbers.
OPERATION, SYNONYM, ALIKE, CAPTION, COLUMN, VALUE = 0.0, 0.7, 0.9, 1.0, 1.5, 2.0

_YES = frozenset("yes true y x ja oui si 1 ✓ ✔".split())
_NO = frozenset("no false n nein non 0 ✗".split())
_NEGATING = frozenset(
    "not no without except excluding never non neither nor other isn't aren't don't doesn't didn't"
    " wasn't weren't".split()
)
_UNIT = compile_re(
    r"[\(\[]\s*([^)\]]{1,20})\s*[\)\]]|,\s*([a-z%°²³/]{1,6})$|\bin ([a-z²³%]{1,12})$"
)
_PARTS = compile_re(r"\s*[,;/&]\s*|\s+and\s+")  # of a cell that lists several values
_JOINING = compile_re(r" (?:per|by|of|each) ", re.IGNORECASE)
_LONGEST = 8  # words of a value
_STEM = 6  # letters that "operate" and "operator" share
_SAME = 0.55  # cosine of two words that mean the same
_NEAR, _FAR = 3, 4  # words before a value that may negate it; from a bound to what it bounds
_SEXES = {
    word: find_token_base(sex)
    for words, sex in (("woman women girls", "female"), ("man men boys", "male"))
    for word in words.split()
}
# What tables of people have, of which a question may ask for people.
_OF_PEOPLE = frozenset(
    map(
        find_token_base,
        "age gender sex salary surname birth birthday born nationality staff employee member people"
        " person passenger player student patient customer team holder shareholder owner author"
        " captain".split(),
    )
)
_WHO = compile_re(r"\W*who\b", re.IGNORECASE)
_CASED = compile_re(r"[A-Z]|\d")
_COMPARE = {
    ">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal, "=": np.equal,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RowCondition:
    """What rows must fulfil in one column, in words and as (n,) truth values."""

    column: int
    words: str
    holds: NDArray[np.bool_]
    is_equal: bool = False  # to a value; several of one column are alternatives


@dataclass(slots=True)
class TableReading:
    """A question beside a table: which words are explained, and by what."""

    question: CountQuestion
    table: DataTable
    explained: dict[int, float] = field(default_factory=dict)  # tokens, with their weights
    mentions: list[tuple[int, int, int]] = field(default_factory=list)  # tokens[a:b] and column
    _amounts: dict[int, Amounts | None] = field(default_factory=dict)

    def read_numbers(self, column: int) -> Amounts | None:
        """Return the numbers or dates of a column, None where it is of something else."""
        if column not in self._amounts:
            self._amounts[column] = read_amounts(self.table.column(column))
        return self._amounts[column]

    def explain(self, first: int, last: int, weight: float) -> None:
        """Note that tokens are explained."""
        for i in range(first, last):
            self.explained[i] = max(self.explained.get(i, OPERATION), weight)

    def names_column(self, token: int) -> bool:
        """Say whether a token is a column's name, or means the same, but no verb for it."""
        return self.explained.get(token) != ALIKE


def read_question(
    question: CountQuestion, table: DataTable, near: Nearness
) -> tuple[TableReading, list[RowCondition]] | None:
    """Return a question as a table explains it, None where that leaves a word.

    `near` gives the (n, m) cosines of n words to m others.
    """
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
    conditions += _find_words(reading)
    named = _choose_parts(reading, _explain_caption(reading))
    if named:
        return read_question(question, join_tables(named), near)
    _explain_synonyms(reading, near)
    left = [t for i, t in enumerate(tokens) if i not in reading.explained]
    is_clear = not _compares(reading) and all(
        (t.key in STOP_WORDS or t.base in FILLERS) and t.key not in _NEGATING for t in left
    )
    if not is_clear or not any(reading.explained.values()) or not _knows_noun(reading):
        return None
    return reading, conditions


def _join_names(question: CountQuestion, table: DataTable) -> CountQuestion:
    """Return a question whose names of columns have no "per" and "by", which would be groups."""
    text = question.text
    for name in map(_plain_name, table.columns):
        if _JOINING.search(name):
            text = re.sub(re.escape(name), _JOINING.sub(" ", name), text, flags=re.IGNORECASE)
    return question if text == question.text else read_count_question(text) or question


def _compares(reading: TableReading) -> bool:
    """Say whether a question compares with something else than a number: "longer than the Fram"."""
    places = (i for i, t in enumerate(reading.question.tokens) if t.key == "than")
    return any(
        i not in reading.explained and reading.explained.get(i - 1) != OPERATION for i in places
    )


def _knows_noun(reading: TableReading) -> bool:
    """Say whether what is counted is in the table: as a column, a value, a caption, or as rows."""
    question = reading.question
    words = {word for name in reading.table.columns for word in column_words(name)}
    is_of_people = bool((words | _caption_words(reading.table)) & _OF_PEOPLE)
    if _WHO.match(question.text) and not is_of_people:
        return False
    if question.operation not in {"count", "list"} or question.noun < 0:
        return True
    first = _find_word(question, question.noun)
    if first is None or reading.explained.get(first):
        return True
    base = question.tokens[first].base
    return base in ROWS and (base != "person" or is_of_people)


def _find_word(question: CountQuestion, place: int) -> int | None:
    """Return the first token from a place of a question on that says something, if any."""
    behind = (i for i, t in enumerate(question.tokens) if 0 <= place <= t.start)
    return next((i for i in behind if question.tokens[i].key not in STOP_WORDS), None)


# -- columns --------------------------------------------------------------------------------------


def column_words(name: str) -> list[str]:
    """Return the bases of the words of a column's name, without its unit.

    >>> column_words("Length (m)"), column_words("portsOfCall")
    (['length'], ['port', 'call'])
    """
    return [t.base for t in read_tokens(_plain_name(name)) if t.key not in STOP_WORDS]


def column_unit(name: str) -> str:
    """Return the unit that a column's name has, or "".

    >>> column_unit("Length (m)"), column_unit("Weight_in_lbs"), column_unit("Port")
    ('m', 'lbs', '')
    """
    match = _UNIT.search(split_name(name))
    return next(filter(None, match.groups())).strip() if match else ""


def _plain_name(name: str) -> str:
    return " ".join(_UNIT.sub(" ", split_name(name)).split())


def _caption_words(table: DataTable) -> set[str]:
    words = read_tokens(split_name(table.caption))
    return {t.base for t in words if t.key not in STOP_WORDS}


def _find_columns(reading: TableReading) -> Iterator[tuple[int, int, int]]:
    """Yield runs of words that name a column: whole names, then parts, then words like these."""
    bases = [t.base for t in reading.question.tokens]
    columns = [column_words(name) for name in reading.table.columns]
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
    """Yield where a run of words begins among others."""
    for i in range(len(words) - len(part) + 1):
        if list(words[i : i + len(part)]) == list(part):
            yield i


def _are_alike(base: str, word: str) -> bool:
    """Say whether a word ends a column's, is a verb for it, or has its stem: "holders"."""
    ends = len(base) > 3 and word.endswith(base)
    has_stem = len(base) >= _STEM and base[:_STEM] == word[:_STEM]
    return ends or word in SAID_BY.get(base, ()) or (has_stem and abs(len(base) - len(word)) < 4)


# -- values ---------------------------------------------------------------------------------------


def _find_values(reading: TableReading) -> list[RowCondition]:
    """Return conditions on columns that have a cell, or a part of one, that the question has."""
    table = reading.table
    found: dict[tuple[int, int], dict[int, set[str]]] = {}  # runs of tokens: columns: values
    bases = [_SEXES.get(t.key) or find_token_base(t.base) for t in reading.question.tokens]
    text = fold(reading.question.text)
    for column in range(len(table.columns)):
        cells = dict.fromkeys(table.column(column))
        parts = (part for cell in cells for part in (cell, *_PARTS.split(cell)))
        for part in dict.fromkeys(parts):
            for place in _find_value(part, text, bases):
                found.setdefault(place, {}).setdefault(column, set()).add(part)
    used: set[int] = set()
    conditions: list[RowCondition] = []
    for (first, last), columns in sorted(found.items(), key=lambda r: (r[0][0] - r[0][1], r[0])):
        run = range(first, last)
        if used.intersection(run) or not _may_be_value(reading, run, columns):
            continue
        used.update(run)
        column = _choose_column(reading, run, columns)
        reading.explain(first, last, VALUE)
        reading.mentions = [m for m in reading.mentions if not (first <= m[0] and m[1] <= last)]
        values = {fold(value) for value in columns[column]}
        holds = np.array([_has_value(cell, values) for cell in table.column(column)], dtype=bool)
        conditions.append(_make_condition(reading, first, column, min(columns[column]), holds))
    return conditions


def _find_value(part: str, text: str, bases: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the tokens of a question that say a value, which is more than a number."""
    key = fold(part).strip()
    is_word = len(key) > 1 and any(map(str.isalpha, key)) and key not in _YES | _NO
    if not is_word or (" " in key and key not in text):
        return
    words = read_tokens(part)
    if 0 < len(words) <= _LONGEST and any(word.key not in STOP_WORDS for word in words):
        own = [find_token_base(word.base) for word in words]
        yield from ((i, i + len(own)) for i in _find_run(own, bases))


def _may_be_value(reading: TableReading, run: range, columns: Iterable[int]) -> bool:
    """Say whether words are a value, not a column's name or a part of the operation.

    Those that are a column's name, too, are a value of another column with a capital: "Port".
    """
    if any(reading.explained.get(i) == OPERATION for i in run):
        return False
    named = {i: column for a, b, column in reading.mentions for i in range(a, b)}
    if not all(i in named for i in run):
        return True
    has_other = bool(set(columns) - {named[i] for i in run})
    return has_other and reading.question.tokens[run.start].text[0].isupper()


def _choose_column(reading: TableReading, run: range, columns: Iterable[int]) -> int:
    """Return of the columns with a value the one that is named beside it, else of fewest values."""
    beside = {c for a, b, c in reading.mentions if min(abs(a - run.stop), abs(run.start - b)) <= 2}
    return min(columns, key=lambda c: (c not in beside, len(set(reading.table.column(c))), c))


def _has_value(cell: str, values: set[str]) -> bool:
    return any(fold(part).strip() in values for part in (cell, *_PARTS.split(cell)))


def _make_condition(
    reading: TableReading, place: int, column: int, value: str, holds: NDArray[np.bool_]
) -> RowCondition:
    """Return a condition, turned round where a word that negates stands before it."""
    name = reading.table.columns[column]
    for k in range(max(0, place - _NEAR), place):
        if reading.question.tokens[k].key in _NEGATING and k not in reading.explained:
            reading.explain(k, k + 1, OPERATION)
            return RowCondition(column, f"{name} is not {value}", ~holds)
    return RowCondition(column, f"{name} is {value}", holds, is_equal=True)


def _find_flags(reading: TableReading) -> Iterator[RowCondition]:
    """Yield conditions on columns of yes and no that the question names."""
    for first, _, column in reading.mentions:
        cells = [fold(cell).strip() for cell in reading.table.column(column)]
        full = set(cells) - {""}
        if full <= _YES | _NO and full & _YES:
            holds = np.array([cell in _YES for cell in cells], dtype=bool)
            yield _make_condition(reading, first, column, "yes", holds)


def _find_words(reading: TableReading) -> Iterator[RowCondition]:
    """Yield conditions for numbers beside a column's name, and names that are parts of cells."""
    for i, token in enumerate(reading.question.tokens):
        if i in reading.explained or token.key in STOP_WORDS or not _CASED.search(token.text):
            continue
        if i == 0 and not _CASED.search(token.text[1:]):  # its capital begins the sentence
            continue
        beside = [column for a, b, column in reading.mentions if i in {a - 1, b}]
        amounts = reading.read_numbers(beside[0]) if beside else None
        if token.key.isdigit() and amounts is not None:  # "8 cylinders"
            holds = amounts.values == float(token.key)
            reading.explain(i, i + 1, VALUE)
            yield _make_condition(reading, i, beside[0], token.text, holds)
            continue
        word = re.compile(rf"(?<!\w){re.escape(token.key)}(?!\w)")
        for column in range(len(reading.table.columns)):
            cells = reading.table.column(column)
            holds = np.array([bool(word.search(fold(cell))) for cell in cells], dtype=bool)
            if holds.any() and reading.read_numbers(column) is None:
                reading.explain(i, i + 1, VALUE)
                yield _make_condition(reading, i, column, token.text, holds)
                break


# -- bounds ---------------------------------------------------------------------------------------


def _read_bound(reading: TableReading, each: QuestionBound) -> RowCondition | None:
    """Return the condition that a comparison sets, None where no column can be meant."""
    tokens = reading.question.tokens
    inside = [i for i, t in enumerate(tokens) if t.start < each.end and each.start < t.end]
    first, last = inside[0], inside[-1] + 1
    columns = range(len(reading.table.columns))
    scores = {c: _score_bound(reading, each, c, first, last) for c in columns}
    scored = {column: score for column, score in scores.items() if score is not None}
    if not scored:
        return None
    column = max(scored, key=lambda c: (scored[c], -c))
    amounts = reading.read_numbers(column)
    if amounts is None or (not scored[column] and len(scored) > 1):
        return None
    unit = column_unit(reading.table.columns[column]) or amounts.unit
    for k in range(first, min(last + 2, len(tokens))):
        if k < last or tokens[k].base == find_token_base(fold(unit)):
            reading.explain(k, k + 1, CAPTION)
    holds = np.ones(len(reading.table.rows), dtype=bool)
    said = []
    for sign, number, is_date in each.bounds:
        values, bound = amounts.values, number
        if amounts.are_dates:
            values, bound = _cut_dates(values, number)
        elif is_date:  # a number like a year
            bound = number // 10_000
        holds &= _COMPARE[sign](values, bound)
        shown = format_date(number) if amounts.are_dates else f"{bound:,.12g}"
        said.append(f"{sign} {shown}")
    words = f"{reading.table.columns[column]} {' and '.join(said)}"
    return RowCondition(column, words, holds)


def _score_bound(
    reading: TableReading, each: QuestionBound, column: int, first: int, last: int
) -> float | None:
    """Return how likely a column is what tokens[first:last] bound, None where it cannot be.

    It is named near by, has the unit behind the number, or is what "longer" and "before" mean.
    """
    amounts = reading.read_numbers(column)
    is_date = all(bound[2] for bound in each.bounds)
    if amounts is None or (amounts.are_dates and not is_date):
        return None
    if each.is_time and not amounts.are_dates:
        return None
    named = [(a, b) for a, b, c in reading.mentions if c == column]
    gaps = (a - last if a >= last else first - b for a, b in named)
    scores = [3.0 - 0.5 * min(abs(gap), _FAR) for gap in gaps]
    name = reading.table.columns[column]
    behind = [t.base for t in reading.question.tokens[last : last + 2]]
    unit = find_token_base(fold(column_unit(name) or amounts.unit))
    scores += [2.5] * bool(unit and unit in {*behind, "".join(behind)})
    scores += [2.2] * bool(set(map(find_token_base, each.hints)) & set(column_words(name)))
    return max(scores, default=0.0) + 1.2 * (amounts.are_dates and is_date)


def _cut_dates(values: NDArray[np.float64], bound: float) -> tuple[NDArray[np.float64], float]:
    """Return dates as far as the bound says one: years to a year, months to a month."""
    step = next(step for step in (10_000, 100, 1) if bound % step == 0)
    return np.floor(values / step), bound // step


# -- other words ----------------------------------------------------------------------------------


def _explain_caption(reading: TableReading) -> list[int]:
    """Explain words of the caption, and return which tokens these are."""
    words, tokens = _caption_words(reading.table), reading.question.tokens
    found = [i for i, t in enumerate(tokens) if i not in reading.explained and t.base in words]
    for i in found:
        reading.explain(i, i + 1, CAPTION)
    return found


def _choose_parts(reading: TableReading, found: Sequence[int]) -> list[DataTable]:
    """Return the parts of a table whose captions have most of some tokens, [] if all have as many.

    What is counted may have another name in each: "How many ships are in the Oslo fleet?"
    """
    question, parts = reading.question, reading.table.parts
    noun = _find_word(question, question.noun)
    asked = {question.tokens[i].base for i in found if i != noun} - FILLERS
    counts = [len(asked & _caption_words(part)) for part in parts]
    if not counts or min(counts) == max(counts):
        return []
    return [part for part, n in zip(parts, counts, strict=True) if n == max(counts)]


def _explain_synonyms(reading: TableReading, near: Nearness) -> None:
    """Explain what is counted, measured or grouped by that means what a column is called.

    Only there: elsewhere a word may say which rows are meant, which no column explains.
    """
    tokens, question = reading.question.tokens, reading.question
    left: list[int] = []
    for place in (question.noun, question.measure, *question.groups):
        first = _find_word(question, place)
        if first is not None and first not in reading.explained:
            is_word = tokens[first].text.isalpha() and tokens[first].text.islower()
            left += [first] * (is_word and tokens[first].base not in ROWS)
    if not left:
        return
    names = [_plain_name(name).casefold() for name in reading.table.columns]
    caption = {t.key for t in read_tokens(split_name(reading.table.caption)) if t.key.isalpha()}
    cosines = near([tokens[i].key for i in left], [*names, *sorted(caption)])
    for i, row in zip(left, cosines, strict=True):
        best = int(np.argmax(row))
        if row[best] >= _SAME:
            reading.explain(i, i + 1, SYNONYM)
            reading.mentions += [(i, i + 1, best)] * (best < len(names))
