"""Whether 32 bits find what float32 vectors in memory find, and how much fewer bits change.

    python -m benchmarks.exact DATASET [--questions N] [--triples FILE] [--hashed]

A DATASET is a folder that `clew eval` takes. Its passages are indexed with every text embedded by
itself, in each of the numbers of bits below, and once with vectors that are coded nowhere: they are
read into memory, and are the oracle. For each preset of a paper it prints, of N questions, how many
have the same first five chunks as the oracle, without an LLM. Triples are those of the file of
`clew import-triples`, else of names in one sentence. `--hashed` takes hashed words in place of the
embedder: they are mostly zero, which few bits are not made for.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import click
import numpy as np

import clew
from clew.algo import coding
from clew.answers.method import build_method
from clew.base.types import Document
from clew.evaluate import load
from clew.index.recipe import PAPERS, Settings
from clew.index.snapshot import Snapshot
from clew.index.store import schema
from clew.models import Embedder, Kind, Models
from clew.models.loading import Specs, load_models
from clew.testing import models as doubles

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRESETS = ("clue_paper", "ket_rag_p", "bubble_paper", "agrag_paper")
FIRST = 5
BITS = {
    "8/4/1": replace(PAPERS, vector_bits=8, unit_bits=4, token_bits=1),
    "8/8/8": replace(PAPERS, vector_bits=8, unit_bits=8, token_bits=8),
    "32/32/32": PAPERS,
}


@dataclass(frozen=True, slots=True)
class Remembering:
    """An embedder that reads each text once in a run."""

    inner: Embedder
    known: dict[tuple[str, str], NDArray[np.float32]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def dimension(self) -> int:
        return self.inner.dimension

    def embed(self, texts: Sequence[str], *, kind: Kind) -> NDArray[np.float32]:
        new = list(dict.fromkeys(text for text in texts if (kind, text) not in self.known))
        read = zip(new, self.inner.embed(new, kind=kind), strict=True)
        self.known.update({(kind, text): vector for text, vector in read})
        rows = [self.known[kind, text] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, self.dimension)


@contextmanager
def indexed(
    documents: Sequence[Document] | Path,
    models: Models,
    settings: Settings,
    triples: Path | None = None,
) -> Iterator[Snapshot]:
    """Index documents with their triples, and give the snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "index"
        with clew.open(place, models=models, settings=settings) as index:
            index.add(documents, triples=None if triples else "cooccurrence")
            if triples:
                index.import_triples(triples)
            yield index.snapshot()


@contextmanager
def in_memory(
    documents: Sequence[Document] | Path, models: Models, triples: Path | None = None
) -> Iterator[Snapshot]:
    """Give the snapshot whose vectors are float32 arrays in memory that nothing has coded."""
    with (
        patch.object(schema, "encode_array", _as_bytes),
        patch.object(coding, "decode", lambda rows, _dimension, _bits: rows.view(np.float32)),
        indexed(documents, models, PAPERS, triples) as snapshot,
    ):
        for name in ("chunk", "subchunk", "unit", "entity", "triple", "profile"):
            layer = snapshot.layer(name)
            layer.vectors = np.asarray(layer.vectors)  # type: ignore[misc] -- instead of stored ones
        yield snapshot


def _as_bytes(name: str, array: NDArray[Any], recipe: object) -> NDArray[Any]:  # noqa: ARG001 -- bits
    """Return vectors as the bytes of their numbers, other arrays as they are."""
    is_coded = name.endswith(".vectors") and array.dtype == np.float32
    return np.ascontiguousarray(array).view(np.uint8).copy() if is_coded else array


def first_chunks(preset: str, questions: Sequence[str], snapshot: Snapshot, models: Models):  # noqa: ANN201
    """Return the ids of the first chunks that a preset finds for each question."""
    method = build_method(preset, {})
    found = (method.retrieve(question, snapshot, models) for question in questions)
    return [[hit.chunk_id for hit in each.hits[:FIRST]] for each in found]


def main() -> None:
    """Print how many questions have the oracle's first chunks, by preset and bits."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--questions", type=int, default=30)
    parser.add_argument("--triples", type=Path)
    parser.add_argument("--hashed", action="store_true")
    given = parser.parse_args()
    dataset = load(given.dataset, limit=given.questions)
    questions = [each.text for each in dataset.questions]
    loaded = doubles() if given.hashed else load_models(Specs())
    models = replace(loaded, embedder=Remembering(loaded.embedder))
    with in_memory(dataset.corpus, models, given.triples) as snapshot:
        expected = {each: first_chunks(each, questions, snapshot, models) for each in PRESETS}
    click.echo(f"{'preset':<14}{''.join(f'{bits:>12}' for bits in BITS)}")
    same: dict[str, list[int]] = {preset: [] for preset in PRESETS}
    for settings in BITS.values():
        with indexed(dataset.corpus, models, settings, given.triples) as snapshot:
            for preset, counts in same.items():
                found = first_chunks(preset, questions, snapshot, models)
                pairs = zip(found, expected[preset], strict=True)
                counts.append(sum(one == other for one, other in pairs))
    for preset, counts in same.items():
        click.echo(f"{preset:<14}{''.join(f'{n:>8} / {len(questions)}' for n in counts)}")


if __name__ == "__main__":
    main()
