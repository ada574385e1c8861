"""The documentation's examples run, and its commands exist."""

import doctest
import shlex
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

import clew
from tests.docs.pages import PAGES, all_text, blocks, name

COMMANDS = [
    pytest.param(line.removeprefix("$ clew "), id=f"{name(page)}:{start + i}")
    for page in PAGES
    for start, text in blocks(page, "console", "bash")
    for i, line in enumerate(text.splitlines())
    if line.startswith("$ clew ")
]


@pytest.fixture
def main():
    """Return the group of all commands."""
    if find_spec("clew.cli") is None:
        pytest.skip("there is no clew.cli yet")
    from clew.cli import main

    return main


PACKAGE = Path(clew.__file__).parent
WITH_EXAMPLES = [
    ".".join(("clew", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in sorted(PACKAGE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("module", WITH_EXAMPLES)
def test_examples_in_docstrings(module):
    """Each gives what stands below it."""
    found = doctest.testmod(import_module(module))
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(page, "python"))], ids=name)
@pytest.mark.usefixtures("index_folder")
def test_python_blocks_run(page):
    namespace = {"__name__": name(page)}
    try:
        for line, code in blocks(page, "python"):
            exec(compile("\n" * (line - 1) + code, str(page), "exec"), namespace)  # noqa: S102
    finally:
        for value in namespace.values():
            if isinstance(value, clew.Index):
                with suppress(Exception):
                    value.close()


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_exist(main, command, tmp_path, monkeypatch):
    monkeypatch.setenv("CLEW_CACHE", str(tmp_path))  # where an address has its folder
    words = shlex.split(command, comments=True)
    try:
        main.commands[words[0]].make_context(words[0], words[1:])
    except click.ClickException as error:
        pytest.fail(error.format_message())


def test_every_command_is_shown(main):
    text = all_text()
    groups = [each for each in main.commands.values() if isinstance(each, click.Group)]
    below = {f"{g.name} {name}": each for g in groups for name, each in g.commands.items()}
    for called, command in {**main.commands, **below}.items():
        assert f"clew {called}" in text
        options = [o for p in command.params if isinstance(p, click.Option) for o in p.opts]
        missing = [option for option in options if option not in text]
        assert not missing, f"say in a guide (docs/guides) what `clew {called}` does with {missing}"
