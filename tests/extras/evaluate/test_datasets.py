"""Reading datasets."""

import json
from collections import Counter

import pytest

from clew.errors import InputError
from clew.evaluate import DatasetQuestion, load


def test_fields_arrive_where_they_belong(folder):
    """A full record gives a full question, and the dataset is named like its folder."""
    path = folder / "questions.jsonl"
    first, *others = path.read_text(encoding="utf-8").splitlines()
    evidence = ["Paris is the capital.", "France borders Spain.", "Paris is the capital."]
    full = json.dumps({**json.loads(first), "evidence": evidence, "evidence_text": "not read"})
    path.write_text("\n".join([full, *others]), encoding="utf-8")
    dataset = load(folder)
    assert dataset.questions[0] == DatasetQuestion(
        id="q1",
        text="capital of the land that borders Spain",
        answers=("Paris",),
        type="bridge",
        supporting_ids=("paris", "france"),
        hops=2,
        split="dev",
        evidence=("Paris is the capital.", "France borders Spain."),
    )
    assert (dataset.name, dataset.n_documents) == ("capitals", 5)
    assert dataset.corpus == folder / "corpus.jsonl"


def test_what_cannot_be_measured_is_kept_and_counted(dataset):
    """A question may be measured one way or the other; the answer "A" would match every text."""
    assert len(dataset.questions) == 6
    assert (dataset.about.n_without_gold, dataset.about.n_without_answers) == (2, 1)
    assert dataset.questions[3].supporting_ids == dataset.questions[4].answers == ()
    assert dataset.unknown_ids == ("lost",)
    assert "lost" in dataset.questions[2].supporting_ids
    assert dataset.questions[5].answers == ("retinol",)
    assert dataset.dropped_answers == ("A",)
    assert (dataset.about.format, dataset.about.left_out) == ("clew", {})


def test_a_guess_at_what_supports_an_answer_is_not_measured(folder):
    """A question whose gold is unsure counts for answers and not for recall."""
    path = folder / "questions.jsonl"
    first, second, *others = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    sure = [{**first, "gold_sure": False}, {**second, "gold_sure": True}, *others]
    path.write_text("\n".join(map(json.dumps, sure)), encoding="utf-8")
    guessed, known = load(folder).questions[:2]
    assert (guessed.supporting_ids, guessed.answers) == ((), ("Paris",))
    assert known.supporting_ids == tuple(second["supporting_ids"]) != ()
    path.write_text(json.dumps({**first, "gold_sure": "no"}), encoding="utf-8")
    with pytest.raises(InputError, match="line 1: 'gold_sure' must be true or false, but is 'no'"):
        load(folder)


def test_parts_of_the_questions_are_chosen(folder):
    assert [q.id for q in load(folder, split="test").questions] == ["q3", "q4", "q5", "q6"]
    two = load(folder, split="dev", limit=2)
    assert [q.id for q in two.questions] == ["q1", "q2"]
    assert (two.unknown_ids, two.dropped_answers, two.about.n_without_gold) == ((), (), 0)
    assert len(load(folder, limit=99).questions) == 6
    with pytest.raises(InputError, match="split 'train', only of dev, test"):
        load(folder, split="train")
    with pytest.raises(InputError, match="at least 1, but is 0"):
        load(folder, limit=0)
    with pytest.raises(InputError, match="not both"):
        load(folder, sample=2, limit=2)
    with pytest.raises(InputError, match="sample of questions must be at least 1, but is 0"):
        load(folder, sample=0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"id": "\xff"}', "not UTF-8 at byte 8"),
        (b'["q7"]', "must be a JSON object, but is list"),
        (b'{"question": "?"}', "there is no 'id'"),
        (b'{"id": null, "question": "?"}', "'id' must be a non-empty text, but is None"),
        (b'{"id": 7, "question": "?"}', "'id' must be a non-empty text, but is 7"),
        (b'{"id": "q7"}', "there is no 'question'"),
        (b'{"id": "q7", "question": " "}', "'question' must be a non-empty text"),
        (b'{"id": "q1", "question": "?"}', "'q1' is already used in .*questions.jsonl, line 1"),
        (b'{"id": "q7", "question": "?", "answers": "yes"}', "'answers' must be a list"),
        (
            b'{"id": "q7", "question": "?", "answers": [""]}',
            "'answers' must contain non-empty texts",
        ),
        (
            b'{"id": "q7", "question": "?", "supporting_ids": [1]}',
            "'supporting_ids' must contain texts",
        ),
        (b'{"id": "q7", "question": "?", "hop_count": "2"}', "'hop_count' must be a whole"),
        (b'{"id": "q7", "question": "?", "hop_count": true}', "'hop_count' must be a whole"),
        (b'{"id": "q7", "question": "?", "type": 3}', "'type' must be a non-empty text"),
        (b'{"id": "q7", "question": "?", "evidence": "one"}', "'evidence' must be a list"),
    ],
)
def test_malformed_lines_are_named(folder, line, message):
    path = folder / "questions.jsonl"
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(InputError, match=rf"questions\.jsonl, line 7: .*{message}"):
        load(folder)


def test_missing_files_and_empty_datasets_are_refused(folder, tmp_path):
    empty = tmp_path / "none"
    empty.mkdir()
    with pytest.raises(InputError, match="none: no file with questions: name one"):
        load(empty)
    with pytest.raises(InputError, match="nowhere: No such file"):
        load(tmp_path / "nowhere")
    path = folder / "corpus.jsonl"
    path.write_text(path.read_text() + '{"id": "rome"}\n')
    with pytest.raises(InputError, match=r"corpus\.jsonl, line 6: the id 'rome' is already"):
        load(folder)
    (folder / "questions.jsonl").write_text("\n")
    with pytest.raises(InputError, match=r"questions\.jsonl: no questions"):
        load(folder)
    (empty / "questions.jsonl").write_text('{"id": "q1", "question": "?"}')
    with pytest.raises(InputError, match=r"none: no documents, neither corpus\.jsonl nor a folder"):
        load(empty)
    for name in ("texts", "notes", ".git", "__pycache__"):
        (empty / name).mkdir()
    with pytest.raises(InputError, match=r"two folders of documents, notes and texts: name one"):
        load(empty)


def test_a_folder_of_files_can_be_the_corpus(tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "fram.md").write_text("# Fram\n\nA ship.\n", encoding="utf-8")
    question = {"id": "q1", "question": "What is it?", "supporting_ids": ["texts/fram.md"]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(question), encoding="utf-8")
    dataset = load(tmp_path)
    assert dataset.n_documents == 1
    assert dataset.unknown_ids == ()
    assert dataset.corpus == tmp_path / "texts"


def test_a_sample_is_drawn_from_the_split_in_the_order_of_the_file(folder):
    ids = [question.id for question in load(folder, split="test").questions]
    drawn = {}
    for size in range(1, 6):
        drawn[size] = [q.id for q in load(folder, split="test", sample=size, seed=3).questions]
        assert drawn[size] == [id_ for id_ in ids if id_ in drawn[size]]
        assert len(drawn[size]) == min(size, 4)
    assert set(drawn[1]) < set(drawn[2]) < set(drawn[3]) < set(ids)
    assert [q.id for q in load(folder, split="test", sample=2, seed=3).questions] == drawn[2]
    assert len({load(folder, sample=3, seed=seed).about.digest for seed in range(9)}) > 3


def test_each_question_is_drawn_equally_often_from_any_file(folder):
    """Over 600 seeds, each of six questions is the one drawn about 100 times."""
    drawn = Counter(load(folder, sample=1, seed=seed).questions[0].id for seed in range(600))
    assert sorted(drawn) == ["q1", "q2", "q3", "q4", "q5", "q6"]
    assert max(abs(n - 100) for n in drawn.values()) < 40  # 4.4 standard deviations
    path = folder / "questions.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    assert len(load(folder).questions) == 6


def test_the_same_questions_may_be_asked_of_another_corpus(folder, tmp_path):
    (tmp_path / "small.jsonl").write_text('{"id": "paris", "text": "Paris."}\n')
    dataset = load(folder, corpus=tmp_path / "small.jsonl")
    assert (dataset.name, dataset.n_documents) == ("capitals-small", 1)
    assert dataset.corpus == tmp_path / "small.jsonl"
    assert dataset.questions == load(folder).questions
    assert dataset.unknown_ids == ("france", "spain", "tower", "lost", "rome")
    dataset = load(folder / "questions.jsonl")
    assert (dataset.name, dataset.corpus) == ("questions", folder / "corpus.jsonl")
    assert dataset.questions == load(folder).questions
