"""The table of layers says all that a generation holds."""

from contextlib import closing

from clew.base.types import Extraction, Triple
from clew.index import adding, choose
from clew.index import recipe as recipes
from clew.index.generation import open_snapshot
from clew.index.generation.schema import COLUMNS, LAYERS, LINKS, LOOKUPS
from clew.index.layers.extractions import ChunkExtraction, build_graph_batch, build_statement_batch
from clew.index.store.embedded import EmbeddedStore
from clew.text.chunking import Chunking
from tests.index.build import MODELS, document, scratch


def test_a_generation_has_what_the_table_lists(monkeypatch):
    """Every column, link and lookup of one with sub-chunks, tokens, units and triples."""
    monkeypatch.setattr("clew.index.generation.EDITED_FROM", 0)
    settings = recipes.Settings(chunking=Chunking(size=12, overlap=4, subchunk_depth=1))
    recipe = settings.build_recipe(MODELS)
    triple = Triple(subject="Bo Dahl", relation="met", object="Amber Lane", description="They met.")
    with scratch() as folder, EmbeddedStore.create(folder / "index", recipe) as store:
        adding.add_documents(store, [document("a", "Bo Dahl met Amber Lane. Ice froze.")], MODELS)
        with closing(open_snapshot(store)) as snapshot:
            chunk = int(choose.stored_chunk_numbers(snapshot)[0])
        statements = [ChunkExtraction(chunk, "llm", ("Bo Dahl met her.",))]
        store.commit(build_statement_batch(statements, MODELS, store.unnamed, late=True), ())
        graph = [ChunkExtraction(chunk, "llm", Extraction(triples=(triple,)))]
        store.commit(build_graph_batch(graph, MODELS, store.unnamed), ())
        with closing(open_snapshot(store)) as snapshot:
            assembly = snapshot.cutter.assembly
            stored = [n for layer, table in LAYERS.items() for n in table.stored_names(layer)]
            assert set(assembly.columns) == {*COLUMNS, *(f"stored.{name}" for name in stored)}
            assert set(assembly.links) == set(LINKS)
            assert set(assembly.lookups) == set(LOOKUPS)
            assert {*LAYERS} - {*snapshot.layers} == {"mention", "occurrence"}
            for name, column in COLUMNS.items():
                assert assembly.columns[name].dtype == column.dtype, name
