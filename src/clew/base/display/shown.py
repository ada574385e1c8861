"""Display results: as plain values, in one line, or as HTML in a notebook."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, TypeVar

from clew.base.display.visible import visible

T = TypeVar("T")

_MAX_TEXT = 60  # characters of a text in one line
_MAX_VALUES = 3  # values of a tuple in one line


class Shown:
    """A result dataclass: converts to a dict, and prints in one line."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as `--json` prints them: dicts, lists, texts, numbers."""
        return {each.name: plain(getattr(self, each.name)) for each in _fields(self)}

    # Here for all: to generate them for each class would take a third of the time to define it.
    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return _get_compared(self) == _get_compared(other)

    def __hash__(self) -> int:
        return hash(_get_compared(self, hashed=True))

    def __repr__(self) -> str:
        parts = []
        for each in _fields(self):
            value, make = getattr(self, each.name), each.default_factory
            if value != (each.default if make is MISSING else make()):
                parts.append(f"{each.name}={_short(value)}")
        return f"{type(self).__name__}({', '.join(parts)})"


def plain(value: object) -> Any:  # noqa: ANN401 -- JSON's types
    """Convert a value to dicts, lists, strings, numbers, booleans and None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in _fields(value)}
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def make_view(kind: type[T], source: object, **others: Any) -> T:  # noqa: ANN401 -- its fields
    """Build a dataclass from some values and the equally named attributes of `source`."""
    names = {each.name for each in _fields(kind)} - others.keys()
    return kind(**{name: getattr(source, name) for name in names}, **others)


def _get_compared(value: object, *, hashed: bool = False) -> tuple[object, ...]:
    """Return the values of the fields that are compared; or of those that are hashed."""
    own = (each for each in fields(value) if each.compare)  # type: ignore[arg-type]  # a dataclass
    return tuple(getattr(value, each.name) for each in own if not (hashed and each.hash is False))


def _fields(value: object) -> tuple[Field[Any], ...]:
    each = fields(value)  # type: ignore[arg-type]  # what is called here is a dataclass
    return tuple(field for field in each if field.repr)  # no bytes


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, str):
        return visible(repr(value if len(value) <= _MAX_TEXT else value[: _MAX_TEXT - 1] + "…"))
    if isinstance(value, Shown):
        whole = repr(value)
        return whole if len(whole) <= _MAX_TEXT else f"{type(value).__name__}(...)"
    if not isinstance(value, list | tuple | Mapping) or not value:
        return repr(value)
    kind = "values" if isinstance(value, Mapping) else type(value[0]).__name__
    if not isinstance(value, Mapping) and not is_dataclass(value[0]):
        kind = "values"
        if len(value) <= _MAX_VALUES and all(isinstance(each, str | int | float) for each in value):
            return f"[{', '.join(map(_short, value))}]"
    return f"<{len(value)} {kind}>"


# -- HTML: every text in it comes from documents, questions and models, and is escaped ------------


def paragraph(text: str, *, strong: bool = False) -> str:
    """Return an HTML paragraph of a text."""
    return f"<p><b>{_escape_markup(text)}</b></p>" if strong else f"<p>{_escape_markup(text)}</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table; numbers have three digits, None is empty."""
    lines = ["<tr>" + "".join(f"<th>{_escape_markup(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return "<table>" + "".join(lines) + "</table>"


def _cell(value: object) -> str:
    if value is None:
        return ""
    return _escape_markup(f"{value:.3f}" if isinstance(value, float) else str(value))


def _escape_markup(text: str) -> str:
    from html import escape

    return escape(visible(" ".join(text.split())))
