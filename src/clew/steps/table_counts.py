"""A question about all rows of a table, read by the table's columns and cells, and computed.

No word of a question may be left over that the table does not explain: then it does not answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from clew.runtime.lazy import compile_re
from clew.steps.grids import Grid, GridRow, split_name
from clew.text.amounts import Amounts, is_empty, read_amounts
from clew.text.analyze import STOP_WORDS
from clew.text.counting import (
    FILLERS,
    ROWS,
    SAID_BY,
    Comparison,
    CountQuestion,
    Token,
    find_token_base,
    read_count_question,
    read_tokens,
)
from clew.text.normalize import fold

if TYPE_CHECKING:
    from numpy.typing import NDArray

Nearness = Callable[[Sequence[str], Sequence[str]], "NDArray[np.floating]"]

_YES = frozenset("yes true y x ja oui si 1 ✓ ✔".split())
_NO = frozenset("no false n nein non 0 ✗".split())
_NEGATING = frozenset("not no without except excluding never non neither nor other isn't aren't don't doesn't didn't wasn't weren't".split())
_UNIT = compile_re(r"[\(\[]\s*([^)\]]{1,20})\s*[\)\]]|,\s*([a-z%°²³/]{1,6})$|\bin ([a-z²³%]{1,12})$")
_PARTS = compile_re(r"\s*[,;/&]\s*|\s+and\s+")
_JOINING = compile_re(r" (?:per|by|of|each) ", re.IGNORECASE)
_LONGEST = 8  # words of a cell that a question may have
_SAME = 0.55  # cosine of two words that mean the same
_QUANTITIES = frozenset(map(find_token_base, "quantity qty amount pieces units count".split()))
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
_KEYS = frozenset("name title id code no number ref sku key".split())
_CASED = compile_re(r"[A-Z]|\d")


@dataclass(frozen=True, slots=True)
class Condition:
    """What rows must fulfil in one column, in words and as (n,) truth values."""

    column: int
    words: str
    holds: NDArray[np.bool_]
    is_equal: bool = False  # to a value; several of one column are alternatives


@dataclass(frozen=True, slots=True)
class TableResult:
    """What a table says: the answer in words, and the rows that it rests on."""

    kind: str  # "count", "list" or "amount"
    text: str
    note: str  # the conditions, and what was left out
    rows: tuple[GridRow, ...]
    labels: tuple[str, ...]  # of each of these rows
    grid: Grid
    score: float


@dataclass(slots=True)
class _Reading:
    """A question beside a table: which words are explained by what."""

    question: CountQuestion
    grid: Grid
    near: Nearness
    amounts: dict[int, Amounts | None] = field(default_factory=dict)
    explained: dict[int, float] = field(default_factory=dict)  # tokens, with their weights
    mentions: list[tuple[int, int, int]] = field(default_factory=list)  # tokens and column

    def numbers(self, column: int) -> Amounts | None:
        if column not in self.amounts:
            cells = self.grid.column(column)
            self.amounts[column] = read_amounts(cells)
        return self.amounts[column]

    def explain(self, first: int, last: int, weight: float) -> None:
        for i in range(first, last):
            self.explained[i] = max(self.explained.get(i, 0.0), weight)

    def is_free(self, first: int, last: int) -> bool:
        return not any(i in self.explained for i in range(first, last))


def read_table(question: CountQuestion, grid: Grid, near: Nearness) -> TableResult | None:
    """Return what a table answers to a question, None where it does not explain each word.

    `near` gives the (n, m) cosines of n words to m others.
    """
    question = _join_names(question, grid)
    reading = _Reading(question, grid, near)
    tokens = question.tokens
    for i, token in enumerate(tokens):
        if any(a < token.end and token.start < b for a, b in question.taken):
            reading.explained[i] = 0.0
    columns = [_column_words(name) for name in grid.columns]
    reading.mentions = list(_find_columns(reading, columns))
    conditions = [*_find_values(reading), *_find_flags(reading)]
    for each in question.comparisons:
        bound = _bound(reading, each, columns)
        if bound is None:
            return None
        conditions.append(bound)
    conditions += _find_words(reading, conditions)
    _explain_caption(reading)
    _explain_synonyms(reading)
    left = [
        t
        for i, t in enumerate(tokens)
        if i not in reading.explained and t.key not in STOP_WORDS and t.base not in FILLERS
    ]
    negated = any(t.key in _NEGATING for i, t in enumerate(tokens) if i not in reading.explained)
    if left or negated or not any(reading.explained.values()) or not _knows_noun(reading):
        return None
    return _compute(reading, conditions)


def _join_names(question: CountQuestion, grid: Grid) -> CountQuestion:
    """Return a question whose names of columns have no "per" and "by", which would be groups."""
    text = question.text
    for name in map(_plain_name, grid.columns):
        if _JOINING.search(name):
            text = re.sub(re.escape(name), _JOINING.sub(" ", name), text, flags=re.IGNORECASE)
    return question if text == question.text else read_count_question(text) or question


def _knows_noun(reading: _Reading) -> bool:
    """Say whether what is counted is in the table: as a column, a value, a caption, or as rows."""
    question, tokens = reading.question, reading.question.tokens
    words = {word for name in reading.grid.columns for word in _column_words(name)}
    words |= {t.base for t in read_tokens(split_name(reading.grid.caption))}
    if _WHO.match(question.text) and not words & _OF_PEOPLE:
        return False
    place = question.noun if question.operation in {"count", "list"} else -1
    for i, token in enumerate(tokens):
        if place < 0 or token.start < place or token.key in STOP_WORDS:
            continue
        if reading.explained.get(i):
            return True
        return token.base in ROWS and (token.base != "person" or bool(words & _OF_PEOPLE))
    return True


# -- words of the question ------------------------------------------------------------------------


def _column_words(name: str) -> list[str]:
    return [t.base for t in read_tokens(_plain_name(name)) if t.key not in STOP_WORDS]


def _plain_name(name: str) -> str:
    """Return the name of a column in words, without its unit: "Weight_in_lbs" is "Weight"."""
    return " ".join(_UNIT.sub(" ", split_name(name)).split())


def _column_unit(name: str) -> str:
    match = _UNIT.search(split_name(name))
    return fold(next(filter(None, match.groups()))).strip() if match else ""


def _find_columns(reading: _Reading, columns: Sequence[Sequence[str]]) -> Iterator[tuple[int, int, int]]:
    """Yield runs of words that name a column, whole names before parts of them."""
    tokens, taken = reading.question.tokens, set(reading.explained)
    bases = [t.base for t in tokens]
    runs: list[tuple[int, int, int, int]] = []
    for c, words in enumerate(columns):
        for size in range(1, len(words) + 1):
            for at in range(len(words) - size + 1):
                part = list(words[at : at + size])
                is_part = size < len(words)
                own = sum(part == list(w[k : k + size]) for w in columns for k in range(len(w)))
                if is_part and (size == 1 and len(part[0]) < 3 or own > 1 and at + size < len(words)):
                    continue
                for i in range(len(bases) - size + 1):
                    if bases[i : i + size] == part and not taken & set(range(i, i + size)):
                        rank = 2 * size + (not is_part)
                        runs.append((-rank, i, c, size))
    for i, base in enumerate(bases):
        for c, words in enumerate(columns):
            if i not in taken and any(_are_alike(base, word) for word in words):
                runs.append((-1, i, c, 0))
    for _, i, c, size in sorted(runs):
        run = range(i, i + max(size, 1))
        if not taken & set(run):
            taken.update(run)
            reading.explain(i, run.stop, 1.5 if size else 0.9)  # a verb may say it, too
            yield i, run.stop, c


def _are_alike(base: str, word: str) -> bool:
    """Say whether a word has a column's in it, or its stem: "holders" and "Shareholder"."""
    if len(base) > 3 and word.endswith(base):
        return True
    if word in SAID_BY.get(base, ()):
        return True
    return len(base) > 5 and base[:6] == word[:6] and abs(len(base) - len(word)) < 4


def _find_values(reading: _Reading) -> list[Condition]:
    """Return conditions on columns that have a cell, or a part of one, that the question has."""
    grid, tokens = reading.grid, reading.question.tokens
    bases = [_SEXES.get(t.key) or find_token_base(t.base) for t in tokens]
    text = fold(reading.question.text)
    runs: dict[tuple[int, int], dict[int, set[str]]] = {}
    for c in range(len(grid.columns)):
        for cell in dict.fromkeys(grid.column(c)):
            for part in dict.fromkeys([cell, *_PARTS.split(cell)]):
                for run in _find_value(part, text, bases):
                    runs.setdefault(run, {}).setdefault(c, set()).add(part)
    mentioned = {i: c for a, b, c in reading.mentions for i in range(a, b)}
    used: set[int] = set()
    conditions: list[Condition] = []
    for (i, j), by_column in sorted(runs.items(), key=lambda r: (r[0][0] - r[0][1], r[0][0])):
        run = set(range(i, j))
        if run & used or any(reading.explained.get(k) == 0.0 for k in run):
            continue
        if run <= set(mentioned) and not _is_name(tokens[i:j], by_column, reading):
            continue
        column = _choose_column(reading, i, j, by_column)
        values = {fold(v) for v in by_column[column]}
        used |= run
        reading.explain(i, j, 2.0)
        reading.mentions = [m for m in reading.mentions if not (i <= m[0] and m[1] <= j)]
        holds = np.array([_has_part(cell, values) for cell in grid.column(column)])
        conditions.append(_condition(reading, i, column, sorted(by_column[column])[0], holds))
    return conditions


def _find_value(part: str, text: str, bases: Sequence[str]) -> Iterator[tuple[int, int]]:
    key = fold(part).strip()
    if len(key) < 2 or not any(map(str.isalpha, key)) or key in _YES or key in _NO:
        return
    if key not in text and " " in key:
        return
    words = read_tokens(part)
    if not 0 < len(words) <= _LONGEST or all(w.key in STOP_WORDS for w in words):
        return
    own = [find_token_base(w.base) for w in words]
    for i in range(len(bases) - len(own) + 1):
        if list(bases[i : i + len(own)]) == own:
            yield i, i + len(own)


def _is_name(tokens: Sequence[Token], by_column: Iterable[int], reading: _Reading) -> bool:
    """Say whether words that also name a column are rather the value of another one."""
    own = {c for a, b, c in reading.mentions for t in tokens if reading.question.tokens[a].start == t.start}
    return bool(set(by_column) - own) and tokens[0].text[0].isupper()


def _choose_column(reading: _Reading, i: int, j: int, by_column: Iterable[int]) -> int:
    """Return of the columns that have a value the one named beside it, else the one with most."""
    named = {c: min(abs(a - j), abs(i - b)) for a, b, c in reading.mentions}
    columns = list(by_column)
    return min(columns, key=lambda c: (named.get(c, 99) > 2, len(set(reading.grid.column(c))), c))


def _has_part(cell: str, values: set[str]) -> bool:
    return fold(cell).strip() in values or any(fold(p).strip() in values for p in _PARTS.split(cell))


def _condition(
    reading: _Reading, i: int, column: int, value: str, holds: NDArray[np.bool_]
) -> Condition:
    """Return a condition, turned round where a word that negates stands before it."""
    name = reading.grid.columns[column]
    before = range(max(0, i - 3), i)
    for k in before:
        token = reading.question.tokens[k]
        if token.key in _NEGATING and reading.explained.get(k) is None:
            reading.explain(k, k + 1, 0.0)
            return Condition(column, f"{name} is not {value}", ~holds)
    return Condition(column, f"{name} is {value}", holds, is_equal=True)


def _find_flags(reading: _Reading) -> list[Condition]:
    """Return conditions on columns of yes and no that the question names."""
    conditions = []
    for first, _, column in reading.mentions:
        cells = [fold(cell).strip() for cell in reading.grid.column(column)]
        full = {cell for cell in cells if cell}
        if full and full <= _YES | _NO and full & _YES:
            holds = np.array([cell in _YES for cell in cells])
            conditions.append(_condition(reading, first, column, "yes", holds))
    return conditions


def _find_words(reading: _Reading, conditions: Sequence[Condition]) -> list[Condition]:
    """Return conditions for names and codes that stand in cells beside other words."""
    found: list[Condition] = []
    tokens = reading.question.tokens
    for i, token in enumerate(tokens):
        if i in reading.explained or not _CASED.search(token.text) or token.key in STOP_WORDS:
            continue
        if i == 0 and not token.text[1:].isupper() and not any(map(str.isdigit, token.text)):
            continue
        beside = [c for a, b, c in reading.mentions if a == i + 1 or b == i]
        amounts = reading.numbers(beside[0]) if beside else None
        if token.key.isdigit() and amounts is not None:  # "8 cylinders"
            reading.explain(i, i + 1, 2.0)
            holds = amounts.values == float(token.key)
            found.append(_condition(reading, i, beside[0], token.text, holds))
            continue
        word = re.compile(rf"(?<!\w){re.escape(token.key)}(?!\w)")
        for column in range(len(reading.grid.columns)):
            holds = np.array([bool(word.search(fold(c))) for c in reading.grid.column(column)])
            if holds.any() and reading.numbers(column) is None:
                reading.explain(i, i + 1, 2.0)
                found.append(_condition(reading, i, column, token.text, holds))
                break
    return found


def _explain_caption(reading: _Reading) -> None:
    words = {t.base for t in read_tokens(split_name(reading.grid.caption))}
    for i, token in enumerate(reading.question.tokens):
        if i not in reading.explained and token.base in words and token.key not in STOP_WORDS:
            reading.explain(i, i + 1, 1.0)


def _explain_synonyms(reading: _Reading) -> None:
    """Explain what is counted, measured or grouped by that means what a column is called.

    Only there: elsewhere a word may say which rows are meant, which no column explains.
    """
    tokens, question = reading.question.tokens, reading.question
    slots = [place for place in (question.noun, question.measure, *question.groups) if place >= 0]
    left = []
    for place in slots:
        words = [i for i, t in enumerate(tokens) if t.start >= place and t.key not in STOP_WORDS]
        if words and words[0] not in reading.explained and tokens[words[0]].text.isalpha():
            left += [i for i in words[:1] if tokens[i].text.islower() and tokens[i].base not in ROWS]
    if not left:
        return
    names = [_plain_name(name).casefold() for name in reading.grid.columns]
    caption = read_tokens(split_name(reading.grid.caption))
    others = [*names, *sorted({t.key for t in caption if t.key.isalpha()})]
    cosines = reading.near([tokens[i].key for i in left], others)
    for i, row in zip(left, cosines, strict=True):
        best = int(np.argmax(row))
        if row[best] >= _SAME:
            reading.explain(i, i + 1, 0.7)
            if best < len(names):
                reading.mentions.append((i, i + 1, best))


def _bound(reading: _Reading, each: Comparison, columns: Sequence[Sequence[str]]) -> Condition | None:
    """Return the condition of a comparison, None where no column can be meant."""
    tokens = reading.question.tokens
    inside = [i for i, t in enumerate(tokens) if t.start < each.end and each.start < t.end]
    first, last = (inside[0], inside[-1] + 1) if inside else (0, 0)
    is_date = all(bound[2] for bound in each.bounds)
    units = {tokens[k].base for k in range(last, min(last + 2, len(tokens)))}
    scored: list[tuple[float, int]] = []
    for c, name in enumerate(reading.grid.columns):
        amounts = reading.numbers(c)
        if amounts is None or (amounts.are_dates and not is_date):
            continue
        if each.is_time and not amounts.are_dates:
            continue
        score = 0.0
        for a, b, column in reading.mentions:
            if column == c:
                gap = a - last if a >= last else first - b
                score = max(score, 3.0 - 0.5 * min(abs(gap), 4))
        unit = _column_unit(name) or amounts.unit
        if unit and find_token_base(unit) in units | {"".join(units)}:
            score = max(score, 2.5)
            for k in range(last, min(last + 2, len(tokens))):
                if tokens[k].base == find_token_base(unit):
                    reading.explain(k, k + 1, 1.0)
        if set(each.hints) & set(columns[c]):
            score = max(score, 2.2)
        if is_date and amounts.are_dates:
            score += 1.2
        scored.append((score, c))
    if not scored:
        return None
    best, column = max(scored, key=lambda s: (s[0], -s[1]))
    if best <= 0 and len(scored) > 1:
        return None
    amounts = reading.numbers(column)
    assert amounts is not None  # noqa: S101 -- it was scored
    reading.explain(first, last, 1.0)
    holds = np.ones(len(reading.grid.rows), dtype=bool)
    said = []
    for sign, bound, is_a_date in each.bounds:
        values = amounts.values
        if is_a_date and not amounts.are_dates:
            bound = bound // 10_000  # it was a number like a year
        elif amounts.are_dates:
            values, bound = _as_far_as(values, bound)
        holds &= _COMPARE[sign](values, bound)
        said.append(f"{sign} {_format_bound(bound)}")
    return Condition(column, f"{reading.grid.columns[column]} {' and '.join(said)}", holds)


_COMPARE = {
    ">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal, "=": np.equal,
}  # fmt: skip


def _as_far_as(values: NDArray[np.float64], bound: float) -> tuple[NDArray[np.float64], float]:
    """Return dates as far as the bound says one: years to a year, months to a month."""
    step = 10_000 if bound % 10_000 == 0 else 100 if bound % 100 == 0 else 1
    return np.floor(values / step), bound // step


def _format_bound(bound: float) -> str:
    return f"{bound:g}" if bound < 1e6 else f"{bound:,.0f}"


# -- the answer -----------------------------------------------------------------------------------


def _compute(reading: _Reading, conditions: Sequence[Condition]) -> TableResult | None:
    grid, question = reading.grid, reading.question
    holds = np.ones(len(grid.rows), dtype=bool)
    for column in dict.fromkeys(c.column for c in conditions):
        own = [c for c in conditions if c.column == column]
        equal = [c.holds for c in own if c.is_equal]
        if equal:
            holds &= np.logical_or.reduce(equal)
        for each in own:
            if not each.is_equal:
                holds &= each.holds
    places = np.flatnonzero(holds)
    said = [c.words for c in conditions]
    used = {c.column for c in conditions}
    group = _find_group(reading)
    noun = _column_near(reading, question.noun, 3) if question.noun >= 0 else None
    if question.operation in {"most", "least"}:
        return _extreme(reading, places, said, used, group if group is not None else noun)
    if question.operation in {"sum", "mean", "median"}:
        return _aggregate(reading, places, said, used, group)
    numeric = noun is not None and (a := reading.numbers(noun)) is not None and not a.are_dates
    if question.operation == "count" and noun is None and question.noun >= 0:
        noun = _find_quantity(reading)
        numeric = noun is not None
    if question.operation == "count" and numeric and not _is_key(grid.columns[noun or 0]):
        return _aggregate(reading, places, said, used, group, column=noun)
    if group is not None:
        counts = _count_groups(grid, places, group)
        text = "; ".join(f"{name}: {n}" for name, n in counts)
        return _result(reading, "amount", text, said, places, noun, [group])
    key = _choose_key(reading, noun, used)
    shown = list(dict.fromkeys(c for _, _, c in reading.mentions if c != key))
    cells = [grid.rows[i].cells[key] for i in places]
    distinct = {fold(cell).strip(): i for cell, i in zip(reversed(cells), reversed(places.tolist()), strict=True) if not is_empty(cell)}
    if noun is not None and key == noun:
        places = np.array(sorted(distinct.values()), dtype=np.intp)
    text = str(len(places))
    if question.operation == "list":
        text = ", ".join(dict.fromkeys(grid.rows[i].cells[key] for i in places)) or "none"
    kind = "list" if question.operation == "list" else "count"
    return _result(reading, kind, text, said, places, key, shown)


def _find_quantity(reading: _Reading) -> int | None:
    """Return the column of how many there are of what a question counts, a value of another."""
    tokens, question = reading.question.tokens, reading.question
    start = next((i for i, t in enumerate(tokens) if t.start >= question.noun), len(tokens))
    if reading.explained.get(start) != 2.0:
        return None
    columns = enumerate(map(_column_words, reading.grid.columns))
    return next((c for c, words in columns if _QUANTITIES & set(words)), None)


def _is_key(name: str) -> bool:
    return bool(_KEYS & set(_column_words(name)))


def _column_near(reading: _Reading, place: int, most: int) -> int | None:
    """Return the column that the words name at a place of the question, a few words on at most."""
    tokens = reading.question.tokens
    start = next((i for i, t in enumerate(tokens) if t.start >= place), len(tokens))
    for a, _, c in sorted(reading.mentions):
        if start <= a <= start + most and reading.explained.get(a) != 0.9 and all(
            reading.explained.get(k) in (0.0, 0.7, 1.0, 2.0) or tokens[k].key in {"of", "the", "all"}
            for k in range(start, a)
        ):
            return c
    return None


def _find_group(reading: _Reading) -> int | None:
    for place in reading.question.groups:
        column = _column_near(reading, place, 1)
        if column is not None:
            return column
    return None


def _choose_key(reading: _Reading, noun: int | None, used: set[int]) -> int:
    """Return the column that names rows: what is asked for, else the first with most values."""
    if noun is not None:
        return noun
    grid = reading.grid
    texts = [c for c in range(len(grid.columns)) if reading.numbers(c) is None]
    texts = texts or list(range(len(grid.columns)))
    names = [c for c in texts if {"name", "title"} & set(_column_words(grid.columns[c]))]
    most = {c: len(set(grid.column(c))) for c in texts}
    caption = {t.base for t in read_tokens(grid.caption)}
    named = [c for c in texts if set(_column_words(grid.columns[c])) & caption]
    for some in (named, names):
        if some and most[some[0]] > 1:
            return some[0]
    best = max(most.values())
    full = [c for c in texts if most[c] == best]
    plain = [c for c in full if not _is_key(grid.columns[c])]
    return (plain or full)[0]


def _choose_measure(reading: _Reading, used: set[int], column: int | None = None) -> int | None:
    """Return the column of numbers that a sum, mean or extreme is of."""
    if column is not None:
        return column
    question, grid = reading.question, reading.grid
    numeric = [c for c in range(len(grid.columns)) if reading.numbers(c) is not None]
    tokens = question.tokens
    start = next((i for i, t in enumerate(tokens) if t.start >= question.measure), len(tokens))
    named = [(a < start, abs(a - start), c) for a, _, c in reading.mentions if c in numeric]
    if named:
        return min(named)[2]
    hinted = [c for hint in question.hints for c in numeric if find_token_base(hint) in _column_words(grid.columns[c])]
    if hinted:
        return hinted[0]
    plain = [c for c in numeric if not _is_key(grid.columns[c]) and not (reading.numbers(c) or Amounts(np.empty(0))).are_dates]
    return plain[0] if len(plain) == 1 and question.operation in {"sum", "mean", "median"} else None


def _count_groups(grid: Grid, places: NDArray[np.intp], group: int) -> list[tuple[str, int]]:
    counts = Counter(grid.rows[i].cells[group] or "(empty)" for i in places)
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


_AGGREGATES: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "sum": lambda v: float(np.sum(v)), "count": lambda v: float(np.sum(v)),
    "mean": lambda v: float(np.mean(v)), "median": lambda v: float(np.median(v)),
    "most": lambda v: float(np.sum(v)), "least": lambda v: float(np.sum(v)),
}  # fmt: skip


def _aggregate(
    reading: _Reading, places: NDArray[np.intp], said: list[str], used: set[int],
    group: int | None, column: int | None = None,
) -> TableResult | None:
    grid, question = reading.grid, reading.question
    measure = _choose_measure(reading, used, column)
    amounts = None if measure is None else reading.numbers(measure)
    if measure is None or amounts is None:
        if question.operation == "sum" and group is None and measure is None and question.noun < 0 and "how much" not in question.text.casefold():
            key = _choose_key(reading, None, used)
            return _result(reading, "count", str(len(places)), said, places, key, [])
        return None
    if amounts.are_dates:
        return None
    values = amounts.values[places]
    known = places[~np.isnan(values)]
    if not len(known):
        return None
    compute = _AGGREGATES[question.operation]
    unit = _column_unit(grid.columns[measure]) or amounts.unit
    name = {"count": "sum"}.get(question.operation, question.operation)
    said = [f"{name} of {grid.columns[measure]}", *said]
    if len(known) < len(places):
        said.append(f"{len(places) - len(known)} of {len(places)} rows have no number there")
    if group is None:
        text = _with_unit(compute(amounts.values[known]), unit)
    else:
        names = [grid.rows[i].cells[group] or "(empty)" for i in known]
        by_name = {n: compute(amounts.values[known[[m == n for m in names]]]) for n in sorted(set(names))}
        text = "; ".join(f"{n}: {_with_unit(v, unit)}" for n, v in by_name.items())
    shown = [measure] if group is None else [group, measure]
    return _result(reading, "amount", text, said, known, None, shown)


def _extreme(
    reading: _Reading, places: NDArray[np.intp], said: list[str], used: set[int], by: int | None
) -> TableResult | None:
    grid, question = reading.grid, reading.question
    is_most = question.operation == "most"
    measure = _choose_measure(reading, used - {by} if by is not None else used)
    repeats = by is not None and len({grid.rows[i].cells[by] for i in places}) < len(places)
    if measure == by:
        repeats = False
    if by is not None and repeats and (measure is None or question.most_is_count):
        if measure is None:
            groups = dict(_count_groups(grid, places, by))
            said = ["number of rows", *said]
        else:
            amounts = reading.numbers(measure)
            assert amounts is not None  # noqa: S101 -- it was chosen for its numbers
            groups = {}
            for i in places:
                if not np.isnan(amounts.values[i]):
                    name = grid.rows[i].cells[by]
                    groups[name] = groups.get(name, 0) + amounts.values[i]
            said = [f"sum of {grid.columns[measure]}", *said]
        if not groups:
            return None
        ends = sorted(groups.values(), reverse=is_most)[: question.top]
        best = {name for name, value in groups.items() if value in ends}
        text = "; ".join(f"{n}: {_with_unit(v, '')}" for n, v in groups.items() if n in best)
        own = np.array([i for i in places if grid.rows[i].cells[by] in best], dtype=np.intp)
        return _result(reading, "amount", text, said, own, None, [by])
    amounts = None if measure is None else reading.numbers(measure)
    if measure is None or amounts is None:
        return None
    is_age = amounts.are_dates and {"born", "built"} & set(question.hints) and any(
        t.base in {"old", "oldest", "young", "youngest", "newest", "latest"} for t in question.tokens
    )
    values = amounts.values[places]
    known = places[~np.isnan(values)]
    if not len(known):
        return None
    flip = _prefers_late(question, amounts.are_dates)
    is_most = flip if flip is not None and (is_age or amounts.are_dates) else is_most
    if not amounts.are_dates and _asks_age(question) and "age" in _column_words(grid.columns[measure]):
        is_most = "old" in question.text.casefold()
    ordered = np.argsort(-amounts.values[known] if is_most else amounts.values[known], kind="stable")
    bound = amounts.values[known[ordered[min(question.top, len(known)) - 1]]]
    limit = amounts.values[known] >= bound if is_most else amounts.values[known] <= bound
    own = known[ordered][limit[ordered]]
    unit = _column_unit(grid.columns[measure]) or amounts.unit
    key = by if by is not None and by != measure else _choose_key(reading, None, used)
    first = own[0]
    ends = ("earliest", "latest") if amounts.are_dates else ("lowest", "highest")
    said = [f"{ends[is_most]} {grid.columns[measure]}", *said]
    names = list(dict.fromkeys(f"{grid.rows[i].cells[key]} ({_show(grid, i, measure, unit)})" for i in own))
    text = "; ".join(names)
    if by == measure or (question.noun < 0 and not _WHO.match(question.text)):
        text = f"{_show(grid, first, measure, unit)} ({'; '.join(dict.fromkeys(grid.rows[i].cells[key] for i in own))})"
    return _result(reading, "amount", text, said, own, key, [measure])


def _asks_age(question: CountQuestion) -> bool:
    return bool(re.search(r"\b(?:old|young)est\b", question.text, re.IGNORECASE))


def _prefers_late(question: CountQuestion, are_dates: bool) -> bool | None:
    """Say whether the words of an extreme mean the latest date, None where they mean none."""
    if not are_dates:
        return None
    if re.search(r"\b(?:newest|latest|youngest|most recent)\b", question.text, re.IGNORECASE):
        return True
    if re.search(r"\b(?:oldest|earliest)\b", question.text, re.IGNORECASE):
        return False
    return question.operation == "most"


def _show(grid: Grid, i: int, column: int, unit: str) -> str:
    cell = grid.rows[i].cells[column]
    return cell if not unit or fold(unit) in fold(cell) else f"{cell} {unit}"


def _with_unit(value: float, unit: str) -> str:
    shown = f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
    return f"{shown} {unit}".strip() if unit not in {"$", "€", "£", "¥"} else f"{unit}{shown}"


def _result(
    reading: _Reading, kind: str, text: str, said: Sequence[str],
    places: NDArray[np.intp], key: int | None, shown: Sequence[int],
) -> TableResult:
    grid = reading.grid
    key = _choose_key(reading, None, set()) if key is None else key
    rows = tuple(grid.rows[i] for i in places)
    labels = []
    for row in rows:
        more = ", ".join(row.cells[c] for c in dict.fromkeys(shown) if c != key and row.cells[c])
        label = row.cells[key] or "(empty)"
        labels.append(f"{label} ({more})" if more else label)
    score = sum(reading.explained.values())
    return TableResult(kind, text, "; ".join(said), rows, tuple(labels), grid, score)
