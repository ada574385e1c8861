"""Several indexes behind one server: which is the first, and questions to all of them."""

from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

import clew
from clew.testing import small_documents
from tests.extras.server.conftest import on_answers, open_small, open_with

LIGHT = "The lamp of Quorkholm was lit by Ola Eriksen."
QUESTION = "Who lit the lamp of Quorkholm, and who built the Comet?"
CHAT = "/v1/chat/completions"


@pytest.fixture
def several(home, tmp_path):
    """A home that serves `zeal`, `small` and `alike`; `alike` has a document of `small`'s ids."""
    documents = {
        "zeal": clew.Document(id="log/lamp #1", text=LIGHT, metadata={"group": "open"}),
        "alike": clew.Document(id="comet", text="A comet was seen over Bakken."),
    }
    places = {name: tmp_path / f"{name}.clew" for name in documents}
    for name, document in documents.items():
        with open_small(places[name]) as index:
            index.add(document)
    settings = home.settings
    indexes = {"zeal": places["zeal"], **settings.indexes, "alike": places["alike"]}
    return replace(home, settings=replace(settings, indexes=indexes))


def body(model, question=QUESTION, **more):
    return {"model": model, "messages": [{"role": "user", "content": question}], **more}


def test_the_first_model_is_the_index_that_was_named_first(several):

    with several.client() as client:
        client.post("/api/v1/indexes", json={"name": "a-new-one"})
        models = [each["id"] for each in client.get("/v1/models").json()["data"]]
        listed = [each["name"] for each in client.get("/api/v1/indexes").json()["items"]]
        assert client.get("/v1/models/clew").json()["id"] == "clew"
    assert listed == ["zeal", "small", "alike", "a-new-one"]
    assert models == ["clew/zeal", "clew/small", "clew/alike", "clew/a-new-one", "clew"]


def test_one_index_is_all_of_them(home):
    with home.client() as client:
        models = [each["id"] for each in client.get("/v1/models").json()["data"]]
        alone = client.post(CHAT, json=body("clew")).json()["choices"]
        assert alone == client.post(CHAT, json=body("clew/small")).json()["choices"]
    assert models == ["clew/small"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_question_to_all_indexes(several, stream):
    with several.client() as client:
        asked = body("clew", clew={"citations": "annotations", "min_support": 0})
        found = client.post(CHAT, json=asked).json()
        message = found["choices"][0]["message"]
        places = [
            dict(parse_qsl(urlsplit(each["url_citation"]["url"]).query))
            for each in message["annotations"]
        ]
        assert {"zeal", "small"} <= {each["index"] for each in places}
        for place in places:
            shown = client.get(
                f"/api/v1/indexes/{place['index']}/documents/{place['doc'].replace('#', '%23')}"
            ).json()
            quote = shown["text"][int(place["start"]) : int(place["end"])]
            assert f'"{quote}"' in message["content"]
        if stream:
            told = client.post(CHAT, json={**asked, "stream": True}).text
            assert '"finish_reason":"stop"' in told


def test_an_llm_reads_what_all_indexes_have(several):
    """Its numbers are those of passages of several indexes; the reply is kept by one of them."""
    said = "Ola Eriksen lit the lamp [1][2] and built the Comet in Bakken [1][2]"
    chat, opener = open_with(on_answers(said))
    with several.client(opener) as client:
        found = client.post(CHAT, json=body("clew")).json()
        again = client.post(CHAT, json=body("clew")).json()
    assert found["clew"]["kind"] == "generated"
    urls = [e["url_citation"]["url"] for e in found["choices"][0]["message"]["annotations"]]
    assert any("index=zeal&doc=log/lamp%20%231" in url for url in urls)
    assert any("index=small&doc=" in url for url in urls)
    [prompt] = {p.user for p, _ in chat.asked if p.name == "prose_answer"}
    assert LIGHT in prompt
    assert again["usage"]["total_tokens"] == 0


def test_an_llm_reads_all_that_fits_of_all_indexes(several):
    """As of one index: more than are quoted, and those that would be quoted stand first."""
    chat, opener = open_with(on_answers("Ola Eriksen lit the lamp [1]"))
    with several.client(opener) as client:
        client.post(CHAT, json=body("clew"))
        client.post(CHAT, json=body("clew", clew={"context_tokens": 60}))
    prompts = list(dict.fromkeys(p.user for p, _ in chat.asked if p.name == "prose_answer"))
    n_chunks = len(small_documents()) + 2
    assert f"\n[{n_chunks}] " in prompts[0]
    assert "\n[4] " not in prompts[1]
    for prompt in prompts:
        assert LIGHT in prompt.partition("\n[3] ")[0]


def test_a_key_asks_those_that_it_sees(several):
    """Others are as if they were not there; so is an index that a filter leaves empty."""
    key = several.key(indexes=("small", "alike"))
    bound = several.key("b", where="group = 'hidden'")
    with several.client() as client:
        seen = client.get("/v1/models", headers=key).json()["data"]
        assert [each["id"] for each in seen] == ["clew/small", "clew/alike", "clew"]
        for header in (key, bound):
            given = body("clew", clew={"min_support": 0})
            text = client.post(CHAT, json=given, headers=header).text
            assert "Quorkholm was lit" not in text
            assert "index=zeal" not in text
        wanted = body("clew", clew={"where": "group = 'open'", "min_support": 0})
        text = client.post(CHAT, json=wanted, headers=several.key("c")).text
        assert "index=zeal" in text
        assert "index=alike" not in text
        wrong = body("clew", clew={"where": "colour = 'red'"})
        reply = client.post(CHAT, json=wrong, headers=key)
    assert reply.status_code == 400
    assert "colour" in reply.json()["error"]["message"]


def test_a_refusal_and_a_budget_are_of_all_indexes(several):

    asked = body("clew", "How is sourdough bread baked at home?")
    with several.client() as client:
        found = client.post(CHAT, json=asked).json()
    assert found["clew"]["kind"] == "refused"
    assert found["choices"][0]["message"]["content"].startswith("Nothing in these documents")
    chat, opener = open_with(on_answers("Ola Eriksen [1]"))
    with several.client(opener) as client:
        asked = body("clew@walk", clew={"budget_tokens": 0, "min_support": 0})
        found = client.post(CHAT, json=asked).json()
    assert found["clew"]["kind"] == "quoted"
    assert chat.asked == []
