"""Indexes whose LLM says what a test has it say."""

import clew
from clew.models import Conversation
from clew.testing import ScriptedChat, models

REPLY = "The builder is named. ANSWER: Ola Eriksen built the Comet in Bakken [1]."


def open_with(answer, *, price=(0.0, 0.0)):
    """Return what opens indexes with an LLM that says what `answer` gives for a prompt."""
    chat = ScriptedChat(answer, price=price)

    def opener(folder, **_):
        return clew.open(folder, models=models(llm=Conversation(chat)))

    return chat, opener


def on_answers(said):
    """Return replies to prompts for an answer; other steps get one that is of no use to them."""
    return lambda prompt, _turns: said if "ANSWER:" in prompt.user + prompt.system else "no"
