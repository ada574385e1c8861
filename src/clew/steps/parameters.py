"""Check the parameters of a method, in its `__post_init__`."""

from typing import get_args

from clew.errors import InputError


def check_words(method: object, **kinds: object) -> None:
    """Raise InputError for a parameter outside the words of its Literal.

    >>> from types import SimpleNamespace as Mine
    >>> from typing import Literal
    >>> check_words(Mine(order="graph"), order=Literal["graph", "fused"])
    """
    for name, kind in kinds.items():
        if getattr(method, name) not in get_args(kind):
            options = " or ".join(map(repr, get_args(kind)))
            raise InputError(f"{name} is {options}, not {getattr(method, name)!r}")


def check_least(method: object, least: float, *names: str) -> None:
    """Raise InputError for a parameter that is less than `least` or not a number."""
    for name in names:
        if not getattr(method, name) >= least:
            raise InputError(f"{name} is at least {least}, not {getattr(method, name)}")


def check_range(method: object, least: float, most: float, *names: str) -> None:
    """Raise InputError for a parameter outside `least` to `most`."""
    for name in names:
        if not least <= getattr(method, name) <= most:
            given = getattr(method, name)
            raise InputError(f"{name} is from {least:g} to {most:,g}, not {given}")
