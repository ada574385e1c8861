"""What an LLM is asked for in a graph: which entities, types of a user's schema, and dates."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Self

from clew.base.types import ENTITY_TYPES
from clew.index.layers.salient import TermSettings
from clew.models.prompts.quoted import Excerpt
from clew.text.normalize import entity_key

_OTHER = ENTITY_TYPES[0]
_REST = {
    "entity": "other: names, dates and key concepts of no other type",
    "relation": "of at most four words of your own",
}

Types = tuple[tuple[str, str], ...]  # names with their definitions


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphForm:
    """What is asked for beyond the default, or the relations of statistical entities alone."""

    entities: Types = ()  # in place of `ENTITY_TYPES`
    relations: Types = ()
    strict: bool = False  # nothing of another type is kept
    full: bool = False  # descriptions say all that a passage says
    dates: bool = False  # of triples, as a `Validity`
    terms: TermSettings | None = None  # that are related; None: the LLM names entities

    @classmethod
    def from_options(
        cls, schema: str, descriptions: str = "short", terms: TermSettings | None = None
    ) -> Self:
        """Return the form for options; a schema is a text of `read_schema`, or empty."""
        given = json.loads(schema or "{}")
        types = {part: tuple(given.get(part, {}).items()) for part in ("entities", "relations")}
        strict, dates = given.get("strict", False), given.get("validity", False)
        return cls(**types, strict=strict, dates=dates, full=descriptions == "full", terms=terms)

    @property
    def digest(self) -> str:
        """Return what tells replies to this form from others, "" for the default."""
        form = {name: value for name, value in asdict(self).items() if value}
        is_default = not form or self.terms is not None
        return "" if is_default else sha256(json.dumps(form).encode()).hexdigest()[:8]

    @property
    def is_closed(self) -> bool:
        """Check whether a text may have nothing that is asked for."""
        return self.strict or self.terms is not None

    @property
    def entity_types(self) -> tuple[str, ...]:
        """Return the allowed types of entities, the one of all others first."""
        own = tuple(name for name, _ in self.entities) or ENTITY_TYPES[1:]
        return own if self.strict else tuple(dict.fromkeys((_OTHER, *own)))

    def find_type(self, name: str) -> str:
        """Return the entity type that an LLM means by a name, "" for one that is not allowed."""
        default = "" if self.strict else _OTHER
        return _by_key(self.entity_types).get(entity_key(name), default)

    def find_relation(self, name: str) -> str:
        """Return a relation as the schema spells it, "" for one that is not allowed."""
        known = _by_key(tuple(each for each, _ in self.relations))
        return known.get(entity_key(name), "" if self.strict and known else name)

    def describe_types(self) -> Iterator[Excerpt]:
        """Yield a line of a prompt for each type."""
        own = self.entities or tuple((name, "") for name in ENTITY_TYPES[1:])
        for kind, types in (("entity", own), ("relation", self.relations)):
            for name, definition in types:
                yield Excerpt(f"- {kind} {name}{': ' * bool(definition)}", definition)
            if not (self.strict and types):
                yield Excerpt(f"- {kind} {_REST[kind]}", "")


@lru_cache(maxsize=16)
def _by_key(names: tuple[str, ...]) -> Mapping[str, str]:
    return {entity_key(name): name for name in names}
