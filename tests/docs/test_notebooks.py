"""Notebooks run from their first cell to the last, and give what stands in them; a page answers.

`make notebooks` runs them and keeps what they give; look at the difference.
"""

import os
import re
import shutil

import pytest

from tests.docs.pages import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MOST_BYTES = 200_000
# Numbers with a fraction may end in another digit on another processor.
FRACTION = re.compile(r"\d+\.\d+")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A folder with the examples where the notebooks look for them."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "docs" / "notebooks").mkdir(parents=True)
    return folder


def run(path, checkout):
    """Return a notebook, and the same after all of its cells were run anew."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    stored, fresh = (nbformat.read(path, as_version=4) for _ in range(2))
    place = {"metadata": {"path": str(checkout / "docs" / "notebooks")}}
    nbclient.NotebookClient(
        fresh, timeout=300, resources=place, record_timing=False, coalesce_streams=True
    ).execute()
    fresh.metadata = stored.metadata  # without the version of this Python
    return stored, fresh


def shown(notebook):
    """Return what each cell gives: texts without fractions, of other pictures the kind alone."""
    return [
        (cell.source, [FRACTION.sub("#", each) for output in cell.outputs for each in told(output)])
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def told(output):
    if output.output_type == "stream":
        return [output.text]
    shown = sorted(output.data.items())
    return [kind if kind == "image/png" else f"{kind}: {value}" for kind, value in shown]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # what tornado and traitlets warn of is not ours
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_give_what_stands_in_them(checkout, path):
    import nbformat

    stored, fresh = run(path, checkout)
    if os.environ.get("NOTEBOOKS") == "write":
        nbformat.write(fresh, path)
        stored = fresh
    assert shown(fresh) == shown(stored)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_with_results_and_small(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    assert '"output_type": "error"' not in text
    assert '"execution_count": null' not in text
    assert str(ROOT.parent) not in text


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_page_of_forty_lines_answers(checkout, tmp_path, monkeypatch):
    testing = pytest.importorskip("streamlit.testing.v1")
    page = checkout / "examples" / "app.py"
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 40
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(page)])
    app = testing.AppTest.from_file(page, default_timeout=300).run()
    assert not app.exception
    assert any("born in Larvik" in each.value for each in app.text)
    assert not app.text_input[0].set_value("How do I bake sourdough bread?").run().exception
    assert not app.text
    assert app.warning
