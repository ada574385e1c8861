"""What a file of a knowledge graph states, and which names it may use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from clew.text.keys import MAX_KEY, name_key
from clew.types import Described, Triple

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
