"""Split texts into requests that an embedding endpoint accepts."""

import threading
from collections import ChainMap
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.errors import BadReply, ModelError
from clew.extras.models.refusals import Refused, ServerFault
from clew.models import Keep

_SHORTEST = 32  # characters of a text that is cut
_WORD = "word"  # which any embedder has a vector for

Ask = Callable[[Sequence[str]], NDArray[np.float32]]  # one request: texts to unit vectors


class Embedded(NamedTuple):
    """The vectors of texts, the truncated texts, and errors of texts without a vector."""

    rows: NDArray[np.float32]  # (n, d) of length one, zero for a text without a vector
    cut: list[int]
    bare: dict[int, ModelError]


class EmbeddingBatches:
    """Embeds texts in batches, and remembers the batch size that an endpoint refuses.

    A batch that is refused, or gets no vectors, is halved. A text that is too long alone is cut in
    two until its parts are taken; its vector is the mean of theirs, weighted by their lengths. So
    it depends on nothing but the text. Threads may share one.
    """

    def __init__(self) -> None:
        self._size: int | None = None  # texts at the most; None: none were too many
        self._lock = threading.Lock()

    def embed(
        self, ask: Ask, texts: Sequence[str], *, first: int, prefix: str, keep: Keep | None
    ) -> Embedded:
        """Return unit rows for texts that begin with `prefix`; positions count from `first` on.

        A text that gets no vector while others do has a row of zeros, of which `keep` is not told.
        Where no text gets one, raises what came.
        """
        n, size = len(texts), self._size or len(texts)
        if size >= n:
            found = self._embed_at_once(ask, texts, first=first, prefix=prefix)
            if isinstance(found, Embedded):
                if keep is not None and not found.bare:
                    keep(first, found.rows)
                return found
            size = found
        return join_embedded(
            [
                self.embed(ask, texts[i : i + size], first=first + i, prefix=prefix, keep=keep)
                for i in range(0, n, size)
            ]
        )

    def _embed_at_once(
        self, ask: Ask, texts: Sequence[str], *, first: int, prefix: str
    ) -> Embedded | int:
        """Return the result of one request, or the size of smaller batches to try instead."""
        n = len(texts)
        error: ModelError
        try:
            return Embedded(ask(texts), [], {})
        except Refused as refusal:
            if not refusal.is_of_prompt:
                raise
            if n > 1:
                with self._lock:  # of later requests, too
                    self._size = min(n // 2, self._size or n)
                    return self._size
            error = refusal
            if refusal.is_too_long:
                with suppress(Refused):
                    rows = self._embed_parts(ask, texts[0], prefix, refusal)
                    self._forget_size()
                    return Embedded(rows, [first], {})
        except (BadReply, ServerFault) as fault:
            error = fault
        try:
            known = ask([prefix + _WORD])
        except ModelError:
            raise error from None  # it is not the texts' fault
        if n > 1:
            return -(-n // 2)
        self._forget_size()
        return Embedded(np.zeros_like(known), [], {first: error})

    def _forget_size(self) -> None:
        """Reset the batch size after a single text turned out to be refused."""
        with self._lock:
            self._size = None

    def _embed_parts(
        self, ask: Ask, text: str, prefix: str, refusal: Refused
    ) -> NDArray[np.float32]:
        """Return (1, d) the mean of the vectors of a text's halves, of length one.

        Raises the refusal where even a short text is too long.
        """
        plain = text.removeprefix(prefix)
        if len(plain) < _SHORTEST:
            raise refusal
        middle = len(plain) // 2
        middle = max(plain.find(" ", middle, middle + _SHORTEST), middle)
        halves = [prefix + plain[:middle], prefix + plain[middle:]]
        rows = self.embed(ask, halves, first=0, prefix=prefix, keep=None).rows
        mean = np.average(rows, axis=0, weights=[middle, len(plain) - middle])
        length = float(np.linalg.norm(mean))
        if not length:
            raise refusal
        return np.asarray(mean[None] / length, dtype=np.float32)


def join_embedded(parts: Sequence[Embedded]) -> Embedded:
    """Join the results of several requests."""
    rows, cut, bare = zip(*parts, strict=True)
    return Embedded(np.concatenate(rows), [*chain(*cut)], dict(ChainMap(*bare)))
