"""Classification as AGRAG measures it: an LLM takes one of the labels of what was found."""

import pytest

import clew
from clew import Budget, testing
from clew.errors import BudgetSpent, InputError
from clew.extras.evaluate.labels import find_label, load_labelled, measure_labels
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


def measured(folder, *replies, method="bm25", **given):
    dataset = load_labelled(folder)
    llm = ScriptedLLM(*replies) if replies else None
    with clew.open(folder / "index", models=testing.models(llm=llm)) as index:
        index.add(dataset.corpus)
        shares = measure_labels(
            index, dataset, Setting(method, {}), **{"context_tokens": 4000, **given}
        )
    return shares, llm


def test_labelled_texts_are_a_data_set(folder):
    """Its corpus are the texts of one split, its questions those of the other."""
    dataset = load_labelled(folder, limit=2)
    assert [text.metadata["label"] for text in dataset.corpus][:2] == ["sea ice", "sled dogs"]
    assert [question.answers for question in dataset.questions] == [("sled dogs",), ("sea ice",)]
    assert dataset.format == "labels"
    (folder / "test.txt").unlink()
    assert load_labelled(folder) is None
    (folder / "test.txt").write_text("a\tb\n")
    with pytest.raises(InputError, match="at least 1"):
        load_labelled(folder, limit=0)


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


def test_alone_an_llm_reads_the_names_of_all_labels(folder):
    shares, llm = measured(folder, "sled dogs", "sea ice", "sea ice", method="zero_shot")
    assert shares == {"accuracy": 1, "macro recall": 1, "out of set": 0}
    assert all(name in llm.prompts[0].user for name in ("sea ice", "sled dogs", "ship crews"))
    assert "hammocks" not in llm.prompts[0].user


def test_another_llm_may_take_the_label(folder):
    """The index has none, or one that only searches."""
    reader = ScriptedLLM("sled dogs", "sea ice", "sea ice")
    shares, _ = measured(folder, llm=reader)
    assert shares == {"accuracy": 1, "macro recall": 1, "out of set": 0}


def test_a_budget_ends_it(folder):
    """A label that was not asked for would count as the LLM's."""
    with pytest.raises(BudgetSpent):
        measured(folder, "sled dogs", budget=Budget(tokens=10))


def test_a_reply_names_a_label():
    names = {label_key(name): name for name in ("C++", "C#", "a b")}
    found = [find_label(reply, names) for reply in ("C++", "c#", "A-B.", "Answer: a b", "d", "")]
    assert found == ["C++", "C#", "a b", "a b", "", ""]
