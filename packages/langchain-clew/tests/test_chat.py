"""A server is asked as a model of OpenAI, by LangChain's ChatOpenAI."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI

QUESTION = "Who built the Comet?"
ANSWER = "“Ola Eriksen built the Comet in Bakken.” [1]"


@pytest.fixture(params=[True, False], ids=["responses", "completions"])
def model(request, url):
    """A model by either interface."""
    return ChatOpenAI(
        base_url=f"{url}/v1",
        api_key="none",
        model="clew/small",
        use_responses_api=request.param,
        max_retries=0,
    )


def cited(message):
    """The pieces of a text at which its annotations stand, with their titles."""
    return [
        (block["text"][each["start_index"] : each["end_index"]], each["title"], each["url"])
        for block in message.content_blocks
        for each in block.get("annotations", [])
    ]


def test_an_answer_is_a_message_with_citations(model, url):
    """Whole and as it comes; only of responses does LangChain read annotations."""
    whole = model.invoke(QUESTION)
    assert whole.text.startswith(f"{ANSWER}\n\n")
    assert whole.usage_metadata["total_tokens"] == 0

    first, *rest = model.stream(QUESTION)
    streamed = sum(rest, first)
    assert streamed.text == whole.text

    if not model.use_responses_api:
        assert cited(whole) == []
        return
    assert cited(whole) == cited(streamed)
    mark, title, address = cited(whole)[0]
    assert (mark, title) == ("[1]", "Eriksen")
    assert address.startswith(f"{url}/documents?index=small&doc=eriksen&start=")


def test_a_conversation(model):
    """A question that needs the one before it is read with its names."""
    found = model.invoke(
        [
            SystemMessage("You are a pirate."),
            HumanMessage(QUESTION),
            AIMessage(ANSWER),
            HumanMessage("And where was he at home?"),
        ]
    )
    assert "Eriksen" in found.text
    assert "Nothing in these documents" not in found.text
