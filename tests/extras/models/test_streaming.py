"""A reply that is paid for is streamed, so that one longer than was asked for is cut off."""

import json
import threading
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.errors import BadReply, BudgetSpent, EndpointError, InputError
from clew.extras.models.spoken import SpokenStream
from clew.models import Prompt
from clew.models.budget import Budget
from clew.models.ledger import Ledger, Request
from clew.models.recorded_llm import RecordedLLM
from clew.models.run import ModelRun
from clew.testing import ChatContract
from clew.text.pieces import PieceStream
from tests.answers.evidence import answer, evidence, hit, models
from tests.models.server import EVENTS, Answer, serving, streamed

pytest.importorskip("httpx2")

from clew.extras.models.openai import OpenAIChat, read_completion

WORDS = "The Fram was built by Colin Archer — in Larvik, 1892. Nordpolhavet 北極."
USAGE = {"prompt_tokens": 9, "completion_tokens": 30}


class Asked:
    """What a server answers to completions; anything else it lacks."""

    def __init__(self, server):
        self._server, self.url = server, server.url
        self.respond = lambda _: Answer(completion())
        server.respond = lambda each: self.respond(each) if each.json else Answer({}, 404)

    @property
    def requests(self):
        return [each for each in self._server.requests if each.json]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with serving() as server:
        yield Asked(server)


def completion(text=WORDS, usage=USAGE):
    reply = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
    return reply | ({"usage": usage} if usage else {})


def conversation(server, budget=None, **options):
    chat = OpenAIChat(base_url=server.url, model="m", attempts=2, sleep=lambda _: None, **options)
    return RecordedLLM(chat, budget=budget or Budget(tokens=10_000))


def asked(max_tokens=60):
    return [Prompt(user="Who built the Fram?", max_tokens=max_tokens)]


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_a_streamed_reply_is_the_same(server, size):
    """Its text, its usage and its key in the ledger are those of one that came whole."""
    server.respond = lambda request: (
        Answer(streamed(completion(), size), headers=EVENTS)
        if request.json.get("stream")
        else Answer(completion())
    )
    [reply] = conversation(server).complete(asked())
    assert server.requests[-1].json["stream_options"] == {"include_usage": True}
    [whole] = OpenAIChat(base_url=server.url, model="m").complete(asked())
    assert "stream" not in server.requests[-1].json  # nobody bounds it
    assert reply == whole
    assert reply.text == WORDS


@pytest.mark.parametrize("words", ["so and so and ", "极地探险船", "ధ్రువ యాత్ర "])
def test_a_reply_longer_than_was_asked_for_is_cut_off(server, words):
    """The connection ends long before all came, the worst case counts, and nothing follows."""
    text = words * 2_000
    server.respond = lambda _: Answer(streamed(completion(text), 1), headers=EVENTS)
    budget = Budget(tokens=10_000)
    with pytest.raises(EndpointError, match="a reply of more than 76 tokens"):
        conversation(server, budget).complete(asked() * 3)
    assert len(server.requests) == 1
    assert budget.lost_tokens == budget.spent_tokens > 60


@pytest.mark.parametrize("words", ["so and so and ", "极地探险船", "ధ్రువ యాత్ర ", "Հայաստան "])
def test_no_reply_that_was_asked_for_is_cut_off(server, words):
    """A tokenizer with long tokens takes a fifth of ours for some scripts: it is believed."""
    text = words * (600 // len(words))
    server.respond = lambda _: Answer(streamed(completion(text)), headers=EVENTS)
    [reply] = conversation(server).complete(asked(150))
    assert reply.text == text.strip()


def test_an_endpoint_that_streams_no_usage(server):
    """The first reply counts as its worst case, and the others are not streamed."""
    server.respond = lambda request: (
        Answer(streamed(completion(usage=None)), headers=EVENTS)
        if "stream" in request.json
        else Answer(completion())
    )
    budget = Budget(tokens=10_000)
    talk = conversation(server, budget)
    talk.complete(asked())
    assert budget.lost_tokens > 60
    before = budget.spent_tokens
    talk.complete(asked())
    assert budget.spent_tokens == before + 39


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda whole: whole[: len(whole) // 2], "broke off"),
        (lambda whole: whole[: whole.index(b'"stop"')], "broke off"),
        (
            lambda whole: b'data: {"error": {"message": "overloaded"}}\n\n' + whole,
            "an error.*overloaded",
        ),
        (lambda whole: b"data: {\n\n" + whole, "not JSON"),
        (lambda _: b"", "broke off"),
    ],
)
def test_a_stream_that_breaks_off_is_asked_for_again(server, spoil, reason):
    """As any reply that was lost: the request may have been billed."""
    whole = streamed(completion())
    bodies = [whole, spoil(whole)]
    server.respond = lambda _: Answer(bodies.pop(), headers=EVENTS)
    budget = Budget(tokens=10_000)
    [reply] = conversation(server, budget).complete(asked())
    assert reply.text == WORDS
    assert budget.spent_tokens == budget.lost_tokens + 39 > 39
    server.respond = lambda _: Answer(spoil(whole), headers=EVENTS)
    with pytest.raises(EndpointError, match=reason):
        conversation(server).complete(asked())


def test_other_line_ends_comments_and_shapes(server):
    """CRLF, comments, names of events and a role alone are read; other JSON is no completion."""
    events = streamed(completion()).replace(b"\n", b"\r\n")
    server.respond = lambda _: Answer(b": hello\r\nevent: x\r\n" + events, headers=EVENTS)
    assert conversation(server).complete(asked())[0].text == WORDS
    for odd in (b"[]", b"3", b'{"choices": 3}', b'{"choices": [{"delta": {"content": 3}}]}'):
        body = b"data: " + odd + b"\n\ndata: [DONE]\n\n"
        server.respond = lambda _, body=body: Answer(body, headers=EVENTS)
        with pytest.raises(BadReply, match="not a chat completion"):
            conversation(server).complete(asked())


def test_headers_that_drip_are_given_up(server):
    """The time-out of the client starts anew with each byte; the whole exchange has one, too."""
    server.respond = lambda _: Answer(completion(), head_drip_s=0.02)
    began = time.monotonic()
    with pytest.raises(EndpointError, match=r"no complete reply within 0\.5 s"):
        conversation(server, timeout_s=0.1).complete(asked())
    assert time.monotonic() - began < 50


def test_a_budget_ends_with_the_reply_that_was_cut_off(server, tmp_path):
    """What came before it is kept."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    budget = Budget(tokens=600)

    def respond(request):
        text = WORDS if "1" in request.json["messages"][-1]["content"] else "so " * 9_000
        return Answer(streamed(completion(text)), headers=EVENTS)

    server.respond = respond
    chat = OpenAIChat(base_url=server.url, model="m", concurrency=1)
    prompts = [Prompt(user=str(i), max_tokens=60) for i in (1, 2, 3)]
    with pytest.raises((EndpointError, BudgetSpent)):
        RecordedLLM(chat, ledger=ledger, budget=budget).complete(prompts)
    assert budget.spent_tokens <= 600
    assert len(server.requests) == 2
    server.respond = lambda request: pytest.fail(json.dumps(request.json))
    assert RecordedLLM(chat, ledger=ledger).complete(prompts[:1])[0].text == WORDS


# -- told as it comes -----------------------------------------------------------------------------


def whole(server, text=WORDS, size=5, **more):
    server.respond = lambda _: Answer(streamed(completion(text), size), headers=EVENTS, **more)


def test_the_text_is_told_as_it_comes(server):
    """In many pieces, which are the text together, with a budget or without one."""
    whole(server)
    for budget in (None, Budget(tokens=10_000)):
        told = []
        talk = replace(conversation(server), budget=budget)
        [reply] = talk.complete(asked(), on_text=told.append)
        assert "".join(told) == reply.text == WORDS
        assert len(told) > 8
        assert server.requests[-1].json["stream"]


class TestStreamingChat(ChatContract):
    @pytest.fixture
    def chat(self, server):
        brief = completion("Larvik, in Norway.", {"prompt_tokens": 9, "completion_tokens": 6})
        server.respond = lambda _: Answer(streamed(brief), headers=EVENTS)
        return OpenAIChat(base_url=server.url, model="m")


def test_a_reply_that_was_told_is_recorded_as_any_other(server, tmp_path):
    """The ledger has the same row, and gives it to whoever does not listen, and the other way."""
    rows = []
    for name, heard in (("told", [].append), ("plain", None)):
        server.respond = lambda request: (
            Answer(streamed(completion()), headers=EVENTS)
            if "stream" in request.json
            else Answer(completion())
        )
        ledger = Ledger(tmp_path / f"{name}.sqlite")
        chat = OpenAIChat(base_url=server.url, model="m")
        RecordedLLM(chat, ledger=ledger).complete(asked(), on_text=heard)
        rows.append(ledger.recall(Request(chat.name, *asked()))._replace(seconds=0))
        told = []
        [again] = RecordedLLM(chat, ledger=ledger).complete(asked(), on_text=told.append)
        assert (again.text, again.recorded, told) == (WORDS, 1, [])
    assert rows[0] == rows[1]
    assert len(server.requests) == 2


def test_bytes_of_a_character_may_come_apart(server):
    """A server that drips byte by byte, not escaped, is heard right."""
    event = {"choices": [{"delta": {"content": "北極 é"}, "finish_reason": None}]}
    body = b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(event, ensure_ascii=False).encode()
    server.respond = lambda _: Answer(body, headers=EVENTS, drip_s=0.0005)
    told = []
    conversation(server).complete(asked(), on_text=told.append)
    assert told == ["北極 é"]


def test_thoughts_are_not_told(server):
    """Neither those at the beginning of a reply nor those in a part of their own."""
    text = " <think>Archer? Yes.\n</think>\n\n Larvik, of course.  "
    for size in (1, 3, 1_000):
        whole(server, text, size)
        told = []
        [reply] = conversation(server).complete(asked(), on_text=told.append)
        assert "".join(told) == reply.text == "Larvik, of course."
    whole(server, "<think>so and so")  # they never end, so nothing is said
    told = []
    [reply] = conversation(server).complete(asked(), on_text=told.append)
    assert (told, reply.text) == ([], "")
    assert reply.error == "the reply is empty: the model wrote only its thoughts"


def test_thoughts_that_nothing_opens_are_taken_back_once(server):
    """What was told before the tag that closes them does not count; then nothing is told early."""
    whole(server, "Archer? Yes.\n</think>\n\nLarvik, of course.", 3)
    talk = conversation(server)
    for n_taken_back in (1, 0):
        told = []
        [reply] = talk.complete(asked(), on_text=told.append)
        assert told.count(None) == n_taken_back
        said = told[told.index(None) + 1 :] if n_taken_back else told
        assert "".join(said) == reply.text == "Larvik, of course."


@pytest.mark.parametrize("rest", [b"", b"data: {", b'data: {"error": {"message": "gone"}}\n\n'])
def test_a_stream_that_says_why_it_ends_is_whole(server, rest):
    """Nobody asks again, and pays again, for the mark behind it."""
    body = streamed(completion())
    done = body.index(b"data: [DONE]")
    server.respond = lambda _: Answer(body[:done] + rest, headers=EVENTS)
    budget = Budget(tokens=10_000)
    told = []
    [reply] = conversation(server, budget).complete(asked(), on_text=told.append)
    assert "".join(told) == reply.text == WORDS
    assert (len(server.requests), budget.spent_tokens, budget.lost_tokens) == (1, 39, 0)
    server.respond = lambda _: Answer(body[:done], headers=EVENTS, missing_bytes=9)
    [reply] = conversation(server).complete(asked())
    assert (reply.text, len(server.requests)) == (WORDS, 2)


def test_a_stream_that_does_not_close_is_whole_soon(server, monkeypatch):
    """A server that leaves the connection open behind the last words is not waited for."""
    monkeypatch.setattr("clew.extras.models.http._USAGE_S", 0.1)
    body = streamed(completion(usage=None)).replace(
        b"data: [DONE]\n\n", b": still here\n\n" * 9_999
    )
    server.respond = lambda _: Answer(body, headers=EVENTS, drip_s=0.0001)
    began = time.monotonic()
    [reply] = conversation(server, timeout_s=30).complete(asked())
    assert (reply.text, len(server.requests)) == (WORDS, 1)
    assert time.monotonic() - began < 25  # it would be read for longer than the exchange may take


MARKS = ["<think>", "</think>", "<think", "[THINK]", "[/THINK]", "<|channel|>", "analysis", "final",
         "<|message|>", "<|end|>", "<|start|>assistant", "assistantfinal", "`", " ", "\n", "a", "B",
         "{", '"', "◁think▷", "◁/think▷", "<|channel>thought", "<channel|>", "<"]  # fmt: skip


@given(st.lists(st.sampled_from(MARKS), max_size=9), st.lists(st.integers(0, 80), max_size=9))
def test_what_is_said_is_the_text_of_the_reply(parts, places):
    """However a reply is cut, what is told together with the rest is what is read of it whole."""
    text = "".join(parts)
    pieces, said = [], read_completion(completion(text)).text
    told = PieceStream(pieces.append)
    hearing = SpokenStream(told)
    edges = [0, *sorted(places), len(text)]
    for start, end in pairwise(edges):
        hearing.add(text[start:end])
    told.end(said)
    since = len(pieces) - pieces[::-1].index(None) if None in pieces else 0
    assert "".join(pieces[since:]) == said


@pytest.mark.parametrize("budget", [None, 10_000])
def test_a_stream_that_broke_off_is_told_anew(server, budget):
    """None comes between what was lost and what is asked for again."""
    body = streamed(completion())
    bodies = [body, body[: len(body) // 2]]
    server.respond = lambda _: Answer(bodies.pop(), headers=EVENTS)
    told = []
    talk = replace(conversation(server), budget=budget and Budget(tokens=budget))
    [reply] = talk.complete(asked(), on_text=told.append)
    anew = told.index(None)
    assert WORDS.startswith("".join(told[:anew]))
    assert "".join(told[anew + 1 :]) == reply.text == WORDS


def test_a_second_attempt_has_its_own_length(server):
    """What was lost of the first one does not make the second one too long."""
    body = streamed(completion("so and so " * 20))
    bodies = [body, body[: body.index(b'"stop"')]]
    server.respond = lambda _: Answer(bodies.pop(), headers=EVENTS)
    [reply] = conversation(server).complete(asked(35))
    assert reply.text.startswith("so and so")


def test_what_was_told_of_a_reply_that_is_too_long(server):
    """It is cut off while it is heard, and the error is that of any such reply."""
    whole(server, "so and so " * 2_000, 1)
    told = []
    with pytest.raises(EndpointError, match="a reply of more than"):
        conversation(server).complete(asked(), on_text=told.append)
    assert 100 < len("".join(told)) < 1_000


class Gone(Exception):
    """Whoever listened went away."""


@pytest.mark.parametrize("budget", [None, 10_000])
def test_whoever_listens_may_fail_and_nothing_is_lost(server, tmp_path, budget):
    """The reply is received, paid for and recorded; then the error is raised, of one call."""
    whole(server)
    calls = []

    def fail(piece):
        calls.append(piece)
        raise Gone

    bound = budget and Budget(tokens=budget)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    run = ModelRun(budget=bound)
    talk = replace(conversation(server), ledger=ledger, run=run)
    with pytest.raises(Gone):
        talk.complete(asked(), on_text=fail)
    assert len(calls) == 1
    assert ledger.recall(Request(talk.name, *asked())).text == WORDS
    assert run.meter.usage.completion_tokens == 30
    assert bound is None or (bound.spent_tokens, bound.lost_tokens) == (39, 0)
    [again] = talk.complete(asked())
    assert (again.text, again.calls) == (WORDS, 0)


def test_whoever_is_slow_does_not_keep_the_reply_waiting(server):
    """It is received while somebody takes their time over a piece, and what is left comes then."""
    whole(server, size=20)
    done = []

    def slow(_piece):
        if not done:
            time.sleep(3.1)  # longer than the whole exchange may take
        done.append(_piece)

    [reply] = conversation(server, timeout_s=0.6).complete(asked(), on_text=slow)
    assert "".join(done) == reply.text == WORDS


def test_pieces_are_told_in_the_thread_that_asks(server):
    """So that a caller needs no lock; and of a lone prompt only."""
    whole(server)
    threads = set()
    talk = conversation(server)
    talk.complete(asked(), on_text=lambda _: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}
    with pytest.raises(InputError, match="on_text needs exactly one prompt, not 2"):
        talk.complete(asked() * 2, on_text=print)


def test_an_endpoint_that_cannot_stream_is_told_whole(server):
    """Where it answers with JSON all the same, or refuses to stream."""
    refusal = Answer({"error": {"message": "no stream here"}}, 400)
    for instead in (Answer(completion()), refusal):
        server.respond = lambda request, instead=instead: (
            instead if "stream" in request.json else Answer(completion())
        )
        told = []
        conversation(server).complete(asked(), on_text=told.append)
        assert told == [WORDS]


FRAM = hit("fram", "Colin Archer built the Fram in Larvik.", title="Fram")
LINE = "The Fram was built by Colin Archer [1]"


@pytest.fixture
def talk(server):
    return conversation(server)


@given(
    st.lists(st.sampled_from(["Archer", "[1]", "ANSWER:", "**", "\n", ",", "北極"]), max_size=9),
    st.integers(1, 12),
)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_pieces_are_the_answer(server, talk, words, size):
    """Whatever an endpoint streams, in whatever pieces, over HTTP."""
    whole(server, " ".join(words), size)
    told = []
    given = models(llm=talk)
    found = answer("Who built it?", evidence(FRAM), given, style="prose", on_text=told.append)
    anew = max((place for place, piece in enumerate(told) if piece is None), default=-1)
    assert "".join(told[anew + 1 :]) == found.text


@pytest.mark.parametrize(
    ("tokens", "kind"), [(None, "generated"), (9_000, "generated"), (3_300, "quoted")]
)
def test_an_answer_that_broke_off(server, tokens, kind):
    """It is told anew, whole; where the budget has no room to ask again, quotes are given."""
    body = streamed(completion(LINE))
    bodies = [body, body[: body.index(b"y Col")]]
    server.respond = lambda _: Answer(bodies.pop(), headers=EVENTS)
    talk = replace(conversation(server), budget=tokens and Budget(tokens=tokens))
    told = []
    given = models(llm=talk)
    found = answer("Who built it?", evidence(FRAM), given, style="prose", on_text=told.append)
    anew = told.index(None)
    assert "The Fram was built by".startswith("".join(told[:anew]))
    assert "".join(told[anew + 1 :]) == found.text
    assert None not in told[anew + 1 :]
    assert found.kind == kind
