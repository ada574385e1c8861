import json
import re
from dataclasses import replace

import numpy as np
import pytest

from clew.errors import BadReply, EndpointError, InputError
from clew.extras.models.openai import OpenAIChat, OpenAIEmbeddings
from clew.models import Prompt, Turn
from clew.models.budget import Budget
from clew.models.ledger import Ledger, Request
from clew.models.recorded_llm import RecordedLLM
from clew.testing import ChatContract
from tests.models.server import Answer

pytest.importorskip("httpx2")
pytest.importorskip("fastjsonschema")

SCHEMA = {
    "type": "object",
    "properties": {"names": {"type": "array", "items": {"type": "string"}}},
    "required": ["names"],
    "additionalProperties": False,
}
ASKED = Prompt(user="Which names?", system="Be brief.", schema=SCHEMA, max_tokens=99)
GOOD = '{"names": ["Ada"]}'


def said(text, *, finish="stop", usage=(10, 5), **message):
    """Give the chat completion that says `text`."""
    reply = {"choices": [{"message": {"content": text, **message}, "finish_reason": finish}]}
    if usage:
        reply["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return Answer(reply)


def vectors(request, d=4):
    """Embed each text as a vector that tells its length, in reversed order."""
    data = [
        {"index": i, "embedding": [len(t), *[1] * (d - 1)]}
        for i, t in enumerate(request.json["input"])
    ]
    return Answer({"data": data[::-1]})


@pytest.fixture
def chat(server):
    def build(**settings):
        return OpenAIChat(base_url=server.url, model="m", sleep=lambda _: None, **settings)

    return build


@pytest.fixture
def embedder(server):
    server.respond = vectors

    def build(**settings):
        return OpenAIEmbeddings(base_url=server.url, model="m", sleep=lambda _: None, **settings)

    return build


# Chat


def test_a_prompt_becomes_a_chat_completion(server, chat):
    """Every part of a prompt reaches the endpoint under the API's names."""
    server.script(said(GOOD))
    chat(api_key="k").complete([ASKED])
    request = server.requests[0]
    assert request.path == "/v1/chat/completions"
    assert request.json == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Which names?"},
        ],
        "max_tokens": 99,
        "temperature": 0.0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "schema": SCHEMA, "strict": True},
        },
    }


def test_a_reply_carries_text_data_tokens_and_cost(server, chat):
    """A reply says what came, what it means and what it cost."""
    server.script(said(GOOD, usage=(1000, 500)))
    (reply,) = chat(prices={"m": (2.0, 8.0)}).complete([ASKED])
    assert (reply.text, reply.data) == (GOOD, {"names": ["Ada"]})
    assert (reply.prompt_tokens, reply.completion_tokens, reply.calls) == (1000, 500, 1)
    assert (reply.cost_usd, reply.error) == (pytest.approx(0.006), "")


@pytest.mark.parametrize(
    ("usage", "billed"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 815}, (10, 805)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}, (10, 5)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 0}, (10, 5)),
        ({"prompt_tokens": 10, "total_tokens": 17}, (10, 7)),
        ({"prompt_tokens": "10", "completion_tokens": 5.0}, (10, 5)),
    ],
)
def test_a_model_s_hidden_thoughts_are_billed(server, chat, usage, billed):
    """What the total has beyond the prompt and the reply counts with the reply."""
    server.respond = lambda _: Answer(said("yes").body | {"usage": usage})
    turn = chat().ask(ASKED)
    assert (turn.prompt_tokens, turn.completion_tokens) == billed


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *(("total_tokens", number) for number in (10**30, 1e300, -3, "many", [], {})),
        ("prompt_tokens", -3),
        ("completion_tokens", -3),
    ],
)
def test_numbers_that_no_reply_can_have_state_no_usage(server, chat, name, number, tmp_path):
    """The reply is kept, and a budget counts its worst case."""
    usage = {"prompt_tokens": 10, "completion_tokens": 5, name: number}
    server.respond = lambda _: Answer(said(GOOD).body | {"usage": usage})
    budget = Budget(tokens=10_000)
    ledger = Ledger(tmp_path / "calls.sqlite")
    [reply] = RecordedLLM(chat(), ledger=ledger, budget=budget).complete([ASKED])
    assert reply.data == {"names": ["Ada"]}
    assert budget.spent_tokens == budget.lost_tokens >= 99
    assert ledger.recall(Request(chat().name, ASKED)).text == GOOD


def test_a_usage_beyond_all_numbers_is_read(server, chat):
    """JSON knows no largest number: 1e999 is read as infinite."""
    body = json.dumps(said(GOOD).body).replace(": 10,", ": 1e999,").encode()
    server.respond = lambda _: Answer(body)
    assert chat().ask(ASKED).text == GOOD


@pytest.mark.parametrize(
    ("usage", "prices", "cost"),
    [
        ((1, 1), {}, None),
        ((1, 1), {"n": (1, 1)}, None),
        (None, {"m": (1, 1)}, None),
        ((10, 5), {"m": (0.0, 0.0)}, 0.0),
    ],
)
def test_an_unknown_cost_is_not_zero(server, chat, usage, prices, cost):
    """Without a price, or a count of tokens, nobody claims a cost; a price of zero is a price."""
    server.script(said("yes", usage=usage))
    assert chat(prices=prices).complete([Prompt(user="?")])[0].cost_usd == cost


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"names": "Ada"}', "data.names must be array"),
        ("I do not know.", "there is no JSON in it"),
        ('{"names": [NaN]}', "data.names[0] must be string"),
        ('{"names": ["\\ud800"]}', "data.names[0] must be string"),
        ("", "the reply is empty"),
    ],
)
def test_a_reply_that_breaks_the_schema_is_repaired_once(server, chat, text, fault):
    """The model is shown its reply and the fault, and both calls are counted."""
    server.script(said(text, usage=(10, 5)), said(GOOD, usage=(20, 6)))
    (reply,) = chat(prices={"m": (1.0, 1.0)}).complete([ASKED])
    assert (reply.data, reply.text, reply.calls) == ({"names": ["Ada"]}, GOOD, 2)
    assert (reply.prompt_tokens, reply.completion_tokens) == (30, 11)
    assert reply.cost_usd == pytest.approx(41e-6)
    shown, asked = server.requests[1].json["messages"][-2:]
    assert shown == {"role": "assistant", "content": text}
    assert fault in asked["content"]


def test_a_truncated_reply_is_invalid_even_if_it_parses(server, chat):
    """Half a list of facts is not taken for the whole."""
    server.script(said(GOOD, finish="length"))
    (reply,) = chat().complete([ASKED])
    assert (reply.data, reply.error) == (None, "the reply was truncated at the token limit")
    server.script(said("Once upon a", finish="length"))
    (reply,) = chat().complete([Prompt(user="?")])
    assert (reply.text, reply.error, reply.calls) == ("Once upon a", "", 1)


def test_shapes_of_a_message(server, chat):
    """Some servers send the content as a list; a model that refuses is quoted."""
    server.script(
        said([{"type": "text", "text": "a"}, {"type": "x"}, {"type": "text", "text": "b"}])
    )
    assert chat().complete([Prompt(user="?")])[0].text == "ab"
    server.script(said(None, refusal="I cannot help."))
    (reply,) = chat().complete([Prompt(user="?")])
    assert reply.error == "the reply is empty I cannot help."
    server.script(said("", finish="content_filter"))
    (reply,) = chat().complete([Prompt(user="?")])
    assert reply.error == "the reply is empty: a content filter withheld it"


def test_schemas_can_be_left_to_the_prompt(server, chat):
    """Who knows that an endpoint has no schemas spares it the refusal."""
    server.script(said(GOOD))
    chat(json_schema=False).complete([ASKED])
    assert "response_format" not in server.requests[0].json


def test_a_schema_that_is_none_costs_nothing(server, chat):
    """The mistake of a programmer is told before anything is asked."""
    with pytest.raises(InputError, match="JSON schema of a prompt is not valid"):
        chat().complete([Prompt(user="?", schema={"type": "nonsense"})])
    assert server.requests == []


@pytest.mark.parametrize("body", [{}, [], {"choices": []}, {"choices": [{"message": None}]}])
def test_a_reply_of_another_api_is_named(server, chat, body):
    """A base URL that answers, and is not this API, is recognised."""
    server.script(Answer(body))
    with pytest.raises(BadReply, match=r"127.0.0.1.*model m: the reply is not a chat completion"):
        chat().complete([Prompt(user="?")])


def test_one_refused_prompt_does_not_end_a_batch(server, chat):
    """A filter's objection is an error in one reply; the others are served."""

    def respond(request):
        if "ice" in request.json["messages"][-1]["content"]:
            return Answer({"error": "filtered"}, 422)
        return said("yes")

    server.respond = respond
    replies = chat().complete([Prompt(user="snow?"), Prompt(user="ice?"), Prompt(user="rain?")])
    assert [r.text for r in replies] == ["yes", "", "yes"]
    assert "HTTP 422 (filtered)" in replies[1].error


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_address_is_no_matter_of_the_prompt(server, chat, status):
    """It ends the batch, whatever other prompts got."""
    server.respond = lambda r: (
        Answer({}, status) if "9" in r.json["messages"][0]["content"] else (said("yes"))
    )
    with pytest.raises(EndpointError, match=f"HTTP {status}"):
        chat().complete([Prompt(user=f"{n}") for n in range(12)])


def test_one_exchange_is_not_checked(server, chat):
    """`ask` gives what came; earlier turns are sent with their faults."""
    server.script(said("Ada, I think", usage=(7, 3)))
    turn = chat().ask(ASKED, [Turn("Bob", "there is no JSON in it")])
    assert turn == Turn("Ada, I think", "", 7, 3)
    assert [m["role"] for m in server.requests[0].json["messages"]] == [
        "system", "user", "assistant", "user",
    ]  # fmt: skip


def test_names_and_prices(chat, server):
    """Elsewhere nobody knows a price; a temperature is another model to a cache."""
    at_openai = OpenAIChat(base_url="https://api.openai.com/v1", model="gpt-4o-mini")
    assert at_openai.price == (0.15, 0.60)
    assert replace(at_openai, prices={"gpt-4o-mini": (0.0, 1.0)}).price == (0.0, 1.0)
    assert replace(chat(), model="gpt-4o-mini").price is None
    assert (at_openai.name, replace(at_openai, temperature=1.0).name) == (
        "gpt-4o-mini", "gpt-4o-mini at temperature 1.0",
    )  # fmt: skip
    place = server.url.removeprefix("http://")
    assert chat().name == f"m of {place}"
    assert chat(temperature=0.7).name == f"m of {place} at temperature 0.7"
    assert chat(temperature=None).name == f"m of {place} at its own temperature"
    hidden = replace(chat(), base_url="https://user:hush@example.org/v1/?key=hush")
    assert hidden.name == "m of example.org/v1"
    assert "hush" not in repr(chat(api_key="hush"))
    chat = OpenAIChat(base_url="https://api.openai.com/v1", model="gpt-4o-mini", api_key_env="NONE")
    assert chat.count_tokens(Prompt(user="How many?")) is None


def llama(request):
    """Answer as a llama.cpp server whose tokens are characters."""
    asked = request.json
    if request.path == "/props":
        return Answer({"default_generation_settings": {}})
    if request.path == "/apply-template":
        return Answer({"prompt": "".join(f"<{m['content']}>" for m in asked["messages"])})
    if request.path == "/tokenize":
        return Answer({"tokens": list(range(len(asked["content"])))})
    n = sum(len(m["content"]) + 2 for m in asked["messages"])
    return said("ice", usage=(n, 1))


class TestLlamaServer(ChatContract):
    @pytest.fixture
    def chat(self, server, chat):
        server.respond = llama
        return chat()


def test_a_llama_server_counts_tokens(server, chat):
    """It is recognised once."""
    server.respond = llama
    model = chat()
    assert [model.count_tokens(Prompt(user="x" * n)) for n in (1, 5)] == [3, 7]
    assert model.count_tokens(Prompt(user="x"), [Turn("abc", "no")]) > 3 + 5
    assert [r.path for r in server.requests].count("/props") == 1
    server.respond = lambda r: llama(r) if r.path == "/props" else Answer({}, 404)
    assert chat().count_tokens(Prompt(user="x")) is None


@pytest.mark.parametrize(
    "answer", [Answer({}, 404), Answer(b"<html>"), Answer({"status": "ok"}), Answer([])]
)
def test_other_endpoints_cannot_count(server, chat, answer):
    """Whatever they answer there, no count is made up."""
    server.script(answer)
    model = chat()
    assert model.count_tokens(Prompt(user="x")) is model.count_tokens(Prompt(user="y")) is None
    assert [r.path for r in server.requests] == ["/props"]


# Embeddings


def test_vectors_come_in_order_and_of_length_one(server, embedder):
    """Shuffled indexes are sorted, in every batch of at most 128, and rows are unit vectors."""
    texts = ["x" * (i % 50 + 1) for i in range(300)]
    rows = embedder().embed(texts, kind="document")
    assert (rows.shape, rows.dtype) == ((300, 4), np.float32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [len(t) for t in texts], rtol=1e-5)
    assert sorted(len(r.json["input"]) for r in server.requests) == [44, 128, 128]


def test_what_is_sent_of_a_text(server, embedder):
    """OpenAI refuses an empty input; models that want prefixes get them, and are told apart."""
    embedder().embed([""], kind="document")
    assert server.requests[0].json["input"] == [" "]
    model = embedder(query_prefix="query: ", document_prefix="passage: ")
    model.embed(["a"], kind="query")
    model.embed(["a"], kind="document")
    assert [r.json["input"] for r in server.requests[1:]] == [["query: a"], ["passage: a"]]
    assert model.name != embedder().name


def test_the_dimension_is_learned_from_a_reply(server, embedder):
    """One small request tells it, unless it is known or vectors have come before."""
    assert embedder(expected_dimension=7).embed([], kind="query").shape == (0, 7)
    assert server.requests == []
    assert embedder().dimension == 4
    seen = embedder()
    seen.embed(["a"], kind="query")
    before = len(server.requests)
    assert seen.dimension == 4
    assert len(server.requests) == before


def test_a_wrong_dimension_names_both(embedder, server):
    """Another model behind the same URL is found out, at once or during a run."""
    model = embedder(expected_dimension=384)
    with pytest.raises(EndpointError, match="model m: the vectors have dimension 4, not 384"):
        model.embed(["a"], kind="query")
    model = embedder()
    model.embed(["a"], kind="query")
    server.respond = lambda r: vectors(r, d=6)
    with pytest.raises(EndpointError, match="the vectors have dimension 6, not 4"):
        model.embed(["a"], kind="query")


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"index": 1, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}],
        [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}],
        [{"index": 0, "embedding": None}, {"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": 1.0}, {"index": 1, "embedding": 1.0}],
        [{"index": 0, "embedding": [0.0]}, {"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": [float("nan")]}, {"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1e200]}, {"index": 1, "embedding": [1.0]}],
        [{"index": 1, "embedding": [1.0]}, {"index": 2, "embedding": [1.0]}],
        [{"embedding": "no base64"}, {"embedding": [1.0]}],
        "no",
        None,
    ],
)
def test_vectors_that_cannot_be_used_are_refused(server, embedder, data):
    """A wrong count, a repeated index, a ragged, zero or infinite vector never reaches an index."""
    model = embedder()
    server.script(Answer({"data": data}))
    with pytest.raises(BadReply, match=re.escape(f"{server.url}/embeddings, model m: ")):
        model.embed(["a", "b"], kind="query")
