"""What the commands say about themselves, and how quickly."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from clew.answers.question import ExportOptions, Question
from clew.base.options import plain_options
from clew.cli import main
from clew.cli.helping import list_guides
from clew.cli.program import HEADINGS, find_headings
from clew.index.options import AddOptions, PlanOptions


def flags(value, door):
    """Return the flags of the options that a command derives from a frozen value."""
    return " ".join(option.flag for option in plain_options(value, door).values())


BUILD = (
    "--into --chunk-size --chunk-overlap --subchunk-depth --splitter --vectors --vector-bits "
    "--unit-bits "
    "--token-bits --papers --embedder --tagger"
)
SET = "--dataset --corpus"
PRICED = "--llm --price --temperature --top-p --prompts --seed"
PAID = f"{PRICED} --budget-tokens --budget-usd"
QUERY = "--index --method --chunks --param --reranker --where --as-of"
COMMANDS = {
    "index": f"{SET} {BUILD} {flags(AddOptions, 'index')} "
    f"--workers --shards --part --vocabulary {PAID} --json",
    "ask": f"{QUERY} {flags(Question, 'answer')} {PAID} --anyway --answers --history --json",
    "chat": f"{QUERY} {flags(Question, 'answer')} {PAID} --anyway --answers --history",
    "search": f"{QUERY} {flags(Question, 'search')} {PAID} --json",
    "hop": "--query --chunks --where --index --json",
    "plan": f"{SET} {BUILD} {flags(PlanOptions, 'plan')} {PRICED} --json",
    "themes": "--level --where --index --json",
    "changes": "--dated --where --index --json",
    "show": "--aliases --vocabulary --index --json",
    "list": "--sort --where --index --json",
    "export": f"{flags(ExportOptions, 'export')} --where --index --json",
    "methods": "--json",
    "remove": "--where --dry-run --index --json",
    "compact": "--index --json",
    "check": "--index --json",
    "backup": "--index --json",
    "restore": "--into --json",
    "split": "--index --json",
    "import": f"--limit {BUILD} --json",
    "import-triples": "--index --json",
    "merge": "--rules --index --json",
    "unmerge": "--index --json",
    "edit": "--name --type --apart --together --index --json",
    "serve": "--home --host --port --allow-host --proxy --root-path --oidc "
    "--oidc-client --oidc-key --oidc-claim --oidc-hours --llm --price --prompts "
    "--reranker --answers --processes --threads --workers --stop-jobs "
    "--mcp-writes --log-format",
    "keys": "",
    "mcp": f"{PAID} --reranker --answers --writes",
    "eval": "--methods --param --grid --index --split --where --exact --limit --sample --corpus "
    "--ks --context-tokens --answers --answer-llm --answer-tokens --judge --judge-metrics --runs "
    f"--published --contexts --report --plot --metrics --rows {PAID} --concurrency --reranker "
    "--json",
    "config": "--all --json",
    "help": "",
}
_SATELLITES = {"split", "serve", "keys", "mcp", "eval"}
_LISTED = [
    pytest.param(each, marks=pytest.mark.satellite) if each in _SATELLITES else each
    for each in COMMANDS
]
GUIDES = sorted((Path(__file__).parents[2] / "docs" / "guides").glob("*.md"))


@pytest.mark.satellite
def test_the_commands_are_these():
    assert main.list_commands(click.Context(main)) == list(COMMANDS)
    names = " ".join(HEADINGS.values()).split()
    options = {param.name for command in main.commands.values() for param in command.params}
    assert len(set(names)) == len(names)
    assert {*names} <= options


@pytest.mark.parametrize("command", _LISTED)
def test_every_command_has_its_options_and_says_so(clew, command):
    options = [p for p in main.commands[command].params if isinstance(p, click.Option)]
    names = {p.opts[0] for p in options}
    listed = {*COMMANDS[command].split(), "-q", "-v"}
    assert names == listed, (
        f"write the new options of `clew {command}` to COMMANDS in tests/cli/test_help.py: "
        f"{sorted(names - listed)}, and take off those that are gone: {sorted(listed - names)}"
    )
    result = clew(command, "--help")
    assert result.exit_code == 0
    assert [name for name in names if name not in result.stdout] == []
    assert all(p.help for p in options)


@pytest.mark.parametrize("command", _LISTED)
def test_many_options_stand_under_headings(clew, command):
    found = main.commands[command]
    if len(found.params) <= 14:
        return
    blocks = clew(command, "--help").stdout.partition("\n\n")[2].split("\n\n")
    headed = [block for block in blocks if re.match(r"\S[^\n]*:\n  -", block)]
    assert len(headed) > 3
    assert max(block.count("\n  -") for block in headed) <= 12
    known = find_headings()
    options = [each for each in found.params if isinstance(each, click.Option)]
    missing = [each.name for each in options if each.expose_value and each.name not in known]
    assert not missing, f"put {missing} below a heading in HEADINGS of src/clew/cli/program.py"


@pytest.mark.parametrize("command", ["ask", "search", "show", "remove", "compact"])
def test_help_names_the_variable_of_the_index(clew, command):
    assert "CLEW_INDEX" in clew(command, "--help").stdout


def test_the_first_help_shows_two_commands(clew):
    lines = clew("--help").stdout.splitlines()
    assert [line.split()[1] for line in lines if line.startswith("    clew ")] == ["index", "ask"]
    assert clew("--version").stdout == "clew 0.1.0\n"
    for command in main.commands:
        text = clew(command, "--help", env={"COLUMNS": "200"}).stdout
        assert max(map(len, text.splitlines())) <= 100
    command = [sys.executable, "-m", "clew", "--help"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.startswith("Usage: clew [OPTIONS]")


def test_the_package_has_every_guide(clew):
    assert {path.name: path.read_text(encoding="utf-8") for path in GUIDES} == {
        file.name: file.read_text(encoding="utf-8") for file in list_guides().values()
    }
    told = dict(line.split(maxsplit=1) for line in clew("help").stdout.splitlines() if "  " in line)
    assert [guide.stem for guide in GUIDES if len(told.get(guide.stem, "").split()) < 3] == []


@pytest.mark.parametrize(
    "guide",
    [
        pytest.param(each, marks=pytest.mark.satellite) if each.stem in _SATELLITES else each
        for each in GUIDES
    ],
    ids=lambda path: path.stem,
)
def test_help_shows_a_guide_as_plain_text(clew, guide):
    result = clew("help", guide.stem, env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 100
    title = guide.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
    assert result.stdout.splitlines()[0].strip() == title
    assert "](" not in result.stdout
    assert "\x1b" not in result.stdout


def test_help_of_a_topic_a_command_and_nothing(clew):
    """`clew help ask` is `clew ask --help`; a guide of a command's name says where options are."""
    assert clew("help", "ask").stdout == clew("ask", "--help").stdout
    assert "clew export --help" in clew("help", "export").stdout
    result = clew("help", "sourdough")
    assert result.exit_code == 1
    assert "no topic or command 'sourdough'" in result.stderr
    assert "answers, " in result.stderr
    words = " ".join(clew("help", "filters").stdout.split())
    assert "documents (clew help documents)" in words


@pytest.mark.parametrize(
    ("words", "completed"),
    [("clew he", "help"), ("clew help fil", "filters"), ("clew search --met", "--method")],
)
def test_a_shell_completes_what_is_typed(words, completed):
    """Commands, topics and options are completed, as README says for each shell."""
    typed = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    for asked, answer in (("bash_complete", f"plain,{completed}"), ("fish_source", "complete")):
        environment = {**os.environ, **typed, "_CLEW_COMPLETE": asked}
        script = "from clew.cli import main; main(prog_name='clew')"
        command = [sys.executable, "-c", script]
        result = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False
        )
        assert answer in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["ask", "--help"],
        pytest.param(["eval", "-h"], marks=pytest.mark.satellite),
        pytest.param(["eval", "compare", "-h"], marks=pytest.mark.satellite),
        ["--version"],
    ],
)
def test_help_loads_nothing_heavy(arguments):
    script = (
        "import sys\nfrom clew.cli import main\n"
        f"try: main({arguments!r})\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in result.stderr.split()}
    assert not loaded & {"numpy", "scipy", "rich", "onnxruntime", "tiktoken", "sqlite3"}


def _list_reading():
    """Return each command that takes an index which is there, with words that it can do without."""
    words = {
        "ask": ["Who built the Fram?"],
        "search": ["Fram"],
        "hop": ["Fram"],
        "export": ["graph.json"],
        "remove": ["no-such.md"],
        "backup": ["index.backup"],
        "split": ["shards", "2"],
        "import-triples": ["none.tsv"],
        "merge": ["Fram", "Larvik"],
        "unmerge": ["Fram"],
        "edit": ["Fram", "--type", "ship"],
    }
    names = [
        name
        for name, command in main.commands.items()
        if any(each.name == "folder" and "--into" not in each.opts for each in command.params)
    ]
    return [(name, words.get(name, [])) for name in names]


@pytest.mark.parametrize(("name", "words"), _list_reading(), ids=str)
def test_an_index_is_an_option_or_the_last_word(clew, own_index, tmp_path, name, words):
    """Of every command alike, also where another word may be left out."""
    place = tmp_path / "other.clew"
    results = []
    for form in ("option", "word"):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(own_index, place)
        for made in ("shards", "index.backup"):
            shutil.rmtree(tmp_path / made, ignore_errors=True)
            (tmp_path / made).unlink(missing_ok=True)
        named = ["--index", "other.clew"] if form == "option" else ["other.clew"]
        results.append(clew(name, *words, *named))
    by_option, by_word = results
    assert by_word.exit_code == by_option.exit_code
    # A stage that took no time is left out, so all of them are.
    stages = re.compile(r"; .*\d+\.\d+ s\b.*|; hardly any time|\d+\.\d+ s\b")
    assert stages.sub("", by_word.output) == stages.sub("", by_option.output)
    assert "my.clew" not in by_word.stderr
    assert "[INDEX]" in clew(name, "--help").stdout.partition("\n\n")[0]


def test_an_index_before_the_question_is_understood(clew, own_index):
    question = "Who built the Fram?"
    first, last = (clew("ask", *words, "--json") for words in (
        (own_index, question), (question, own_index)))  # fmt: skip
    assert first.exit_code == last.exit_code
    assert json.loads(first.stdout)["text"] == json.loads(last.stdout)["text"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["themes", "none.clew"], "none.clew is not a Clew index: create one with"),
        (["show", "Fram", "none.clew"], "none.clew is not a Clew index: create one with"),
        (["chat", "."], ". is not a Clew index: create one with"),
        (["ask", ".", "Who built it?"], ". is not a Clew index: create one with"),
        (["themes", "Fram"], "unexpected extra argument (Fram)"),
        (["ask", "What is my.clew"], "my.clew is not a Clew index"),
        (["ask", "Who", "built", "it"], "unexpected extra arguments (built it)"),
        (["search", "x", "--method", "clu"], "no method 'clu' (did you mean 'clue'?): choose"),
        (["ask", "x", "--param", "chunk=2"], "no parameter 'chunk' (did you mean 'chunks'?)"),
        (["index", ".", "--limit", "second=3"], "is not a limit (did you mean 'seconds'?)"),
        (["help", "documentss"], "'documentss' (did you mean 'documents'?)"),
    ],
)
def test_what_may_be_meant_is_said(clew, tmp_path, words, message):
    (tmp_path / "notes.md").write_text("Colin Archer built the Fram.", encoding="utf-8")
    assert message in " ".join(clew(*words).stderr.split())
