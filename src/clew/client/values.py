"""Values from what JSON has of them: the inverse of `clew.display.shown.plain`."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def from_plain(kind: type[T], value: object) -> T:
    """Return the value of a type, such as `Evidence`, of which `value` is what `plain` gives.

    What a newer server adds is passed over, and what has a default may be missing. Raises
    ValueError where it is none, with the place of what does not fit.
    """
    import msgspec

    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        fault, _, place = str(error).partition(" - at `$")
        name = getattr(kind, "__name__", str(kind))
        raise ValueError(f"{name}{place.removesuffix('`')}: {fault}") from None
