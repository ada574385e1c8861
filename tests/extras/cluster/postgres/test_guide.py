"""What the guide says, the program does."""

import re
import shlex

import pytest
from click.testing import CliRunner

from clew.cli import main
from clew.extras.cluster.postgres import objects
from clew.extras.cluster.postgres.address import parse_address
from tests.cli.conftest import open_with_doubles
from tests.docs.pages import ROOT, blocks

GUIDE = ROOT / "docs" / "guides" / "postgres.md"
TEXT = GUIDE.read_text(encoding="utf-8")


def commands():
    """Return each call of `clew` in the guide."""
    text = "\n".join(text for _, text in blocks(GUIDE, "bash", "console"))
    return re.findall(r"^(?:\$ )?(clew .+)$", text, re.MULTILINE)


@pytest.mark.usefixtures("s3")
def test_its_commands_run(s3_address, monkeypatch):
    """Each in its order, with a server of this machine in place of the guide's."""
    monkeypatch.chdir(ROOT)
    bare, given = s3_address.split("&objects=")
    assert len(commands()) > 3
    for line in commands():
        words = shlex.split(line)[1:]
        place = next(word for word in words if word.startswith("postgresql://"))
        assert parse_address(place).schema == "clew_polar"
        here = s3_address if "objects=" in place else bare
        result = CliRunner().invoke(
            main, [here if word == place else word for word in words], obj=open_with_doubles
        )
        assert result.exit_code == 0, result.output
    assert given.startswith("s3://")


def test_its_numbers_are_those_of_the_program():
    """The bound of copies, and how long an object may be hidden, and a request take."""
    assert f"{objects.MOST_MB // 1000} GB for all indexes" in TEXT
    assert 1.3 <= sum(objects.WAITS_S) <= 1.5
    assert objects.CLIENT["timeout"] == "120s"
    assert set(re.findall(r"CLEW_\w+", TEXT)) == {"CLEW_CACHE", "CLEW_CACHE_MB"}
