"""Texts in as many requests as an embedding endpoint takes them in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from clew.models import Keep
from clew.models.refusals import Refused, find_batch_size

_SHORTEST = 32  # characters of a text that is cut

Ask = Callable[[Sequence[str]], NDArray[np.float32]]  # one request: texts to unit vectors


class Batching:
    """Embeds texts together, and remembers how many of them an endpoint refuses to take.

    A batch that is refused is halved, unless the server says what it takes. A text that is too
    long alone is cut in two until its parts are taken; its vector is the mean of theirs, weighted
    by their lengths. So it depends on nothing but the text. Threads may share one.
    """

    def __init__(self) -> None:
        self._size: int | None = None  # texts at the most; None: none were too many
        self._lock = threading.Lock()

    def embed(
        self, ask: Ask, texts: Sequence[str], *, first: int, prefix: str, keep: Keep | None
    ) -> tuple[NDArray[np.float32], list[int]]:
        """Return (n, d) unit rows for texts that begin with `prefix`, and which were cut.

        Both `keep` and what is returned count the texts from `first` on.
        """
        n, size = len(texts), self._size or len(texts)
        if size >= n:
            try:
                rows, cut = ask(texts), list[int]()
            except Refused as refusal:
                if not refusal.is_of_prompt or (n == 1 and not refusal.is_too_long):
                    raise
                if n > 1:
                    size = self._find_size(refusal, n)
                else:
                    rows, cut = self._embed_parts(ask, texts[0], prefix, refusal), [first]
                    size = n
            if size >= n:
                if keep is not None:
                    keep(first, rows)
                return rows, cut
        parts = [
            self.embed(ask, texts[i : i + size], first=first + i, prefix=prefix, keep=keep)
            for i in range(0, n, size)
        ]
        return np.concatenate([rows for rows, _ in parts]), [row for _, cut in parts for row in cut]

    def _find_size(self, refusal: Refused, n: int) -> int:
        """Return how many texts to ask for where `n` were refused; remember it if they are why."""
        size = find_batch_size(refusal, n)
        if size is None:
            return -(-n // 2)
        with self._lock:
            self._size = min(size, self._size or size)
            return self._size

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
        rows, _ = self.embed(ask, halves, first=0, prefix=prefix, keep=None)
        mean = np.average(rows, axis=0, weights=[middle, len(plain) - middle])
        length = float(np.linalg.norm(mean))
        if not length:
            raise refusal
        return np.asarray(mean[None] / length, dtype=np.float32)
