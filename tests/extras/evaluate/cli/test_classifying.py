"""`clew classify`."""

import json
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from clew.extras.evaluate.cli.classifying import compute_scores
from clew.testing import ScriptedLLM
from tests.cli.conftest import with_llm

LABELLED = [
    {"id": "ice-1", "label": "sea ice", "text": "The sea ice of the strait drifts south in June."},
    {"id": "dogs-1", "label": "sled dogs", "text": "Sled dogs pull loads and eat dried fish."},
    {"id": "crew-1", "label": "ship crews", "text": "Crews of a ship sleep in hammocks."},
]
ABOUT_DOGS = "Which fish do sled dogs eat?"


def write(path, rows):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def labelled(tmp_path, clew):
    """Return an index of three texts with labels."""
    folder = tmp_path / "labelled.clew"
    result = clew("index", write(tmp_path / "train.jsonl", LABELLED), "--into", folder)
    assert result.exit_code == 0, result.stderr
    return folder


def says(*replies):
    return with_llm(ScriptedLLM(*replies))


def test_one_text(clew, labelled):
    result = clew("classify", ABOUT_DOGS, "--index", labelled)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "sled dogs"
    assert lines[2].startswith("Candidates, names weigh 1.00, what was found 0.00")
    assert lines[3] == "  1.000  sled dogs"
    first, place = lines[lines.index("What was found") + 1 :][:2]
    assert first.startswith("  1  ")
    assert "sled dogs" in f"{first} {place}".casefold()
    assert "0 LLM calls" in lines[-1]
    result = clew("classify", ABOUT_DOGS, "--index", labelled, "--name-weight", "0", "--json")
    found = json.loads(result.stdout)
    assert (found["label"], found["out_of_set"], found["name_weight"]) == ("sled dogs", False, 0)
    assert found["candidates"][0] == ["sled dogs", 1.0]
    assert found["evidence"]["hits"][0]["document_id"] == "dogs-1"


def test_what_the_llm_said_is_shown_where_it_is_no_label(clew, labelled, tmp_path):
    result = clew("classify", ABOUT_DOGS, "--index", labelled, obj=says("\x1b[31mhuskies"))
    assert result.stdout.startswith("sled dogs\nThe LLM said '\\x1b[31mhuskies'.\n")
    assert "Note: the LLM named no label of the index" in result.stdout
    file = write(tmp_path / "texts.jsonl", LABELLED)
    llm = says("sea ice", "dunes", "dunes")
    result = clew("classify", "--file", file, "--index", labelled, obj=llm)
    assert result.stdout.count("Note: ") == 1
    assert "the best candidate without it instead (2 texts)" in " ".join(result.stdout.split())


TO_CLASSIFY = [
    {"id": "a", "label": "Sled-Dogs", "text": "Dogs pull sled after sled."},
    {"id": "b", "label": "ship crews", "text": "Ice of the sea, sea ice everywhere."},
    "{not json",
    {"id": "c", "title": "Hammocks", "text": "The crews of both ships had them."},
]


def test_a_file_with_a_bad_line(clew, labelled, tmp_path):
    file = write(tmp_path / "texts.jsonl", TO_CLASSIFY)
    result = clew("classify", "--file", file, "--index", labelled)
    assert result.exit_code == 3
    assert "texts.jsonl, line 3: is not valid JSON" in result.stderr
    a, b, c, empty, scores, _ = result.stdout.splitlines()
    assert (a, c, empty) == ("a: sled dogs", "c: ship crews", "")
    assert b == "b: sea ice (right: ship crews)"
    assert scores == "3 texts, accuracy 0.500, macro recall 0.500, out of set 0.000"
    file = write(tmp_path / "texts.txt", ["The dogs eat fish."])
    result = clew("classify", "--file", file, "--index", labelled)
    assert result.stdout.splitlines()[:3] == ["texts.txt: sled dogs", "", "1 text"]


def test_a_file_as_json_lines(clew, labelled, tmp_path):
    """A line for each text, and the metrics and costs in a last one."""
    file = write(tmp_path / "texts.jsonl", [row for row in TO_CLASSIFY if isinstance(row, dict)])
    llm = says("sled dogs", "dunes", "ship crews")
    result = clew("classify", "--file", file, "--index", labelled, "--json", obj=llm)
    assert result.exit_code == 0, result.stderr
    a, b, c, last = map(json.loads, result.stdout.splitlines())
    assert (a["id"], a["label"], a["right"], a["out_of_set"]) == ("a", "sled dogs", "Sled-Dogs", 0)
    assert (b["label"], b["out_of_set"], b["said"]) == ("sea ice", True, "dunes")
    assert "no label of the index" in b["notes"][0]
    assert "right" not in c
    assert {name: last[name] for name in ("texts", "accuracy", "macro_recall", "out_of_set")} == {
        "texts": 3, "accuracy": 0.5, "macro_recall": 0.5, "out_of_set": 0.5
    }  # fmt: skip
    assert last["usage"]["llm_calls"] == 3


def test_a_label_that_is_0_is_a_label(clew, tmp_path):
    """Numbers and truth values are labels like others."""
    rows = [{"id": str(i), "label": i % 2, "text": text} for i, text in enumerate(["Tea", "Fish"])]
    file = write(tmp_path / "numbers.jsonl", rows)
    assert clew("index", file).exit_code == 0
    result = clew("classify", "--file", file, "--name-weight", "0")
    assert result.stdout.splitlines()[:2] == ["0: 0", "1: 1"]
    assert "2 texts, accuracy 1.000" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "give TEXT or --file FILE"),
        (["text", "--file", "train.jsonl"], 2, "give TEXT or --file FILE"),
        (["text", "--label", "topic"], 1, "no document of this index has a label in 'topic'"),
        (["--file", "empty.jsonl"], 1, "there is no text to classify in 'empty.jsonl'"),
        (["  "], 1, "the text is empty"),
        (["text", "--param", "depth=2"], 1, "has no parameter 'depth'"),
    ],
)
def test_what_cannot_be_done(clew, labelled, tmp_path, arguments, status, message):
    write(tmp_path / "empty.jsonl", [])
    result = clew("classify", *arguments, "--index", labelled)
    assert result.exit_code == status
    assert message in result.stderr
    assert not result.stdout


def test_a_long_file_says_how_far_it_is(clew, labelled, tmp_path, monkeypatch):
    told = []

    @contextmanager
    def watched(_stage):
        yield lambda *numbers: told.append(numbers)

    monkeypatch.setattr("clew.extras.evaluate.cli.classifying.show_count", watched)
    file = write(tmp_path / "texts.jsonl", LABELLED)
    assert clew("classify", "--file", file, "--index", labelled).exit_code == 0
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_data_set_of_rounds(clew, tmp_path):
    """Texts of all rounds are indexed, and those to classify compared with their labels."""
    for name, rows in [("n1", LABELLED[:2]), ("n2", LABELLED[2:])]:
        (folder := tmp_path / "wos" / "split" / name).mkdir(parents=True)
        lines = "".join(f"{r['label'].replace(' ', '_')}\t{r['text']}\n" for r in rows)
        for split in ("train", "test"):
            (folder / f"{split}.txt").write_text(lines, encoding="utf-8")
    place = tmp_path / "wos.clew"
    result = clew("index", "--dataset", tmp_path / "wos", "--into", place)
    assert result.exit_code == 0, result.stderr
    command = ("classify", "--file", tmp_path / "wos", "--index", place, "--method", "zero_shot")
    result = clew(*command, "--json", obj=says("sea ice", "Sled_Dogs", "bunks"))
    *rows, last = map(json.loads, result.stdout.splitlines())
    assert [row["right"] for row in rows] == ["sea ice", "sled dogs", "ship crews"]
    assert [row["out_of_set"] for row in rows] == [False, False, True]
    assert (last["texts"], last["out_of_set"]) == (3, pytest.approx(1 / 3))


def test_scores_by_hand():
    """Three of five are right: two of three, one of one and none of one; a sixth has no label."""
    right = ["ice", "ice", "ice", "Sled dogs", "ship", ""]
    given = ["Ice", "ice.", "ship", "sled-dogs", "ice", "ice"]
    results = [SimpleNamespace(label=each, out_of_set=each == "ship") for each in given]
    scores = compute_scores(list(zip(right, results, strict=True)))
    wanted = {"accuracy": 3 / 5, "macro_recall": (2 / 3 + 1 + 0) / 3, "out_of_set": 1 / 5}
    assert scores == pytest.approx(wanted)
    assert compute_scores([("", results[0])]) == {}
