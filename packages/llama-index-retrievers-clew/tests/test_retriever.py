"""The retriever in LlamaIndex: by itself, in an event loop, and below a query engine."""

import asyncio

import pytest
from llama_index.core import QueryBundle
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeRelationship

from clew.client import find
from clew.errors import InputError, UnknownMethod
from llama_index.retrievers.clew import ClewRetriever

QUESTION = "Where was the builder of the Comet at home?"


@pytest.fixture(params=["folder", "server"])
def given(request, local, url):
    """What names the index: in a folder, or on a server."""
    return {"index": local} if request.param == "folder" else {"index": "small", "url": url}


def test_nodes_are_passages_of_their_documents(given, local):
    """Ids, places, scores, relationships, threads; the same from a folder and from a server."""
    retriever = ClewRetriever(**given, method="walk", k=3)
    found = retriever.retrieve(QUESTION)
    expected = find(local, QUESTION, k=3, method="walk")
    assert [each.node.node_id for each in found] == [each.chunk_id for each in expected]
    assert [each.score for each in found] == [each.relevance for each in expected]
    assert [each.node.text for each in found] == [each.text for each in expected]
    for node, each in zip([each.node for each in found], expected, strict=True):
        assert node.metadata == each.metadata
        assert node.ref_doc_id == each.document_id
        related = node.relationships[NodeRelationship.SOURCE].metadata
        assert related["title"] == node.metadata["title"]
        assert node.start_char_idx == node.metadata["start"]
        assert node.end_char_idx == node.metadata["end"]
        assert "thread" not in node.get_content(MetadataMode.LLM)
        assert f"title: {node.metadata['title']}" in node.get_content(MetadataMode.LLM)
    assert asyncio.run(retriever.aretrieve(QueryBundle(QUESTION))) == found


def test_filters_methods_and_parameters(given):
    """Settings reach the index, and what it refuses is its own error."""
    found = ClewRetriever(**given, where="id == 'comet'").retrieve(QUESTION)
    assert {each.node.ref_doc_id for each in found} == {"comet"}
    two = ClewRetriever(**given, method="bm25", parameters={"chunks": 2})
    assert len(two.retrieve(QUESTION)) == 2
    assert len(ClewRetriever(**given, k=1).retrieve(QUESTION)) == 1
    with pytest.raises(UnknownMethod):
        ClewRetriever(**given, method="nosuch").retrieve(QUESTION)
    with pytest.raises(InputError, match="no document"):
        ClewRetriever(**given, where="id == 'nosuch'").retrieve(QUESTION)


def test_a_query_engine_answers_from_it(given):
    """A model reads what was found: this one repeats its prompt."""
    engine = RetrieverQueryEngine.from_args(ClewRetriever(**given, k=2), llm=MockLLM())
    reply = engine.query(QUESTION)
    assert len(reply.source_nodes) == 2
    assert reply.source_nodes[0].node.text in str(reply)
