"""The prompts, one file each: a version line, a system part, a user part.

A change of a prompt's words changes its version, which enters every cache key. Values are put in
for $names; a value is never read as a template itself, and one that imitates parts of a prompt is
written so that it cannot pass for them (`clew.prompts.quoted`).
"""

import re
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Any

from clew.errors import InputError
from clew.models import Prompt
from clew.prompts.quoted import Value, render_values
from clew.runtime.lazy import compile_re

_SUFFIX = ".md"
_folder: Path | None = None  # of a user's prompts, for this process
_FILE = compile_re(r"version: (\S+)\n+# system\n(.*?)\n# user\n(.*)\Z", re.DOTALL)


def fill_prompt(
    name: str, *, schema: Mapping[str, Any] | None = None, max_tokens: int = 512, **values: Value
) -> Prompt:
    """Return the prompt in `name`.md with its $names filled in."""
    version, system, user = _parts(name)
    rendered, guard = render_values(values)
    return Prompt(
        system=f"{system.strip()}{guard}",
        user=Template(user).substitute(rendered).strip(),
        schema=schema,
        max_tokens=max_tokens,
        version=f"{name}-{version}",
    )


def prompt_versions() -> dict[str, str]:
    """Return the version of every prompt, by name."""
    return {name: _parts(name)[0] for name in list_prompts()}


def list_prompts() -> list[str]:
    """Return the names of all prompts."""
    names = (each.name for each in files(__name__).iterdir() if each.name.endswith(_SUFFIX))
    return sorted(name.removesuffix(_SUFFIX) for name in names)


def use_folder(folder: Path | None) -> None:
    """Let the prompts in a folder stand for those of their names in this process; None: no others.

    A file has the form of Clew's own, and its digest is part of its version, so no reply to another
    wording is taken for one to it. Raises InputError for a file of no prompt's name, one that lacks
    a part, and a slot that Clew does not fill.
    """
    global _folder  # noqa: PLW0603 -- of the whole process, as its command says
    _parts.cache_clear()
    _folder = None
    if folder is None:
        return
    own = {name: _slots(_parts(name)[2]) for name in list_prompts()}
    found = sorted(folder.glob(f"*{_SUFFIX}"))
    if not found:
        raise InputError(f"{folder} has no prompt NAME{_SUFFIX}: it takes {', '.join(own)}")
    for file in found:
        if file.stem not in own:
            raise InputError(f"{file} is no prompt's: name it as one of {', '.join(own)}")
        unknown = sorted(_slots(_read(file)[2]) - own[file.stem])
        if unknown:
            slots = ", ".join(f"${slot}" for slot in sorted(own[file.stem]))
            raise InputError(
                f"{file} has the slot ${unknown[0]}, which nothing fills: take {slots}"
            )
    _parts.cache_clear()
    _folder = folder


def _slots(user: str) -> set[str]:
    return {*Template(user).get_identifiers()}


@cache
def _parts(name: str) -> tuple[str, str, str]:
    file = None if _folder is None else _folder / f"{name}{_SUFFIX}"
    return _read(
        files(__name__) / f"{name}{_SUFFIX}" if file is None or not file.exists() else file
    )


def _read(file: Traversable) -> tuple[str, str, str]:
    """Return the version of a prompt, its system part and its user part."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    match = _FILE.match(text)
    if match is None or not Template(match[3]).is_valid():
        raise InputError(f"{file} lacks its 'version: ', '# system' or '# user', or has a stray $")
    version, system, user = match.groups()
    if isinstance(file, Path) and file.parent == _folder:
        version = f"{version}-{sha256(text.encode()).hexdigest()[:8]}"
    return version, system, user
