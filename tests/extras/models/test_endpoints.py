"""What endpoints in the wild send and refuse, one by one, in shapes written after their own."""

import base64
import json
import re
import struct
import sys
from dataclasses import replace

import numpy as np
import pytest

import clew
from clew import Document, Specs
from clew.errors import BadReply, EndpointError, MissingExtra
from clew.models import Prompt
from clew.models.budget import Budget
from clew.models.cache import CachedEmbedder
from clew.models.loading import load_models, load_reranker
from clew.models.recorded_llm import RecordedLLM, recorded
from tests.models.server import EVENTS, Answer

pytest.importorskip("httpx2")
pytest.importorskip("fastjsonschema")

from clew.extras.models.openai import OpenAIChat, OpenAIEmbeddings
from tests.extras.models.test_openai import SCHEMA

ASKED = Prompt(user="Who built her?", system="Be brief.", schema=SCHEMA, max_tokens=512)
PLAIN = Prompt(user="Who built her?", system="Be brief.", max_tokens=512)
GOOD = '{"names": ["Archer"]}'
USAGE = {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}


def said(content=GOOD, *, finish="stop", usage=USAGE, **message):
    message = {"role": "assistant", "content": content, **message}
    return Answer({"choices": [{"message": message, "finish_reason": finish}], "usage": usage})


def events(*each, done=True):
    """Give events as a stream; a string is a line as it is."""
    lines = [e if isinstance(e, str) else f"data: {json.dumps(e)}" for e in each]
    return Answer(
        "".join(f"{e}\n\n" for e in [*lines, "data: [DONE]"][: None if done else -1]).encode(),
        headers=EVENTS,
    )


def delta(finish=None, **part):
    return {"choices": [{"index": 0, "delta": part, "finish_reason": finish}]}


def chat(server, path="/v1", **more):
    base_url = server.url.removesuffix("/v1") + path
    return OpenAIChat(base_url=base_url, model="m", sleep=lambda _: None, **more)


def embedder(server, **more):
    return OpenAIEmbeddings(base_url=server.url, model="e", sleep=lambda _: None, **more)


def error(message, status=400, **more):
    return Answer({"error": {"message": message, **more}}, status)


def ask(model, prompt=ASKED):
    [reply] = model.complete([prompt])
    return reply


def tell(model, prompt=PLAIN):
    """Ask as whoever listens does; give the reply and what was told."""
    told = []
    [reply] = RecordedLLM(model).complete([prompt], on_text=told.append)
    return reply, told


# -- providers ------------------------------------------------------------------------------------


def test_azure(server):
    """Its key stands in a header of its own, its version in the query; filters report first."""
    filters = {"hate": {"filtered": False, "severity": "safe"}}

    def respond(request):
        assert request.path == "/openai/deployments/d/chat/completions?api-version=2024-10-21"
        assert request.headers["api-key"] == "k-azure-key"
        assert "Authorization" not in request.headers
        first = {"choices": [], "prompt_filter_results": [{"content_filter_results": filters}]}
        usage = {"choices": [], "usage": USAGE}
        return events(first, delta(content="Arch"), delta(content="er."), delta("stop"), usage)

    server.respond = respond
    model = chat(server, "/openai/deployments/d?api-version=2024-10-21", api_key="k-azure-key")
    reply, told = tell(model)
    assert "".join(told) == reply.text == "Archer."
    assert (reply.prompt_tokens, reply.completion_tokens) == (20, 9)
    server.respond = lambda _: error(
        "The response was filtered due to the prompt triggering Azure OpenAI's content management"
        " policy.", code="content_filter", param="prompt",
    )  # fmt: skip
    n = len(server.requests)
    with pytest.raises(EndpointError, match="content management"):
        ask(model)
    assert len(server.requests) == n + 1  # it is no matter of a field


def test_gemini(server):
    """The first vector has no index; an error is in a list; thoughts stand in the content."""
    server.respond = lambda r: Answer({
        "data": [
            {"object": "embedding", "embedding": [1.0, float(i)]} | ({"index": i} if i else {})
            for i in range(len(r.json["input"]))
        ][::-1]
    })  # fmt: skip
    rows = embedder(server).embed(["a", "b", "c"], kind="document")
    np.testing.assert_allclose(rows[:, 1] / rows[:, 0], [0, 1, 2])
    server.respond = lambda _: said("<thought>\nNames, then [2].\n</thought>" + GOOD)
    assert ask(chat(server)).data == {"names": ["Archer"]}
    invalid = {
        "error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}
    }
    server.respond = lambda _: Answer([invalid], 400)
    with pytest.raises(EndpointError, match=r"HTTP 400 \(API key not valid\.\)"):
        ask(chat(server))


def test_gemma_at_gemini_takes_no_system_message(server):
    """Its words are asked in the user's message."""

    def respond(request):
        if request.json["messages"][0]["role"] == "system":
            return error("Developer instruction is not enabled for models/gemma-3-27b-it")
        return said("Archer.")

    server.respond = respond
    model = chat(server)
    assert ask(model, PLAIN).text == ask(model, PLAIN).text == "Archer."
    assert [len(each.json["messages"]) for each in server.requests] == [2, 1, 1]
    assert server.requests[-1].json["messages"][0]["content"] == "Be brief.\n\nWho built her?"


def test_anthropic(server):
    """It ignores a schema without a word: a repair has the schema in words, too."""

    def respond(request):
        messages = request.json["messages"]
        if "temperature" in request.json:
            return error(
                "`temperature` is deprecated for this model.", type="invalid_request_error"
            )
        in_words = any(json.dumps(SCHEMA) in each["content"] for each in messages)
        return said(f"```json\n{GOOD}\n```" if in_words else "Colin Archer built her.")

    server.respond = respond
    reply = ask(chat(server))
    assert (reply.data, reply.calls) == ({"names": ["Archer"]}, 2)
    assert len(server.requests) == 3


def test_openrouter(server):
    """Comments keep a stream alive, thoughts have a field, and an error comes in a 200."""
    server.respond = lambda _: events(
        ": OPENROUTER PROCESSING", delta(role="assistant", content="", reasoning="Hm [2]."),
        delta(content="Archer."), delta("stop", content=""), {"choices": [], "usage": USAGE},
    )  # fmt: skip
    reply, told = tell(chat(server))
    assert "".join(told) == reply.text == "Archer."
    failed = {"code": 502, "message": "Provider returned error", "metadata": {"raw": "overloaded"}}
    server.script(Answer({"error": failed, "user_id": "u"}), said())
    assert ask(chat(server)).data == {"names": ["Archer"]}
    server.script(Answer({"error": failed}))
    with pytest.raises(EndpointError, match=r"5 attempts.*\(Provider returned error: overloaded\)"):
        ask(chat(server))
    broken = delta("error", content="") | {"error": failed}
    server.script(
        events(delta(content="Arch"), broken, done=False), events(delta("stop", content="Archer."))
    )
    reply, told = tell(chat(server))
    assert told[-1] == reply.text == "Archer."
    assert None in told


def test_vllm(server):
    """The room that it states is asked for; thoughts have a field of their own."""
    said_400 = (
        "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context"
        " length is 2048 tokens and your request has 1700 input tokens (512 > 2048 - 1700)."
    )

    def respond(request):
        if request.json["max_tokens"] > 348:
            error = {"object": "error", "message": said_400, "type": "BadRequestError", "code": 400}
            return Answer(error, 400)
        return said("Archer.", reasoning_content="It may be [2].")

    server.respond = respond
    model = chat(server)
    assert ask(model, PLAIN).text == "Archer."
    assert [each.json["max_tokens"] for each in server.requests] == [512, 348]
    ask(model, PLAIN)
    assert server.requests[-2].json["max_tokens"] == 512  # that was a matter of the prompt


def test_text_embeddings_inference(server):
    """It takes 32 texts, and says so; one that is too long is named in a note."""

    def respond(request):
        texts = request.json["input"]
        if len(texts) > 32:
            reason = f"batch size {len(texts)} > maximum allowed batch size 32"
            return Answer({"error": reason, "error_type": "Validation"}, 422)
        if longest := max((len(each) for each in texts if len(each) > 512), default=0):
            reason = (
                f"Input validation error: `inputs` must have less than 512 tokens. Given: {longest}"
            )
            return Answer({"error": reason, "error_type": "Validation"}, 413)
        return vectors(texts)

    server.respond = respond
    model = embedder(server, concurrency=1)
    assert model.embed([f"text {i}" for i in range(300)], kind="document").shape == (300, 4)
    sizes = [len(each.json["input"]) for each in server.requests]
    assert sizes[:2] == [128, 64]
    assert max(sizes[2:]) == 32
    assert sum(sizes[2:]) == 300  # none is asked for again
    assert model.embed(["x" * 2_000], kind="document").shape == (1, 4)


def test_llama_cpp(server, caplog):
    """A text beyond its physical batch is refused with HTTP 500, which is no passing fault."""

    def respond(request):
        if any(len(each) > 512 for each in request.json["input"]):
            return error(
                "input (1085 tokens) is too large to process. increase the physical batch size"
                " (current batch size: 512)", 500, code=500, type="server_error",
            )  # fmt: skip
        return vectors(request.json["input"])

    server.respond = respond
    embedder(server).embed(["short", "The Fram " * 100, "x"], kind="document")
    assert "1 of 3 texts are longer than e takes" in caplog.text
    assert "begins 'The Fram The Fram" in caplog.text
    assert len(server.requests) == 6
    too_long = {
        "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 9412, "n_ctx": 8192,
        "message": "request (9412 tokens) exceeds the available context size (8192 tokens)",
    }  # fmt: skip
    server.respond = lambda _: Answer({"error": too_long}, 400)
    n = len(server.requests)
    with pytest.raises(EndpointError, match="Hint: shorten the text"):
        ask(chat(server))
    assert len(server.requests) == n + 1


def test_ollama(server):
    """A text beyond the context is cut; thoughts stand in a field; nothing opens them in others."""

    def respond(request):
        if any(len(each) > 256 for each in request.json["input"]):
            return error("the input length exceeds the context length", type="api_error")
        return vectors(request.json["input"])

    server.respond = respond
    [row] = embedder(server).embed(["a" * 100 + "b" * 200], kind="document")
    halves = embedder(server).embed(["a" * 100 + "b" * 50, "b" * 150], kind="document")
    mean = halves.mean(axis=0)
    np.testing.assert_allclose(row, mean / np.linalg.norm(mean), atol=1e-6)
    server.respond = lambda _: said("", finish="length", reasoning="so and so " * 99)
    reply = ask(chat(server), PLAIN)
    assert reply.error == "the reply was truncated at the token limit, within the model's thoughts"
    server.respond = lambda _: said(f"so and so [2]\n</think>\n\n{GOOD}")
    assert ask(chat(server)).data == {"names": ["Archer"]}


def test_lm_studio(server):
    """Its error is a string; a grammar that it cannot make is left out."""

    def respond(request):
        if "response_format" in request.json:
            return Answer({"error": "Failed to compile the JSON schema to a grammar"}, 400)
        return said("<think>\nso\n</think>\n" + GOOD)

    server.respond = respond
    assert ask(chat(server)).data == {"names": ["Archer"]}
    assert len(server.requests) == 2


def test_deepseek(server):
    """A reasoner has no JSON mode; blank lines and comments keep a connection alive."""

    def respond(request):
        if "response_format" in request.json:
            return error(
                "deepseek-reasoner does not support Json Output.", type="invalid_request_error"
            )
        body = json.dumps(said(reasoning_content="Perhaps [2].").body)
        return Answer(b"\n\n\n" + body.encode())

    server.respond = respond
    model = chat(server)
    assert [ask(model).data, ask(model).data] == [{"names": ["Archer"]}] * 2
    assert [("response_format" in r.json) for r in server.requests] == [True, False, False]
    last = delta("stop", content="") | {"usage": USAGE}
    server.respond = lambda _: events(
        ": keep-alive", delta(content=None, reasoning_content="Hm."), delta(content="Archer."), last
    )
    assert tell(chat(server))[0].text == "Archer."
    server.respond = lambda _: error("Insufficient Balance", 402, type="unknown_error")
    with pytest.raises(EndpointError, match="quota is exhausted"):
        ask(chat(server))


def test_a_model_that_never_says_that_it_thinks(server):
    """Once it closed its thoughts, a reply that is cut off before that is thoughts alone."""
    server.script(said(f"so and so\n</think>\n{GOOD}"), said("so and so [2]", finish="length"))
    model = chat(server)
    assert ask(model).data == {"names": ["Archer"]}
    reply = ask(model, PLAIN)
    assert reply.text == ""
    assert reply.error == "the reply was truncated at the token limit, within the model's thoughts"


# -- vectors --------------------------------------------------------------------------------------


def vectors(texts):
    """Embed each text as a vector that tells it."""
    rows = [[len(t), t.count("a"), t.count("b"), 1] for t in texts]
    return Answer({"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]})


@pytest.mark.parametrize("indexes", [(None, None, None), (0, 0, 0), (0, 1, 2), (None, 1, 2)])
@pytest.mark.parametrize("in_base64", [False, True])
def test_vectors_by_whatever_index(server, indexes, in_base64):
    """Without any, and with 0 for each, they have the order of the texts; also as base64."""

    def respond(_request):
        rows = [[1.0, float(i)] for i in range(3)]
        if in_base64:
            rows = [base64.b64encode(struct.pack("<2f", *row)).decode() for row in rows]
        data = [{"embedding": row} for row in rows]
        for each, index in zip(data, indexes, strict=True):
            each.update({} if index is None else {"index": index})
        return Answer({"data": data})

    server.respond = respond
    rows = embedder(server).embed(["a", "b", "c"], kind="document")
    np.testing.assert_allclose(rows[:, 1] / rows[:, 0], [0, 1, 2], rtol=1e-6)


@pytest.mark.parametrize(
    ("most", "status", "refusal"),
    [
        (10, 400, "<400> Value error, batch size is invalid, it should not be larger than 10."),
        (
            25,
            400,
            "batch size is invalid, it should not be larger than 25.: payload.input.contents",
        ),
        (32, 413, "batch size {n} > maximum allowed batch size 32"),
        (64, 422, "inputs: too many items in the array"),
        (16, 413, ""),
        (50, 400, "bad request"),
    ],
)
def test_a_batch_that_is_refused_is_asked_in_parts(server, most, status, refusal):
    """As large as the server says, else in halves; it is remembered, and no text is paid twice."""

    def respond(request):
        n = len(request.json["input"])
        if n > most:
            return Answer({"error": refusal.format(n=n)} if refusal else b"", status)
        return vectors(request.json["input"])

    server.respond = respond
    model = embedder(server, concurrency=1)
    texts = ["x" * (i + 1) for i in range(128)]
    kept = {}
    rows = model.embed(texts, kind="document", keep=lambda i, rows: kept.update({i: rows}))
    np.testing.assert_allclose(rows[:, 0] / rows[:, 3], range(1, 129), rtol=1e-4)
    np.testing.assert_array_equal(np.concatenate([kept[i] for i in sorted(kept)]), rows)
    n = len(server.requests)
    model.embed(texts, kind="document")
    sizes = [len(each.json["input"]) for each in server.requests[n:]]
    assert sum(sizes) == 128  # no refusal more
    assert max(sizes) <= most


def test_the_size_of_a_batch_is_an_option(server):
    """Who knows what an endpoint takes spares it the refusals."""
    server.respond = lambda request: vectors(request.json["input"])
    embedder(server, batch_size=25).embed(["x"] * 60, kind="document")
    assert sorted(len(each.json["input"]) for each in server.requests) == [10, 25, 25]


def test_a_long_text_among_others_costs_them_nothing(server):
    """Only it is cut, again and again, weighted by length; what it is does not depend on others."""

    def respond(request):
        if any(len(each.removeprefix("doc: ")) > 100 for each in request.json["input"]):
            return error(
                "This model's maximum context length is 100 tokens, however you requested 350"
            )
        return vectors(request.json["input"])

    server.respond = respond
    model = embedder(server, document_prefix="doc: ")
    long = "a" * 130 + " " + "b" * 240
    alone = model.embed([long], kind="document")
    sent = [t for r in server.requests for t in r.json["input"]]
    assert all(each.startswith("doc: ") for each in sent)
    among = model.embed(["x", long, "y", "z"], kind="document")
    np.testing.assert_allclose(among[1], alone[0], atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(among, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (error("maximum context length is 0 tokens"), "maximum context length"),
        (error("the model `e` does not exist", 404), "does not exist"),
        (error("unknown field"), "unknown field"),
    ],
)
def test_what_no_cut_helps(server, answer, reason):
    """The server's words are raised, after few requests."""
    server.respond = lambda _: answer
    with pytest.raises(EndpointError, match=reason):
        embedder(server).embed(["so and so " * 30] * 8, kind="document")
    assert len(server.requests) < 20


def spoil(row):
    """Return an answer with such a vector for each text that is cursed."""

    def answer(texts):
        data = vectors(texts).body["data"]
        cursed = [i for i, text in enumerate(texts) if "cursed" in text]
        return Answer(
            {
                "data": [
                    {**each, "embedding": row} if i in cursed else each
                    for i, each in enumerate(data)
                ]
            }
        )

    return answer


@pytest.mark.parametrize(
    "answer",
    [
        *map(spoil, ([float("nan")] * 4, [0.0] * 4, None, [], "no base64")),
        lambda _: error("input was flagged"),
        lambda _: error("unprocessable", 422),
        lambda _: error("failed to encode response: json: unsupported value: NaN", 500),
        lambda _: error("maximum context length is 100 tokens"),
        lambda texts: Answer({"data": vectors(texts).body["data"][1:]}),
    ],
    ids=range(10),
)
def test_a_text_without_a_vector_costs_the_others_nothing(server, answer, caplog, tmp_path):
    """It has a row of zeros, is named, and is not kept; a question without a vector is an error."""

    def respond(request):
        texts = request.json["input"]
        return answer(texts) if any("cursed" in text for text in texts) else vectors(texts)

    server.respond = respond
    texts = [f"text {i}" for i in range(40)]
    texts[7] = texts[23] = "cursed"
    model = CachedEmbedder(embedder(server, concurrency=1), tmp_path / "vectors.sqlite")
    for _ in range(2):
        rows = model.embed(texts, kind="document")
        assert np.flatnonzero(~rows.any(axis=1)).tolist() == [7, 23]
        np.testing.assert_allclose(
            np.linalg.norm(np.delete(rows, [7, 23], axis=0), axis=1), 1, atol=0.01
        )
    assert (model.hits, model.misses) == (40, 40)
    assert "get no vector" in caplog.text
    assert "cursed" in caplog.text
    with pytest.raises((BadReply, EndpointError)):
        model.embed(["cursed"], kind="query")


def test_documents_without_a_vector_are_named(server, tmp_path):
    """In the report of the run, which goes on; their words find them."""
    server.respond = lambda r: (
        error("flagged")
        if any("cursed" in t for t in r.json["input"])
        else vectors(r.json["input"])
    )
    models = replace(
        load_models(Specs()),
        embedder=embedder(server),
        reranker=load_reranker("cosine", embedder(server)),
    )
    with clew.open(tmp_path / "i.clew", models=models) as index:
        documents = [Document(id=f"d{i}", text=f"Ship {i} sailed north.") for i in range(9)]
        documents[4] = Document(id="d4", text="The ship was cursed by all. It sank.")
        report = index.add(documents).report
        assert len(report.added) == 9
        assert report.partly == {"d4": ("no vector for the characters 0-36",)}
        assert "d4" in [hit.document_id for hit in index.search("What sank?", method="bm25").hits]
        assert index.search("ship north", method="dense").hits


@pytest.mark.parametrize("package", ["fastjsonschema", "json_repair", "httpx2", "genai_prices"])
def test_a_missing_package_is_found_before_anything_is_paid(server, tmp_path, monkeypatch, package):
    """Neither vectors nor replies: whatever a later step needs is looked for first."""
    server.respond = lambda r: vectors(r.json["input"])
    given = load_models(Specs())
    llm = recorded(OpenAIChat(base_url="https://api.example.org/v1", model="m"))
    vector = embedder(server, expected_dimension=4)
    models = replace(given, embedder=vector, reranker=load_reranker("cosine", vector), llm=llm)
    monkeypatch.setitem(sys.modules, package, None)
    with clew.open(tmp_path / "i.clew", models=models) as index:
        for kinds in ({"units": 1.0}, {"triples": "llm"}):
            with pytest.raises(MissingExtra, match=r"clew\[openai\]"):
                index.add([Document(id="fram", text="The Fram sailed.")], **kinds)
    assert [r.path for r in server.requests if "embeddings" in r.path] == []


# -- refused fields -------------------------------------------------------------------------------

REFUSALS = {
    "response_format": [
        "This response_format type is unavailable now",
        "m does not support Json Output.",
        "Structured outputs are not supported by this model",
        "json_schema is not enabled for this deployment",
        '{"type": "extra_forbidden", "loc": ["body", "response_format"]}',
        "Invalid grammar",
    ],
    "temperature": [
        "Unsupported value: 'temperature' does not support 0 with this model.",
        "`temperature` is deprecated for this model.",
        "Temperature must be 1 when thinking is on",
    ],
    "system": [
        "System role not supported",
        "Developer instruction is not enabled for models/gemma-3-27b-it",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "Only user and assistant roles are supported!",
        "messages[0].role: unknown variant `system`",
    ],
    "stream": ["stream is not supported", "Unrecognized request argument supplied: stream_options"],
    "max_tokens": ["Use 'max_completion_tokens' instead.", "Unrecognized argument: max_tokens"],
}


def has(field, body):
    return (
        any(m["role"] == "system" for m in body["messages"]) if field == "system" else field in body
    )


@pytest.mark.parametrize(
    ("field", "words"), [(field, words) for field in REFUSALS for words in REFUSALS[field]]
)
def test_a_field_that_is_refused_in_whatever_words(server, field, words):
    """It alone is left out, at the second request, and from then on."""
    server.respond = lambda r: error(words) if has(field, r.json) else said()
    model = chat(server)
    for _ in range(2):
        [reply] = RecordedLLM(model, budget=Budget(tokens=99_999)).complete([ASKED])
        assert reply.data == {"names": ["Archer"]}
    posted = [each.json for each in server.requests if each.path.endswith("completions")]
    assert [has(field, body) for body in posted] == [True, False, False]
    others = REFUSALS.keys() - {field}
    assert all(has(other, body) for body in posted for other in others)
    last = posted[-1]
    assert field != "response_format" or json.dumps(SCHEMA) in last["messages"][0]["content"]
    assert field != "max_tokens" or last["max_completion_tokens"] == 512


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("field", ["response_format", "temperature", "system"])
def test_a_field_that_no_words_name(server, field, status):
    """All are left out that a request can do without, once."""
    server.respond = lambda r: Answer(b"", status) if has(field, r.json) else said()
    model = chat(server)
    assert ask(model).data == ask(model).data == {"names": ["Archer"]}
    assert len(server.requests) == 3


def test_the_parameter_that_an_error_names(server):
    """It counts where the message says nothing."""
    server.respond = lambda r: (
        error("Unsupported parameter.", param="temperature") if "temperature" in r.json else said()
    )
    assert ask(chat(server)).data
    assert "response_format" in server.requests[-1].json


def test_fields_that_are_refused_one_after_another(server):
    """A model may take none of them."""
    order = ["temperature", "max_tokens", "response_format", "system"]

    def respond(request):
        refused = next((name for name in order if has(name, request.json)), None)
        words = {"max_tokens": "use max_completion_tokens", "system": "no system role"}
        return said() if refused is None else error(words.get(refused, f"{refused} is unknown"))

    server.respond = respond
    assert ask(chat(server)).data == {"names": ["Archer"]}
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (
            "max_tokens is too large: 512. This model supports at most 256 completion tokens",
            [512, 256],
        ),
        ("Range of max_tokens should be [1, 300]", [512, 300]),
        (
            "max_tokens: 512 > 400, the maximum of output tokens of claude-3-5-x-20241022",
            [512, 400],
        ),
        (
            "maximum context length is 2000 tokens, you requested 2212 (1700 in the messages)",
            [512, 300],
        ),
        ("max_tokens is larger than what is left", [512, 256, 128]),
    ],
)
def test_a_limit_that_is_too_large(server, words, asked):
    """What the server states is asked for, else half of it."""
    server.respond = lambda r: error(words) if r.json["max_tokens"] > asked[-1] else said()
    model = chat(server)
    assert ask(model).data == {"names": ["Archer"]}
    assert [each.json["max_tokens"] for each in server.requests] == asked
    ask(model)
    if "supports at most" in words:  # the model's own, whatever the prompt
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "most"),
    [
        (error("the prompt is too long: 400 tokens > 300 maximum"), 1),
        (error("Your request was flagged by our moderation"), 1),
        (error("nothing works here"), 2),
        (error("max_tokens is too large", 422), 6),
        (error("temperature is bad"), 3),
        (error("nope", 401), 1),
        (error("The model `m` does not exist", 404), 1),
    ],
)
def test_what_is_refused_whatever_is_left_out(server, answer, most):
    """The server's words are raised after few requests, none of which was billed."""
    server.respond = lambda _: answer
    budget = Budget(tokens=99_999)
    with pytest.raises(EndpointError, match=re.escape(answer.body["error"]["message"])):
        RecordedLLM(chat(server), budget=budget).complete([ASKED])
    posted = [each for each in server.requests if each.path.endswith("completions")]
    assert len(posted) <= most
    assert budget.spent_tokens == 0


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "attempts"),
    [
        ({"error": {"message": "gone", "code": 502}}, 5),
        ({"error": {"message": "gone", "code": 429}}, 5),
        ({"error": "gone"}, 5),
        ({"error": {"message": "gone", "type": "rate_limit_error"}}, 5),
        ({"choices": [{"error": {"message": "gone", "code": 503}}]}, 5),
        ({"base_resp": {"status_code": 1000, "status_msg": "gone"}, "choices": None}, 5),
        ({"error": {"message": "gone", "code": 401}}, 1),
        ({"error": {"message": "gone", "type": "invalid_request_error"}}, 2),
        ({"error": {"message": "gone", "code": "insufficient_quota"}}, 1),
        ({"object": "error", "message": "gone", "code": 404}, 1),
    ],
)
def test_an_error_in_a_reply(server, body, attempts):
    """It is raised with the server's reason, and tried again where that may help."""
    server.respond = lambda _: Answer(body)
    with pytest.raises(EndpointError, match=r"an error in its reply \(gone\)"):
        ask(chat(server, patience_s=0.0))
    assert len(server.requests) == attempts


def test_an_error_in_a_reply_may_have_been_billed(server):
    """Its worst case counts, but for errors that nobody bills."""
    for code, lost in ((502, True), (429, False)):
        left = [said(), Answer({"error": {"message": "gone", "code": code}})]
        server.respond = lambda r, left=left: left.pop() if r.json else Answer({}, 404)
        budget = Budget(tokens=99_999)
        [reply] = RecordedLLM(chat(server), budget=budget).complete([ASKED])
        assert reply.data
        assert (budget.lost_tokens > 0) == lost


@pytest.mark.parametrize(
    ("answer", "attempts"),
    [
        (
            error(
                "You exceeded your current quota, please check your plan.",
                429,
                code="insufficient_quota",
            ),
            1,
        ),
        (error("Your credit balance is too low to access the API", 400), 1),
        (
            error(
                "You exceeded your current quota. Please retry in 7.2s.",
                429,
                type="RESOURCE_EXHAUSTED",
            ),
            5,
        ),
        (error("Rate limit reached. Please try again in 20ms.", 429), 5),
    ],
)
def test_a_quota_that_is_used_up(server, answer, attempts):
    """Asking again helps where the server says when."""
    server.respond = lambda _: answer
    llm = chat(server, json_schema=False, temperature=None, patience_s=0.0)
    with pytest.raises(EndpointError) as caught:
        ask(llm, Prompt(user="Who?"))
    assert len(server.requests) == attempts
    assert ("quota is exhausted" in str(caught.value)) == (attempts == 1)


def test_the_wait_that_words_ask_for(server):
    """Where no header does; and a part of a second of jitter on top."""
    waits = []
    words = ["Please retry in 7s.", "try again in 1m", '"retryDelay": "3s"', "try again in 900ms"]
    server.script(*(error(each, 429) for each in words), said())
    model = OpenAIChat(base_url=server.url, model="m", sleep=waits.append)
    assert ask(model).data
    np.testing.assert_allclose(waits, [7.5, 60, 3.5, 1.4], atol=0.5)
