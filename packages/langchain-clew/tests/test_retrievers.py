"""The retriever passes LangChain's own suite, over a folder and over a server."""

import asyncio
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from clew.client import find
from clew.errors import UnknownMethod
from langchain_clew import ClewRetriever

QUESTION = "Where was the builder of the Comet at home?"


class _OfClew(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self):
        return ClewRetriever

    @property
    def retriever_constructor_params(self):
        return self.params

    @property
    def retriever_query_example(self):
        return QUESTION


class TestFolder(_OfClew):
    """An index in a folder."""

    @pytest.fixture(autouse=True)
    def _params(self, local):
        self.params = {"index": local}


class TestServer(_OfClew):
    """An index of a server."""

    @pytest.fixture(autouse=True)
    def _params(self, url):
        self.params = {"index": "small", "url": url, "key": "none"}


def test_a_document_is_a_passage_with_its_thread(local, url):
    """Places, relevance, thread; the same from a folder and from a server, awaited or not."""
    found = ClewRetriever(index=local, method="walk", k=3).invoke(QUESTION)
    expected = find(local, QUESTION, k=3, method="walk")
    assert found == [
        Document(id=each.chunk_id, page_content=each.text, metadata=dict(each.metadata))
        for each in expected
    ]
    assert {"id", "source", "page", "section", "start", "end", "relevance", "thread"} <= set(
        found[0].metadata
    )
    served = ClewRetriever(index="small", url=url, method="walk", k=3)
    assert served.invoke(QUESTION) == found
    assert asyncio.run(served.ainvoke(QUESTION)) == found
    assert found[0].metadata["thread"][0]["layer"] == "query"


def test_settings_change_for_one_query(local):
    """A filter, a method and its parameters, for one query or for all."""
    retriever = ClewRetriever(index=local, where="id == 'comet'")
    assert {each.metadata["id"] for each in retriever.invoke(QUESTION)} == {"comet"}
    other = retriever.invoke(QUESTION, where="id != 'comet'", method="bm25")
    assert "comet" not in {each.metadata["id"] for each in other}
    one = ClewRetriever(index=local, method="bm25", parameters={"chunks": 1})
    assert len(one.invoke(QUESTION)) == 1
    with pytest.raises(UnknownMethod):
        retriever.invoke(QUESTION, method="nosuch")


def test_it_composes(local):
    """A retriever is a runnable like any other, and shows no key."""
    chain = ClewRetriever(index=local, k=1) | (lambda found: found[0].page_content)
    assert chain.invoke(QUESTION).startswith("Ola Eriksen")
    retriever = ClewRetriever(index="small", url="http://localhost:1", key="clew_secret")
    assert "clew_secret" not in repr(retriever) + str(retriever.model_dump())
    with pytest.raises(ValidationError):
        ClewRetriever(index=Path("x"), k=0)
