"""Options that several commands share, and what becomes of them."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from clew.errors import InputError

if TYPE_CHECKING:
    from clew.api import Index
    from clew.index import Settings
    from clew.specs import Specs
    from clew.types import Scalar

Command = Callable[..., None]
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

DEFAULT_INDEX = "my.clew"
INDEX_VARIABLE, LLM_VARIABLE = "CLEW_INDEX", "CLEW_LLM"


class Opener(Protocol):
    """Opens indexes; the context object of every command, so that a test can put its own."""

    def __call__(
        self, folder: Path, *, specs: Specs | None = None, settings: Settings | None = None
    ) -> Index: ...


def open_index(
    folder: Path, *, specs: Specs | None = None, settings: Settings | None = None
) -> Index:
    """Return the index in `folder` with the models that `specs` name."""
    from clew import api

    return api.open_index(folder, specs=specs, settings=settings)


def index_option(name: str = "--index", purpose: str = "Folder of the index.") -> Decorator:
    """Return the option that names the folder of the index."""
    return click.option(
        name,
        "folder",
        type=click.Path(path_type=Path),
        default=DEFAULT_INDEX,
        show_default=True,
        envvar=INDEX_VARIABLE,
        show_envvar=True,
        metavar="FOLDER",
        help=purpose,
    )


llm_option = click.option(
    "--llm",
    metavar="SPEC",
    envvar=LLM_VARIABLE,
    show_envvar=True,
    help="LLM, as openai:MODEL or openai:MODEL@URL; its key is read from OPENAI_API_KEY. "
    "Without one, sentences are quoted.",
)
reranker_option = click.option(
    "--reranker",
    metavar="SPEC",
    help="maxsim (default), cosine, cross-encoder:NAME or endpoint:MODEL@URL.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")

_QUERY_OPTIONS = (
    index_option(),
    click.option(
        "--method", default="clue", show_default=True, help="Retrieval method: 'clew methods'."
    ),
    click.option(
        "--chunks",
        type=click.IntRange(min=1),
        metavar="N",
        help="Chunks to find. [default: the method's]",
    ),
    click.option(
        "--param",
        "given",
        multiple=True,
        metavar="NAME=VALUE",
        help="Parameter of the method, such as depth=2; may be repeated.",
    ),
    llm_option,
    reranker_option,
    json_option,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """How a question is to be searched for, as the shared options say it."""

    folder: Path
    method: str
    parameters: Mapping[str, Scalar]
    specs: Specs


def query_options(command: Command) -> Command:
    """Give a command the options of a question, collected in one argument `query`."""

    @wraps(command)
    def collected(
        *args: object,
        folder: Path,
        method: str,
        chunks: int | None,
        given: Sequence[str],
        llm: str | None,
        reranker: str | None,
        **others: object,
    ) -> None:
        from clew.specs import Specs

        parameters = method_parameters(method, given)
        if chunks is not None:
            parameters["chunks"] = chunks
        specs = Specs(llm=llm, reranker=reranker)
        query = Query(folder=folder, method=method, parameters=parameters, specs=specs)
        command(*args, query=query, **others)

    decorated: Command = collected
    for option in reversed(_QUERY_OPTIONS):
        decorated = option(decorated)
    return decorated


def method_parameters(method: str, given: Sequence[str]) -> dict[str, Scalar]:
    """Return NAME=VALUE settings as values of the types that the method's parameters have.

    Raises UnknownMethod, and InputError for a setting without a name or value. What does not fit
    a parameter stays text, which `clew.api.build_method` refuses with a reason.
    """
    from clew import methods

    kind = methods.load(method)
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    parameters: dict[str, Scalar] = {}
    for setting in given:
        name, is_set, value = setting.partition("=")
        if not name or not is_set:
            raise InputError(f"--param takes NAME=VALUE, not {setting!r}")
        parameters[name] = _typed(value, defaults.get(name))
    return parameters


def _typed(text: str, default: object) -> Scalar:
    if isinstance(default, bool):
        return {"true": True, "yes": True, "false": False, "no": False}.get(text.lower(), text)
    if isinstance(default, int | float):
        try:
            value = type(default)(text)
        except ValueError:
            return text
        return value if math.isfinite(value) else text
    return text


def command_line(*words: str, folder: Path) -> str:
    """Return a command to type next, with --index where it is needed."""
    usual = os.environ.get(INDEX_VARIABLE) or DEFAULT_INDEX
    place = [] if str(folder) == usual else [f"--index {shlex.quote(str(folder))}"]
    return " ".join([*words, *place])
