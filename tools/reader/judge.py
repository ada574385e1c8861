"""Judge statements of a context by an exported reader, alone and behind a bridge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import ctranslate2
import numpy as np
from pieces import Pieces, encode
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from clew.answers.sentences import Sentence

    Floats = NDArray[np.float64]

ABOVE = 80


@dataclass(frozen=True)
class Judged:
    """Logits of statements, nan where one was not read: (n,) each."""

    holds: Floats
    supports: Floats
    passage: Floats  # that of the window it was read in


class Judge:
    """An exported reader, and how many characters of a passage it reads at once."""

    def __init__(self, folder: Path, tokenizer: Path, window: int) -> None:
        self._window = window
        self._encoder = ctranslate2.Encoder(str(folder), compute_type="int8", intra_threads=1)
        self._heads = np.load(folder / "heads.npz")
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def judge(
        self,
        question: str,
        bridges: Sequence[str],
        sentences: Sequence[Sentence],
        rows: Sequence[Sequence[int]],
    ) -> list[Judged]:
        """Return what is thought of the given rows of statements behind each of the bridges."""
        read = [
            (number, window, self._encode(question, bridge, sentences, window))
            for number, (bridge, wanted) in enumerate(zip(bridges, rows, strict=True))
            for window in find_windows(sentences, wanted, self._window)
        ]
        found = [np.full((3, len(sentences)), np.nan) for _ in bridges]
        order = sorted(range(len(read)), key=lambda i: len(read[i][2].ids))
        for at in range(0, len(order), 8):
            part = [read[i] for i in order[at : at + 8]]
            hidden = np.array(
                self._encoder.forward_batch(
                    [each[2].ids for each in part], token_type_ids=[each[2].types for each in part]
                ).last_hidden_state,
                dtype=np.float32,
            )
            for (number, window, pieces), vectors in zip(part, hidden, strict=True):
                passage = vectors[0] @ self._heads["passage"][0] + self._heads["passage bias"][0]
                for row, (a, b) in zip(window, pieces.ranges, strict=True):
                    if b <= a or row not in rows[number]:
                        continue
                    wide = np.concatenate([vectors[a:b].mean(axis=0), vectors[0]])
                    own = self._heads["statement"] @ wide + self._heads["statement bias"]
                    found[number][:, row] = [*own, passage]
        return [Judged(*each) for each in found]

    def _encode(
        self, question: str, bridge: str, sentences: Sequence[Sentence], window: Sequence[int]
    ) -> Pieces:
        own = [sentences[row] for row in window]
        above = [s.above.rpartition("\n")[2][:ABOVE] for s in own]
        return encode(
            self._tokenizer, question, bridge[:200], own[0].title, [s.said for s in own], above
        )


def find_windows(
    sentences: Sequence[Sentence], wanted: Sequence[int], most: int
) -> list[list[int]]:
    """Return ranges of statements of one passage each, that have all wanted ones between them."""
    windows: list[list[int]] = []
    of_place: dict[int, list[int]] = {}
    for row, each in enumerate(sentences):
        of_place.setdefault(each.place, []).append(row)
    left = set(wanted)
    for rows in of_place.values():
        mine = [row for row in rows if row in left]
        while mine:
            first = last = mine[0]
            for row in mine:
                if sentences[row].end - sentences[first].own <= most:
                    last = row
            first, last = widen(sentences, rows, (first, last), most)
            windows.append(list(range(first, last + 1)))
            mine = [row for row in mine if not first <= row <= last]
    return windows


def widen(
    sentences: Sequence[Sentence], rows: Sequence[int], found: tuple[int, int], most: int
) -> tuple[int, int]:
    """Return a range of statements with those around it, as far as they are read together."""
    first, last = found
    grew = True
    while grew:
        grew = False
        if last < rows[-1] and sentences[last + 1].end - sentences[first].own <= most:
            last, grew = last + 1, True
        if first > rows[0] and sentences[last].end - sentences[first - 1].own <= most:
            first, grew = first - 1, True
    return first, last
