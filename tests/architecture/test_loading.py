"""A command loads what it needs, and starts the sooner."""

import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

LISTS = Path(__file__).with_name("loaded.json")
QUESTION = "Who built the Hesper?"

PROGRAM = """
import atexit, pathlib, sys
atexit.register(lambda: pathlib.Path("loaded").write_text(" ".join(sys.modules)))
from clew.cli import main
main(prog_name="clew")
"""
# Rooms of other commands, and packages that neither a question nor a Markdown file needs.
OTHERS = (
    "clew.evaluate", "clew.extras.server", "clew.client", "clew.shards", "clew.steps.graph_paths",
    "clew.extras.cluster.workers.processes", "clew.extras.cluster.workers.ray",
    "clew.index.generation.compaction", "clew.extras.cluster.postgres.store", "clew.extras.connect",
    "clew.index.plan", "clew.index.graph", "httpx2", "onnxruntime",
    "pydantic", "rich", "starlette", "selectolax", "yaml", "loky", "scipy.spatial", "scipy.fft",
    "scipy.sparse.csgraph", "scipy.cluster",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with an index of six files that a question was asked of."""
    folder = tmp_path_factory.mktemp("loading")
    (folder / "docs").mkdir()
    for name in ("hesper", "lund", "larvik", "bees", "tea", "rope"):  # one of six is no quarter
        text = f"# {name.title()}\n\nThe brig {name.title()} was built by Anna Lund."
        (folder / "docs" / f"{name}.md").write_text(text)
    loaded_by(folder, "index", "docs")
    loaded_by(folder, "search", "Who built the Hesper?", "--method", "bm25")
    return folder


def loaded_by(folder, *arguments):
    """Run a command in a process of its own, and return the names of the modules that it loads."""
    command = [sys.executable, "-c", PROGRAM, *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    done = subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set((folder / "loaded").read_text().split())


def test_a_question_after_an_edit_loads_nothing_that_finds_edits(folder, tmp_path, monkeypatch):
    """The writer found them, and who reads only applies them."""
    shutil.copytree(folder / "docs", tmp_path / "docs")
    always = "import clew.index.generation\nclew.index.generation.EDITED_FROM = 1\n"
    monkeypatch.setattr(sys.modules[__name__], "PROGRAM", always + PROGRAM)
    loaded_by(tmp_path, "index", "docs")
    (tmp_path / "docs" / "new.md").write_text("# Pole\n\nThe brig Pole was built by Jon Lund.")
    assert "clew.index.generation.edits" in loaded_by(tmp_path, "index", "docs")
    question = ("search", "Who built the brig Pole?", "--method", "bm25")
    assert "clew.index.generation.edited" in loaded_by(tmp_path, *question)
    assert loaded_by(tmp_path, *question) & {"scipy", "clew.index.generation.edits"} == set()


def below(package, loaded):
    return {
        name.removeprefix(f"{package}.").partition(".")[0]
        for name in loaded
        if name.startswith(f"{package}.")
    }


@pytest.mark.parametrize(
    "arguments", [["--help"], ["ask", QUESTION, "--threshold", "0"]], ids=" ".join
)
def test_a_command_loads_what_the_list_has(folder, arguments):
    """Whoever adds to the list slows every start: is it needed where nothing was asked of it?

    The list is of Clew's modules, and of packages that are not of Python itself.
    """
    if arguments[0] == "ask":
        loaded_by(folder, *arguments)  # which keeps what is computed once for an index
    loaded = loaded_by(folder, *arguments)
    ours = {name for name in loaded if name.partition(".")[0] == "clew"}
    others = {name.partition(".")[0] for name in loaded - ours} - sys.stdlib_module_names
    others = {name for name in others if not name.startswith(("_", "cython", "sitecustomize"))}
    loaded, listed = ours | others, set(json.loads(LISTS.read_text())[arguments[0]])
    assert loaded == listed, (
        f"`clew {arguments[0]}` loads {sorted(loaded - listed)} besides what "
        f"tests/architecture/loaded.json lists, and not {sorted(listed - loaded)}: import what the "
        "command does not need in the function that needs it, or change the list"
    )


def test_a_command_ends_without_a_search_for_cycles(folder):
    """Through all that was loaded it would take 60 ms."""
    told = "import atexit, gc\natexit.register(lambda: print(gc.get_freeze_count(), 'frozen'))\n"
    command = [sys.executable, "-c", told + PROGRAM, "show"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert int(done.stdout.split()[-2]) > 10_000


def test_a_question_loads_its_method_and_no_reader(folder):
    """Asked by words alone it needs no sparse matrix either: what it reads of links are rows."""
    loaded = loaded_by(
        folder, "ask", "Who built the Hesper?", "--method", "bm25", "--threshold", "0"
    )
    assert below("clew.methods", loaded) == {"bm25"}
    writing = ("clew.readers.formats", "clew.index.building", "clew.index.choose")
    assert loaded & {*OTHERS, *writing, "scipy"} == set()


def test_the_index_of_a_changed_file_loads_its_reader_and_the_arrays_in_use(folder):
    """Not every method, and of the readers that of Markdown."""
    with (folder / "docs" / "lund.md").open("a") as file:
        file.write(" She lived in Larvik.")
    loaded = loaded_by(folder, "index", "docs")
    assert below("clew.methods", loaded) <= {"walk"}
    assert loaded & {*OTHERS, "clew.answers.pipeline"} == set()
    kinds = set("code html_page json_records mail notebook office pdf plain rtf table".split())
    assert "markdown" in below("clew.readers", loaded)
    assert below("clew.readers", loaded).isdisjoint(kinds)


def test_the_index_of_files_without_a_change_needs_no_sparse_matrix(folder):
    assert loaded_by(folder, "index", "docs") & {*OTHERS, "scipy", "clew.answers.pipeline"} == set()


@pytest.mark.parametrize("package", ["clew", "clew.readers", "clew.steps"])
def test_no_lazy_name_is_that_of_a_module(package):
    """Else the module would stand for the name once it is loaded."""
    module = import_module(package)
    assert {each.name for each in iter_modules(module.__path__)}.isdisjoint(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None
