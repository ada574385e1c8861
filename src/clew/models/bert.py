"""The BERT encoder of all-MiniLM-L6-v2, run by CTranslate2.

The weights are int8 with a scale for each output; each token's numbers are brought to int8 by a
scale of their own, or the weights to float32. So what a text gives depends on no other one: short
texts of one length, which need no padding, are read together and give the same bits in less than
half of the time. `tools/minilm.py` makes the files, and `all_minilm_l6_v2/NOTICE` says of what.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clew.base.runtime.threads import cores
from clew.errors import ModelError

FILES = Path(__file__).parent / "all_minilm_l6_v2"
_AHEAD = 8  # batches under way for each thread
_SHORT = 32  # word pieces of a text that is read with others; longer ones gain nothing
_FEW = 32  # texts that are read alone: to try the processor takes as long
_HELLO = 101, 7592, 102  # word pieces of a text whose states are known
_TOGETHER = 32  # short texts of one length that are read together
_ALIKE = [[101, 2_000 + i, 2_500 + i, 102] for i in range(_TOGETHER)]  # a batch of one length
_TRIED = 0, 13, 31  # those that are read alone, too
_HELLO_IS = 99, 5.87  # a number of its first piece, about: rounding differs with the processor


class Bert:
    """The encoder. Any number of threads may ask it."""

    def __init__(self, *, float32: bool = False, threads: int = 0) -> None:
        """Load the encoder, which multiplies int8 numbers or float32; `threads` 0 is all cores.

        Raises ModelError where the process computes wrong numbers. CTranslate2 writes its kernels
        at run time; where a system forbids to run what was written, it goes on without a word.
        """
        import ctranslate2

        self._threads = threads or cores()
        self._n_read = 0  # texts so far
        self._encoder = ctranslate2.Encoder(
            str(FILES),
            compute_type="float32" if float32 else "int8",
            inter_threads=self._threads,
            intra_threads=1,
        )
        [hello] = self._states([list(_HELLO)])
        at, about = _HELLO_IS
        if not abs(hello[0, at] - about) < 0.5:
            raise ModelError(
                "the embedded model computes wrong numbers here, as it does where a process may"
                " not run memory that it has written: allow that (MemoryDenyWriteExecute=no in a"
                " unit of systemd), or take another --embedder"
            )

    def states(self, texts: Sequence[list[int]]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Yield each text's position and its (n, 384) hidden states, given its n word pieces.

        Places come in no order. A text's bits depend on no other one.
        """
        self._n_read += len(texts)
        batches = list(_equal_batches(texts))
        if len(batches) < len(texts) and (self._n_read <= _FEW or not self._gives_same_bits):
            batches = [[place] for place in range(len(texts))]
        given = ([texts[place] for place in batch] for batch in batches)
        if self._threads == 1 or len(batches) == 1:
            for batch, states in zip(batches, map(self._states, given), strict=True):
                yield from zip(batch, states, strict=True)
            return
        waiting = zip(batches, given, strict=True)
        with ThreadPoolExecutor(self._threads) as pool:
            while some := list(islice(waiting, _AHEAD * self._threads)):
                places, those = zip(*some, strict=True)
                for batch, states in zip(places, pool.map(self._states, those), strict=True):
                    yield from zip(batch, states, strict=True)

    @cached_property
    def _gives_same_bits(self) -> bool:
        """Whether this processor computes the same bits for a text in a batch as alone."""
        alone = np.concatenate([self._states([_ALIKE[i]]) for i in _TRIED])
        return np.array_equal(alone, self._states(_ALIKE)[list(_TRIED)])

    def _states(self, texts: Sequence[list[int]]) -> NDArray[np.float32]:
        """Return the (m, n, 384) hidden states of m texts of n word pieces each."""
        return np.array(self._encoder.forward_batch(texts).last_hidden_state, dtype=np.float32)


def _equal_batches(texts: Sequence[list[int]]) -> Iterator[list[int]]:
    """Yield batches of positions: of short texts of equal length, and of single longer ones."""
    waiting: dict[int, list[int]] = {}
    for place, ids in enumerate(texts):
        if len(ids) > _SHORT:
            yield [place]
            continue
        batch = waiting.setdefault(len(ids), [])
        batch.append(place)
        if len(batch) == _TOGETHER:
            yield waiting.pop(len(ids))
    yield from waiting.values()
