"""The core works without its satellites: `clew.extras`, and the public modules of three of them."""

import os
import subprocess
import sys
from collections import ChainMap
from pathlib import Path

import pytest
from click.testing import CliRunner

from clew import plugins
from clew.cli import main
from clew.cli.program import Commands

SOURCE = Path(__file__).parents[2] / "src" / "clew"
SATELLITES = {"extras", "client.py", "evaluate.py", "shards.py"}
COMMANDS = """
from clew.cli import main
for words in ("index docs", "ask Hesper --threshold 0"):
    main(words.split(), standalone_mode=False)
"""
PYTHON = """
import clew
with clew.open("python.clew") as index:
    index.add("docs")
    print(index.ask("Who built the Hesper?").text)
"""
REFUSED = """
from pathlib import Path
from clew.cli import main
Path("mixed").mkdir()
Path("mixed/a.md").write_text("A tern.")
Path("mixed/b.pdf").write_bytes(b"%PDF-1.7")
ended = []
for words in (
    ["index", "mixed", "--index", "mixed.clew", "--verbose"],
    ["methods"],
    ["ask", "A tern?", "--index", "mixed.clew", "--method", "raptor"],
    ["export", "graph.graphml", "--index", "mixed.clew"],
    ["import", "triples.tsv", "--index", "mixed.clew"],
):
    try:
        main(words)
    except SystemExit as end:
        ended.append(f"status {end.code}")
print(*ended, sep="\\n")
"""
# What of a satellite may be asked for.
ASKED = [
    ("serve",),
    ("keys", "list"),
    ("mcp",),
    ("eval", "questions.json"),
    ("split", "home", "2"),
    ("index", "docs", "--workers", "2"),
    ("index", "docs", "--workers", "ray"),
    ("index", "docs", "--shards", "2"),
    ("index", "--dataset", "questions.json"),
    ("index", "s3://bucket/docs", "--web"),
    ("index", "git+https://example.org/docs", "--web"),
    ("ask", "Who?", "--index", "postgresql://localhost/rows/polar"),
    ("import", "docs"),
]


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    """Return a function that runs Python where the package has no satellites."""
    place = tmp_path_factory.mktemp("core")
    (place / "clew").mkdir()
    for part in SOURCE.iterdir():
        if part.name not in SATELLITES:
            (place / "clew" / part.name).symlink_to(part)
    (place / "docs").mkdir()
    text = "# Hesper\n\nThe brig Hesper was built by Anna Lund in Larvik."
    (place / "docs" / "hesper.md").write_text(text)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}

    def run(*arguments):
        return subprocess.run(
            [sys.executable, *arguments], cwd=place, env={**kept, "PYTHONPATH": str(place)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    return run


def test_the_core_indexes_and_answers_alone(core):
    """By the command line and by Python, and what it lists has no command of a satellite."""
    done = core("-c", COMMANDS)
    assert done.returncode == 0, done.stderr
    assert "Anna Lund" in done.stdout
    assert "Anna Lund" in core("-c", PYTHON).stdout
    listed = core("-m", "clew", "--help")
    assert "  ask " in listed.stdout
    assert "  serve " not in listed.stdout


def test_what_a_satellite_has_is_refused_in_a_sentence(core):
    """The package is still registered, and its files are gone."""
    script = "import sys; from clew.cli import main; sys.argv[1:] = {}; main()"
    for arguments in ASKED[:1] + ASKED[4:6]:
        done = core("-c", script.format(list(arguments)))
        [line] = done.stderr.splitlines()
        assert "install that package again" in line
        assert done.returncode == 1


def test_what_a_satellite_reads_finds_and_writes_is_refused_in_a_sentence(core):
    """A file that only it reads is skipped, and the others are indexed; methods are not listed."""
    done = core("-c", REFUSED)
    assert done.stdout.splitlines()[-5:] == ["status 0"] * 2 + ["status 1"] * 3
    assert "b.pdf" in done.stderr
    assert done.stderr.count("install that package again") == 4
    assert "  walk " in done.stdout
    assert "  raptor " not in done.stdout


@pytest.mark.parametrize("arguments", ASKED, ids=" ".join)
def test_what_nobody_registers_is_refused_in_a_sentence(arguments, tmp_path, monkeypatch):
    """No package is installed that has it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "hesper.md").write_text("Anna Lund built the Hesper.")
    (tmp_path / "questions.json").write_text("[]")
    monkeypatch.setattr(plugins, "read_registered", dict)
    core = {name: main.commands[name] for name in ("index", "ask", "import")}
    others = Commands(dict.fromkeys(("serve", "keys", "mcp", "eval", "split"), ""))
    monkeypatch.setattr(main, "commands", ChainMap(core, others))
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert line.startswith("clew: ")
    assert "install" in line
