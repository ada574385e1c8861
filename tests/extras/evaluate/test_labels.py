"""Classification as AGRAG measures it: an LLM takes one of the labels of what was found."""

import pytest

import clew
from clew import Budget, testing
from clew.errors import BudgetSpent, InputError
from clew.evaluate import load
from clew.extras.evaluate.labels import count_right, find_label
from clew.extras.evaluate.measure import Protocol, measure
from clew.extras.evaluate.run_files import read_run
from clew.extras.evaluate.settings import Setting
from clew.testing import ScriptedLLM
from clew.text.normalize import label_key

TRAIN = [
    ("sea_ice", "The sea ice of the strait drifts south in June."),
    ("sled_dogs", "Sled dogs pull loads and eat dried fish."),
    ("Sled-Dogs", "Dogs rest after the sled has come home."),
    ("ship_crews", "Crews of a ship sleep in hammocks."),
]
TEST = [
    ("sled_dogs", "Which fish do sled dogs eat?"),
    ("sea_ice", "Where does the sea ice of the strait drift?"),
    ("sea_ice", "Crews of a ship sleep."),
]


@pytest.fixture
def folder(tmp_path):
    for name, rows in (("train", TRAIN), ("test", TEST)):
        lines = "".join(f"{label}\t{text}\n" for label, text in rows)
        (tmp_path / f"{name}.txt").write_text(lines, encoding="utf-8")
    return tmp_path


def measured(folder, *replies, method="bm25", reader=None, budget=None):
    """Return what `clew eval papers` shows, and the LLM that was asked; runs are kept."""
    dataset = load(folder)
    llm = ScriptedLLM(*replies) if replies else None
    setting = Setting(method)
    protocol = Protocol(settings=(setting,), answers=True, answer_llm=reader)
    with clew.open(folder / "index", models=testing.models(llm=llm)) as index:
        index.add(dataset.corpus)
        report = measure(index, dataset, protocol, folder=folder / "runs", budget=budget)
    by_llm = "answer" in report.models
    return count_right(dataset.questions, report.rows, by_llm=by_llm), llm


def test_labelled_texts_are_a_data_set(folder):
    """Its corpus are the texts of one split, its questions those of the other."""
    dataset = load(folder, limit=2)
    assert [text.metadata["label"] for text in dataset.corpus][:2] == ["sea ice", "sled dogs"]
    assert [question.answers for question in dataset.questions] == [("sled dogs",), ("sea ice",)]
    assert dataset.format == "labels"
    (folder / "test.txt").unlink()
    with pytest.raises(InputError, match="no file with questions"):
        load(folder)
    (folder / "test.txt").write_text("a\tb\n")
    with pytest.raises(InputError, match="at least 1"):
        load(folder, limit=0)


def test_without_an_llm_the_first_label_found_is_taken(folder):
    """Two of three are right; of the two labels one is whole and the other half."""
    shares, _ = measured(folder)
    assert shares == {"accuracy": pytest.approx(2 / 3), "macro recall": pytest.approx(3 / 4)}


def test_an_llm_takes_one_of_the_labels(folder):
    """Spelled anyhow, behind a colon, or on a last line; what is no label is the first one."""
    replies = ["Label: Sled-Dogs.", "It is about ice.\nsea ice", "icebergs"]
    shares, llm = measured(folder, *replies)
    assert shares["accuracy"] == pytest.approx(2 / 3)
    assert shares["out of set"] == pytest.approx(1 / 3)
    prompt = llm.prompts[0]
    assert "sled dogs" in prompt.user
    assert "Sled dogs pull loads and eat dried fish." in prompt.user
    assert "Sled-Dogs" not in prompt.user  # which is the same label


def test_labels_are_the_answers_of_a_run(folder):
    """So a second measurement asks nothing again, and says the same."""
    replies = ["Label: Sled-Dogs.", "sea ice", "icebergs"]
    shares, llm = measured(folder, *replies)
    run = read_run(folder / "runs" / "bm25.jsonl")
    assert [row.answer for row in run.rows][:2] == ["sled dogs", "sea ice"]
    assert [len(row.notes) for row in run.rows] == [0, 0, 1]
    assert all(row.answer_usage.llm_calls == 1 for row in run.rows)
    again, other = measured(folder, "never asked")
    assert again == shares
    assert (len(llm.prompts), other.prompts) == (3, [])


def test_alone_an_llm_reads_the_names_of_all_labels(folder):
    shares, llm = measured(folder, "sled dogs", "sea ice", "sea ice", method="zero_shot")
    assert shares == {"accuracy": 1, "macro recall": 1, "out of set": 0}
    assert all(name in llm.prompts[0].user for name in ("sea ice", "sled dogs", "ship crews"))
    assert "hammocks" not in llm.prompts[0].user


def test_another_llm_may_take_the_label(folder, monkeypatch):
    """The index has none, or one that only searches."""
    reader = ScriptedLLM("sled dogs", "sea ice", "sea ice")
    monkeypatch.setattr(clew.Index, "load_llm", lambda *_, **__: reader)
    shares, _ = measured(folder, reader="scripted")
    assert shares == {"accuracy": 1, "macro recall": 1, "out of set": 0}


def test_a_budget_ends_it(folder):
    """A label that was not asked for would count as the LLM's."""
    with pytest.raises(BudgetSpent):
        measured(folder, "sled dogs", budget=Budget(tokens=10))


def test_a_reply_names_a_label():
    names = {label_key(name): name for name in ("C++", "C#", "a b")}
    found = [find_label(reply, names) for reply in ("C++", "c#", "A-B.", "Answer: a b", "d", "")]
    assert found == ["C++", "C#", "a b", "a b", "", ""]
