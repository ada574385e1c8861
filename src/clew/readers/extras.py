"""Packages that come with an extra, imported where they are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clew.errors import MissingExtra


@contextmanager
def needs(package: str, extra: str, purpose: str) -> Iterator[None]:
    """Turn an import that fails in this block into MissingExtra."""
    try:
        yield
    except ModuleNotFoundError:
        raise MissingExtra(package, extra, purpose) from None
