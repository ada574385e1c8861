"""What Open WebUI asks of a model beside questions: titles, tags, searches. By rules, for nothing.

Its prompts begin with "### Task:". Only the one by which it hands on material of its own has a
question behind it, which is asked as any other; the material is not used.
"""

from __future__ import annotations

import json
import re

_MARK = "### Task:"
_HISTORY = re.compile(r"<chat_history>\s*(.*?)\s*</chat_history>", re.DOTALL)
# A title is wanted before there is an answer, so a turn may be empty.
_TURN = re.compile(r"^(?:USER|ASSISTANT):(?: |$)", re.MULTILINE)
_BEFORE_TURN = re.compile(r"^(?=(?:USER|ASSISTANT):(?: |$))", re.MULTILINE)
_TITLE_WORDS = 6
_TAGS = ("General",)  # what its prompt wants where there is nothing to tell them by


def question_in(text: str) -> str:
    """Return the question of a message of the user, without what Open WebUI put before it.

    >>> question_in("### Task: ... <context>Notes</context> Who built the Fram?")
    'Who built the Fram?'
    """
    if text.lstrip().startswith(_MARK) and "</context>" in text:
        return text.rpartition("</context>")[2].strip() or text
    return text


def task_reply(text: str) -> str | None:
    """Return the reply to a task, None where a message is a question.

    >>> task_reply('### Task: Suggest tags. JSON format: { "tags": [] }')
    '{"tags": ["General"]}'
    >>> task_reply("Who built the Fram?")
    """
    if not text.lstrip().startswith(_MARK) or question_in(text) != text:
        return None
    # Each prompt names the key of the JSON that it wants; a chat may name others.
    rules = _HISTORY.sub("", text)
    asked = _first_question(text)
    replies: dict[str, object] = {
        "follow_ups": [],
        "queries": [asked] if asked else [],
        "tags": list(_TAGS),
        "title": _title(asked),
        "prompt": asked,
        "text": "",
    }
    for name, value in replies.items():
        if f'"{name}"' in rules:
            return json.dumps({name: value}, ensure_ascii=False)
    return "Clew answers questions about its documents, and does no other tasks."


def _first_question(text: str) -> str:
    """Return what the user asked first in the chat that a task has, or last for a search."""
    found = _HISTORY.search(text)
    if found is None:
        return ""
    turns = _BEFORE_TURN.split(found[1])
    users = [_TURN.sub("", turn).strip() for turn in turns if turn.startswith("USER:")]
    if not users:
        return ""
    return " ".join(users[-1 if '"queries"' in text else 0].split())


def _title(asked: str) -> str:
    words = asked.rstrip(" ?!.").split()
    return " ".join(words[:_TITLE_WORDS]) + ("…" if len(words) > _TITLE_WORDS else "")
