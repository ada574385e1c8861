"""An index of the small documents, with triples, and the same in shards."""

from contextlib import contextmanager

import clew
from clew import testing
from clew.index import recipe as recipes
from clew.shards import split
from tests.index.build import MODELS, scratch

SETTINGS = recipes.Settings(unit_bits=8, token_bits=8)


@contextmanager
def whole_and_parts(**parts):
    """Give a folder with the index `whole`, and those of its shards, as many as each name says."""
    with scratch() as place:
        with clew.open(place / "whole", models=MODELS, settings=SETTINGS) as whole:
            whole.add(testing.small_documents(), triples="cooccurrence")
        for name, n in parts.items():
            split(place / "whole", place / name, n)
        yield place
