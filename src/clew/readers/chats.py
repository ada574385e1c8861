"""Read conversations: JSON exports of chats, and transcripts with speakers.

A message is a paragraph with its time and its speaker, as `[2026-03-02 09:02] Ravi: The move is
tonight.`; exports as text have them so already, and are read as they stand.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby

from clew.base.types import Document
from clew.readers.decode import replace_surrogates
from clew.readers.titled import make_document
from clew.readers.walk import File

_TIMES = ("ts", "timestamp", "date", "createdDateTime")
_SPEAKERS = "user_profile real_name display_name username author sender from user name displayName"
_TEXTS = ("text", "content", "body", "message")
_MARK = re.compile(r"<([@#!]?)([^<>|\n]+)(?:\|([^<>\n]*))?>")  # of Slack: a person, a link
_SHORT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


def find_messages(value: object) -> Sequence[Mapping[str, object]] | None:
    """Return the messages of a Slack, Discord or Telegram export, None for other JSON."""
    inside = value.get("messages") if isinstance(value, dict) else value
    listed = inside if isinstance(inside, list) else []
    messages = [each for each in listed if isinstance(each, dict)]
    if value is inside and not all(e.get("type") == "message" and "ts" in e for e in messages):
        return None
    said = sum(bool(_format_message_time(e) and _find(e, _SPEAKERS.split())) for e in messages)
    return messages if messages and 2 * said > len(messages) else None


def read_messages(file: File, messages: Iterable[Mapping[str, object]]) -> Document:
    """Return the messages in order as a document, without join and leave events."""
    messages = list(messages)
    names = {str(e["user"]): _find(e, _SPEAKERS.split()) for e in messages if e.get("user")}
    turns = []
    for each in messages:
        text = "" if str(each.get("subtype")).endswith(("_join", "_leave")) else _find(each, _TEXTS)
        text = _MARK.sub(lambda mark: _name_mark(mark, names), text).strip()
        head = f"[{_format_message_time(each)}] {_find(each, _SPEAKERS.split())}"
        turns += [replace_surrogates(f"{head}: {text}")] if text else []
    return make_document(file, turns, "")


def join_turns(cues: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Yield a paragraph per turn of a transcript of times, speakers and words."""
    for speaker, group in groupby(cues, lambda cue: cue[1]):
        turn = list(group)
        words = " ".join(words for _, _, words in turn if words)
        if words:
            yield f"[{turn[0][0]}] {speaker}: {words}" if speaker else words


def _name_mark(mark: re.Match[str], names: Mapping[str, str]) -> str:
    kind, target, label = mark.groups()
    if kind:
        return kind.strip("!") + (label or names.get(target, target))
    return f"{label} ({target})" if label else target


def _find(value: object, keys: Iterable[str]) -> str:
    """Return the first text under some keys, also inside lists, or ""."""
    if isinstance(value, list):
        return "".join(_find(each, keys) for each in value)
    if not isinstance(value, dict):
        return value if isinstance(value, str) else ""
    keys = list(keys)
    return next(filter(None, (_find(value[key], keys) for key in keys if key in value)), "")


def _format_message_time(message: Mapping[str, object]) -> str:
    """Return the time of a message to the minute, as written or in UTC."""
    given = next((str(message[name]) for name in _TIMES if message.get(name)), "")
    if given.replace(".", "", 1).isdigit():
        try:
            return f"{datetime.fromtimestamp(float(given), UTC):%Y-%m-%d %H:%M}"
        except (ValueError, OverflowError, OSError):
            return given
    return given[:16].replace("T", " ") if _SHORT.match(given) else given
