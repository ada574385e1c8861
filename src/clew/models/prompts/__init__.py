"""The prompts, one file each: a version line, a system part, a user part.

A change of a prompt's words changes its version, which enters every cache key. Values are put in
for $names; a value is never read as a template itself, and one that imitates parts of a prompt is
written so that it cannot pass for them (`quoted`). A user's own words for some of them
(`read_wording`) go with the LLM that is asked; the folders here have words of ours for what the
prompts of a paper ask.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from clew.base.runtime.lazy import compile_re
from clew.errors import InputError
from clew.models import Prompt, ReadPart
from clew.models.prompts.quoted import Value, render_values

PAPERS = ("agrag", "clue", "ket")  # folders here: prompts with the duties of a paper's
FOLDER = Path(__file__).parent
_SUFFIX = ".md"
_FILE = compile_re(r"version: (\S+)\n+# system\n(.*?)\n# user\n(.*)\Z", re.DOTALL)

Parts = tuple[str, str, str]  # of a prompt: its version, its system part, its user part


def fill_prompt(
    name: str,
    *,
    schema: Mapping[str, Any] | None = None,
    max_tokens: int = 512,
    read_part: ReadPart | None = None,
    variant: str = "",
    **values: Value,
) -> Prompt:
    """Return the prompt in `name`.md with its $placeholders filled in."""
    prompt = Prompt(user="", schema=schema, max_tokens=max_tokens, name=name, read_part=read_part)
    return _fill(_parts(name), replace(prompt, values=values, variant=variant))


def _fill(parts: Parts, prompt: Prompt) -> Prompt:
    """Return a prompt with the texts of `parts`."""
    version, system, user = parts
    rendered, guard = render_values(prompt.values)
    return replace(
        prompt,
        system=f"{system.strip()}{guard}",
        user=Template(user).substitute(rendered).strip(),
        version="-".join(filter(None, [prompt.name, version, prompt.variant])),
    )


def prompt_versions() -> dict[str, str]:
    """Return the version of every prompt, by name."""
    return {name: _parts(name)[0] for name in list_prompts()}


def list_prompts() -> list[str]:
    """Return the names of all prompts."""
    return sorted(each.stem for each in FOLDER.glob(f"*{_SUFFIX}"))


@dataclass(frozen=True, slots=True, eq=False)
class FolderWording:
    """Prompts in a user's folder that replace Clew's own."""

    parts: Mapping[str, Parts]  # by the name of Clew's prompt
    alone: bool = False  # whether extraction asks about one passage at a time

    @property
    def versions(self) -> Mapping[str, str]:
        return {name: version for name, (version, _, _) in self.parts.items()}

    def reword(self, prompt: Prompt) -> Prompt:
        parts = self.parts.get(prompt.name)
        return prompt if parts is None else _fill(parts, prompt)


def read_wording(folder: Path) -> FolderWording:
    """Return the prompts in a folder, which replace those of the same names.

    A folder that is not there and has the name of one of `PAPERS` is Clew's. A file has the form of
    Clew's own, and its digest is part of its version, so no reply to another wording is taken for
    one to it. Raises InputError for a file of no prompt's name, one that lacks a part, and a slot
    that Clew does not fill.
    """
    from hashlib import sha256

    own = {name: _slots(_parts(name)[2]) for name in list_prompts()}
    is_paper = folder.name in PAPERS and not folder.exists()
    folder = FOLDER / folder.name if is_paper else folder
    found: dict[str, Parts] = {}
    for file in sorted(folder.glob(f"*{_SUFFIX}")):
        if file.stem not in own:
            raise InputError(f"{file} is no prompt's name: rename it to one of {', '.join(own)}")
        version, system, user = _read(file)
        unknown = sorted(_slots(user) - own[file.stem])
        if unknown:
            slots = ", ".join(f"${slot}" for slot in sorted(own[file.stem]))
            raise InputError(f"{file} has the slot ${unknown[0]}, which is unknown: use {slots}")
        digest = sha256(file.read_text(encoding="utf-8").encode()).hexdigest()[:8]
        found[file.stem] = f"{version}-{digest}", system, user
    if not found:
        raise InputError(f"{folder} has no prompt NAME{_SUFFIX}: it takes {', '.join(own)}")
    return FolderWording(found, alone=is_paper)


def _slots(user: str) -> set[str]:
    return {*Template(user).get_identifiers()}


@cache
def _parts(name: str) -> Parts:
    return _read(FOLDER / f"{name}{_SUFFIX}")


def _read(file: Path) -> Parts:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from error
    match = _FILE.match(text)
    if match is None or not Template(match[3]).is_valid():
        raise InputError(f"{file} lacks its 'version: ', '# system' or '# user', or has a stray $")
    version, system, user = match.groups()
    return version, system, user
