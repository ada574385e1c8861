"""The tasks of a worker, which loads its models at the first task."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.base.types import Document, Scalar
from clew.index.building import Rows, build_rows
from clew.index.layers.vectors import ChunkKey, ChunkVectors, embed_names
from clew.index.recipe import build_model_recipe, check_recipe
from clew.models import Models
from clew.models.loading import Specs, load_models
from clew.models.run import Meter


def run(specs: Specs, task: str, arguments: Sequence[Any]) -> Any:  # noqa: ANN401 -- as the task returns
    """Run a task with the named models."""
    return _TASKS[task](_models(specs), *arguments)


@lru_cache(maxsize=1)
def _models(specs: Specs) -> Models:
    return load_models(specs)


def _rows(
    models: Models,
    documents: Sequence[Document],
    recipe: Mapping[str, Scalar],
    stored: Mapping[ChunkKey, ChunkVectors],
) -> Rows:
    """Return the rows of documents. Raises RecipeMismatch if this process has other models."""
    check_recipe(recipe, build_model_recipe(models))
    return build_rows(documents, recipe, models, Meter(), stored)


def _names(models: Models, keys: Sequence[str]) -> NDArray[np.float32]:
    """Return the (n, d) vectors of entity names."""
    return embed_names(keys, models.embedder)


def _process(_models: Models) -> int:
    """Return the process id, for tests that kill workers."""
    return os.getpid()


_TASKS: Mapping[str, Callable[..., Any]] = {"rows": _rows, "names": _names, "process": _process}
