"""Keep what can be used of a reply that holds a part for each of several numbered texts.

Every part is read by itself, from JSON as it stands and from JSON that had to be repaired, and the
reading with the most items counts. What a repair added to the words of the model is never kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from clew.models import Prompt, ReadPart
from clew.models.replies import Reading, compare_form, is_one_string, json_values
from clew.runtime.lazy import compile_re

_LONGEST = 10_000  # characters that are repaired; of hostile ones these take seconds
_KEY = compile_re(r"[\W_]*(?:[a-z]+[\W_]*)?(\d+)[\W_]*", re.IGNORECASE)  # "1", "[1]", "passage_1"
_NUMBERS = ("passage", "number", "id", "index", "key", "passage_number", "passage_id", "text")
_ESCAPE = compile_re(r'\\([^"\\/bfnrtu])')  # of Markdown, which JSON does not have
_WHOLE = compile_re(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_RAGGED = compile_re(r"[\w.+-]+\Z")  # a number or a name at the very end
_DEEPEST = 3  # wrappers around the parts


def read_parts(text: str, fault: str, prompt: Prompt, read_part: ReadPart) -> Reading:
    """Return the parts of a reply; `fault`: why it is not whole.

    The last part of a reply that was cut off is kept, and asked for again like those that are
    missing.
    """
    keys = list((prompt.schema or {}).get("properties", ()))
    exact = list(json_values(text))
    pairs = [pair for value in exact for pair in _split(value, keys, read_part)]
    own = _choose({}, (*pairs, *_find_named(exact, keys)), read_part)
    is_open = bool(fault) or _is_open(text)
    mended = [_split(value, keys, read_part) for value in _repair(text, is_cut=is_open)]
    best = _choose(own, chain.from_iterable(mended), read_part)
    if not best:
        return Reading(fault=fault or "there is no JSON in it that can be used", lacking=(*keys,))
    is_cut = is_open or (len(text) > _LONGEST and best != own)
    last = max(best, key=keys.index)
    lacking = tuple(key for key in keys if key not in best or (is_cut and key == last))
    named = ", ".join(f'"{key}"' for key in lacking)
    why = f"nothing usable stands under {named}, or not all; give these alone" if lacking else ""
    data = {key: best[key][1] for key in keys if key in best}
    return Reading(data, why, lacking, sum(n for _, _, n in best.values()))


_Best = dict[str, tuple[int, Any, int]]  # of each key: items that can be used, part, others


def _choose(before: _Best, pairs: Iterable[tuple[str, Any]], read_part: ReadPart) -> _Best:
    """Return for each key the part with the most items, the first of several."""
    best = dict(before)
    for key, part in pairs:
        read, n_dropped = read_part(part)
        if read is not None and (key not in best or _count_items(read) > best[key][0]):
            best[key] = _count_items(read), read, n_dropped
    return best


def merge_parts(first: Any, second: Any) -> Any:  # noqa: ANN401 -- parsed JSON
    """Return two parts of one text as one: the items of the second behind those of the first."""
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        names = dict.fromkeys((*first, *second))
        return {name: merge_parts(first.get(name), second.get(name)) for name in names}
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *(item for item in second if item not in first)]
    return second if first is None else first


def _split(
    value: Any,  # noqa: ANN401 -- parsed JSON
    keys: Sequence[str],
    read_part: ReadPart,
    depth: int = 0,
) -> Iterator[tuple[str, Any]]:
    """Yield what a value holds for each key: numbered, listed in order, or bare for a lone key."""
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
    """Yield the parts whose key has a number, or which have their number within."""
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
    """Say whether a value lists one part for each key."""
    if not isinstance(value, list) or len(value) != len(keys):
        return False
    nested = [each for each in value if isinstance(each, Mapping | list)]
    return any(read_part(each)[0] is not None for each in nested)


def _find_own(value: Any, read_part: ReadPart) -> Any:  # noqa: ANN401 -- parsed JSON
    """Return the value, or a list of it alone, if that is the part of a lone text."""
    return next((own for own in (value, [value]) if read_part(own)[0] is not None), None)


def _count_items(part: Any) -> int:  # noqa: ANN401 -- parsed JSON
    lists = part.values() if isinstance(part, Mapping) else [part]
    return sum(len(each) for each in lists if isinstance(each, list))


def _repair(text: str, *, is_cut: bool) -> Iterator[Any]:
    """Yield what a reply says that is not JSON, without strings that do not stand in it.

    Of one that was cut off the last string, which is not whole, is left out.
    """
    begins = re.search(r"[\[{]", text)
    if begins is None:
        return
    nearly = _ESCAPE.sub(r"\1", text[begins.start() :])
    is_cut = is_cut or len(nearly) > _LONGEST
    nearly = nearly[:_LONGEST]
    if is_cut:
        nearly = _RAGGED.sub("", nearly[: _find_open_string(nearly)])
    from json_repair import repair_json

    try:
        value = repair_json(nearly, return_objects=True)
    except (RecursionError, ValueError):
        return
    yield _drop_added(value, compare_form(nearly))


def _find_open_string(text: str) -> int:
    """Return where a string begins that does not end, else the length of the text."""
    end = 0
    for match in _WHOLE.finditer(text):
        end = match.end()
    quote = text.find('"', end)
    return len(text) if quote < 0 else quote


def _is_open(text: str) -> bool:
    """Say whether brackets are open at the end of a text."""
    bare = _WHOLE.sub("", text)
    bare = bare[: _find_open_string(bare)]
    return sum(map(bare.count, "[{")) > sum(map(bare.count, "]}"))


def _drop_added(value: Any, said: str) -> Any:  # noqa: ANN401 -- parsed JSON
    """Return a repaired value with None for each string that is not all in what was `said`."""
    if isinstance(value, Mapping):
        return {str(key): _drop_added(each, said) for key, each in value.items()}
    if isinstance(value, list):
        return [_drop_added(each, said) for each in value]
    if isinstance(value, str):
        is_even = all(value.count(begin) == value.count(end) for begin, end in ("[]", "{}"))
        return value if is_even and is_one_string(value) and compare_form(value) in said else None
    return value
