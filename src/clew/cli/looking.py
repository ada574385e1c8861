"""`clew show` and `clew methods`: what there is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click

from clew.cli.options import Opener, index_option, json_option
from clew.cli.plain import aligned, dim, echo_json, heading, one_line, wrapped


@click.command()
@click.argument("name", required=False, metavar="[ID|NAME]")
@click.option("--aliases", is_flag=True, help="List names that may be of one thing.")
@index_option()
@json_option
@click.pass_obj
def show(opener: Opener, name: str | None, folder: Path, *, aliases: bool, as_json: bool) -> None:
    """Show what an index holds, or one document, chunk, unit or entity with its neighbours."""
    with opener(folder) as index:
        description = index.aliases() if aliases else index.show(name)
    if as_json:
        echo_json(description)
        return
    click.echo("\n".join(_described(description)))
    more = (
        0 if name or aliases else description["layers"]["document"] - len(description["documents"])
    )
    if more:
        click.echo(f"  … and {more:,} more")


@click.command()
@click.argument("name", required=False)
@json_option
def methods(name: str | None, *, as_json: bool) -> None:
    """Show the retrieval methods, or one with its parameters and their defaults."""
    from clew import methods as known

    found = [describe_method(each) for each in ([name] if name else known.names())]
    if as_json:
        echo_json(found[0] if name else found)
    elif name:
        click.echo(_one_method(found[0]))
    else:
        click.echo(aligned([(m["name"], m["summary"]) for m in found]))
        click.echo("\nParameters:  clew methods NAME")


def describe_method(name: str) -> dict[str, Any]:
    """Return a method's summary, the layers that it needs, and its parameters."""
    from clew import methods as known

    kind = known.load(name)
    module = inspect.getmodule(kind)
    summary, _, more = (inspect.getdoc(module) or "").partition("\n\n")
    comments, types = _comments(kind), get_type_hints(kind)
    return {
        "name": name,
        "summary": one_line(summary),
        "description": one_line(more),
        "layers": sorted(kind.layers),
        "parameters": [
            {
                "name": field.name,
                "default": field.default,
                "choices": _choices(types[field.name]),
                "description": comments.get(field.name, ""),
            }
            for field in fields(kind)  # type: ignore[arg-type]
        ],
    }


def _choices(kind: object) -> list[str]:
    return list(get_args(kind)) if get_origin(kind) is Literal else []


def _comments(kind: type) -> dict[str, str]:
    """Return the comment behind each field of a dataclass."""
    commented = re.compile(r"^    (\w+): .*?  # (.*)$", re.MULTILINE)
    return dict(commented.findall(inspect.getsource(kind)))


def _one_method(method: Mapping[str, Any]) -> str:
    rows = [
        (each["name"], _written(each["default"]), _meaning(each)) for each in method["parameters"]
    ]
    blocks = [
        heading(method["name"]) + "\n" + wrapped(method["summary"], first="  ", rest="  "),
        wrapped(method["description"], first="  ", rest="  ") if method["description"] else "",
        dim(f"  needs the layers: {', '.join(method['layers']) or 'none'}"),
        f"{heading('Parameters')} and their defaults\n{aligned(rows)}",
    ]
    return "\n\n".join(block for block in blocks if block)


def _meaning(parameter: Mapping[str, Any]) -> str:
    parts = (parameter["description"], " or ".join(parameter["choices"]))
    return "; ".join(part for part in parts if part)


def _described(description: Mapping[str, Any], indent: str = "") -> list[str]:
    """Return plain values as lines: what is single first, then lists and groups."""
    single = {k: v for k, v in description.items() if not isinstance(v, list | Mapping)}
    lines = []
    if single:
        rows = [(_worded(name), _written(value)) for name, value in single.items()]
        lines.append(aligned(rows, indent=indent))
    for name, value in description.items():
        if name not in single and value:
            lines += ["", f"{indent}{heading(_worded(name))}", *_many(value, indent + "  ")]
    return lines


def _many(values: Mapping[str, Any] | list[Any], indent: str) -> list[str]:
    if isinstance(values, Mapping):
        return _described(values, indent)
    lines = []
    for value in values:
        if isinstance(value, Mapping):
            *ids, text = value.values()
            lines.append(indent + dim(" ".join(one_line(str(i)) for i in ids)))
            lines.append(wrapped(str(text), first=f"{indent}  ", rest=f"{indent}  "))
        else:
            lines.append(wrapped(str(value), first=indent, rest=f"{indent}  "))
    return lines


def _worded(name: str) -> str:
    return name.removeprefix("n_").replace("_", " ")


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)
