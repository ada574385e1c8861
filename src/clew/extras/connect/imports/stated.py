"""What a graph states, one statement after the other, and how names and numbers of it are read."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, takewhile

from clew.base.types import Described, Triple
from clew.text.keys import MAX_KEY, name_key

_MOST_STRENGTH = 10
_RANGE = re.compile(r":\d+-\d+$")  # of a chunk, behind the id of its document
_CAPITAL = re.compile(r"(?<=[a-z])[A-Z](?=[a-z])")
_CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])")
TOO_LONG = f"of more than {MAX_KEY} characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """One statement: either a triple, or what an entity is."""

    triple: Triple | None = None
    described: Described | None = None
    document_id: str = ""  # of the text that it came from, where the file names one
    line: int


@lru_cache(maxsize=1 << 16)
def explain_refusal(name: str) -> str:
    """Return why a name can be no entity's, as the end of a sentence; nothing if it can be."""
    if len(name) <= MAX_KEY and name.isascii():  # so its key is no longer
        return ""
    return TOO_LONG if len(name_key(name)) > MAX_KEY else ""


def split_words(name: str) -> str:
    """Return a name like birthPlace as words."""
    return _CAPITALS.sub(" ", _CAPITAL.sub(lambda capital: f" {capital[0].lower()}", name))


def choose_unused_name(names: Sequence[str], taken: set[str], numbers: Counter[str]) -> str:
    """Return the first of some names whose key is free, else the first with a number, and take it.

    It is empty where all that are free are too long. `numbers` has the last one that was tried for
    each name.
    """
    numbered = takewhile(lambda text: not explain_refusal(text), _number_name(names[0], numbers))
    for text in chain(names, numbered):
        key = name_key(text)
        if key not in taken and not explain_refusal(text):
            taken.add(key)
            return text
    return ""


def _number_name(name: str, numbers: Counter[str]) -> Iterator[str]:
    while True:
        numbers[name] += 1
        yield f"{name} ({numbers[name] + 1})"


def to_strength(weight: object) -> int:
    """Return a weight of any scale as a whole number from 1 to 10."""
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight != weight:  # noqa: PLR0124
        return 1
    return round(min(max(weight, 1), _MOST_STRENGTH))


def name_documents(properties: Mapping[str, object]) -> Iterator[str]:
    """Yield the documents that a relationship or triple names, itself or by their chunks."""
    for key in ("document", "documents", "chunks"):
        value = properties.get(key) or ""
        for each in value if isinstance(value, list) else str(value).splitlines():
            yield _RANGE.sub("", str(each))
