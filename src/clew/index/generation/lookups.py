"""Lookup tables from stored rows to rows of a generation, which edits are derived from."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.index.generation.rows import Rows

Keys = NDArray[np.uint64]


FIRST_STATEMENT = 2**31  # the code of the first stored statement: behind all sentences
# A statistical term (scripts without capitals) is an entity where it joins a few chunks.
_TERM_MIN_CHUNKS = 2
_TERM_MAX_SHARE = 0.05
_COMMON_WORD_SHARE = 0.5  # written in lower case more often than this: no name


def is_useful(df: NDArray[Any], n_chunks: int) -> NDArray[np.bool_]:
    """Mark the words of scripts without capitals that are names, by their chunk counts."""
    most = max(_TERM_MAX_SHARE * n_chunks, _TERM_MIN_CHUNKS)
    return np.asarray((df >= _TERM_MIN_CHUNKS) & (df <= most))


def is_common(n: NDArray[Any], n_lower: NDArray[Any]) -> NDArray[np.bool_]:
    """Mark the terms that are mostly lower case, so capitals at a sentence start mean nothing."""
    return np.asarray(n_lower > _COMMON_WORD_SHARE * n)


def unit_codes(sentences: NDArray[Any], statements: NDArray[Any]) -> Rows:
    """Return one code for each unit from its stored sentence or statement; the other is -1.

    They ascend where units of one chunk do.
    """
    codes = sentences.astype(np.int64)
    is_statement = np.flatnonzero(statements >= 0)
    codes[is_statement] = FIRST_STATEMENT + statements[is_statement]
    return codes


def triple_keys(subjects: NDArray[Any], relations: NDArray[Any], objects: NDArray[Any]) -> Keys:
    """Return one 64-bit hash of each triple, by stored entities (splitmix64's finaliser)."""
    mixed = np.zeros(len(subjects), dtype=np.uint64)
    for column in (subjects, objects, relations):
        key = column.astype(np.int64).astype(np.uint64)
        mixed = (mixed ^ key) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    return mixed
