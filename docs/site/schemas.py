"""JSON Schemas of `clew.toml` and of what `--json` prints: `make docs` writes them to site/schemas.

Those of outputs are of the types that the commands print. A later version may add fields.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import click
from pydantic import Field, TypeAdapter

from clew.api import adding
from clew.base.reports import Changes, Exported, Plan, Theme
from clew.base.types import Answer, Evidence, VocabularyEntry
from clew.cli import main
from clew.cli.config import PRICES, SCHEMA, list_names
from clew.extras.wire.about import MethodView
from clew.index.adding import AddReport
from clew.index.extract import ExtractionReport
from clew.index.graph import GraphImport
from clew.index.store.backup import Backup
from clew.index.store.check import Damage

Schema = dict[str, Any]
# That module imports these for type checkers only.
adding.AddReport, adding.ExtractionReport = AddReport, ExtractionReport

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass
class _Index:
    index: str


@dataclass
class _Pair:
    name: str
    into: str


@dataclass
class _Merged(_Index):
    merged: list[_Pair]


@dataclass
class _Unmerged(_Index):
    unmerged: str


@dataclass
class _Edited:
    entity: str
    entry: VocabularyEntry


@dataclass
class _Removed(_Index):
    removed: list[str]
    matched: list[str]


@dataclass
class _Compacted(_Index):
    size_bytes_before: int
    size_bytes: int


@dataclass
class _Split(_Index):
    shards: list[str]


@dataclass
class _Checked(_Index):
    damages: list[Damage]


@dataclass
class _DocumentRow:
    id: str
    characters: int
    title: str
    source: str
    metadata: dict[str, str | int | float | bool | list[str]]
    partly: list[str]


@dataclass
class _Documents(_Index):
    documents: list[_DocumentRow]


@dataclass
class _Value:
    command: str
    option: str
    value: str | int | float | bool | list[Any] | None
    origin: Annotated[str, Field(serialization_alias="from")]


@dataclass
class _Config:
    files: list[str]
    values: list[_Value]


@dataclass
class _Shown:
    folder: str
    generation: int
    size_bytes: int
    layers: dict[str, int]
    extraction: dict[str, dict[str, Any]]
    links: dict[str, int]
    wasted: float
    recipe: dict[str, Any]
    cost: str | dict[str, Any]
    documents: list[str]


# By command; an option that changes what is printed stands behind it. "index" is put before the
# fields of a type where the command prints it there.
OUTPUTS: dict[str, Any] = {
    "index": (_Index, adding.Added),
    "ask": Answer,
    "search": Evidence,
    "hop": Evidence,
    "plan": Plan,
    "themes": list[Theme],
    "changes": Changes,
    "show": _Shown,
    "list": _Documents,
    "export": Exported,
    "methods": list[MethodView],
    "remove": _Removed,
    "compact": _Compacted,
    "check": _Checked,
    "backup": Backup,
    "restore": Backup,
    "split": _Split,
    "import": (_Index, GraphImport),
    "import-triples": (_Index, ExtractionReport),
    "merge": _Merged,
    "unmerge": _Unmerged,
    "edit": _Edited,
    "config": _Config,
}


def describe_output(command: str) -> Schema:
    """Return the schema of what a command prints with --json."""
    kind = OUTPUTS[command]
    if isinstance(kind, tuple):
        first, schema = map(_describe_type, kind)
        schema["properties"] = first["properties"] | schema["properties"]
        schema["required"] = [*schema["properties"]]
    else:
        schema = _describe_type(kind)
    return {"$schema": DIALECT, **schema, "title": f"clew {command} --json"}


def _describe_type(kind: Any) -> Schema:  # noqa: ANN401 -- any type
    schema = TypeAdapter(kind).json_schema(mode="serialization")
    for each in (schema, *schema.get("$defs", {}).values()):
        if "properties" in each:  # every field is printed, one with its default too
            each["required"] = [*each["properties"]]
    return schema


def describe_settings(program: click.Group = main) -> Schema:
    """Return the schema of `clew.toml`: options of all commands, and a table for each command."""
    tables, shared = {}, {}
    for name, command in program.commands.items():
        options = {
            written: _describe_option(param)
            for each, param in list_names(command).items()
            for written in {each, each.replace("_", "-")}
        }
        about = (command.help or "").partition("\n\n")[0].replace("\n", " ")
        tables[name] = _describe_table(options) | {"description": about}
        shared = options | shared
    price = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
    tables[PRICES] = {
        "type": "object",
        "description": "Dollars per million tokens, of prompts and of completions, by model.",
        "additionalProperties": price,
    }
    about = {"description": {"type": "string"}, "examples": {"type": "array"}}
    definition = {"anyOf": [{"type": "string"}, _describe_table(about)]}
    types = {"type": "object", "additionalProperties": definition}
    flags = {name: {"type": "boolean"} for name in ("strict", "validity")}
    tables[SCHEMA] = _describe_table({"entities": types, "relations": types, **flags}) | {
        "description": "What an LLM is asked for: types of entities and relations, with definitions"
    }
    # A name may be an option of all commands and a command: `index` is both.
    properties = {
        name: {"anyOf": [tables[name], shared[name]]} if name in tables and name in shared else each
        for name, each in (shared | tables).items()
    }
    return {"$schema": DIALECT, "title": "clew.toml", **_describe_table(properties)}


def _describe_table(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": dict(sorted(properties.items())),
        "additionalProperties": False,
    }


def _describe_option(param: click.Option) -> Schema:
    kind = param.type
    one: Schema = {"type": "string"}
    if param.is_flag:
        one = {"type": "boolean"}
    elif isinstance(kind, click.Choice):
        one = {"enum": [*kind.choices]}
    elif isinstance(kind, click.types.IntParamType):
        one = {"type": "integer"}
    elif isinstance(kind, click.types.FloatParamType):
        one = {"type": "number"}
    if isinstance(kind, click.IntRange | click.FloatRange):
        bounds = {"minimum": (kind.min, kind.min_open), "maximum": (kind.max, kind.max_open)}
        for name, (bound, is_open) in bounds.items():
            if bound is not None:
                one[f"exclusive{name.capitalize()}" if is_open else name] = bound
    if param.multiple:
        one = {"type": "array", "items": one}
    return {**one, "description": param.help or ""}


def list_schemas() -> dict[str, Schema]:
    """Return all schemas, by the names of their files."""
    outputs = {f"{command}.json": describe_output(command) for command in OUTPUTS}
    return {"clew.toml.json": describe_settings(), **outputs}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file, schema in list_schemas().items():
        (folder / file).write_text(f"{json.dumps(schema, indent=1)}\n", encoding="utf-8")
