"""How much the extra `server` adds to an environment."""

import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

requirements = pytest.importorskip("packaging.requirements")

MOST_BYTES = 70_000_000
PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def needed(texts):
    """Return the packages that some requirements need here, with all that these need."""
    todo, found = [(text, frozenset()) for text in texts], set()
    while todo:
        text, extras = todo.pop()
        asked = requirements.Requirement(text)
        marker = asked.marker
        if marker and not any(marker.evaluate({"extra": each}) for each in extras | {""}):
            continue
        key = (asked.name.lower().replace("_", "-"), frozenset(asked.extras))
        if key not in found:
            found.add(key)
            try:
                todo += [(each, key[1]) for each in distribution(asked.name).requires or []]
            except PackageNotFoundError:
                pytest.skip(f"{asked.name} is not installed here")
    return {name for name, _ in found}


def test_a_server_adds_little():
    """Its packages, without those that Clew needs anyway, stay below 70 MB."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    core = needed(project["dependencies"])
    server = needed([*project["dependencies"], *project["optional-dependencies"]["server"]])
    files = [each.locate() for name in server - core for each in distribution(name).files or []]
    size = sum(each.stat().st_size for each in files if each.is_file())
    assert 5_000_000 < size < MOST_BYTES


def test_a_server_can_do_the_evaluations_that_it_offers():
    """What they need comes with it: a page that takes a file of questions measures by them."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(extras["eval"]) <= set(extras["server"])
