"""The wall against growth: each room of `src/clew` has a budget of lines, in `sizes.toml`."""

import tomllib
from collections import Counter
from pathlib import Path

import pytest

import clew

PACKAGE = Path(clew.__file__).parent
BUDGET_FILE = Path(__file__).with_name("sizes.toml")
BUDGETS = tomllib.loads(BUDGET_FILE.read_text(encoding="utf-8"))
SLACK = 1.02  # a budget that is further above its room is lowered, so that a deletion stays one


def count_lines():
    """Return the lines of Python of each room; modules at the root are the room `root`."""
    sizes = Counter()
    for path in PACKAGE.rglob("*.py"):
        *folders, _ = path.relative_to(PACKAGE).parts
        room = "/".join(folders[: 2 if folders[:1] == ["extras"] else 1]) or "root"
        sizes[room] += path.read_text(encoding="utf-8").count("\n")
    return sizes


SIZES = count_lines()


def explain_growth(room, size, budget):
    """Return what to do about a room that is larger than its budget."""
    return (
        f"{room} has {size:,} lines of Python, {size - budget:,} more than its budget. Delete what "
        "the change makes superfluous, or raise the budget in tests/architecture/sizes.toml in the "
        "same commit as a decision of at most five lines in docs/decisions that says why"
    )


@pytest.mark.parametrize("room", sorted(SIZES | BUDGETS["rooms"]))
def test_a_room_stays_within_its_budget(room):
    """A new room needs a budget, and the budget of a room that is gone goes with it."""
    budget = BUDGETS["rooms"].get(room, 0)
    assert SIZES[room] <= budget, explain_growth(f"src/clew/{room}", SIZES[room], budget)
    assert budget <= SIZES[room] * SLACK, (
        f"src/clew/{room} has only {SIZES[room]:,} of {budget:,} lines: lower its budget in "
        "tests/architecture/sizes.toml, so that the room stays as small as it is now"
    )


def test_the_source_stays_within_its_budget():
    """Rooms may take lines from each other, but all of them together have a budget, too."""
    size, budget = SIZES.total(), BUDGETS["total"]
    assert size <= budget, explain_growth("src/clew", size, budget)
