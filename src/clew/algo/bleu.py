"""Measure how redundant each chunk is: the BLEU of its text against all other chunks.

Papineni et al. (2002), "BLEU: a Method for Automatic Evaluation of Machine Translation", with all
other chunks as references at once, as Clue-RAG (arXiv:2507.08445) values its chunks. An n-gram is
clipped at the highest count that any other chunk has of it. That is its highest count of all, or
for the one chunk that holds the highest, the second highest. So one sort per order is enough.
"""

import numpy as np
from numpy.typing import NDArray

from clew.errors import InputError

LONGEST = 4  # words in an n-gram
FLOOR = 0.1  # matches that count where there are none


def leave_one_out_bleu(
    tokens: NDArray[np.integer], offsets: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the (n_chunks,) BLEU-4, from 0 to 1, of each chunk against all the others.

    Chunk i is tokens[offsets[i] : offsets[i + 1]], any integers; `offsets` is (n_chunks + 1,). A
    chunk of fewer than four words has as many orders as words. Without a match of any order the
    value is 0; without one of some order 0.1 matches are counted there.
    O(n log n) time and O(n) memory for n tokens.

    Raises InputError for offsets that do not ascend from 0 to the number of tokens.
    """
    lengths = np.diff(offsets)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(tokens) or (lengths < 0).any():
        raise InputError(f"offsets of chunks must ascend from 0 to the {len(tokens)} tokens there")
    totals = np.maximum(lengths - np.arange(LONGEST)[:, None], 0)
    matches = _count_matches(tokens, lengths)
    scores = _mean_precision(matches, totals)
    return np.where(matches.any(axis=0), scores * _brevity_penalty(lengths), 0.0)


def _count_matches(
    tokens: NDArray[np.integer], lengths: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the (4, n_chunks) clipped counts of n-grams that also occur in other chunks."""
    matches = np.zeros((LONGEST, len(lengths)))
    chunk = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    ends = np.cumsum(lengths)
    word, shared, matches[0] = _clip_counts(tokens, chunk, len(lengths))
    start, gram = np.flatnonzero(shared), word[shared]  # where each n-gram starts, and its number
    for n in range(1, LONGEST):
        inside = start + n < ends[chunk[start]]
        start, gram = start[inside], gram[inside]
        gram = gram * len(tokens) + word[start + n]  # below len(tokens) squared
        gram, shared, matches[n] = _clip_counts(gram, chunk[start], len(lengths))
        start, gram = start[shared], gram[shared]  # no longer one can be shared if this is not
    return matches


def _clip_counts(
    gram: NDArray[np.integer], chunk: NDArray[np.int32], n_chunks: int
) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.float64]]:
    """Return n-gram numbers from 0, whether other chunks have them, and clipped counts.

    `gram` and `chunk`, ascending, are (n,), as the first two results are. The counts are summed,
    clipped, to (n_chunks,).
    """
    order = np.argsort(gram, kind="stable")  # chunks ascend inside an n-gram
    new = _mark_changes(gram[order])
    row = np.cumsum(new) - 1
    numbers, shared = np.empty_like(row), np.empty_like(new)
    numbers[order] = row
    chunk = chunk[order]
    pairs = np.flatnonzero(new | _mark_changes(chunk))  # one for each n-gram and chunk that has it
    counts = np.diff(pairs, append=len(gram))
    clips = _max_of_others(counts, row[pairs])
    shared[order] = np.repeat(clips > 0, counts)
    sums = np.bincount(chunk[pairs], np.minimum(counts, clips), minlength=n_chunks)
    return numbers, shared, sums.astype(np.float64)


def _max_of_others(counts: NDArray[np.intp], gram: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the maximum count of each n-gram in any other chunk, or 0; both (n,)."""
    if not len(gram):
        return counts
    first = np.flatnonzero(_mark_changes(gram))
    highest = np.maximum.reduceat(counts, first)[gram]
    is_highest = counts == highest
    alone = is_highest & (np.add.reduceat(is_highest, first, dtype=np.intp)[gram] == 1)
    second = np.maximum.reduceat(np.where(is_highest, 0, counts), first)[gram]
    return np.where(alone, second, highest)


def _mark_changes(ids: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Mark the (n,) ids that differ from their predecessor, the first id included."""
    changes = np.ones(len(ids), dtype=np.bool_)
    np.not_equal(ids[1:], ids[:-1], out=changes[1:])
    return changes


def _mean_precision(
    matches: NDArray[np.float64], totals: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return the (n_chunks,) geometric means of matches / totals over the orders with n-grams."""
    smoothed = np.where(matches > 0, matches, FLOOR)
    precision = np.divide(smoothed, totals, out=np.ones_like(smoothed), where=totals > 0)
    orders = np.maximum((totals > 0).sum(axis=0), 1)
    return np.asarray(np.exp(np.log(precision).sum(axis=0) / orders))


def _brevity_penalty(lengths: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return the (n_chunks,) factors for chunks shorter than the other of nearest length.

    Of two equally near the shorter counts. It is a neighbour in the order of lengths.
    """
    order = np.argsort(lengths, kind="stable")
    near = np.pad(lengths[order].astype(np.float64), 1, constant_values=(-np.inf, np.inf))
    below, own, above = near[:-2], near[1:-1], near[2:]
    reference = np.where(own - below <= above - own, below, above)
    ratio = np.divide(reference, own, out=np.ones_like(own), where=(own > 0) & (reference > own))
    penalty = np.empty(len(lengths))
    penalty[order] = np.exp(1 - ratio)
    return penalty
