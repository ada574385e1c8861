"""Read a user's schema: the types of entities and relations that an LLM is asked for."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.base.runtime.toml import read_toml
from clew.errors import InputError, suggest
from clew.index.vocabulary import check_type

_PARTS = {"entities": dict, "relations": dict, "strict": bool, "validity": bool}
_ABOUT = {"description": str, "examples": list}
_WORDS = {dict: "a table", bool: "true or false", str: "a text", list: "a list"}
_MOST_TYPES, _LONGEST = 100, 500  # types of a schema, characters of a definition


def read_schema(given: str | Path | Mapping[str, Any]) -> str:
    """Return a schema as JSON: the table `schema` of a TOML file, or a mapping like it.

    One that asks for nothing is empty. The order of keys does not matter. Raises InputError with
    the name of the key that is wrong.
    """
    place = "schema" if isinstance(given, Mapping) else f"{given}: schema"
    table = given if isinstance(given, Mapping) else read_toml(Path(given)).get("schema")
    schema = _check_table(table, place, _PARTS)
    for part in ("entities", "relations"):
        types = (_read_type(str(n), about, f"{place}.{part}") for n, about in schema[part].items())
        schema[part] = dict(types)
    if len(schema["entities"]) + len(schema["relations"]) > _MOST_TYPES:
        raise InputError(f"{place} must have {_MOST_TYPES} entities and relations at most")
    return json.dumps(schema, ensure_ascii=False, sort_keys=True) if any(schema.values()) else ""


def _check_table(value: object, place: str, kinds: Mapping[str, type]) -> dict[str, Any]:
    """Return the values of a table, empty where it has none. Raises InputError if it is wrong."""
    if not isinstance(value, Mapping):
        raise InputError(f"{place} must be a table, not {value!r:.60}")
    for name, each in value.items():
        if name not in kinds:
            raise InputError(f"{place} has no key {name!r:.60}{suggest(name, kinds)}")
        if not isinstance(each, kinds[name]):
            raise InputError(f"{place}.{name} must be {_WORDS[kinds[name]]}, not {each!r:.60}")
    return {name: value.get(name, kind()) for name, kind in kinds.items()}


def _read_type(name: str, about: object, place: str) -> tuple[str, str]:
    """Return a type's name and definition: a text, or a table with a description and examples."""
    if isinstance(about, str):
        about = {"description": about}
    description, examples = _check_table(about, f"{place}.{name}", _ABOUT).values()
    such = f"such as {', '.join(map(str, examples))}" if examples else ""
    definition = " ".join("; ".join(filter(None, [description, such])).split())
    if len(definition) > _LONGEST:
        raise InputError(f"{place}.{name} is longer than {_LONGEST} characters")
    try:
        return check_type(name.replace("_", " ")), definition
    except InputError as error:
        raise InputError(f"{place}.{name}: {error}") from error
