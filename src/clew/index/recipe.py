"""The recipe of an index: the models and settings that determine its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clew.algo.coding import BITS, FLOAT32
from clew.base.runtime.lazy import compile_re
from clew.base.types import Scalar
from clew.errors import InputError, RecipeMismatch
from clew.index.store import opening, paid, schema
from clew.models import Models, gives_tokens, loading
from clew.models.loading import Specs
from clew.text.analyze import VERSION as ANALYZER
from clew.text.chunking import Chunking
from clew.text.sentences import NUPUNKT

if TYPE_CHECKING:
    from pathlib import Path

    from clew.models.prices import Price

# One pass per chunk gives all of its vectors, or every text is embedded by itself.
LATE, SEPARATE = "late", "separate"
_PIPELINE = compile_re(r"spacy:(\w+)-")  # in the name of a tagger


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings, besides models, that determine the rows of an index."""

    chunking: Chunking = field(default_factory=Chunking)
    vectors: str = LATE  # or SEPARATE
    vector_bits: int = schema.DEFAULT_BITS["vector_bits"]  # of a chunk's numbers
    unit_bits: int = schema.DEFAULT_BITS["unit_bits"]  # of a unit's and a name's numbers: `BITS`
    token_bits: int = schema.DEFAULT_BITS["token_bits"]  # of a number of a token's vector

    def __post_init__(self) -> None:
        if not isinstance(self.chunking, Chunking) or self.vectors not in (LATE, SEPARATE):
            raise InputError(
                f"chunking must be a Chunking, and vectors {LATE!r} or {SEPARATE!r}, "
                f"not {self.chunking!r:.60} and {self.vectors!r:.60}"
            )
        if not {self.vector_bits, self.unit_bits, self.token_bits} <= {*BITS}:
            raise InputError(
                f"vector components must have {', '.join(map(str, BITS[:-1]))} or {BITS[-1]} bits, "
                f"not {self.vector_bits!r:.60}, {self.unit_bits!r:.60} and {self.token_bits!r:.60}"
            )

    @property
    def is_exact(self) -> bool:
        """Check whether some vectors are stored unquantized."""
        return FLOAT32 in {self.vector_bits, self.unit_bits, self.token_bits}

    def build_recipe(self, models: Models) -> dict[str, Scalar]:
        late = self.vectors == LATE and gives_tokens(models.embedder)
        return {
            **build_model_recipe(models),
            "chunk_overlap": self.chunking.overlap,
            "chunk_size": self.chunking.size,
            **({} if self.chunking.splitter == NUPUNKT else {"splitter": self.chunking.splitter}),
            "subchunk_depth": self.chunking.subchunk_depth,
            "token_bits": self.token_bits,
            "unit_bits": self.unit_bits,
            "vector_bits": self.vector_bits,
            "vectors": LATE if late else SEPARATE,
        }


# As papers have it: each text is embedded by itself, and its numbers are kept as they come.
PAPERS = Settings(vectors=SEPARATE, vector_bits=FLOAT32, unit_bits=FLOAT32, token_bits=FLOAT32)


def build_model_recipe(models: Models) -> dict[str, Scalar]:
    """Return the part of a recipe that names models."""
    return {
        "analyzer": ANALYZER,
        "dimension": models.embedder.dimension,
        "embedder": models.embedder.name,
        "tagger": models.tagger.name,
    }


def check_recipe(stored: Mapping[str, Scalar], wanted: Mapping[str, Scalar]) -> None:
    """Raise RecipeMismatch, naming both values, unless an index was built as `wanted`."""
    for name, value in wanted.items():
        former = stored.get(name, NUPUNKT if name == "splitter" else None)
        if former == value:
            continue
        if name == "analyzer":
            raise RecipeMismatch(
                f"this index has terms of the analyser {stored.get(name)}, and this version of "
                f"Clew makes those of {value}: index its documents into a new folder, where its "
                "calls.sqlite and embeddings.sqlite, copied first, keep what was paid for"
            )
        raise RecipeMismatch(
            f"this index was built with the {name} {former!r}, not {value!r}: "
            "use the former, or index into a new folder"
        )


def record_models(
    given: Models | None,
    specs: Specs,
    recipe: Mapping[str, Scalar],
    folder: Path,
    prices: Mapping[str, Price] | None,
    *,
    exact: bool = False,
) -> Models:
    """Return the `given` models, or those of the index in `folder` with a recorded LLM.

    Paid vectors are kept `exact` where that is so of the recipe, or is to be of a new index.
    Raises RecipeMismatch where the index was built with another embedder.
    """
    models = given or loading.load_models(
        from_recipe(specs, recipe),
        cache=opening.paid_place(folder, paid.EMBEDDINGS),
        prices=prices,
        exact=exact or schema.is_exact(recipe),
    )
    if models.llm is not None:
        from clew.models.ledger import Ledger
        from clew.models.recorded_llm import recorded

        ledger = Ledger(opening.paid_place(folder, paid.CALLS))
        wording = specs.read_wording()
        models = replace(models, llm=recorded(models.llm, ledger, prices=prices, wording=wording))
    if recipe:
        check_recipe(recipe, {"analyzer": ANALYZER, "embedder": models.embedder.name})
    return models


def from_recipe(specs: Specs, recipe: Mapping[str, Scalar]) -> Specs:
    """Fill the open choices of `specs` from the recipe of an index."""
    embedder, tagger = recipe.get("embedder_spec"), recipe.get("tagger_spec")
    if tagger == "spacy" and (match := _PIPELINE.search(str(recipe.get("tagger")))):
        tagger = f"spacy:{match[1]}"  # what was "spacy" alone is the pipeline of this name
    return replace(
        specs,
        embedder=specs.embedder or (embedder if isinstance(embedder, str) else None),
        tagger=specs.tagger or (tagger if isinstance(tagger, str) else None),
    )
