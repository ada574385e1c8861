"""A new version of a long document is embedded only where its chunks changed."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import testing
from clew.index import adding
from clew.index import recipe as recipes
from clew.index.store.embedded import EmbeddedStore
from clew.text.chunking import Chunking
from tests.index import build
from tests.index.build import contents, document, scratch
from tests.trials import trials

SENTENCES = [f"On day {i} Bo Dahl sailed {i * 7} miles past Cape {i % 13}." for i in range(150)]


READ = []  # the texts of chunks, in the order in which they are embedded


class RecordingEmbedder(testing.HashTokenEmbedder):
    """An embedder that remembers the chunks that it reads."""

    def embed_tokens(self, texts):
        READ.extend(texts)
        return testing.HashTokenEmbedder.embed_tokens(self, texts)


MODELS = replace(build.MODELS, embedder=RecordingEmbedder())


@pytest.fixture(params=[0, 1])
def settings(request):
    return recipes.Settings(chunking=Chunking(size=40, overlap=0, subchunk_depth=request.param))


def index_versions(settings, *versions):
    """Return the contents of an index after some versions of a document, and the chunks read."""
    n_read = []
    with scratch() as folder, create(folder, settings) as store:
        for title, sentences in versions:
            READ.clear()
            adding.add_documents(store, [document("log", " ".join(sentences), title=title)], MODELS)
            n_read.append(len(READ))
        return contents(store), n_read


def create(folder, settings):
    return EmbeddedStore.create(folder / "index", settings.build_recipe(MODELS))


def test_an_appended_line_is_a_chunk_to_embed(settings):
    """And the index is that of a fresh build."""
    new = [*SENTENCES, "In the end Ada Quist was found."]
    edited, (n_chunks, n_read) = index_versions(settings, ("Log", SENTENCES), ("Log", new))
    fresh, _ = index_versions(settings, ("Log", new))
    assert edited == fresh
    assert n_chunks > 30
    assert n_read <= 2


def test_another_title_is_read_with_every_chunk(settings):
    """The vectors of a chunk are of its titled text, so none of them is kept."""
    _, (first, second) = index_versions(settings, ("Log", SENTENCES), ("Diary", SENTENCES))
    assert first == second


@trials(3, 100)
@given(
    places=st.lists(st.integers(0, len(SENTENCES)), max_size=3),
    gone=st.sets(st.integers(0, len(SENTENCES) - 1), max_size=3),
    depth=st.integers(0, 1),
)
def test_edits_anywhere_give_a_fresh_index(places, gone, depth):
    """Sentences come and go at any place, and the vectors that are kept are the right ones."""
    settings = recipes.Settings(chunking=Chunking(size=40, overlap=8, subchunk_depth=depth))
    new = [each for i, each in enumerate(SENTENCES) if i not in gone]
    for place in places:
        new.insert(place, f"At {place} Amber Lane wrote.")
    edited, _ = index_versions(settings, ("Log", SENTENCES), ("Log", new))
    fresh, _ = index_versions(settings, ("Log", new))
    assert edited == fresh
