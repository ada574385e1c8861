import gc
import json
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import BadReply, EndpointError, InputError
from clew.models import Prompt
from clew.models.openai import OpenAIChat, OpenAIEmbeddings, json_values
from tests.models.server import Answer, serving

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
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as server:
        yield server
        gc.collect()  # connections close with their endpoint


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
    ("usage", "prices"), [((1, 1), {}), ((1, 1), {"n": (1, 1)}), (None, {"m": (1, 1)})]
)
def test_an_unknown_cost_is_not_zero(server, chat, usage, prices):
    """Without a price, or without a count of tokens, nobody claims a cost."""
    server.script(said("yes", usage=usage))
    assert chat(prices=prices).complete([Prompt(user="?")])[0].cost_usd is None


def test_a_free_model_costs_nothing(server, chat):
    """A price of zero is a price."""
    server.script(said("yes"))
    assert chat(prices={"m": (0.0, 0.0)}).complete([Prompt(user="?")])[0].cost_usd == 0.0


def test_replies_keep_the_order_of_prompts(server, chat):
    """Each prompt gets its own reply, however long the others take."""
    server.respond = lambda r: said(r.json["messages"][-1]["content"])
    prompts = [Prompt(user=f"{n}") for n in range(20)]
    assert [r.text for r in chat().complete(prompts)] == [p.user for p in prompts]


@pytest.mark.parametrize(
    "text",
    [
        f"Sure! Here it is:\n```json\n{GOOD}\n```\nAnything else?",
        f"As [1] says, {GOOD}",
        f'<think>maybe {{"names": []}}</think>\n{GOOD}',
    ],
)
def test_json_in_prose_is_found_without_a_retry(server, chat, text):
    """Talkative models are understood, and what does not fit the schema is passed over."""
    server.script(said(text))
    (reply,) = chat().complete([ASKED])
    assert (reply.data, reply.calls, reply.error) == ({"names": ["Ada"]}, 1, "")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"names": "Ada"}', "data.names must be array"),
        ("I do not know.", "there is no JSON in it"),
        ('{"names": [NaN]}', "there is no JSON in it"),
        ('{"names": ["\\ud800"]}', "there is no JSON in it"),
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


def test_a_second_bad_reply_is_an_error_in_the_reply(server, chat):
    """A model that cannot do it costs two calls and does not end the run."""
    server.script(said("[]"))
    (reply,) = chat().complete([ASKED])
    assert (reply.data, reply.calls) == (None, 2)
    assert reply.error == "data must be object"


def test_a_truncated_reply_is_invalid_even_if_it_parses(server, chat):
    """Half a list of facts is not taken for the whole."""
    server.script(said(GOOD, finish="length"))
    (reply,) = chat().complete([ASKED])
    assert (reply.data, reply.error) == (None, "the reply was truncated at the token limit")


def test_a_truncated_answer_in_words_is_kept(server, chat):
    """Without a schema, a long answer that was cut is still an answer."""
    server.script(said("Once upon a", finish="length"))
    (reply,) = chat().complete([Prompt(user="?")])
    assert (reply.text, reply.error, reply.calls) == ("Once upon a", "", 1)


def test_an_empty_answer_is_an_error_with_the_refusal(server, chat):
    """A model that refuses is quoted."""
    server.script(said(None, refusal="I cannot help."))
    (reply,) = chat().complete([Prompt(user="?")])
    assert reply.error == "the reply is empty I cannot help."


def test_a_message_in_parts_is_joined(server, chat):
    """Some servers send the content as a list."""
    server.script(
        said([{"type": "text", "text": "a"}, {"type": "x"}, {"type": "text", "text": "b"}])
    )
    assert chat().complete([Prompt(user="?")])[0].text == "ab"


def test_an_endpoint_without_schemas_is_asked_in_words_from_then_on(server, chat):
    """One refusal of response_format is enough for the rest of the run."""

    def respond(request):
        if "response_format" in request.json:
            return Answer({"error": {"message": "Unknown field response_format"}}, 400)
        return said(GOOD)

    server.respond = respond
    model = chat(concurrency=1)
    replies = model.complete([ASKED] * 3) + model.complete([ASKED])
    assert [r.data for r in replies] == [{"names": ["Ada"]}] * 4
    assert sum("response_format" in r.json for r in server.requests) == 1
    assert json.dumps(SCHEMA) in server.requests[-1].json["messages"][0]["content"]


def test_schemas_can_be_left_to_the_prompt(server, chat):
    """Who knows that an endpoint has no schemas spares it the refusal."""
    server.script(said(GOOD))
    chat(json_schema=False).complete([ASKED])
    assert "response_format" not in server.requests[0].json


def test_models_with_other_limits_and_no_temperature_are_served(server, chat):
    """Reasoning models rename the token limit and fix the temperature."""

    def respond(request):
        if "max_tokens" in request.json:
            return Answer({"error": "use 'max_completion_tokens' instead of 'max_tokens'"}, 400)
        if "temperature" in request.json:
            return Answer({"error": "'temperature' does not support 0"}, 400)
        return said("yes")

    server.respond = respond
    assert chat().complete([Prompt(user="?", max_tokens=7)])[0].text == "yes"
    assert server.requests[-1].json["max_completion_tokens"] == 7


def test_another_refusal_is_raised(server, chat):
    """A 400 about something else is not mistaken for a missing feature."""
    server.script(Answer({"error": "max_tokens is larger than the context"}, 400))
    with pytest.raises(EndpointError, match="larger than the context"):
        chat().complete([ASKED])


@pytest.mark.parametrize("body", [{}, [], {"choices": []}, {"choices": [{"message": None}]}])
def test_a_reply_of_another_api_is_named(server, chat, body):
    """A base URL that answers, and is not this API, is recognised."""
    server.script(Answer(body))
    with pytest.raises(BadReply, match=r"127.0.0.1.*model m: the reply is no chat completion"):
        chat().complete([Prompt(user="?")])


def test_a_broken_schema_is_found_before_anything_is_paid(server, chat):
    """The mistake of a programmer costs nothing."""
    with pytest.raises(InputError, match="JSON schema of a prompt is not valid"):
        chat().complete([Prompt(user="?", schema={"type": "nonsense"})])
    assert server.requests == []


def test_the_name_tells_what_changes_replies(chat):
    """A temperature other than zero is another model to a cache; the key is never shown."""
    assert chat().name == "m"
    assert chat(temperature=0.7).name == "m at temperature 0.7"
    assert "hush" not in repr(chat(api_key="hush"))


# JSON in text

PROSE = st.text(st.characters(exclude_characters="[]{}`", exclude_categories=["Cs"]))
NUMBERS = st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES, PROSE, PROSE, st.sampled_from(["", "json", "JSON"]))
def test_any_json_in_a_fence_is_read_back(value, before, after, language):
    """Whatever the value and whatever the model says around its code block."""
    text = f"{before}\n```{language}\n{json.dumps(value, indent=2)}\n```\n{after}"
    assert next(json_values(text)) == value


@given(VALUES.filter(lambda value: isinstance(value, list | dict)), PROSE, PROSE)
def test_any_object_or_array_in_prose_is_read_back(value, before, after):
    """Without a code block the first bracket begins the value."""
    assert next(json_values(before + json.dumps(value, ensure_ascii=False) + after)) == value


@given(st.text(st.sampled_from('[]{}",:1 \\u`\n'), max_size=60))
def test_nonsense_is_passed_over(text):
    """Whatever a model writes, reading it ends, and gives only JSON."""
    for value in json_values(text):
        json.dumps(value, allow_nan=False)


@pytest.mark.parametrize("text", ["[" * 50_000, '{"a":' * 20_000, '"' + "[" * 50_000])
def test_a_hostile_reply_costs_little(text):
    """Ten thousands of brackets neither hang nor overflow the reader."""
    assert list(json_values(text)) == []


# Embeddings


def test_vectors_come_in_order_and_of_length_one(embedder):
    """Shuffled indexes are sorted, in every batch, and every row is a unit vector."""
    texts = ["x" * (i % 50 + 1) for i in range(300)]
    rows = embedder().embed(texts, kind="document")
    assert (rows.shape, rows.dtype) == ((300, 4), np.float32)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(rows[:, 0] / rows[:, 1], [len(t) for t in texts], rtol=1e-5)


def test_a_request_has_at_most_128_texts(server, embedder):
    """Endpoints limit the inputs of a request."""
    embedder().embed(["x"] * 300, kind="document")
    assert sorted(len(r.json["input"]) for r in server.requests) == [44, 128, 128]


def test_prefixes_depend_on_the_kind_and_stand_in_the_name(server, embedder):
    """Models that want prefixes get them, and their vectors are told apart."""
    model = embedder(query_prefix="query: ", document_prefix="passage: ")
    model.embed(["a"], kind="query")
    model.embed(["a"], kind="document")
    assert [r.json["input"] for r in server.requests] == [["query: a"], ["passage: a"]]
    assert model.name != embedder().name


def test_an_empty_text_is_sent_as_a_space(server, embedder):
    """OpenAI refuses a whole request for one empty input."""
    embedder().embed([""], kind="document")
    assert server.requests[0].json["input"] == [" "]


def test_no_texts_give_no_rows(server, embedder):
    """With a known dimension not even a request is needed."""
    assert embedder(expected_dimension=7).embed([], kind="query").shape == (0, 7)
    assert server.requests == []


def test_the_dimension_is_learned_from_a_reply(server, embedder):
    """One small request tells it, unless vectors have come before."""
    assert embedder().dimension == 4
    seen = embedder()
    seen.embed(["a"], kind="query")
    before = len(server.requests)
    assert seen.dimension == 4
    assert len(server.requests) == before


def test_a_wrong_dimension_names_both(embedder):
    """Another model behind the same URL is found out at once."""
    model = embedder(expected_dimension=384)
    with pytest.raises(EndpointError, match="model m: vectors of dimension 4 came where 384"):
        model.embed(["a"], kind="query")


def test_a_dimension_that_changes_names_both(server, embedder):
    """An endpoint that swaps its model during a run is found out."""
    model = embedder()
    model.embed(["a"], kind="query")
    server.respond = lambda r: vectors(r, d=6)
    with pytest.raises(EndpointError, match="dimension 6 came where 4"):
        model.embed(["a"], kind="query")


@pytest.mark.parametrize(
    "data",
    [
        [],
        [{"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}],
        [{"index": 0, "embedding": []}, {"index": 1, "embedding": []}],
        [{"index": 0, "embedding": None}, {"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": 1.0}, {"index": 1, "embedding": 1.0}],
        [{"index": 0, "embedding": [0.0]}, {"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": [float("nan")]}, {"index": 1, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1e200]}, {"index": 1, "embedding": [1.0]}],
        [{"embedding": [1.0]}, {"embedding": [1.0]}],
        "no",
        None,
    ],
)
def test_vectors_that_cannot_be_used_are_refused(server, embedder, data):
    """A wrong count, a repeated index, a ragged, zero or infinite vector never reaches an index."""
    model = embedder()
    server.script(Answer({"data": data}))
    with pytest.raises(BadReply, match=re.escape(f"{server.url}/embeddings, model m: ")):
        model.embed(["a", "b"], kind="document")
