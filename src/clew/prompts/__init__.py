"""The prompts, one file each: a version line, a system part, a user part.

A change of a prompt's words changes its version, which enters every cache key. Values are put in
for $names; a value is never read as a template itself, and one that imitates parts of a prompt is
written so that it cannot pass for them (`clew.prompts.quoted`).
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Template
from typing import Any

from clew.models import Prompt
from clew.prompts.quoted import Value, render_values
from clew.runtime.lazy import compile_re

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
    names = sorted(each.name for each in files(__name__).iterdir() if each.name.endswith(".md"))
    return {name: _parts(name)[0] for name in (each.removesuffix(".md") for each in names)}


@cache
def _parts(name: str) -> tuple[str, str, str]:
    text = (files(__name__) / f"{name}.md").read_text(encoding="utf-8")
    match = _FILE.match(text)
    if match is None:
        raise ValueError(f"the prompt file {name}.md lacks its version, system or user part")
    version, system, user = match.groups()
    return version, system, user
