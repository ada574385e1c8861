"""Rule-based replies to Open WebUI's prompts for titles, tags and searches.

Most of its prompts begin with "### Task:". Two of them have a question in them, which is asked as
any other: the one by which it hands on material of its own, and the one by which it has the
answers of several models merged. The material and the answers are not used.
"""

import json
import re

_MARK = "### Task:"
_MERGE = re.compile(
    r"\s*You have been provided with a set of responses from various models"
    r' to the latest user query: "(.*?)"\n\nYour task is',
    re.DOTALL,
)
_FACE = "Your task is to reflect the speaker's likely facial expression through a fitting emoji"
_TOOLS = "Available Tools: "
_SOURCE = re.compile(r'<source id="(\d{1,3})"')
_HISTORY = re.compile(r"<chat_history>\s*(.*?)\s*</chat_history>", re.DOTALL)
# A title is wanted before there is an answer, so a turn may be empty.
_TURN = re.compile(r"^(?:USER|ASSISTANT):(?: |$)", re.MULTILINE)
_BEFORE_TURN = re.compile(r"^(?=(?:USER|ASSISTANT):(?: |$))", re.MULTILINE)
_TITLE_WORDS = 6
NO_TOOLS = '{"tool_calls": []}'
_TAGS = ("General",)  # what its prompt wants where there is nothing to tell them by


def extract_question(text: str) -> str:
    """Return the question of a message, without context added by Open WebUI.

    >>> extract_question("### Task: ... <context>Notes</context> Who built the Fram?")
    'Who built the Fram?'
    """
    if text.lstrip().startswith(_MARK) and "</context>" in text:
        return text.rpartition("</context>")[2].strip() or text
    if merged := _MERGE.match(text):
        return merged[1].strip() or text
    return text


def count_sources(text: str) -> int:
    """Return how many sources Open WebUI put before a question; ours are numbered after these.

    >>> count_sources('### Task: <context><source id="1" name="a">Notes</source></context> Who?')
    1
    """
    material = text.rpartition("</context>")[0].partition("<context>")[2]
    return max(map(int, _SOURCE.findall(material)), default=0)


def chooses_tools(text: str) -> bool:
    """Check whether a system message is Open WebUI's prompt for choosing a tool."""
    return text.lstrip().startswith(_TOOLS) and '"tool_calls"' in text


def reply_to_task(text: str) -> str | None:
    """Return the reply to a task of Open WebUI, or None for a question.

    >>> reply_to_task('### Task: Suggest tags. JSON format: { "tags": [] }')
    '{"tags": ["General"]}'
    >>> reply_to_task("Who built the Fram?")
    """
    if text.lstrip().startswith(_FACE):
        return ""
    if not text.lstrip().startswith(_MARK) or extract_question(text) != text:
        return None
    # Each prompt names the key of the JSON that it wants; a chat may name others.
    rules = _HISTORY.sub("", text)
    question = _find_first_question(text)
    words = question.rstrip(" ?!.").split()
    replies: dict[str, object] = {
        "follow_ups": [],
        "queries": [question] if question else [],
        "tags": list(_TAGS),
        "title": " ".join(words[:_TITLE_WORDS]) + ("…" if len(words) > _TITLE_WORDS else ""),
        "prompt": question,
        "text": "",
    }
    for name, value in replies.items():
        if f'"{name}"' in rules:
            return json.dumps({name: value}, ensure_ascii=False)
    return "Clew answers questions about its documents, and does no other tasks."


def _find_first_question(text: str) -> str:
    """Return the first question of the chat in a task; for a search, the last one."""
    match = _HISTORY.search(text)
    if match is None:
        return ""
    turns = _BEFORE_TURN.split(match[1])
    users = [_TURN.sub("", turn).strip() for turn in turns if turn.startswith("USER:")]
    if not users:
        return ""
    return " ".join(users[-1 if '"queries"' in text else 0].split())
