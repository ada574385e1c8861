"""Parse and validate the JSON in a reply, and write repair requests.

Of a reply that holds a part for each of several numbered texts every part is read by itself, from
JSON as it stands and from JSON that had to be repaired, and the reading with the most items counts.
What a repair added to the words of the model is never kept.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from clew.base.runtime.lazy import check_installed, compile_re
from clew.errors import InputError
from clew.models import Prompt, ReadPart, Turn
from clew.models.thoughts import strip_thoughts

_PLAIN = "Reply with one JSON value and nothing else. It must satisfy this JSON schema:\n"
_REPAIR = "That reply cannot be used: {fault}. Reply again with nothing but corrected JSON."

LONGEST = 10_000  # characters of a reply that is repaired; of hostile ones these take seconds
_STARTS = 1000  # brackets tried in one reply, so that a hostile one costs little
_BRACKET = compile_re(r"[\[{]")
_CODED = compile_re(r"\\u([0-9a-f]{4})", re.IGNORECASE)
_QUOTES = compile_re(r"['“”]")
_ESCAPE = compile_re(r'\\([^"\\/bfnrtu])')  # of Markdown, which JSON does not have
_FEED = compile_re(r"(?<!\\)((?:\\\\)*)\\f")  # which json_repair leaves as it is
_WHOLE = compile_re(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_RAGGED = compile_re(r"[\w.+-]+\Z")  # a number or a name at the very end
# As if a string ended or began, or half a surrogate pair, which is no text.
_JOINT = compile_re(r"""["'“”]\s*[,:\]}]|[\[{,:]\s*\\?["'“”]|[\ud800-\udfff]""")
_LOOSE = compile_re(r"\\[bfnrt]|[\s,\\]")
_KEY = compile_re(r"[\W_]*(?:[a-z]+[\W_]*)?(\d+)[\W_]*", re.IGNORECASE)  # "1", "[1]", "passage_1"
_NUMBERS = ("passage", "number", "id", "index", "key", "passage_number", "passage_id", "text")
_DEEPEST = 3  # wrappers around the parts

_Best = dict[str, tuple[int, Any, int]]  # of each key: items that can be used, part, others


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


class ReadReply(NamedTuple):
    """The parsed content of a reply; even with a `fault`, some `data` may be usable."""

    data: Any = None  # follows the schema, but for the properties that are `lacking`
    fault: str = ""
    lacking: tuple[str, ...] = ()  # what to ask for again
    dropped: int = 0  # items that cannot be used


def read(turn: Turn, prompt: Prompt) -> ReadReply:
    """Return the JSON of a reply, if a schema was given, and its fault.

    A prompt that reads its parts one by one has the data of those that can be used.
    """
    text, _ = strip_thoughts(turn.text)
    if prompt.schema is None:
        # An answer that ran into its limit is still an answer; an empty one is not.
        return ReadReply(fault="" if text else turn.fault)
    if prompt.read_part is not None:
        return read_parts(text, turn.fault, prompt, prompt.read_part)
    validate, fault = _compile_schema(json.dumps(prompt.schema)), turn.fault
    repaired = () if is_open(text) else repair_reply(text)
    for value in () if fault else chain(json_values(text), repaired):
        problem = validate(value)
        if not problem:
            return ReadReply(value)
        fault = fault or problem
    return ReadReply(fault=fault or "there is no JSON in it")


def check_schemas(prompts: Sequence[Prompt]) -> None:
    """Raise errors that any reply to the prompts would cause, before paying.

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
    """Return a validator from a value to its fault, or ""."""
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
    """Yield the outermost JSON objects and arrays in a reply.

    >>> list(json_values('Sure, here it is: {"a": [1]} Anything else?'))
    [{'a': [1]}]
    """
    start = 0
    for _ in range(_STARTS):
        bracket = _BRACKET.search(text, start)
        if bracket is None:
            return
        try:
            value, start = _DECODER.raw_decode(text, bracket.start())
            json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is no text
        except (ValueError, RecursionError):
            start = bracket.end()
        else:
            yield value


def repair_reply(text: str, *, is_cut: bool = False) -> Iterator[Any]:
    """Yield repaired JSON of a reply, with None for strings that the repair added.

    Of one that was cut off, or is too long to repair, what stands behind the last whole string is
    left out.

    >>> list(repair_reply("{'ships': ['Fram', 'Gjøa',],}"))
    [{'ships': ['Fram', 'Gjøa']}]
    """
    begins = _BRACKET.search(text)
    if begins is None:
        return
    nearly = _FEED.sub(r"\1\\u000c", _ESCAPE.sub(r"\1", text[begins.start() :]))
    if is_cut or len(nearly) > LONGEST:
        nearly = nearly[:LONGEST]
        nearly = _RAGGED.sub("", nearly[: _find_open_string(nearly)])
    from json_repair import repair_json

    try:
        value = repair_json(nearly, return_objects=True)
    except (RecursionError, ValueError):
        return
    yield _drop_added(value, _compare_form(nearly))


def is_open(text: str) -> bool:
    """Check whether a text ends inside brackets or a string."""
    bare = _WHOLE.sub("", text)
    end = _find_open_string(bare)
    return end < len(bare) or sum(map(bare.count, "[{")) > sum(map(bare.count, "]}"))


def _find_open_string(text: str) -> int:
    """Return the start of an unterminated string, else the length of the text."""
    end = max((match.end() for match in _WHOLE.finditer(text)), default=0)
    quote = text.find('"', end)
    return len(text) if quote < 0 else quote


def _drop_added(value: Any, said: str) -> Any:  # noqa: ANN401 -- parsed JSON
    """Return a repaired value with None for strings not in `said`, or ambiguous ones.

    Between two strings that became one stands what parted them, and a code behind a backslash is
    repaired to what was not said.
    """
    if isinstance(value, Mapping):
        return {str(key): _drop_added(each, said) for key, each in value.items()}
    if isinstance(value, list):
        return [_drop_added(each, said) for each in value]
    if isinstance(value, str):
        is_even = all(value.count(begin) == value.count(end) for begin, end in ("[]", "{}"))
        is_one = is_even and not _JOINT.search(value) and not _CODED.search(value)
        return value if is_one and f'"{_compare_form(value)}"' in said else None
    return value


def _compare_form(text: str) -> str:
    """Normalize commas, spaces, quotes and escapes, which repairing broken JSON may change."""
    bare = _CODED.sub(lambda match: chr(int(match[1], 16)), text)
    return _QUOTES.sub('"', _LOOSE.sub("", bare)).casefold()


def merge_parts(first: Any, second: Any) -> Any:  # noqa: ANN401 -- parsed JSON
    """Concatenate the lists in two parts of a reply about one text."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        names = dict.fromkeys((*first, *second))
        return {name: merge_parts(first.get(name), second.get(name)) for name in names}
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *(item for item in second if item not in first)]
    return second if first is None else first


def _join_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, merging the values of repeated names."""
    value: dict[str, Any] = {}
    for name, each in pairs:
        is_more = name in value and isinstance(each, Mapping | list)
        value[name] = merge_parts(value[name], each) if is_more else each
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_number, object_pairs_hook=_join_pairs)


def read_parts(text: str, fault: str, prompt: Prompt, read_part: ReadPart) -> ReadReply:
    """Return the parts of a reply; `fault` says why it is incomplete.

    The last part of a reply that was cut off is kept, and asked for again like those that are
    missing.
    """
    keys = list((prompt.schema or {}).get("properties", ()))
    exact = list(json_values(text))
    pairs = [pair for value in exact for pair in _split(value, keys, read_part)]
    own = _choose({}, (*pairs, *_find_named(exact, keys)), read_part)
    is_cut = bool(fault) or is_open(text)
    repaired = () if _is_whole(text, exact) else repair_reply(text, is_cut=is_cut)
    mended = [_split(value, keys, read_part) for value in repaired]
    best = _choose(own, chain.from_iterable(mended), read_part)
    if not best:
        return ReadReply(fault=fault or "there is no JSON in it that can be used", lacking=(*keys,))
    is_cut = is_cut or (len(text) > LONGEST and best != own)
    last = max(best, key=keys.index)
    lacking = tuple(key for key in keys if key not in best or (is_cut and key == last))
    named = ", ".join(f'"{key}"' for key in lacking)
    why = f"{named} is missing, cut off or unreadable: give that alone" if lacking else ""
    data = {key: best[key][1] for key in keys if key in best}
    return ReadReply(data, why, lacking, sum(n for _, _, n in best.values()))


def _is_whole(text: str, values: Sequence[Any]) -> bool:
    """Check whether a text is one JSON value and nothing else, so that nothing can be repaired."""
    try:
        return [_DECODER.decode(text)] == values
    except (ValueError, RecursionError):
        return False


def _choose(before: _Best, pairs: Iterable[tuple[str, Any]], read_part: ReadPart) -> _Best:
    """Return for each key the part with the most items, the first on ties."""
    best = dict(before)
    for key, part in pairs:
        read, n_dropped = read_part(part)
        if read is not None and (key not in best or _count_items(read) > best[key][0]):
            best[key] = _count_items(read), read, n_dropped
    return best


def _split(
    value: Any,  # noqa: ANN401 -- parsed JSON
    keys: Sequence[str],
    read_part: ReadPart,
    depth: int = 0,
) -> Iterator[tuple[str, Any]]:
    """Yield a value's parts by key: numbered, listed in order, or bare for a single key."""
    if depth > _DEEPEST or not isinstance(value, Mapping | list):
        return
    named = list(_find_named(value, keys))
    if named:
        yield from named
    elif _is_in_order(value, keys, read_part):
        yield from zip(keys, value, strict=True)
    elif len(keys) == 1 and (own := _find_own(value, read_part)) is not None:
        yield keys[0], own
    else:
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _split(inner, keys, read_part, depth + 1)


def _find_named(
    value: Mapping[Any, Any] | list[Any], keys: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    """Yield the parts whose key or content has a number."""
    pairs: Iterable[tuple[Any, Any]]
    if isinstance(value, Mapping):
        pairs = value.items()
    else:
        pairs = (
            (next((each[name] for name in _NUMBERS if name in each), ""), each)
            for each in value
            if isinstance(each, Mapping)
        )
    for key, part in pairs:
        match = _KEY.fullmatch(str(key))
        if match and match[1] in keys:
            yield match[1], part


def _is_in_order(value: Any, keys: Sequence[str], read_part: ReadPart) -> bool:  # noqa: ANN401 -- parsed JSON
    """Check whether a value lists one part for each key."""
    if not isinstance(value, list) or len(value) != len(keys):
        return False
    nested = [each for each in value if isinstance(each, Mapping | list)]
    return any(read_part(each)[0] is not None for each in nested)


def _find_own(value: Any, read_part: ReadPart) -> Any:  # noqa: ANN401 -- parsed JSON
    """Return the value, or a list of only it, if it is the part of a single text."""
    return next((own for own in (value, [value]) if read_part(own)[0] is not None), None)


def _count_items(part: Any) -> int:  # noqa: ANN401 -- parsed JSON
    lists = part.values() if isinstance(part, Mapping) else [part]
    return sum(len(each) for each in lists if isinstance(each, list))
