"""Read what a model says: the JSON in its words, what is wrong with it, and how to ask again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from clew.errors import InputError
from clew.models import Prompt, Turn
from clew.models.spoken import find_spoken
from clew.runtime.lazy import check_installed, compile_re

_PLAIN = "Reply with one JSON value and nothing else. It must satisfy this JSON schema:\n"
_REPAIR = "That reply cannot be used: {fault}. Reply again with nothing but corrected JSON."

_LONGEST = 10_000  # characters of a reply that is mended; of hostile ones these take a second
_STARTS = 1000  # brackets tried in one reply, so that a hostile one costs little
_FENCED = compile_re(r"```[\w-]*[ \t]*\n(.*)```", re.DOTALL)
_BRACKET = compile_re(r"[\[{]")
_CODED = compile_re(r"\\u([0-9a-f]{4})", re.IGNORECASE)
_QUOTES = compile_re(r"['“”]")
_STRING = compile_re(r'"((?:[^"\\]|\\.)*)"')
_JOINT = compile_re(r"""["'“”]\s*[,:\]}]|[\[{,:]\s*\\?["'“”]""")  # as if a string ended or began
_LOOSE = compile_re(r"\\[bfnrt]|[\s,\\]")


def messages(
    prompt: Prompt, turns: Sequence[Turn] = (), *, in_words: bool = False
) -> list[dict[str, str]]:
    """Return the messages of a conversation: the prompt, and each reply with its repair request.

    With `in_words` the prompt's schema stands in the system message.
    """
    system = prompt.system
    if in_words and prompt.schema is not None:
        system = f"{system}\n\n{_PLAIN}{json.dumps(prompt.schema)}".lstrip()
    conversation = [{"role": "system", "content": system}] if system else []
    conversation.append({"role": "user", "content": prompt.user})
    for turn in turns:
        conversation.append({"role": "assistant", "content": turn.text})
        conversation.append({"role": "user", "content": _REPAIR.format(fault=turn.fault)})
    return conversation


@dataclass(frozen=True, slots=True)
class Reading:
    """What a reply holds. Some of `data` may be there although there is a `fault`."""

    data: Any = None  # follows the schema, but for the properties that are `lacking`
    fault: str = ""
    lacking: tuple[str, ...] = ()  # what to ask for again
    dropped: int = 0  # items that cannot be used


def read(turn: Turn, prompt: Prompt) -> Reading:
    """Return the JSON of a reply where a schema was asked for, and what is wrong with it.

    A prompt that reads its parts one by one has the data of those that can be used.
    """
    text, _ = find_spoken(turn.text)
    if prompt.schema is None:
        # An answer that ran into its limit is still an answer; an empty one is not.
        return Reading(fault="" if text else turn.fault)
    if prompt.read_part is not None:
        from clew.models.salvage import read_parts

        return read_parts(text, turn.fault, prompt, prompt.read_part)
    validate, fault = _compile_schema(json.dumps(prompt.schema)), turn.fault
    for value in () if fault else chain(json_values(text), repair_reply(text)):
        problem = validate(value)
        if not problem:
            return Reading(value)
        fault = fault or problem
    return Reading(fault=fault or "there is no JSON in it")


def check_schemas(prompts: Sequence[Prompt]) -> None:
    """Raise what replies to prompts would before any is paid for; without prompts, what any would.

    That is MissingExtra for a package, and InputError for a schema that is none.
    """
    schemas = [prompt.schema for prompt in prompts if prompt.schema is not None]
    if schemas or not prompts:
        for package in ("fastjsonschema", "json_repair"):
            check_installed(package, "openai", "a reply that follows a schema")
    for schema in schemas:
        _compile_schema(json.dumps(schema))


@lru_cache(maxsize=64)
def _compile_schema(schema: str) -> Callable[[Any], str]:
    """Return a function from a value to what is wrong with it, empty for nothing."""
    import fastjsonschema

    try:
        validate = fastjsonschema.compile(json.loads(schema), use_default=False)
    except fastjsonschema.JsonSchemaDefinitionException as error:
        raise InputError(f"the JSON schema of a prompt is not valid: {error}") from error

    def problem(value: Any) -> str:  # noqa: ANN401 -- parsed JSON
        try:
            validate(value)
        except fastjsonschema.JsonSchemaValueException as error:
            if error.rule == "additionalProperties":  # its own sentence prints a set, in any order
                return f"{error.name} must have no properties but those of the schema"
            return str(error)
        return ""

    return problem


def json_values(text: str) -> Iterator[Any]:
    """Yield the JSON values in a reply: the whole, what a code fence holds, then from each bracket.

    >>> list(json_values('Sure, here it is: {"a": [1]} Anything else?'))
    [{'a': [1]}]
    """
    fence = _FENCED.search(text)
    for whole in (text.strip(), fence[1].strip() if fence else ""):
        try:
            value, end = _value_at(whole, 0)
        except (ValueError, RecursionError):
            continue
        if end == len(whole):
            yield value
    start = 0
    for _ in range(_STARTS):
        bracket = _BRACKET.search(text, start)
        if bracket is None:
            return
        try:
            value, start = _value_at(text, bracket.start())
        except (ValueError, RecursionError):
            start = bracket.end()
        else:
            yield value


def repair_reply(text: str) -> Iterator[Any]:
    """Yield the value of a reply that is nearly JSON, if commas and quotes are all that is wrong.

    What is cut off, left out or ambiguous is not mended: an item would be lost, or made up.

    >>> list(repair_reply("{'ships': ['Fram', 'Gjøa',],}")), list(repair_reply('["Fram", "Gj'))
    ([{'ships': ['Fram', 'Gjøa']}], [])
    """
    fence = _FENCED.search(text)
    whole = fence[1] if fence else text
    first, end = _BRACKET.search(whole), max(map(whole.rfind, "]}")) + 1
    nearly = whole[first.start() : end] if first else ""
    if not 0 < len(nearly) <= _LONGEST:
        return
    from json_repair import repair_json

    try:
        value, _ = _value_at(repair_json(nearly, ensure_ascii=False), 0)
    except (ValueError, RecursionError):
        return
    plain = json.dumps(value, ensure_ascii=False)
    if all(map(is_one_string, _STRING.findall(plain))) and compare_form(nearly) == compare_form(
        plain
    ):
        yield value


def is_one_string(text: str) -> bool:
    """Say whether a repaired string cannot be two, with what parted them between."""
    return _JOINT.search(text) is None


def compare_form(text: str) -> str:
    """Return a text without what may be mended: commas, white space, kinds of quotes, escapes."""
    bare = _CODED.sub(lambda match: chr(int(match[1], 16)), text)
    return _QUOTES.sub('"', _LOOSE.sub("", bare)).casefold()


def _value_at(text: str, start: int) -> tuple[Any, int]:
    value, end = _DECODER.raw_decode(text, start)
    json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
    return value, end


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number)
