"""The exceptions that Clew raises on purpose, in one tree.

    ClewError
    ├── InputError             a value that the caller gave cannot be used
    │   ├── UnknownMethod      no retrieval method of that name
    │   ├── AlreadyExists      what is to be made is there already
    │   └── UnreadableSource   a file or record that gives no document
    ├── MissingExtra           an optional package is not installed
    ├── MissingLayer           the index lacks what a method needs
    ├── StoreError             the index folder cannot be used as asked
    │   ├── NotAnIndex         nothing there, or something else
    │   ├── IndexLocked        another process is writing
    │   ├── StoreUnavailable   a database or storage does not answer
    │   ├── RecipeMismatch     it was built with other models or settings
    │   └── DamagedIndex       a file is missing or does not fit
    ├── BudgetSpent            the next request to a model might exceed the budget
    └── ModelError             a model failed
        ├── EndpointError      no usable answer from an HTTP endpoint
        └── BadReply           an answer came, and it is not what was asked for

A message is one sentence: what was wrong, where, and what to do. The command line prints it and
exits with a non-zero status; nothing else catches it.
"""

import pathlib
import sys
from collections import abc
from typing import Self


class ClewError(Exception):
    """The base class of Clew's exceptions; messages never contain secrets of addresses."""

    def __init__(self, *args: object) -> None:
        from clew.base.display.addresses import (
            hide_secrets_in,  # whose patterns take time to compile
        )

        super().__init__(*(hide_secrets_in(a) if isinstance(a, str) else a for a in args))


class InputError(ClewError):
    """An invalid argument or input value."""


class UnknownMethod(InputError):
    """No retrieval method has the given name."""


class AlreadyExists(InputError):
    """The thing to create exists already."""


class UnreadableSource(InputError):
    """A file or record could not be read as a document."""

    def __init__(self, source: str, reason: str, line: int | None = None) -> None:
        from clew.base.display.addresses import hide_secrets, hide_secrets_in

        self.source = hide_secrets(source)
        self.reason = hide_secrets_in(reason)
        self.line = line
        place = self.source if line is None else f"{self.source}, line {line}"
        super().__init__(f"{place}: {self.reason}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, int | None]]:
        """Make the error picklable."""
        return type(self), (self.source, self.reason, self.line)


class MissingExtra(ClewError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self._given = package, extra, purpose
        super().__init__(f"{purpose} needs the package {package!r}. Hint: {write_install(extra)}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str]]:
        """Make the error picklable."""
        return type(self), self._given


def write_install(extra: str) -> str:
    """Return the command that installs an extra, for the detected package manager."""
    environment, command = pathlib.Path(sys.prefix), "pip install"
    if (environment / "uv-receipt.toml").exists():
        command = "uv tool install"
    if (environment / "pipx_metadata.json").exists():
        command = "pipx install --force"
    return f"{command} 'clew[{extra}]'"


def suggest(name: str, known: abc.Iterable[str]) -> str:
    """Return a "did you mean" hint with the known name nearest to `name`.

    >>> suggest("clu", ["bm25", "clue"])
    " (did you mean 'clue'?)"
    """
    from difflib import get_close_matches  # which takes some milliseconds to import

    near = get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


class MissingLayer(ClewError):
    """The index lacks a layer that the method needs."""


class StoreError(ClewError):
    """The index folder cannot be used as requested."""


class NotAnIndex(StoreError):
    """The path does not exist or is not a Clew index."""


class IndexLocked(StoreError):
    """Another process is writing to the index."""


class StoreUnavailable(StoreError):
    """The database or object storage of an index does not respond."""


class RecipeMismatch(StoreError):
    """The index was built with different models or settings."""


class DamagedIndex(StoreError):
    """A file of the index is missing or corrupted."""


class BudgetSpent(ClewError):
    """The next model request might exceed the budget; paid replies are recorded."""


class ModelError(ClewError):
    """A model failed.

    `brief` says so without the address of the model, and without words of its server.
    """

    brief = ""


class EndpointError(ModelError):
    """An HTTP endpoint did not respond, or returned an error."""


class BadReply(ModelError):
    """A model or endpoint returned an invalid reply."""
