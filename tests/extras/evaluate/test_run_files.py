"""Runs as files: they go on after a kill, grow, and make the report again."""

import json
import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clew.base.types import Usage
from clew.errors import EndpointError, InputError, MissingLayer
from clew.evaluate import Scoring, Setting, evaluate, read_run, read_runs, render
from clew.evaluate import report_of as report_of_runs
from clew.extras.evaluate.run_files import Head, append, file_name, resume
from clew.extras.evaluate.summary import Row, Verdict

WORDS, FIXED = Setting("words"), Setting("fixed", {"n": 2})
SETTINGS = (WORDS, FIXED, Setting("fixed", {"n": 1}))
COST = {"documents": 5, "tokens": 0, "seconds": 1.5}
INDEX = {"generation": 1, "recipe": {"chunk_size": 256}}


def head_of(dataset, setting, **other):
    """Return the head of a run of doubles."""
    values = {
        "parameters": {"n": 3, **setting.parameters},
        "scoring": Scoring(),
        "models": {"embedder": "hash"},
        "versions": {"python": "3"},
        "index": INDEX,
        "index_cost": COST,
        **other,
    }
    return Head(dataset=dataset.about, setting=setting, **values)


def measured(dataset, search, folder, settings=SETTINGS, **options):
    """Return the report of an evaluation whose runs stand in `folder`, which it goes on with."""
    heads = {setting.label: head_of(dataset, setting) for setting in settings}
    files = {label: folder / file_name(label) for label in heads}
    recorded = {
        (label, row.question_id): row
        for label, head in heads.items()
        for row in resume(files[label], head, dataset.questions)
    }
    report = evaluate(
        dataset,
        search,
        settings,
        recorded=recorded,
        on_row=lambda row: append(files[row.label], row),
        **options,
    )
    return replace(report, index_cost=COST, models={"embedder": "hash"}, versions={"python": "3"})


def counting(search):
    """Return a search, and the list of what it was asked."""
    asked = []

    def find(question, setting):
        asked.append((question, setting.label))
        return search(question, setting)

    return find, asked


def test_runs_make_the_report_again(dataset, search, tmp_path):
    report = measured(dataset, search, tmp_path)
    files = [tmp_path / file_name(setting.label) for setting in SETTINGS]
    again = report_of_runs(read_runs(files))
    assert again.to_json(with_rows=True) == report.to_json(with_rows=True)
    assert render(again) == render(report)
    find, asked = counting(search)
    measured(dataset, find, tmp_path / "new", [WORDS])
    assert len(asked) == 6
    measured(dataset, find, tmp_path / "new", [WORDS, FIXED])
    assert {label for _, label in asked[6:]} == {FIXED.label}


def test_equal_runs_give_equal_bytes(dataset, search, tmp_path):
    for folder in ("a", "b"):
        measured(dataset, search, tmp_path / folder)
    files = sorted((tmp_path / "a").iterdir())
    assert len(files) == len(SETTINGS)
    for file in files:
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_a_run_goes_on_wherever_it_was_killed(dataset, search, tmp_path):
    """Cut at every byte of the last line, it asks the last question only, and ends the same."""
    measured(dataset, search, tmp_path, [WORDS])
    file = tmp_path / "words.jsonl"
    whole = file.read_bytes()
    begins = whole[:-1].rfind(b"\n") + 1
    for end in range(begins, len(whole)):
        file.write_bytes(whole[:end])
        find, asked = counting(search)
        measured(dataset, find, tmp_path, [WORDS])
        assert file.read_bytes() == whole
        assert asked == [("which vitamin", "words")]
    for end in range(whole.index(b"\n")):
        file.write_bytes(whole[:end])
        assert resume(file, head_of(dataset, WORDS), dataset.questions) == ()
    measured(dataset, search, tmp_path, [WORDS])
    assert file.read_bytes() == whole


def test_a_row_comes_back_as_it_was(dataset, search, reply, tmp_path):
    """Usage with its stages, errors of all three steps, notes, and what could not be read."""
    usage = Usage(llm_calls=1, recorded_calls=2, seconds={"llm": 0.25})

    def find(question, setting):
        if "Madrid" in question:
            raise MissingLayer("no 'entity' layer")
        return replace(search(question, setting), notes=("no graph — at all\n",))

    def answer(question, setting):
        if "Tower" in question:
            raise EndpointError("refused")
        return reply(question, setting.method, "Par\u2028is", cost_usd=None, prompt_tokens=3)

    def judge(question, _given):
        if "gold" in question.text:
            raise EndpointError("away")
        return Verdict(scores={"judge": 0.0}, unparsable=("judge",), usage=usage)

    report = measured(dataset, find, tmp_path, [WORDS], answer=answer, judge=judge)
    assert read_run(tmp_path / "words.jsonl").rows == report.rows
    assert report.rows[0].judge_usage == usage
    assert [bool(row.error) for row in report.rows] == [False, True, *[False] * 4]


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {"n": 4}},
        {"scoring": Scoring(context_tokens=9)},
        {"models": {"embedder": "mini"}},
        {"models": {}},
        {"prompts": {"ask": "2"}},
        {"versions": {"python": "4"}},
        {"index": {**INDEX, "generation": 2}},
        {"index": {**INDEX, "recipe": {}}},
        {"answers": True},
    ],
)
def test_a_run_of_something_else_is_measured_beside_it(dataset, search, tmp_path, change):
    """Its rows are not taken over, and those of the first are there when it is asked for again."""
    report = measured(dataset, search, tmp_path, [WORDS])
    file = tmp_path / "words.jsonl"
    assert resume(file, head_of(dataset, WORDS, **change), dataset.questions) == ()
    assert read_run(file).rows == ()
    assert resume(file, head_of(dataset, WORDS), dataset.questions) == report.rows
    assert read_run(file).rows == report.rows
    assert read_run(file).head == head_of(dataset, WORDS)


def test_a_run_grows_by_questions(dataset, search, tmp_path):
    """What was measured of some questions is measured of the others, and stays for the former."""
    few = replace(dataset, questions=dataset.questions[:2])
    find, asked = counting(search)
    first = measured(few, find, tmp_path, [WORDS])
    whole = measured(dataset, find, tmp_path, [WORDS])
    assert len(asked) == len(dataset.questions)
    assert whole.rows[:2] == first.rows
    assert measured(few, find, tmp_path, [WORDS]).rows == first.rows
    assert read_run(tmp_path / "words.jsonl").rows == first.rows
    assert measured(dataset, find, tmp_path, [WORDS]).rows == whole.rows
    assert len(asked) == len(dataset.questions)


def test_a_question_that_changed_is_asked_again_and_costs_do_not_matter(dataset, search, tmp_path):
    find, asked = counting(search)
    measured(dataset, find, tmp_path, [WORDS])
    first = replace(dataset.questions[0], answers=("London",))
    other = replace(dataset, questions=(first, *dataset.questions[1:]))
    measured(other, find, tmp_path, [WORDS])
    assert [question for question, _ in asked[len(dataset.questions) :]] == [first.text]
    file = tmp_path / "words.jsonl"
    cheaper = head_of(other, WORDS, index_cost={"seconds": 9})
    assert len(resume(file, cheaper, other.questions)) == len(other.questions)
    assert read_run(file).head.index_cost == {"seconds": 9}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a run"),
        (b"a note\n", "is not a run"),
        (b"a note", "is not a run"),
        (
            b'{"clew_run": 2, "label": "words"}\n',
            "was written by another version of Clew: measure again",
        ),
        (b'{"clew_run": 1, "label": "words"}\n', "line 1: .*missing required field `dataset`"),
        (b'{"clew_run": 1, "label": \n', "line 1: not JSON"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path, content, message):
    file = tmp_path / "x.jsonl"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_run(file)
    assert file.read_bytes() == content


def test_a_strange_file_is_not_overwritten(dataset, tmp_path):
    file = tmp_path / "words.jsonl"
    for content in (b"a note without an end", b"a note\n"):
        file.write_bytes(content)
        with pytest.raises(InputError, match="is not a run"):
            resume(file, head_of(dataset, WORDS), dataset.questions)
        assert file.read_bytes() == content


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", "line 8: must be a JSON object"),
        ("{", "line 8: not JSON"),
        ('{"question_id": "q9"}', "line 8: .*missing required field `scores`"),
        ('{"nothing": 1}', "line 8: .*missing required field `question_id`"),
    ],
)
def test_a_damaged_line_is_named(dataset, search, tmp_path, line, message):
    """A whole line that is no row is no torn one."""
    measured(dataset, search, tmp_path, [WORDS])
    with (tmp_path / "words.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(InputError, match=message):
        read_run(tmp_path / "words.jsonl")


def test_a_question_stands_in_a_run_once(dataset, search, tmp_path):
    report = measured(dataset, search, tmp_path, [WORDS])
    append(tmp_path / "words.jsonl", report.rows[2])
    with pytest.raises(InputError, match="the question 'q3' occurs twice"):
        read_run(tmp_path / "words.jsonl")


@given(label=st.text(min_size=1))
@example(label="../../etc/passwd")
@example(label="clue depth=2 query_updating=True")
@example(label="x" * 500)
@example(label="..")
def test_names_of_files_are_safe(label):
    name = file_name(label)
    assert re.fullmatch(r"[A-Za-z0-9_=-][A-Za-z0-9._=-]*\.jsonl|-[0-9a-f]{8}\.jsonl", name)
    assert len(name) < 120


def test_names_of_files_are_distinct():
    labels = ["clue depth=2", "clue depth=20", "a/b", "a?b", "a b", "peer: x", "peer, x"]
    assert len({file_name(label) for label in labels}) == len(labels)
    assert file_name("clue depth=2") == "clue-depth=2.jsonl"


def test_runs_are_read_from_folders_and_files(dataset, search, tmp_path):
    measured(dataset, search, tmp_path)
    names = [run.file.name for run in read_runs([tmp_path / "words.jsonl", tmp_path])]
    assert names == ["words.jsonl", "fixed-n=1.jsonl", "fixed-n=2.jsonl"]
    with pytest.raises(InputError, match="there is no run"):
        read_runs([tmp_path / ".."][:0])
    with pytest.raises(InputError, match=r"nothing\.jsonl: No such file"):
        read_runs([tmp_path / "nothing.jsonl"])
    with pytest.raises(InputError, match="no run"):
        report_of_runs([])


def test_the_baseline_comes_first(dataset, search, tmp_path):
    measured(dataset, search, tmp_path)
    runs = read_runs([tmp_path])
    report = report_of_runs(runs, "words")
    assert [s.label for s in report.summaries] == ["words", "fixed n=1", "fixed n=2"]
    assert report.summaries[0].against_first == {}
    assert "recall@5" in report.summaries[1].against_first
    with pytest.raises(InputError, match="there is no run 'bm25': choose one of fixed n=1, "):
        report_of_runs(runs, "bm25")


def test_an_unfinished_run_is_not_compared(dataset, search, tmp_path):
    """It would be compared on fewer questions than the others."""
    measured(dataset, search, tmp_path)
    file = tmp_path / "words.jsonl"
    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:3]))
    with pytest.raises(InputError, match=r"words\.jsonl has 2 of 6 questions: "):
        report_of_runs(read_runs([tmp_path]))


def test_rows_may_stand_in_any_order(dataset, search, tmp_path):
    """As where a line was deleted to have its question asked again."""
    report = measured(dataset, search, tmp_path)
    file = tmp_path / "words.jsonl"
    head, *lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([head, *lines[1:]]))
    measured(dataset, search, tmp_path)
    assert [row.question_id for row in read_run(file).rows] == ["q2", "q3", "q4", "q5", "q6", "q1"]
    runs = read_runs([tmp_path / file_name(setting.label) for setting in SETTINGS])
    found = report_of_runs(runs).summaries[2].estimates
    assert found == report.summaries[2].estimates


def test_runs_of_other_questions_or_scoring_are_not_compared(dataset, search, tmp_path):
    measured(dataset, search, tmp_path / "a", [WORDS])
    part = replace(dataset, questions=dataset.questions[:2])
    measured(part, search, tmp_path / "b", [FIXED])
    runs = read_runs([tmp_path / "a", tmp_path / "b"])
    named = rf"a/words\.jsonl and .*b/{re.escape(runs[1].file.name)} cannot be compared"
    with pytest.raises(InputError, match=f"{named}: dataset.n_questions is 6 in one and 2"):
        report_of_runs(runs)
    other = replace(runs[0].head, scoring=Scoring(seed=1))
    with pytest.raises(InputError, match=r"scoring.seed is 0 in one and 1 in the other"):
        report_of_runs([runs[0], replace(runs[0], head=other)])


def test_judges_are_not_mixed(dataset, search, tmp_path):
    """What two LLMs say, or one by two prompts, cannot be compared; other prompts may differ."""
    measured(dataset, search, tmp_path, [WORDS, FIXED])
    first, second = read_runs([tmp_path])

    def judged(run, name, **prompts):
        return replace(run, head=replace(run.head, models={"judge": name}, prompts=prompts))

    assert report_of_runs([judged(first, "m"), second]).models["judge"] == "m"
    with pytest.raises(InputError, match="judge is 'm' in one and 'n' in the other"):
        report_of_runs([judged(first, "m"), judged(second, "n")])
    one = judged(first, "m", judge_verdict="verdict-1", answer="answer-1")
    report_of_runs([one, judged(second, "m", judge_verdict="verdict-1", answer="answer-2")])
    message = "compared: judge_verdict is 'verdict-1' in one and 'verdict-2' in the other"
    with pytest.raises(InputError, match=message):
        report_of_runs([one, judged(second, "m", judge_verdict="verdict-2", answer="answer-1")])


def test_models_that_differ_are_named_with_their_settings(dataset, search, tmp_path):
    """Else nobody could tell the effect of a method from that of its LLM."""
    measured(dataset, search, tmp_path, [WORDS, FIXED])
    runs = [
        replace(run, head=replace(run.head, models={"embedder": "e", "answer": name}))
        for run, name in zip(read_runs([tmp_path]), "mn", strict=True)
    ]
    labels = [run.head.setting.label for run in runs]
    answer = f"m ({labels[0]}); n ({labels[1]})"
    assert report_of_runs(runs).models == {"embedder": "e", "answer": answer}


def test_settings_of_one_name_are_told_apart_by_folder(dataset, search, tmp_path):
    """As of one method on two indexes, whose costs are told apart too."""
    for folder, tokens in (("plain", 0), ("rich", 900)):
        measured(dataset, search, tmp_path / folder, [WORDS])
        file = tmp_path / folder / "words.jsonl"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace('"tokens": 0', f'"tokens": {tokens}', 1), encoding="utf-8")
    runs = read_runs([tmp_path / "plain", tmp_path / "rich"])
    report = report_of_runs(runs)
    assert [s.label for s in report.summaries] == ["words (plain)", "words (rich)"]
    assert [s.index_cost["tokens"] for s in report.summaries] == [0, 900]
    assert report.index_cost["tokens of words (rich)"] == 900
    assert report.settings[0].method == "words"
    with pytest.raises(InputError, match="are both 'words \\(plain\\)'"):
        report_of_runs([runs[0], runs[0]])


def test_questions_that_failed_are_asked_again(dataset, tmp_path):
    """An endpoint that was down leaves no zeros: the rows that stand are the others."""
    file, head = tmp_path / "runs" / "words.jsonl", head_of(dataset, WORDS)
    resume(file, head, dataset.questions)
    errors = ("", "error", "answer_error", "judge_error")
    rows = [
        Row(
            question_id=question.id,
            question_digest=question.digest,
            label="words",
            scores={"recall@5": 1.0},
            **({error: "EndpointError: down"} if error else {}),
        )
        for question, error in zip(dataset.questions, errors, strict=False)
    ]
    for row in rows:
        append(file, row)
    good = rows[0]
    assert resume(file, head, dataset.questions) == (good,)
    assert read_run(file).rows == (good,)
    assert [path.name for path in file.parent.iterdir()] == ["words.jsonl"]


@pytest.mark.parametrize("number", [0, 1])
def test_whatever_is_damaged_in_a_run_is_one_sentence(dataset, search, tmp_path, number):
    measured(dataset, search, tmp_path, [WORDS])
    lines = (tmp_path / "words.jsonl").read_text(encoding="utf-8").splitlines()
    record = json.loads(lines[number])
    file = tmp_path / "damaged.jsonl"
    for key in record.keys() - {"clew_run", "label"}:
        lines[number] = json.dumps({**record, key: 1e300})
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        with pytest.raises(InputError, match=rf"damaged\.jsonl, line {number + 1}: .*\.{key}`"):
            read_run(file)


def test_runs_over_other_documents_are_not_compared(dataset, search, tmp_path):
    runs = []
    for name, digest in (("a", "1f"), ("b", "2e")):
        file = tmp_path / name / "words.jsonl"
        resume(file, head_of(dataset, WORDS, index={"documents": digest}), ())
        for row in evaluate(dataset, search, [WORDS]).rows:
            append(file, row)
        runs.append(read_run(file))
    with pytest.raises(InputError, match="index.documents is '1f' in one and '2e' in the other"):
        report_of_runs(runs)
