"""Extract triples among the statistical entities of texts by an LLM, as in AGRAG's paper.

Wang et al. (2025), "AGRAG", arXiv:2511.05549, Eq. 4: entities are counted (Eqs. 2 and 3), and the
LLM is asked for nothing but the relations between those of one text. So it can invent no entity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from clew.base.types import Described, Extraction, Scalar
from clew.index.layers.entities import is_key
from clew.index.layers.graph_extraction import RELATIONS, collect_triples, read_rows, strip_article
from clew.index.layers.salient import LONGEST, THRESHOLD, salient_rates, spell_rates
from clew.models import Prompt
from clew.models.prompts import fill_prompt
from clew.models.prompts.items import read_lists
from clew.models.prompts.packing import (
    closed_schema,
    number_texts,
    reply_schema,
    split_reply,
    to_line,
)
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.text import tokens
from clew.text.normalize import entity_key

LEAST = 2  # terms of a text that an LLM is asked about
_NAMES = ("subject", "predicate", "object")
_LIST = RELATIONS._replace(fields={name: RELATIONS.fields[name] for name in _NAMES})
_RELATION = {name: {"type": "string"} for name in _NAMES}
_RELATIONS = closed_schema({"relations": {"type": "array", "items": closed_schema(_RELATION)}})
_RATIO = 1.0  # completion tokens for each token of a text: a guess, no model was measured


@dataclass(frozen=True, slots=True)
class TermSettings:
    """The settings that decide which n-grams are statistical entities; see `salient_rates`."""

    threshold: float = THRESHOLD  # that its rate exceeds, from 0 to below 1 [τ]
    longest: int = LONGEST  # words [b]

    def to_recipe(self) -> dict[str, Scalar]:
        """Return the settings as stored in an index's recipe."""
        return {"entity_threshold": float(self.threshold), "entity_words": self.longest}

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, Any]) -> Self | None:
        """Return the settings in a recipe, or None if no LLM was given terms."""
        if "entity_threshold" not in recipe:
            return None
        return cls(recipe["entity_threshold"], recipe["entity_words"])


def statistical_terms(texts: Sequence[str], terms: TermSettings) -> list[list[str]]:
    """Return the statistical entities of each text in its spelling and order.

    How rare an n-gram is depends on all `texts`. Names of one key are one.
    """
    rates, ngrams = salient_rates(texts, longest=terms.longest, threshold=terms.threshold)
    spellings = []
    for spelled in spell_rates(rates, ngrams, texts):
        names: dict[str, str] = {}
        for name in spelled:
            if is_key(entity_key(name)):
                names.setdefault(entity_key(name), name)
        spellings.append(list(names.values()))
    return spellings


def relations_prompt(texts: Sequence[str], listed: Sequence[Sequence[str]]) -> Prompt:
    """Return the prompt for relations among the `listed` terms of each text."""
    passages = []
    for passage, terms in zip(number_texts(texts), listed, strict=True):
        passages += [passage, Excerpt("Terms: ", "; ".join(map(to_line, terms)))]
    return fill_prompt(
        "relations",
        schema=reply_schema(len(texts), _RELATIONS),
        max_tokens=256 + 2 * expected_tokens(texts),
        read_part=partial(read_lists, lists={"relations": _LIST}),
        passages=quote_lines(passages, none=""),
    )


def expected_tokens(texts: Sequence[str]) -> int:
    """Return the likely number of completion tokens of `relations_prompt`."""
    return sum(16 + round(_RATIO * tokens.count(text)) for text in texts)


def read_relations(
    data: Any,  # noqa: ANN401 -- parsed JSON
    listed: Sequence[Sequence[str]],
) -> list[Extraction | None]:
    """Parse a reply to the graph of each text: its `listed` terms and their triples.

    Both ends of a triple are listed, whatever their case and punctuation, and get the spelling of
    the list. A text may have no relation; None where the reply has no list for it, or one of which
    nothing can be taken.
    """
    extractions: list[Extraction | None] = []
    for part, terms in zip(split_reply(data, len(listed)), listed, strict=True):
        listed_relations = part.get("relations") if isinstance(part, Mapping) else None
        if not isinstance(listed_relations, list):
            extractions.append(None)
            continue
        names = {entity_key(term): term for term in terms}
        resolve = partial(_resolve_name, names=names)
        triples = collect_triples(read_rows(part, "relations", _NAMES), resolve)
        entities = tuple(Described(name=term) for term in terms)
        some = triples or not listed_relations
        extractions.append(Extraction(entities=entities, triples=triples) if some else None)
    return extractions


def _resolve_name(name: str, names: Mapping[str, str]) -> str:
    """Return the listed name with the same key as `name`, or ""."""
    return names.get(entity_key(name)) or names.get(entity_key(strip_article(name)), "")
