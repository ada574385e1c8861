"""The component in Haystack: by itself, in pipelines, and written down."""

import asyncio

import pytest
from haystack import Document, Pipeline
from haystack.components.builders import PromptBuilder
from haystack.utils import Secret

from clew.client import find
from clew.errors import InputError, UnknownMethod
from haystack_integrations.components.retrievers.clew import ClewRetriever

QUESTION = "Where was the builder of the Comet at home?"


@pytest.fixture(params=["folder", "server"])
def given(request, local, url):
    """What names the index: in a folder, or on a server."""
    return {"index": local} if request.param == "folder" else {"index": "small", "url": url}


def test_documents_are_passages(given, local):
    """Ids, places, scores and threads; the same from a folder and from a server."""
    retriever = ClewRetriever(**given, method="walk", top_k=3)
    found = retriever.run(QUESTION)["documents"]
    assert found == [
        Document(
            id=each.chunk_id, content=each.text, meta=dict(each.metadata), score=each.relevance
        )
        for each in find(local, QUESTION, k=3, method="walk")
    ]
    assert found[0].meta["thread"][0]["layer"] == "query"
    assert asyncio.run(retriever.run_async(QUESTION))["documents"] == found


def test_settings_and_what_a_run_changes(given):
    """Filters, methods and their parameters; what is given to a run goes before."""
    retriever = ClewRetriever(**given, where="id == 'comet'", method="bm25")
    assert [each.meta["id"] for each in retriever.run(QUESTION)["documents"]] == ["comet"]
    other = retriever.run(QUESTION, where="id != 'comet'", parameters={"chunks": 2})["documents"]
    assert len(other) == 2
    assert "comet" not in {each.meta["id"] for each in other}
    assert len(retriever.run(QUESTION, top_k=1, where="")["documents"]) == 1
    with pytest.raises(UnknownMethod):
        ClewRetriever(**given, method="nosuch").run(QUESTION)


def test_in_a_pipeline(given):
    """Its documents go into a prompt."""
    pipeline = Pipeline()
    pipeline.add_component("retriever", ClewRetriever(**given, top_k=2))
    template = "{% for each in documents %}{{ each.content }}\n{% endfor %}{{ query }}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables="*"))
    pipeline.connect("retriever.documents", "prompt.documents")
    run = {"retriever": {"query": QUESTION}, "prompt": {"query": QUESTION}}
    prompt = pipeline.run(run)["prompt"]["prompt"]
    assert "Ola Eriksen built the Comet in Bakken." in prompt
    assert prompt.endswith(QUESTION)


def test_it_is_written_down_and_read_again(folder, url, monkeypatch):
    """A pipeline comes back from YAML, with its key's variable and never the key."""
    monkeypatch.setenv("POLAR_KEY", "clew_secret")
    retriever = ClewRetriever(
        "small",
        url=url,
        key=Secret.from_env_var("POLAR_KEY"),
        top_k=2,
        method="bm25",
        where="id != 'comet'",
        parameters={"chunks": 3},
    )
    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    written = pipeline.dumps()
    assert "POLAR_KEY" in written
    assert "clew_secret" not in written
    again = Pipeline.loads(written)
    assert again.get_component("retriever").to_dict() == retriever.to_dict()
    query = {"retriever": {"query": QUESTION}}
    assert again.run(query) == pipeline.run(query)
    plain = ClewRetriever(folder)
    assert ClewRetriever.from_dict(plain.to_dict()).to_dict() == plain.to_dict()
    assert plain.to_dict()["init_parameters"]["index"] == str(folder)


def test_what_cannot_be_written_down(local):
    """An open index, and a key that is no variable's."""
    with pytest.raises(InputError, match="name its folder"):
        ClewRetriever(local).to_dict()
    with pytest.raises(ValueError, match="token-based secret"):
        ClewRetriever("small", url="http://x", key=Secret.from_token("clew_x")).to_dict()
