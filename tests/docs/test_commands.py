"""The commands of README, of the tutorial and of the guides run as they are printed, in order."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import venv
from http.client import HTTPConnection
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from clew.models.loading import OPENAI_URL
from clew.models.prices import embedding_price, list_price
from clew.testing import HashTokenEmbedder
from tests.docs.conftest import ARTICLES
from tests.docs.pages import PAGES, ROOT, blocks, name
from tests.models.server import Answer, serving

main = pytest.importorskip("clew.cli").main

README, TUTORIAL = ROOT / "README.md", ROOT / "docs" / "tutorial.md"
MORE = ("gjoa", "herbert-ponting", "norge", "the-great-white-silence")
SOURDOUGH = "sourdough"  # which no article answers
REFUSED = 5
# What other machines, programs or models are needed for, or what does not end by itself.
ELSEWHERE = re.compile(
    r"ray\b|postgresql:|clew (?:serve|mcp)|cross-encoder:|--llm local|ollama:|"
    r"--tagger spacy|other/clue.jsonl|rag_storage|--prompts prompts|sqlite:///|--web"
)


def commands(page):
    lines = [line for _, text in blocks(page, "console") for line in text.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith(("$ clew ", "$ export "))]


def replied(request):
    """Answer as an endpoint does: vectors of texts, statements of passages, or a sentence."""
    if "input" in request.json:
        texts = request.json["input"]
        found = [{"index": i, "embedding": [1.0, len(t)]} for i, t in enumerate(texts)]
        return Answer({"data": found, "usage": {"prompt_tokens": 9, "total_tokens": 9}})
    asked = request.json["messages"][-1]["content"]
    passages = re.findall(r"^\[(\d+)\] [^|\n]* \| (.+)$", asked, re.MULTILINE)
    units = json.dumps({number: [text] for number, text in passages})
    text = units if "Split each passage" in asked else "Colin Archer built the Fram."
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return Answer({"choices": [choice], "usage": usage})


@pytest.fixture
def endpoint(monkeypatch):
    """Let OpenAI's address be one of this machine."""
    with serving() as server:
        server.respond = replied
        monkeypatch.setattr("clew.models.loading.OPENAI_URL", server.url)
        for price in (list_price, embedding_price):
            monkeypatch.setattr(
                f"clew.extras.models.openai.{price.__name__}",
                lambda model, _address, price=price: price(model, OPENAI_URL),
            )
        monkeypatch.setenv("OPENAI_API_KEY", "...")
        yield server


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make the current folder a checkout with some of the articles and their questions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("click.get_app_dir", lambda _name: str(tmp_path / "home"))
    monkeypatch.setenv("CLEW_HOME", str(tmp_path / "home"))
    polar = Path("examples/polar")
    polar.mkdir(parents=True)
    for article in (*ARTICLES, *MORE):
        shutil.copy(ROOT / polar / f"{article}.md", polar)
    ids = {f"polar/{path.name}" for path in polar.iterdir()}
    questions = (ROOT / "examples" / "questions.jsonl").read_text("utf-8").splitlines()
    kept = [line for line in questions if set(json.loads(line)["supporting_ids"]) <= ids]
    Path("examples/questions.jsonl").write_text("\n".join(kept) + "\n", encoding="utf-8")
    shutil.copy(ROOT / "examples" / "ships.tsv", "examples")
    for own in ("notes/roof.md", "papers/fram.txt"):
        Path(own).parent.mkdir()
        Path(own).write_text("We decided that the roof is of slate.\n", encoding="utf-8")
    return tmp_path


def run(line, **environment):
    return CliRunner().invoke(main, shlex.split(line, comments=True)[1:], env=environment)


def serve(line):
    """Start a server by a printed command, on a free port; ask it, and end it by Ctrl-C."""
    environment = {**os.environ, "CLEW_SERVE_PORT": "0", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", *shlex.split(line)]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            told = next(line for line in process.stderr if line.startswith("Clew serves"))
            address = urlsplit(told.split()[-1])
            connection = HTTPConnection(address.hostname, address.port, timeout=60)
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
            connection.close()
        finally:
            process.send_signal(signal.SIGINT)
            process.stderr.read()
    assert process.returncode in {0, 130}


def check(line):
    result = run(line)
    refused = REFUSED if line.startswith("clew ask") else 0  # hashes know no meaning
    assert result.exit_code in {0, refused}, f"{line}\n{result.output}"
    assert result.exception is None or isinstance(result.exception, SystemExit), line


@pytest.mark.parametrize("page", [README, TUTORIAL], ids=name)
def test_commands_run_as_printed(folder, endpoint, monkeypatch, page):
    """One behind the other; what an LLM is needed for asks an endpoint of this machine."""
    monkeypatch.setattr("clew.models.loading.load_embedder", lambda *_, **__: HashTokenEmbedder())
    for line in commands(page):
        if line.startswith("export "):
            monkeypatch.setenv(*line.removeprefix("export ").split("=", 1))
        elif line.startswith("clew serve"):
            serve(line)
        else:
            check(line)
    assert endpoint.requests
    assert {path.suffix for path in folder.iterdir()} >= {".clew", ".graphml"}


EXTRAS = re.compile(r"^pip install '\.\[(.+)\]'", re.MULTILINE)


def closure(requirements, seen, extras=frozenset()):
    """Return the names of what requirements bring here, all that those bring among them."""
    for each in map(Requirement, requirements):
        for extra in extras or {""}:
            if each.marker is None or each.marker.evaluate({"extra": extra}):
                key = each.name.casefold(), frozenset(each.extras)
                if key not in seen:
                    seen.add(key)
                    closure(metadata.requires(each.name) or (), seen, frozenset({"", *each.extras}))
    return {name for name, _ in seen}


@pytest.fixture
def newcomer(tmp_path):
    """Return the Python of an environment with what README's line installs, and no more."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    [extras] = EXTRAS.findall(README.read_text("utf-8"))
    wanted = [each for e in extras.split(",") for each in project["optional-dependencies"][e]]
    home = tmp_path / "environment"
    venv.create(home, symlinks=os.name != "nt")
    [packages] = home.glob("**/site-packages")
    for package in closure([*project["dependencies"], *wanted], set()):
        distribution = metadata.distribution(package)
        tops = {f.parts[0] for f in distribution.files or () if ".." not in f.parts}
        for top in tops - {"__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(distribution.locate_file(top))
    return next(home.glob("*/python*"))


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ctranslate2") is None, reason="needs the extra 'models'")
def test_readme_installs_what_its_commands_need(folder, endpoint, newcomer):
    """Nothing says that a package is missing; `clew serve` is reached."""
    llm = f"openai:gpt-4o-mini@{endpoint.url} --price gpt-4o-mini=0.15,0.6"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CLEW_SERVE_PORT": "0"}
    for line in commands(README):
        words = shlex.split(line.replace("openai:gpt-4o-mini", llm))
        command = [newcomer, "-m", *words]
        if line.startswith("clew serve"):
            with subprocess.Popen(
                command, env=environment, stderr=subprocess.PIPE, text=True
            ) as process:
                assert "Clew serves my at http" in process.stderr.readline()
                process.send_signal(signal.SIGINT)
                process.stderr.read()
            continue
        done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True)
        assert "pip install" not in done.stderr, line
        assert done.returncode in {0, REFUSED}, (line, done.stderr)


GUIDES = [page for page in PAGES if page.parent.name in {"guides", "methods"} and commands(page)]
FRAM = {"title": "Fram", "text": "Colin Archer built the Fram."}
SUPPORTING = {"title": "Fram", "paragraph_text": FRAM["text"], "is_supporting": True}
HOTPOT = {
    "_id": "1",
    "question": "Who built her?",
    "answer": "Colin Archer",
    "supporting_facts": [["Fram", 0]],
    "context": [["Fram", [FRAM["text"]]]],
}
TEXTS = {
    "README.md": "# Clew\n\nClew finds passages.\n",
    "docs/fram.md": "# Fram\n\nColin Archer built the Fram for Fridtjof Nansen.\n",
    "corpus/fram.md": "# Fram\n\nColin Archer built the Fram. He was born in Larvik.\n",
    "library/book.txt": "A long book on the Fram.\n",
    "labelled.jsonl": '{"text": "Sled dogs ate fish.", "label": "dogs"}\n'
    '{"text": "The Fram was strong.", "label": "ships"}\n',
    "new.jsonl": '{"text": "Dogs pulled the sled."}\n',
    "triples.jsonl": '{"id": "docs/fram.md", "triples": [["N. Nansen", "led", "Fram"]]}\n',
    "questions.jsonl": '{"question": "Who built the Fram?", "answers": ["Colin Archer"]}\n',
    "questions.txt": "Who built [Fram]\tColin Archer\n" * 2,
    "clew.toml": "",
    "texts/fram.md": "# Fram\n\nDie Fram wurde in Larvik gebaut.\n",
    "names.csv": "name,type\nFram,ship\n",
    "hotpot.json": json.dumps([HOTPOT]),
    "musique_corpus.json": json.dumps([FRAM]),
    "musique.json": json.dumps(
        [{"id": "1", "question": "Who built her?", "answer": "Archer", "paragraphs": [SUPPORTING]}]
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDES, ids=name)
def test_commands_of_guides_run_as_printed(folder, endpoint, monkeypatch, page):
    """Those that need nothing but this machine and an endpoint, on an index of the articles."""
    monkeypatch.setattr("clew.models.loading.load_embedder", lambda *_, **__: HashTokenEmbedder())
    for path, text in TEXTS.items():
        Path(path).parent.mkdir(exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    for copy in ("ships.tsv", "graph.tsv"):
        shutil.copy("examples/ships.tsv", copy)
    for dataset in ("DATASET", "dataset"):
        shutil.copytree("examples", dataset)
    articles = [
        {"id": f"polar/{path.name}", "text": path.read_text("utf-8")}
        for path in sorted(Path("dataset/polar").iterdir())
    ]
    lines = "".join(f"{json.dumps(each)}\n" for each in articles)
    Path("dataset/corpus.jsonl").write_text(lines, encoding="utf-8")
    shutil.rmtree("dataset/polar")
    assert run("clew index examples/polar").exit_code == 0
    if any("git+examples" in line for line in commands(page)):
        for command in (
            "init -q",
            "add polar",
            "-c user.name=A -c user.email=a@b.c commit -qm Ice",
        ):
            subprocess.run(["git", "-C", "examples", *command.split()], check=True)  # noqa: S607
    for line in commands(page):
        if not ELSEWHERE.search(line):
            check(line)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ctranslate2") is None, reason="needs the extra 'models'")
def test_readme_says_what_is_true(tmp_path, monkeypatch):
    """With the models that come with Clew its questions are answered, and as it shows."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", "examples")
    asked = [line for line in commands(README) if line.startswith(("clew index", "clew ask"))]
    results = {line: run(line) for line in asked if "--llm" not in line}
    said = [(line, result) for line, result in results.items() if line.startswith("clew ask")]
    assert [result.exit_code for _, result in said] == [0, REFUSED]
    printed = said[0][1].stdout
    assert "born in Larvik" in " ".join(printed.partition("[")[2].partition("[")[0].split())
    _, shown = next(blocks(README, "console"))
    answer = shown.partition('born?"\n')[2]
    assert answer.strip()
    assert printed.startswith(answer)
