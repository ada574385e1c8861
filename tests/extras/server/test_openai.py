"""The interface of OpenAI, asked by its own client and by hand.

The client is imported where it is used: every process collects all tests, and it takes a second.
"""

import json
import threading
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlsplit

import anyio
import pytest

import clew
from clew.errors import BudgetSpent, StoreError
from clew.extras.server.keys import CITATIONS
from clew.testing import HashTokenEmbedder, models, small_documents
from tests.extras.server.conftest import REPLY, on_answers, open_with

QUESTION = "Who built the Comet?"
TEXTS = {each.id: each.text for each in small_documents()}
CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


def user(content):
    return {"role": "user", "content": content}


def body(question=QUESTION, **more):
    return {"model": "clew/small", "messages": [user(question)], **more}


def chunks(response):
    """The chunks of a stream; the last line of it says that it is whole."""
    lines = [line for line in response.text.split("\n\n") if line]
    assert lines.pop() == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines]


def told(found):
    deltas = [choice["delta"] for each in found for choice in each["choices"]]
    return "".join(delta.get("content", "") for delta in deltas)


@contextmanager
def openai_client(home, opener=None, key="none"):
    import openai

    with (
        home.serving(*filter(None, [opener])) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0) as client,
    ):
        yield client


def test_without_an_llm_the_answer_is_the_quotes(home):
    """Each is followed by a mark, and its annotation leads to the characters that are quoted."""
    with openai_client(home) as client:
        found = client.chat.completions.create(**body())
    message = found.choices[0].message
    assert found.choices[0].finish_reason == "stop"
    assert message.content.startswith('"Ola Eriksen built the Comet in Bakken." [1]')
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (0, 0)
    for number, each in enumerate(message.annotations, 1):
        cited = each.url_citation
        assert message.content[cited.start_index : cited.end_index] == f"[{number}]"
        place = dict(parse_qsl(urlsplit(cited.url).query))
        quote = TEXTS[place["doc"]][int(place["start"]) : int(place["end"])]
        assert f'"{quote}" [{number}]' in message.content


def test_an_llm_answers_piece_by_piece(home):
    _, opener = open_with(on_answers(REPLY))
    with openai_client(home, opener) as client:
        stream = client.chat.completions.create(
            **body(stream=True, stream_options={"include_usage": True})
        )
        found = list(stream)
        again = client.chat.completions.create(**body())
    pieces = [c.delta.content for each in found for c in each.choices if c.delta.content]
    assert len(pieces) > 4
    assert "".join(pieces) == "Ola Eriksen built the Comet in Bakken [1]."
    assert again.choices[0].message.content == "".join(pieces)
    [cited] = [
        a for e in found for c in e.choices for a in c.delta.model_extra.get("annotations", [])
    ]
    assert cited["url_citation"]["title"] == "Eriksen"
    assert found[-1].choices == []
    assert found[-1].usage.completion_tokens > 0
    assert found[-2].choices[0].finish_reason == "stop"
    assert again.usage.total_tokens == 0  # the reply was recorded, and costs nothing again
    assert again.model_extra["clew"]["recorded_calls"] > 0


def test_numbers_stand_where_an_llm_puts_them(home):
    said = "Ola Eriksen [1][2] built the Comet in Bakken [1], says a book."
    _, opener = open_with(on_answers(said))
    with home.client(opener) as client:
        found = chunks(client.post(CHAT, json=body(stream=True)))
        message = client.post(CHAT, json=body()).json()["choices"][0]["message"]
    assert message["content"].startswith("Ola Eriksen [1]")
    assert " built the Comet in Bakken [" in message["content"]
    assert told(found) == message["content"]
    assert message["annotations"]
    for each in message["annotations"]:
        cited = each["url_citation"]
        mark = message["content"][cited["start_index"] : cited["end_index"]]
        assert mark.startswith("[")
        assert mark.endswith("]")


def test_the_asynchronous_client(home):
    import openai

    async def ask(address):
        async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="none") as client:
            whole = await client.chat.completions.create(**body())
            stream = await client.chat.completions.create(**body(stream=True))
            pieces = [c.delta.content or "" async for each in stream for c in each.choices]
            found = await client.responses.create(model="clew/small", input=QUESTION)
        return whole.choices[0].message.content, "".join(pieces), found.output_text

    with home.serving() as address:
        whole, pieces, found = anyio.run(ask, address)
    assert whole == pieces == found


@pytest.mark.parametrize("form", CITATIONS)
@pytest.mark.parametrize("said", [None, REPLY, "unknown"], ids=["quotes", "llm", "refusal"])
def test_what_is_streamed_is_what_is_sent_whole(home, form, said):
    openers = [open_with(on_answers(said))[1]] if said else []
    with home.client(*openers) as client:
        given = body(clew={"citations": form})
        whole = client.post(CHAT, json=given).json()["choices"][0]["message"]
        found = chunks(client.post(CHAT, json={**given, "stream": True}))
    assert told(found) == whole["content"]
    assert ("[1]" in whole["content"]) is (form != "none")
    assert ("**Sources**" in whole["content"]) is (form == "markdown")
    deltas = [choice["delta"] for each in found for choice in each["choices"]]
    streamed = [a for delta in deltas for a in delta.get("annotations", [])]
    events = [each["event"]["type"] for each in found if "event" in each]
    assert bool(streamed) is (form == "annotations")
    assert set(events) == ({"status", "source"} if form == "open-webui" else set())
    if form == "annotations":
        assert streamed == whole["annotations"]


def test_open_webui_numbers_distinct_sources(client):
    """Each has an id of its own, whose place is its number; an id that is no address is hidden."""
    given = body(f"{QUESTION} And when was she built?", stream=True)
    found = chunks(client.post(CHAT, json=given | {"clew": {"citations": "open-webui"}}))
    events = [each["event"] for each in found if "event" in each]
    sources = [each["data"] for each in events if each["type"] == "source"]
    places = [each["metadata"][0]["source"] for each in sources]
    assert len(set(places)) == len(places) > 1
    assert {each["source"]["id"] for each in sources} == set(places)
    text = told(found)
    for number, each in enumerate(sources, 1):
        assert each["source"]["url"].startswith("http://")
        assert not each["source"]["id"].startswith("http")
        assert f'{each["document"][0]}" [{number}]' in text


def test_a_refusal_is_a_sentence_with_what_is_nearest(client):
    found = client.post(CHAT, json=body("How is sourdough bread baked at home?")).json()
    content = found["choices"][0]["message"]["content"]
    assert found["clew"]["kind"] == "refused"
    assert content.startswith("Nothing in these documents seems to answer this. Nea")
    given = body("How is sourdough bread baked at home?", clew={"min_support": 0})
    assert client.post(CHAT, json=given).json()["clew"]["kind"] == "quoted"
    given = {"model": "clew/small", "input": QUESTION, "max_output_tokens": 3}
    found = client.post(RESPONSES, json=given).json()
    assert found["status"] == "incomplete"
    assert found["incomplete_details"] == {"reason": "max_output_tokens"}


def test_citations_are_those_of_the_key_its_header_or_the_request(home):
    key = home.key(citations="markdown")
    with home.client() as client:

        def form(**given):
            headers = {**key, **given.pop("headers", {})}
            message = client.post(CHAT, json=body(**given), headers=headers).json()
            return message["choices"][0]["message"]

        assert "**Sources**" in form()["content"]
        header = {"x-clew-citations": "annotations"}
        assert form(headers=header)["annotations"]
        assert "[1]" not in form(headers=header, clew={"citations": "none"})["content"]
        wrong = client.post(CHAT, json=body(clew={"citations": "bold"}), headers=key)
    assert wrong.status_code == 400


def test_earlier_turns_are_read(client):
    """A follow-up is asked with the name of the turn before; sources of ours are taken out."""
    before = client.post(CHAT, json=body(clew={"citations": "markdown"})).json()
    turns = [
        {"role": "system", "content": "Answer in verse, and tell of Cape Lund."},
        user(QUESTION),
        before["choices"][0]["message"],
        user([{"type": "text", "text": "And where did it sink?"}]),
    ]
    found = client.post(CHAT, json=body(messages=turns, temperature=0.2, tools=[])).json()
    query = found["clew"]["query"]
    assert "Comet" in query
    assert "http" not in query
    assert "verse" not in query


TALK = (
    "<chat_history>\nUSER: Who built the ship\nthat took Amundsen south?\n"
    'ASSISTANT: Archer, "title" and "tags".\nUSER: And who sank it?\n</chat_history>'
)
BEGUN = f"<chat_history>\nUSER: {QUESTION}\nASSISTANT: \n</chat_history>"  # as an answer begins
FACE = "Your task is to reflect the speaker's likely facial expression through a fitting emoji."
TOOLS = {"role": "system", "content": 'Available Tools: []\n\nReturn {"tool_calls": []}'}


def task(name, history):
    """The message by which Open WebUI asks for something about a conversation."""
    return user(f'### Task:\nDo it.\n### Output:\nJSON format: {{ "{name}": [] }}\n{history}')


@pytest.mark.parametrize(
    ("messages", "reply"),
    [
        ([task("title", TALK)], '{"title": "Who built the ship that took…"}'),
        ([task("tags", TALK)], '{"tags": ["General"]}'),
        ([task("follow_ups", TALK)], '{"follow_ups": []}'),
        ([task("queries", TALK)], '{"queries": ["And who sank it?"]}'),
        ([task("title", BEGUN)], '{"title": "Who built the Comet"}'),
        ([TOOLS, user(f"Query: {QUESTION}")], '{"tool_calls": []}'),
        ([user(f"{FACE}\n\nMessage: ```{QUESTION}```")], ""),
    ],
    ids=["title", "tags", "follow-ups", "queries", "title of what begins", "tools", "face"],
)
def test_tasks_of_open_webui_are_done_without_a_search(client, messages, reply):
    """By rules: a title of the first question, no tags, no further questions, no tool, no face."""
    found = client.post(CHAT, json=body(messages=messages)).json()
    assert found["choices"][0]["message"]["content"] == reply
    assert found["clew"] == {"kind": "task"}


@pytest.mark.parametrize(
    "prompt",
    [
        f"### Task:\nRespond to the query.\n<context>\nNotes\n</context>\n{QUESTION}",
        (
            "You have been provided with a set of responses from various models to the latest user"
            f' query: "{QUESTION}"\n\nYour task is to synthesize these responses.\n\n'
            f'Responses from models: """{"Somebody did. " * 1_000}"""'
        ),
    ],
    ids=["behind material", "before answers of several models"],
)
def test_a_question_in_a_prompt_of_open_webui(client, prompt):
    """Its templates begin like tasks; the question in them is asked, without the rest."""
    assert client.post(CHAT, json=body(prompt)).json()["clew"]["query"] == QUESTION


def test_sources_of_open_webui_are_counted_first(client):
    """It shows those of its own material before the answer's, and numbers them together."""
    material = '<source id="1" name="a">Notes</source>\n<source id="2" name="b">More</source>'
    prompt = f"### Task:\nRespond.\n<context>\n{material}\n</context>\n"
    for messages in (
        [user(prompt + QUESTION)],
        [{"role": "system", "content": prompt}, user(QUESTION)],
    ):
        given = body(stream=True, clew={"citations": "open-webui"}, messages=messages)
        text = told(chunks(client.post(CHAT, json=given)))
        assert text.startswith('"Ola Eriksen built the Comet in Bakken." [3]')
        annotated = client.post(CHAT, json=body(messages=messages)).json()
        assert '" [1]' in annotated["choices"][0]["message"]["content"]


def test_an_answer_ends_where_the_client_wants(client):
    whole = client.post(CHAT, json=body()).json()["choices"][0]["message"]["content"]
    for given, reason, cut in (
        ({"stop": ["Comet", "town"]}, "stop", whole.partition("Comet")[0]),
        ({"stop": "nowhere"}, "stop", whole),
        ({"max_tokens": 4}, "length", None),
        ({"max_completion_tokens": 4, "max_tokens": 900}, "length", None),
    ):
        choice = client.post(CHAT, json=body(**given)).json()["choices"][0]
        text = choice["message"]["content"]
        assert choice["finish_reason"] == reason
        assert text == cut if cut is not None else whole.startswith(text) and 0 < len(text) < 30
        found = chunks(client.post(CHAT, json=body(**given, stream=True)))
        assert told(found) == text
        assert found[-1]["choices"][0]["finish_reason"] == reason


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"n": 2}, 400, "n must be 1, not 2"),
        ({"model": "gpt-4o"}, 404, "there is no model 'gpt-4o' here: take of clew/small"),
        ({"model": "clew/small@magic"}, 400, "there is no method 'magic'"),
        ({"messages": []}, 400, "the last message must be a question of the user"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 400, "the last message"),
        ({"response_format": {"type": "json_object"}}, 400, "only plain text answers are supp"),
        ({"clew": {"filter": "x"}}, 400, "clew.filter: Extra inputs are not permitted"),
        ({"clew": {"parameters": {"budget": 1}}}, 400, "the method 'walk' has no parameter 'bud"),
        ({"messages": [user("x" * 20_001)]}, 400, "a question has at most"),
        ({"clew": {"where": "colour = 'red'"}}, 400, "no document has the field 'colour'"),
        (
            {"messages": [user([{"type": "image_url", "image_url": {}}])]},
            400,
            "unsupported message part 'image_url'",
        ),
        ({"tool_choice": "required"}, 400, "an index answers by text and calls no tools"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, 400, "an index answers"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_errors_have_the_form_and_the_status_of_openai(client, given, status, said, stream):
    """Also where a stream was asked for: nothing was sent yet."""
    response = client.post(CHAT, json={**body(), **given, "stream": stream})
    assert response.status_code == status
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"].startswith(said)


def test_a_route_that_is_not_there_says_so_as_openai_does(client):
    for path in ("/v1/images/generations", "/v1/nothing/at/all"):
        response = client.post(path, json={})
        error = response.json()["error"]
        assert (response.status_code, error["code"]) == (404, "not_found")
        assert error["type"] == "not_found_error"
    assert client.get(CHAT).json()["error"]["code"] == "method_not_allowed"


def test_the_client_raises_what_it_should(home):
    import openai

    text = home.key(requests_per_minute=1)["Authorization"].partition(" ")[2]
    with openai_client(home, key="clew_0_wrong") as client:
        with pytest.raises(openai.AuthenticationError, match="this key is unknown or revoked"):
            client.models.list()
        known = client.with_options(api_key=text)
        with pytest.raises(openai.NotFoundError, match="there is no model"):
            known.models.retrieve("clew/other")
        with pytest.raises(openai.RateLimitError, match="1 requests a minute") as raised:
            known.models.list()
    assert int(raised.value.response.headers["retry-after"]) > 0


def test_without_keys_any_key_will_do(home):
    """Clients want one, and everybody on this machine may do everything; with a key none will."""
    import openai

    with openai_client(home, key="sk-anything") as client:
        assert [each.id for each in client.models.list()] == ["clew/small"]
        assert client.models.retrieve("clew/small").owned_by == "clew"
        home.key()
        with pytest.raises(openai.AuthenticationError):
            client.models.list()


def test_a_spent_budget_leaves_the_quotes(home):
    chat, opener = open_with(on_answers(REPLY))
    key = home.key(tokens=1)
    with home.client(opener) as client:
        found = client.post(CHAT, json=body(), headers=key).json()
    assert found["clew"]["kind"] == "quoted"
    assert any("budget" in note for note in found["clew"]["notes"])
    assert chat.asked == []


@pytest.mark.parametrize("where", ["at once", "while it writes"])
def test_a_question_that_fails(home, where):
    """Before anything was told it is a status, and later an event; both say what was wrong."""
    import openai

    def answer(prompt, _turns):
        if where == "at once" or prompt.name == "prose_answer":
            raise StoreError("calls.sqlite cannot be written: is the disk full?")
        return "no"

    _, opener = open_with(answer)
    with openai_client(home, opener) as client:
        with pytest.raises(openai.InternalServerError, match="is the disk full") as raised:
            client.chat.completions.create(**body())
        assert raised.value.status_code == 500
        with pytest.raises(openai.APIError, match="is the disk full") as raised:
            list(client.chat.completions.create(**body(stream=True)))
        assert isinstance(raised.value, openai.APIStatusError) is (where == "at once")
        if where == "while it writes":
            stream = client.responses.create(model="clew/small", input=QUESTION, stream=True)
            *_, error, failed = list(stream)
            assert (error.type, failed.type) == ("error", "response.failed")
            assert "is the disk full" in error.message


def test_a_budget_that_ends_a_question_is_a_402(home):
    """As where an endpoint bills the vector of the question, without which nothing is found."""
    import openai

    class Billed(HashTokenEmbedder):
        def embed_tokens(self, _texts):
            raise BudgetSpent("the budget leaves no room for this request")

    given = models(Billed())
    with openai_client(home, lambda folder, **_: clew.open(folder, models=given)) as client:
        for stream in (False, True):
            with pytest.raises(openai.APIStatusError, match="no room") as raised:
                client.chat.completions.create(**body(stream=stream))
            assert raised.value.status_code == 402
            assert raised.value.body["type"] == "insufficient_quota"


def test_a_client_that_goes_away_loses_nothing_that_was_paid_for(home):
    """The reply is waited for and recorded: who asks again gets it, and pays nothing."""
    at_work, go_on = threading.Event(), threading.Event()

    def answer(prompt, turns):
        if prompt.name != "prose_answer":
            return "no"
        at_work.set()
        assert go_on.wait(60)
        return REPLY

    chat, opener = open_with(answer)
    with openai_client(home, opener) as client:
        stream = client.chat.completions.create(
            **body(stream=True, extra_body={"clew": {"citations": "open-webui"}})
        )
        next(iter(stream))
        assert at_work.wait(60)
        stream.close()
        go_on.set()
    with openai_client(home, opener) as client:  # the server before it ended with its work
        found = client.chat.completions.create(**body())
    answers = [prompt for prompt, _ in chat.asked if prompt.name == "prose_answer"]
    assert len(answers) == 1
    assert found.choices[0].message.content.startswith("Ola Eriksen built")


def test_responses_whole_and_as_events(home):
    """Events are those that the client knows, and end with the response that is sent whole."""
    _, opener = open_with(on_answers(REPLY))
    with openai_client(home, opener) as client:
        asked = {
            "model": "clew/small@bm25",
            "input": [
                {"role": "system", "content": "Be short."},
                user([{"type": "input_text", "text": QUESTION}]),
            ],
        }
        events = list(client.responses.create(**asked, stream=True))
        whole = client.responses.create(**asked)
    assert [each.sequence_number for each in events] == list(range(len(events)))
    deltas = [each.delta for each in events if each.type == "response.output_text.delta"]
    assert len(deltas) > 4
    assert "".join(deltas) == whole.output_text == events[-1].response.output_text
    assert events[-1].type == "response.completed"
    [part] = whole.output[0].content
    [cited] = part.annotations
    assert part.text[cited.start_index : cited.end_index] == "[1]"
    assert whole.model_extra["clew"]["method"] == "bm25"
    assert events[-1].response.usage.output_tokens > 0
    assert whole.usage.output_tokens == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"previous_response_id": "resp_1"}, "conversations are not stored here: send"),
        ({"conversation": "conv_1"}, "conversations are not stored here: send"),
        ({"tool_choice": "required"}, "an index answers by text and calls no tools"),
        ({"background": True}, "background responses are not supported"),
        ({"text": {"format": {"type": "json_schema"}}}, "only plain text answers are supported"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input of the type 'item_ref"),
        ({"input": [user([{"type": "input_image"}])]}, "unsupported message part 'input_image'"),
    ],
)
def test_responses_that_cannot_be_given(client, given, said):
    response = client.post(RESPONSES, json={"model": "clew/small", "input": QUESTION, **given})
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith(said)


def test_an_image_in_an_earlier_turn_does_not_end_a_chat(client):
    """A chat goes on: of what was said before, the text is read."""
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "x"}}]
    earlier = [user(parts), {"role": "assistant", "content": "Ola Eriksen built the Comet."}]
    given = {"model": "clew/small", "messages": [*earlier, user("And where?")]}
    found = client.post(CHAT, json=given).json()
    assert "Comet" in found["clew"]["query"]
    assert "Bakken" in found["choices"][0]["message"]["content"]
    alone = user([{"type": "image_url", "image_url": {"url": "x"}}])
    answered = client.post(CHAT, json={**given, "messages": [alone, *given["messages"]]})
    assert answered.status_code == 200


def test_the_embedder_of_an_index_embeds(home):
    """The same vectors as Python's, as numbers and in base64, which the client asks for."""
    texts = ["The Comet was built in Bakken.", "Salt."]
    with openai_client(home) as client:
        found = client.embeddings.create(model="clew/small", input=texts)
        [alone] = client.embeddings.create(
            model="clew/small", input=texts[0], encoding_format="float"
        ).data
    expected = models().embedder.embed(texts, kind="document")
    assert [each.index for each in found.data] == [0, 1]
    for each, vector in zip(found.data, expected, strict=True):
        assert each.embedding == pytest.approx(vector.tolist())
    assert alone.embedding == pytest.approx(expected[0].tolist())


@pytest.mark.parametrize(
    ("given", "status", "said"),
    [
        ({"input": []}, 400, "input"),
        ({"input": ["x"] * 2_049}, 400, "a request embeds at most 2,048 texts, not 2,049"),
        ({"dimensions": 7}, 400, "this embedder has"),
        ({"model": "gpt-4o"}, 404, "there is no model 'gpt-4o' here"),
    ],
)
def test_what_cannot_be_embedded(client, given, status, said):
    response = client.post("/v1/embeddings", json={"model": "clew/small", "input": "x", **given})
    assert response.status_code == status
    assert response.json()["error"]["message"].startswith(said)


def test_what_stands_above_a_quote_is_its_label(home):
    """Else nobody knows which option it is that prints a factor alone."""
    long = " ".join(f"Line {n} of the output is left out then." for n in range(20))
    text = f"-t, --terse\n    Print a factor. {long} Sailors read it easily.\n\n-q\n    Be quiet.\n"
    with clew.open(home.settings.indexes["small"], models=models()) as index:
        index.add([clew.Document(id="options", text=text)])
    with home.client(lambda folder, **_: clew.open(folder, models=models())) as client:
        found = client.post(CHAT, json=body("What do sailors read easily?")).json()
    assert '-t, --terse: "Sailors read it easily."' in found["choices"][0]["message"]["content"]
