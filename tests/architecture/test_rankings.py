"""Which modules rank all rows of a layer; others ask for the nearest, or for rows they have."""

from pathlib import Path

import pytest

import clew

PACKAGE = Path(clew.__file__).parent
# Those that sum over everything by definition.
RANKS_ALL = {
    "methods/ket/__init__.py",  # sub-chunks fill a budget of tokens, however many that takes
    "extras/baselines/graphrag.py",  # the same
    "methods/ket/text_candidates.py",  # a keyword's vector is the sum of all its sentences
    "steps/skeleton.py",  # an entity's is that of all its descriptions
    "methods/agrag/view.py",  # the paper's costs (Eq. 14) of any chunk that the tree may reach
    "steps/__init__.py",
    "steps/rankings.py",  # where there are few, or an exact snapshot is asked
    "steps/scores.py",
}


@pytest.mark.parametrize(
    ("function", "allowed"),
    [
        ("dense_scores", RANKS_ALL),
        ("lexical_scores", {"steps/__init__.py", "steps/rankings.py", "steps/scores.py"}),
    ],
)
def test_full_rankings(function, allowed):
    """Whoever is not allowed to, does not; whoever is, does."""
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if function in path.read_text(encoding="utf-8")
    }
    assert found == allowed, (
        f"{function} scores every row: in {sorted(found - allowed)} take a ranking of "
        "clew.steps.rankings, or add the file to this test with the reason; take off "
        f"{sorted(allowed - found)}"
    )
