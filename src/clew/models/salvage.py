"""Keep what can be used of a reply that holds a part for each of several numbered texts.

Every part is read by itself, from JSON as it stands and from JSON that had to be repaired, and the
reading with the most items counts. What a repair added to the words of the model is never kept.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from clew.models import Prompt, ReadPart
from clew.models.replies import LONGEST, ReadReply, is_open, json_values, repair_reply
from clew.runtime.lazy import compile_re

_KEY = compile_re(r"[\W_]*(?:[a-z]+[\W_]*)?(\d+)[\W_]*", re.IGNORECASE)  # "1", "[1]", "passage_1"
_NUMBERS = ("passage", "number", "id", "index", "key", "passage_number", "passage_id", "text")
_DEEPEST = 3  # wrappers around the parts


def read_parts(text: str, fault: str, prompt: Prompt, read_part: ReadPart) -> ReadReply:
    """Return the parts of a reply; `fault`: why it is not whole.

    The last part of a reply that was cut off is kept, and asked for again like those that are
    missing.
    """
    keys = list((prompt.schema or {}).get("properties", ()))
    exact = list(json_values(text))
    pairs = [pair for value in exact for pair in _split(value, keys, read_part)]
    own = _choose({}, (*pairs, *_find_named(exact, keys)), read_part)
    is_cut = bool(fault) or is_open(text)
    mended = [_split(value, keys, read_part) for value in repair_reply(text, is_cut=is_cut)]
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


_Best = dict[str, tuple[int, Any, int]]  # of each key: items that can be used, part, others


def _choose(before: _Best, pairs: Iterable[tuple[str, Any]], read_part: ReadPart) -> _Best:
    """Return for each key the part with the most items, the first of several."""
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
