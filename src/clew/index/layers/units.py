"""Extract knowledge units from texts with an LLM: self-contained statements of one fact.

The units of Clue-RAG (Su et al. 2025, arXiv:2507.08445), Algorithm 1.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from clew.models import Prompt
from clew.models.prompts import fill_prompt
from clew.models.prompts.items import ItemList, find_field, read_lists
from clew.models.prompts.packing import number_texts, reply_schema, split_reply
from clew.models.prompts.quoted import quote_lines
from clew.text import tokens
from clew.text.analyze import is_uncased, terms
from clew.text.normalize import collapse

# Completion tokens for each token of a text, an estimate: Qwen2.5-Coder-1.5B gave 0.8 to 1.3 in
# 15 replies to drafts of this prompt, those that ran into their limit aside.
_RATIO = 1.2

_OWN = 0.5  # of the terms of a unit: with fewer it is not of its text
_OWN_PAIRS = 0.25  # where terms are pairs of characters, as in Chinese

_LIST = ItemList(  # what models call it, and the field of its items
    names=("units", "facts", "knowledgeunits", "sentences", "items", "list"),
    fields={"statement": ("unit", "fact", "sentence", "text", "content", "knowledgeunit")},
)

_UNITS = {"type": "array", "items": {"type": "string"}}


def units_prompt(texts: Sequence[str]) -> Prompt:
    """Return the prompt for the units of some texts."""
    return fill_prompt(
        "units",
        schema=reply_schema(len(texts), _UNITS),
        max_tokens=128 + 2 * expected_tokens(texts),
        read_part=_read_part,
        passages=quote_lines(number_texts(texts), none=""),
    )


def _read_part(part: Any) -> tuple[Any, int]:  # noqa: ANN401 -- parsed JSON
    """Return the statements in a part of a reply, or None, and the number of invalid ones."""
    is_lone = isinstance(part, str) or (
        isinstance(part, Mapping) and find_field(part, *next(iter(_LIST.fields.items())))
    )
    read, n_bad = read_lists([part] if is_lone else part, {"statements": _LIST})
    return read and [str(item["statement"]) for item in read["statements"]], n_bad


def expected_tokens(texts: Sequence[str]) -> int:
    """Return the likely number of completion tokens of `units_prompt`."""
    return sum(8 + round(_RATIO * tokens.count(text)) for text in texts)


def read_units(data: Any, texts: Sequence[str]) -> list[tuple[str, ...]]:  # noqa: ANN401
    """Return the units of each text in a reply, in order, empty for a missing text.

    White space is collapsed. Units that are empty, repeated, or have less than half of their terms
    from their text are left out.
    """
    units = []
    for part, text in zip(split_reply(data, len(texts)), texts, strict=True):
        stated = part if isinstance(part, list) else ()
        words = set(terms(text))
        distinct = dict.fromkeys(collapse(unit) for unit in stated if isinstance(unit, str))
        units.append(tuple(unit for unit in distinct if _is_from_text(unit, words)))
    return units


def _is_from_text(unit: str, words: set[str]) -> bool:
    own, least = set(terms(unit)), _OWN_PAIRS if is_uncased(unit) else _OWN
    return bool(own) and len(own & words) >= least * len(own)
