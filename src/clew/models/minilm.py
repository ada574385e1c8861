"""The default embedder: all-MiniLM-L6-v2 (384 dimensions) in int8, without torch.

The weights and the tokenizer come with Clew: nothing is fetched. CTranslate2 multiplies int8
numbers, or float32 where that is asked for. A text's vector does not depend on its batch, to the
bit. Wang et al. (2020), "MiniLM", arXiv:2002.10957; sentence-transformers/all-MiniLM-L6-v2.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from clew.base.runtime.lazy import check_installed, compile_re
from clew.base.runtime.threads import cores
from clew.errors import ModelError
from clew.models import Kind, TokenVectors
from clew.text.analyze import IDEOGRAPHS, UNSPACED, term_spans
from clew.text.unseen import blank_codes

if TYPE_CHECKING:
    from types import ModuleType

    import tokenizers
    from numpy.typing import NDArray

WEIGHTS = "8199be6f"  # the name of these weights in indexes: the SHA-256 of a file that had them
DIMENSION = 384
FILES = Path(__file__).parent / "all_minilm_l6_v2"

_WINDOW = 510  # word pieces: the model has 512 positions, two of them for the markers
_CLS, _SEP = 101, 102


class MiniLM:
    """all-MiniLM-L6-v2. Texts beyond 510 word pieces are read in windows and averaged."""

    def __init__(self, *, threads: int = 0, float32: bool = False) -> None:
        """Compute in int8 or `float32`, in so many threads, where 0 is all cores.

        Nothing is loaded before the first text.
        """
        self._threads = threads
        self._float32 = float32

    @property
    def name(self) -> str:
        products = "int8" if self._float32 else "int8-products"
        return f"all-MiniLM-L6-v2/{products}-{WEIGHTS}"

    @property
    def dimension(self) -> int:
        return DIMENSION

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:  # noqa: ARG002 -- symmetric model
        if not texts:
            return np.zeros((0, DIMENSION), dtype=np.float32)
        pooled = np.empty((len(texts), DIMENSION), dtype=np.float32)
        places = [i for i, text in enumerate(texts) if not is_foreign(text)]
        for n, encoding, hidden in self._passes([texts[i] for i in places]):
            pooled[places[n]] = _pool(hidden, len(encoding.ids))
        for i in sorted({*range(len(texts))} - {*places}):
            pooled[i] = read_subwords(texts[i], DIMENSION).pooled
        return pooled

    def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        vectors = {i: read_subwords(t, DIMENSION) for i, t in enumerate(texts) if is_foreign(t)}
        places = [i for i in range(len(texts)) if i not in vectors]
        for n, encoding, hidden in self._passes([texts[i] for i in places]):
            inner = np.concatenate([h[1:-1] for h in hidden])
            vectors[places[n]] = TokenVectors(
                inner,
                np.asarray(encoding.ids, dtype=np.int32),
                np.asarray(encoding.offsets, dtype=np.int32).reshape(-1, 2),
                _pool(hidden, len(encoding.ids)),
            )
        return [vectors[i] for i in range(len(texts))]

    def _passes(
        self, texts: Sequence[str]
    ) -> Iterator[tuple[int, tokenizers.Encoding, list[NDArray[np.float32]]]]:
        """Yield each text's row, tokens, and hidden states per window with both markers."""
        shown = [blank_codes(text) for text in texts]  # of the same length: places stay
        encodings = self._tokenizer.encode_batch(shown, add_special_tokens=False)
        windows = [
            (i, [_CLS, *encoding.ids[a : a + _WINDOW], _SEP])
            for i, encoding in enumerate(encodings)
            for a in range(0, max(len(encoding.ids), 1), _WINDOW)
        ]
        waiting: dict[int, dict[int, NDArray[np.float32]]] = {}
        wanted = [max(-(-len(e.ids) // _WINDOW), 1) for e in encodings]
        for n, states in self._encoder.states([ids for _, ids in windows]):
            i = windows[n][0]
            waiting.setdefault(i, {})[n] = states
            if len(waiting[i]) == wanted[i]:
                parts = waiting.pop(i)
                yield i, encodings[i], [parts[m] for m in sorted(parts)]

    def check(self) -> None:
        """Raise MissingExtra if a package is missing, without loading the model."""
        for package in ("ctranslate2", "tokenizers"):
            check_installed(package, "models", "the embedder")

    @cached_property
    def _encoder(self) -> Bert:
        self.check()
        return Bert(float32=self._float32, threads=self._threads)

    @cached_property
    def _tokenizer(self) -> tokenizers.Tokenizer:
        self.check()
        return load_tokenizer()


def load_tokenizer() -> tokenizers.Tokenizer:
    """Return BERT's tokenizer of the model, made of its vocabulary: a JSON takes longer to read."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    pieces = models.WordPiece.from_file(str(FILES / "vocabulary.txt"), max_input_chars_per_word=100)
    tokenizer = Tokenizer(pieces)
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    return tokenizer


def _pool(hidden: Sequence[NDArray[np.float32]], n_pieces: int) -> NDArray[np.float32]:
    """Return the unit mean of all hidden states, markers included, as the model was trained."""
    total = np.sum([h.sum(axis=0, dtype=np.float64) for h in hidden], axis=0)
    total /= n_pieces + 2 * len(hidden)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


# -- the encoder
#
# The weights are int8 with a scale for each output; each token's numbers are brought to int8 by a
# scale of their own, or the weights to float32. So what a text gives depends on no other one: short
# texts of one length, which need no padding, are read together and give the same bits in less than
# half of the time. `tools/minilm.py` makes the files, and `all_minilm_l6_v2/NOTICE` says of what.

_AHEAD = 8  # batches under way for each thread
_SHORT = 32  # word pieces of a text that is read with others; longer ones gain nothing
_FEW = 32  # texts that are read alone: to try the processor takes as long
_HELLO = 101, 7592, 102  # word pieces of a text whose states are known
_TOGETHER = 32  # short texts of one length that are read together
_ALIKE = [[101, 2_000 + i, 2_500 + i, 102] for i in range(_TOGETHER)]  # a batch of one length
_TRIED = 0, 13, 31  # those that are read alone, too
_HELLO_IS = 99, 5.87  # a number of its first piece, about: rounding differs with the processor


class Bert:
    """The encoder of the model; thread-safe."""

    def __init__(self, *, float32: bool = False, threads: int = 0) -> None:
        """Load the encoder in int8 or float32; `threads` 0 uses all cores.

        Raises ModelError where the process computes wrong numbers. CTranslate2 writes its kernels
        at run time; where a system forbids to run what was written, it goes on without a word.
        """
        ctranslate2 = _load_ctranslate2()
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
        from concurrent.futures import ThreadPoolExecutor

        waiting = zip(batches, given, strict=True)
        with ThreadPoolExecutor(self._threads) as pool:
            while some := list(islice(waiting, _AHEAD * self._threads)):
                places, those = zip(*some, strict=True)
                for batch, states in zip(places, pool.map(self._states, those), strict=True):
                    yield from zip(batch, states, strict=True)

    @cached_property
    def _gives_same_bits(self) -> bool:
        """Return whether this processor gives the same bits for a text alone and in a batch."""
        alone = np.concatenate([self._states([_ALIKE[i]]) for i in _TRIED])
        return np.array_equal(alone, self._states(_ALIKE)[list(_TRIED)])

    def _states(self, texts: Sequence[list[int]]) -> NDArray[np.float32]:
        """Return the (m, n, 384) hidden states of m texts of n word pieces each."""
        return np.array(self._encoder.forward_batch(texts).last_hidden_state, dtype=np.float32)


def _load_ctranslate2() -> ModuleType:
    """Return CTranslate2, without what is asynchronous in it: to load asyncio takes 20 ms."""
    found = find_spec("ctranslate2")
    places = None if found is None else found.submodule_search_locations
    inner = PathFinder.find_spec("ctranslate2._ext", places)
    if "ctranslate2" in sys.modules or os.name == "nt" or inner is None or inner.loader is None:
        return import_module("ctranslate2")  # which on Windows finds its libraries
    if inner.name not in sys.modules:
        module = module_from_spec(inner)
        inner.loader.exec_module(module)
        sys.modules[inner.name] = module
    return sys.modules[inner.name]


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


# -- scripts that the model was not trained on, for which its vectors are noise
#
# A word is the sum of its runs of characters, each of them a fixed random direction, so that forms
# of a word are alike and other words are not: the subwords of Bojanowski et al. (2017), "Enriching
# Word Vectors with Subword Information", arXiv:1607.04606, hashed and untrained.

_RUNS = (3, 4)  # characters of a run of a word, whose ends are marked
_SYLLABLE_RUNS = (2, 3)  # of one in Hangul
_PART = 0.5  # the weight of an ideograph or kana of a pair
_FOREIGN = 0.3  # the share of letters, and more, by which a text is in another script than Latin
_LATIN = compile_re(r"[A-Za-z\u00aa-\u024f\u1e00-\u1eff]")
_SYLLABLES = compile_re(r"[\u1100-\u11ff\uac00-\ud7af]")  # of Hangul
_KANA = compile_re(r"[\u3040-\u309f]+")  # hiragana: mostly endings and particles
_ENDING = 0.3  # the weight of a term of them in a text
_LONG = 8  # characters of a word that counts whole in a text


def is_foreign(text: str) -> bool:
    """Check whether much of a text is in a non-Latin script.

    A character that stands for a syllable or a word counts twice.
    """
    if text.isascii():
        return False
    letters = [c for c in text if c.isalpha()]
    others = [c for c in letters if not _LATIN.match(c)]
    dense = sum(1 for c in others if UNSPACED.match(c) or _SYLLABLES.match(c))
    return len(others) + dense > _FOREIGN * (len(letters) + dense)


def read_subwords(text: str, dimension: int) -> TokenVectors:
    """Return the vectors of a text's terms, and their weighted mean, by their subwords."""
    spans = list(term_spans(text))
    vectors = np.array([_embed_term(term, dimension) for term, _, _ in spans], dtype=np.float32)
    vectors = vectors.reshape(-1, dimension)
    weights = np.array([_weigh_term(term) for term, _, _ in spans], dtype=np.float32)
    total = weights @ vectors if spans else np.ones(dimension, dtype=np.float32)
    return TokenVectors(
        vectors,
        np.full(len(spans), -1, dtype=np.int32),
        np.array([span for _, *span in spans], dtype=np.int32).reshape(-1, 2),
        np.asarray(total / max(float(np.linalg.norm(total)), 1e-12), dtype=np.float32),
    )


@lru_cache(maxsize=20_000)
def _embed_term(term: str, dimension: int) -> NDArray[np.float32]:
    """Return the (d,) unit vector of a term."""
    total = _hash_run(term, dimension).astype(np.float64)
    for run, weight in _find_runs(term):
        total += weight * _hash_run(run, dimension)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


def _find_runs(term: str) -> Iterator[tuple[str, float]]:
    if UNSPACED.match(term):
        yield from ((c, _PART) for c in term if len(term) > 1 and IDEOGRAPHS.match(c))
        return
    marked = f"<{term}>"
    sizes = _SYLLABLE_RUNS if _SYLLABLES.search(term) else _RUNS
    runs = [marked[i : i + n] for n in sizes for i in range(len(marked) - n + 1)]
    yield from ((run, 1.0) for run in runs)


@lru_cache(maxsize=50_000)
def _hash_run(run: str, dimension: int) -> NDArray[np.int8]:
    """Return a pseudo-random (d,) sign vector of a character run."""
    from hashlib import blake2b  # which loads OpenSSL

    digests = (
        blake2b(run.encode("utf-8", "surrogatepass"), digest_size=64, salt=bytes([i])).digest()
        for i in range(-(-dimension // 512))
    )
    bits = np.unpackbits(np.frombuffer(b"".join(digests), dtype=np.uint8))[:dimension]
    return np.asarray(bits.astype(np.int8) * 2 - 1)


def _weigh_term(term: str) -> float:
    if UNSPACED.match(term):
        return _ENDING if _KANA.fullmatch(term) else 1.0
    return min(len(term), _LONG) / _LONG
