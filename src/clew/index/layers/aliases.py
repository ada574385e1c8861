"""Find aliases among entity keys: safe merges by rules, and proposals to review.

Similar spellings are found by an exact similarity join over trigrams of characters with prefix
filtering (Bayardo, Ma, Srikant 2007, "Scaling up all pairs similarity search"): common trigrams
never bring two keys together, and no pair above the threshold is missed.

No two keys are proposed whose numbers differ, or whose words that tell namesakes apart: Roman
numerals, months, points of the compass, "first" and "second", "jr" and "senior". Initials have
no such words, so only numbers speak against them.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import DisjointSet
from scipy.sparse import csr_array

from clew.algo.links import entry_rows
from clew.algo.topk import DECIMALS
from clew.text.analyze import STOP_WORDS
from clew.text.dates import MONTHS

_LEGAL_FORMS = ("ltd", "inc", "llc", "plc", "gmbh")
_ROMAN = {
    tens + ones: str(10 * t + o)
    for t, tens in enumerate(("", "x", "xx", "xxx"))
    for o, ones in enumerate(("", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"))
    if tens + ones
}
_SAME_WORD = {"junior": "jr", "senior": "sr", "women": "woman", "men": "man"}
_TELLING_APART = frozenset(
    "jr sr elder younger north south east west northern southern eastern western northeast "
    "northwest southeast southwest upper lower old new male female man woman boys girls "
    "first second third fourth fifth sixth seventh eighth ninth tenth "
    "one two three four five six seven eight nine ten hundred thousand million billion "
    "monday tuesday wednesday thursday friday saturday sunday".split()
).union(map(str.lower, MONTHS))
_Found = Iterator[tuple[int, int, float, str]]  # two rows, a score and the reason
_FUNCTION_WORDS = frozenset("a an the of in on at to for from by with and".split())
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)$")
_ALIKE = 0.8  # of the letters of two words that differ in spelling, in the same order
_SLIP = 2  # letters in one place that another spelling may have more, less or otherwise
_NEARLY = 0.75  # the same, where the vectors of two names are near
_OF_A_PLACE = frozenset("n an ean ian er i ic a ese ish".split())  # endings: "chilean", "icelandic"
_MAX_WORDS = 12  # of a key whose initials and shorter forms are looked at
_ENDS = 32  # places where the length of what follows a prefix is known
_SLACK = 1e-6  # for what rounding may lift over a threshold
_BLOCK = 1 << 21  # products of two trigram weights that are held at once


class Proposal(NamedTuple):
    """Two keys, by rows a < b, that may be aliases. Scores are from 0 to 1."""

    a: int
    b: int
    score: float
    reason: str  # "spelling", "vectors", "initials" or "shorter form"


class Thresholds(NamedTuple):
    """The minimum similarities for a proposal."""

    spelling: float = 0.65  # cosine of trigram weights
    vectors: float = 0.9  # cosine of the names' vectors, for keys that are at least ...
    near: float = 0.5  # ... so similar in spelling


def rule_merges(keys: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs (a, b), a < b, of distinct keys that are safe to merge.

    One of the two is the other with "the" in front, with "and" for "&" (which no key shows),
    or with a legal form such as "ltd" behind two words or more. Where two legal forms of a name
    are keys they may be two companies, so neither is merged.
    """
    rows = {key: row for row, key in enumerate(keys)}
    pairs: set[tuple[int, int]] = set()
    for key, row in rows.items():
        for plain in _simplify(key, rows):
            other = rows.get(plain, row)
            if other != row:
                pairs.add((min(row, other), max(row, other)))
    return sorted(pairs)


def _simplify(key: str, rows: dict[str, int]) -> Iterator[str]:
    """Yield the forms of a key under one rule."""
    words = key.split()
    if len(words) > 1 and words[0] == "the" and not (len(words) == 2 and words[1] in STOP_WORDS):
        yield " ".join(words[1:])
    if "and" in words[1:-1]:
        place = words.index("and", 1)
        yield " ".join(words[:place] + words[place + 1 :])
    if len(words) > 2 and words[-1] in _LEGAL_FORMS:
        name = " ".join(words[:-1])
        if sum(f"{name} {form}" in rows for form in _LEGAL_FORMS) == 1:
            yield name


def propose_merges(
    keys: Sequence[str],
    vectors: NDArray[np.floating] | None = None,
    *,
    thresholds: Thresholds | None = None,
) -> list[Proposal]:
    """Return pairs of distinct `keys` that may be aliases, best first.

    `vectors` are (n, d) unit rows, zero where a key has none. Pairs that `rule_merges` joins are
    left out. Of several reasons for a pair the best scored counts. The result does not depend on
    the order of the keys, but for ties.
    """
    limits = thresholds or Thresholds()
    merged = DisjointSet(range(len(keys)))
    for a, b in rule_merges(keys):
        merged.merge(a, b)
    roots = [int(merged[row]) for row in range(len(keys))]
    marks = _marks(keys)
    best: dict[tuple[int, int], tuple[float, str]] = {}
    for proposals in (
        _propose_spellings(keys, marks, vectors, limits),
        _propose_initials(keys, roots),
        _propose_short_forms(keys, roots, marks),
    ):
        for a, b, score, reason in proposals:
            pair = min(a, b), max(a, b)
            if roots[a] != roots[b]:
                best[pair] = max(best.get(pair, (0.0, "")), (round(score, DECIMALS), reason))
    return [
        Proposal(a=a, b=b, score=score, reason=reason)
        for (a, b), (score, reason) in sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
    ]


def _marks(keys: Sequence[str]) -> NDArray[np.int32]:
    """Return (n,) group numbers from words that aliases must share, such as digits.

    That are their numbers in order, and the words that tell namesakes apart.
    """
    numbers: dict[tuple[tuple[str, ...], frozenset[str]], int] = {}
    marks = np.empty(len(keys), dtype=np.int32)
    for row, key in enumerate(keys):
        words = key.split()
        in_order = tuple(filter(None, map(_number, words)))
        mark = in_order, frozenset(filter(None, map(_distinction, words)))
        marks[row] = numbers.setdefault(mark, len(numbers))
    return marks


@lru_cache(1 << 16)
def _number(word: str) -> str:
    value = _ROMAN.get(word) or _ORDINAL.sub("", word)
    return value if any(map(str.isdigit, value)) else ""


def _distinction(word: str) -> str:
    word = _SAME_WORD.get(word, word)
    return word if word in _TELLING_APART else ""


def _propose_spellings(
    keys: Sequence[str],
    marks: NDArray[np.int32],
    vectors: NDArray[np.floating] | None,
    limits: Thresholds,
) -> _Found:
    """Yield keys that share most trigrams, or many of them and have similar vectors."""
    least = limits.spelling if vectors is None else min(limits.spelling, limits.near)
    for a, b, cosines in _join(_trigram_weights(keys), marks, least):
        spelled = cosines >= limits.spelling
        for row in np.flatnonzero(spelled).tolist():
            if _differ_in_spelling(keys[a[row]], keys[b[row]]):
                yield int(a[row]), int(b[row]), float(cosines[row]), "spelling"
        if vectors is not None:
            products = np.einsum("ij,ij->i", vectors[a], vectors[b], dtype=np.float64)
            near = np.clip(products.round(DECIMALS), 0, 1)
            for row in np.flatnonzero(near >= limits.vectors).tolist():
                if may_be_one(keys[a[row]], keys[b[row]]):
                    yield int(a[row]), int(b[row]), float(near[row]), "vectors"


def _differ_in_spelling(a: str, b: str) -> bool:
    """Check that every word of one key has a similar word in the other.

    What is left of both without their common words must begin alike and be nearly the same:
    "fort ross" is no spelling of "ross", nor "near east" of "far east". Of endings that are
    added only those of a plural count: "norwegians" may be "norwegian", but no "icelander" is
    "iceland".
    """
    left = _unshared_words(a, b)
    left_a, left_b = sorted(map("".join, left), key=_plainness)
    if not left_a or len(left[0]) != len(left[1]):
        return left_a == left_b
    if left_b.startswith(left_a):
        return left_b.removeprefix(left_a) in {"s", "es"}
    if _is_derived(left_b, left_a):
        return False
    return _share_letters(left_a, left_b, _ALIKE, at_once=_SLIP)


def may_be_one(a: str, b: str) -> bool:
    """Check word by word whether two keys with near vectors may be aliases.

    A word more is another thing, and so is a word that is no spelling, initial or longer form of
    its like: "national antarctic expedition" is not the "australasian" one, nor is what is
    "chilean" of "chile". Where the numbers of words differ, all that is not in common counts as
    one word.
    """
    left = _unshared_words(a, b)
    joined = "".join(left[0]), "".join(left[1])
    if not all(joined):
        return joined[0] == joined[1]
    same = len(left[0]) == len(left[1])
    pairs = zip(*map(sorted, left), strict=True) if same else [joined]
    return all(_may_be_one_word(*sorted(pair, key=_plainness)) for pair in pairs)


def _may_be_one_word(shorter: str, longer: str) -> bool:
    if len(shorter) == 1:
        return longer.startswith(shorter)
    return _share_letters(shorter, longer, _NEARLY) and not _is_derived(longer, shorter)


def _unshared_words(a: str, b: str) -> tuple[list[str], list[str]]:
    """Return the words of only one of two keys, without numbers, marks and "of"."""
    words_a, words_b = (Counter(filter(_is_name, key.split())) for key in (a, b))
    return [*(words_a - words_b).elements()], [*(words_b - words_a).elements()]


def _share_letters(a: str, b: str, least: float, *, at_once: int = sys.maxsize) -> bool:
    """Check whether two words begin alike and share `least` of their letters in order.

    Nowhere may they differ by more than `at_once` letters.
    """
    if a[0] != b[0]:
        return False
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    if matcher.quick_ratio() < least or matcher.ratio() < least:
        return False
    edits = (edit for edit in matcher.get_opcodes() if edit[0] != "equal")
    return all(max(a2 - a1, b2 - b1) <= at_once for _, a1, a2, b1, b2 in edits)


def _is_derived(longer: str, shorter: str) -> bool:
    """Check whether one word is derived from the other, such as an adjective of a place.

    "canadian" is of "canada", "antarctic" of "antarctica", "argentine" of "argentina", and
    "swedes" are of "sweden".
    """
    if longer.startswith(shorter):
        return longer.removeprefix(shorter).removesuffix("s") in _OF_A_PLACE
    if len(longer) == len(shorter):
        plural = longer[:-1] == shorter[:-1] and "s" in {longer[-1], shorter[-1]}
        return plural or {longer[-3:], shorter[-3:]} == {"ina", "ine"}
    return longer.endswith("an") and not shorter.endswith("an")


@lru_cache(1 << 16)
def _is_name(word: str) -> bool:
    """Check that a word is more than a number, a mark or "of"."""
    return not (word in _FUNCTION_WORDS or _number(word) or _distinction(word))


def _trigram_weights(keys: Sequence[str]) -> csr_array:
    """Return (n, t) unit rows of trigram TF-IDF weights, rarest trigrams first.

    A key is read with a space before and behind it. Rows without a trigram are empty.
    """
    text = "".join(f" {key} \n" for key in keys)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    codes = codes.astype(np.int64)
    owner = np.cumsum(codes == ord("\n"))
    inside = owner[:-2] == owner[2:]  # no trigram goes over the end of a key
    inside &= codes[:-2] != ord("\n")
    trigrams = (codes[:-2] << 42 | codes[1:-1] << 21 | codes[2:])[inside]
    _, column = np.unique(trigrams, return_inverse=True)
    shape = len(keys), int(column.max(initial=-1)) + 1
    counts = csr_array((np.ones(len(column)), (owner[:-2][inside], column)), shape=shape)
    counts.sum_duplicates()
    n_keys = np.bincount(counts.indices, minlength=shape[1])
    rank = np.empty(shape[1], dtype=counts.indices.dtype)
    rank[np.argsort(n_keys, kind="stable")] = np.arange(shape[1])
    counts.data *= 1 + np.log(shape[0] / n_keys)[counts.indices]
    counts.indices = rank[counts.indices]
    counts.has_sorted_indices = False
    counts.sort_indices()
    counts.data /= np.sqrt(_row_sums(counts, counts.data**2))[entry_rows(counts)]
    return counts


def _join(
    weights: csr_array, marks: NDArray[np.int32], least: float
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]]:
    """Yield rows a < b of one group with a cosine of at least `least`, and the cosines.

    `weights` are (n, t) unit rows, rarest column first. A row's prefix is its first entries, up
    to where what follows is shorter than `least`: rows that share nothing of their prefixes
    cannot be that near. The lengths of what follows the shorter prefix bound what it can add;
    prefixes a little longer than need be make that bound tell more.
    """
    if not weights.nnz:
        return
    prefixes = _prefixes(weights, 0.9 * least)
    by_column = prefixes.T.tocsr()
    ends, tails = _tails(weights, prefixes)
    work = _row_sums(prefixes, np.diff(by_column.indptr)[prefixes.indices])
    blocks = np.cumsum(work) // _BLOCK
    starts = np.flatnonzero(np.diff(blocks, prepend=-1))
    for start, stop in pairwise([*starts.tolist(), len(work)]):
        shared = (prefixes[start:stop] @ by_column).tocoo()
        a, b = shared.coords[0].astype(np.intp) + start, shared.coords[1].astype(np.intp)
        stays = np.flatnonzero((a < b) & (marks[a] == marks[b]))
        a, b, products = a[stays], b[stays], shared.data[stays]
        shorter = np.minimum(ends[a], ends[b])
        stays = products + tails[a, shorter] * tails[b, shorter] >= least - _SLACK
        a, b = a[stays], b[stays]
        cosines = np.minimum((weights[a] * weights[b]).sum(axis=1).round(DECIMALS), 1)
        stays = cosines >= least
        yield a[stays], b[stays], cosines[stays]


def _prefixes(weights: csr_array, least: float) -> csr_array:
    """Return each row's first entries; the remaining ones have a norm below `least`."""
    rows = entry_rows(weights)
    before = np.concatenate([[0], np.cumsum(weights.data**2)])
    remaining = before[weights.indptr[1:]][rows] - before[:-1]  # from each entry to its row's end
    stays = remaining >= least**2 - _SLACK
    return csr_array((weights.data[stays], (rows[stays], weights.indices[stays])), weights.shape)


def _tails(weights: csr_array, prefixes: csr_array) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return (n,) ends of the rows' prefixes, and (n, m) norms of what follows.

    An end is one of m columns, the last one at or before the true end.
    """
    last = np.zeros(weights.shape[0], dtype=np.intp)
    np.maximum.at(last, entry_rows(prefixes), prefixes.indices)
    columns = np.unique(np.quantile(last, np.linspace(0, 1, _ENDS), method="lower"))
    ends = np.searchsorted(columns, last, side="right") - 1
    size = len(columns) + 1
    place = entry_rows(weights) * size + np.searchsorted(columns, weights.indices)
    squares = np.bincount(place, weights.data**2, minlength=weights.shape[0] * size)
    after = squares.reshape(-1, size)[:, :0:-1].cumsum(axis=1)[:, ::-1]
    return ends, np.sqrt(after)


def _row_sums(matrix: csr_array, values: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the (n,) sums by row of (nnz,) `values`, one for each stored entry."""
    sums = np.bincount(entry_rows(matrix), weights=values, minlength=matrix.shape[0])
    return sums.astype(np.float64, copy=False)


def _propose_initials(keys: Sequence[str], roots: Sequence[int]) -> _Found:
    """Yield keys that are the initials of exactly one other, with or without stop words."""
    n_names = sum(" " in key for key in keys)
    short: dict[str, list[int]] = defaultdict(list)
    full: dict[str, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        if acronym := _acronym(key):
            short[acronym].append(row)
    for row, key in enumerate(keys):
        for initials in _initials_of(key):
            if initials in short:
                full[initials].append(row)
    for acronym, rows in short.items():
        for row in rows[1:]:
            yield rows[0], row, 1.0, "initials"
        if len({roots[row] for row in full[acronym]}) == 1:
            by_chance = n_names / 26 ** len(acronym)  # names expected to have these initials
            plainest = min(full[acronym], key=lambda row: _plainness(keys[row]))
            for row in rows:
                yield row, plainest, 0.9 / (1 + by_chance), "initials"


def _acronym(key: str) -> str:
    """Return a key that may be initials without spaces, else nothing: "usa", "u s a"."""
    words = key.split()
    joined = "".join(words)
    is_one = len(words) == 1 or len(words) == len(joined)
    return joined if is_one and 2 <= len(joined) <= 6 and joined.isalpha() else ""


def _initials_of(key: str) -> set[str]:
    words = key.split()
    if not 2 <= len(words) <= _MAX_WORDS or _acronym(key) or any(map(_number, words)):
        return set()
    telling = (word for word in words if word not in STOP_WORDS)
    return {"".join(word[0] for word in some) for some in (words, telling)}


def _propose_short_forms(
    keys: Sequence[str], roots: Sequence[int], marks: NDArray[np.int32]
) -> _Found:
    """Yield keys that end exactly one longer key, or equal it without its middle."""
    rows = {key: row for row, key in enumerate(keys)}
    holders: dict[int, set[int]] = defaultdict(set)
    fitting: dict[int, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        words = key.split()
        if len(words) <= _MAX_WORDS:
            for form, fits in _shorten(words):
                short = rows.get(form, row)
                if roots[short] != roots[row]:
                    holders[short].add(roots[row])
                    if fits and marks[short] == marks[row]:
                        fitting[short].append(row)
    for short, longer in fitting.items():
        if len(holders[short]) == 1 and _can_stand_alone(keys[short]):
            row = min(longer, key=lambda row: _plainness(keys[row]))
            yield short, row, len(keys[short]) / len(keys[row]), "shorter form"


def _shorten(words: list[str]) -> Iterator[tuple[str, bool]]:
    """Yield shorter forms of a name, and whether each may be an alias: "amundsen"."""
    n = len(words)
    for start in range(n):
        for stop in range(start + 1, n + (start > 0)):
            at_end = stop == n and not _FUNCTION_WORDS.intersection(words[:start])
            yield " ".join(words[start:stop]), at_end
    for start in range(1, n - 1):
        for stop in range(start + 1, n):
            fits = not _FUNCTION_WORDS.intersection(words[start:stop])
            yield " ".join(words[:start] + words[stop:]), fits


def _can_stand_alone(key: str) -> bool:
    words = (word for word in key.split() if len(word) > 2 and word not in STOP_WORDS)
    return any(word.isalpha() and _is_name(word) for word in words)


def _plainness(text: str) -> tuple[int, str]:
    """Return a sort key that puts shorter texts first."""
    return len(text), text
