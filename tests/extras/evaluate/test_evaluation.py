"""Evaluations from end to end, over a fake search."""

import json
from dataclasses import replace

import pytest

from clew.answers.context import build_context
from clew.base.types import Citation, Table, Usage
from clew.errors import BudgetSpent, EndpointError, InputError, MissingLayer
from clew.evaluate import Scoring, Setting, evaluate, grid, render
from clew.extras.evaluate.datasets import DatasetQuestion
from clew.extras.evaluate.evaluation import measurable, score_answer, score_quotes, score_retrieval
from clew.extras.evaluate.published import add_published
from clew.extras.evaluate.summary import Row, Verdict

WORDS, FIXED = Setting("words"), Setting("fixed")


def summary(dataset, search, **options):
    return summary_of(dataset, search, [WORDS, FIXED], **options)


def summary_of(dataset, search, settings, **options):
    data = evaluate(dataset, search, settings, **options).to_json()
    return json.loads(json.dumps(data))


def mean(data, method, metric):
    return data["methods"][method]["metrics"][metric]["mean"]


def raising(error):
    """What neither searches, answers nor judges."""

    def fail(*_given):
        raise error

    return fail


def test_means_by_hand(dataset, search):
    """'fixed' finds rome, rome and paris: half of q1's gold at rank 2, and q5's at rank 1."""
    data = summary(dataset, search)
    assert mean(data, "fixed", "recall@5") == pytest.approx((0.5 + 0 + 0 + 1) / 4)
    assert mean(data, "fixed", "all@5") == pytest.approx(1 / 4)
    assert mean(data, "fixed", "MRR@10") == pytest.approx((1 / 2 + 1) / 4)
    assert data["methods"]["fixed"]["metrics"]["recall@5"]["n"] == 4
    row = evaluate(dataset, search, [FIXED]).rows[0]
    assert (row.document_ids, row.scores["recall@2"]) == (("rome", "paris"), 0.5)
    # Paris and Rome stand in what it finds; "yes" does not; q5 has no answer.
    assert mean(data, "fixed", "coverage") == pytest.approx(2 / 5)
    assert mean(data, "fixed", "coverage without yes/no") == pytest.approx(2 / 4)


def test_coverage_looks_into_the_context_of_an_answer(dataset, search):
    """Paris is the third hit of 'fixed': it counts while the budget has room for it."""
    context = build_context(search("", FIXED))
    whole, short = context.n_tokens, context.n_tokens - 1
    data = summary(dataset, search, scoring=Scoring(context_tokens=whole))
    assert mean(data, "fixed", "coverage") == pytest.approx(2 / 5)
    assert data["methods"]["fixed"]["context_tokens"] == whole
    data = summary(dataset, search, scoring=Scoring(context_tokens=short))
    assert mean(data, "fixed", "coverage") == pytest.approx(1 / 5)
    assert 0 < data["methods"]["fixed"]["context_tokens"] < short
    assert mean(data, "fixed", "recall@2") > 0


def test_coverage_looks_into_tables(dataset, search):

    def tabled(question, setting):
        table = Table(name="Relations", columns=("from", "to"), rows=(("retinol", "vitamin A"),))
        return replace(search(question, setting), tables=(table,))

    vitamin = replace(dataset, questions=dataset.questions[5:])
    assert mean(summary(vitamin, search), "fixed", "coverage") == 0
    assert mean(summary(vitamin, tabled), "fixed", "coverage") == 1


def test_headlines_progress_and_nothing_to_measure(dataset, search):
    assert evaluate(dataset, search, [FIXED]).headline == "recall@5"
    assert evaluate(dataset, search, [FIXED], scoring=Scoring(ks=(20, 1, 3))).headline == "recall@3"
    no_gold = replace(dataset, questions=dataset.questions[3:4])
    assert evaluate(no_gold, search, [FIXED]).headline == "coverage"
    steps = []
    evaluate(dataset, search, [WORDS, FIXED], on_progress=lambda *s: steps.append(s))
    assert steps == [(i, 12) for i in range(1, 13)]
    with pytest.raises(InputError, match="'capitals' has no questions"):
        evaluate(replace(dataset, questions=()), search, [FIXED])


def test_a_report_compares_and_parts_what_it_measures(dataset, search):
    """The first method has no difference; who names no type or hops is in no group."""
    data = summary(dataset, search)
    assert data["methods"]["words"]["against_first"] == {}
    test = data["methods"]["fixed"]["against_first"]["recall@5"]
    difference = mean(data, "fixed", "recall@5") - mean(data, "words", "recall@5")
    assert test["difference"] == pytest.approx(difference)
    assert test["low"] <= test["difference"] <= test["high"]
    assert 0 < test["p_value"] <= 1
    groups = data["methods"]["fixed"]["by_type"]
    assert {name: group["n"] for name, group in groups.items()} == {"bridge": 2, "comparison": 1}
    assert groups["bridge"]["means"]["recall@5"] == pytest.approx(0.25)
    assert list(data["methods"]["fixed"]["by_hops"]) == ["1", "2"]
    # Of 'words', a quarter of a second is the embedder's and half a second its own.
    spent = data["methods"]["words"]["search"]
    assert (spent["p50_s"], spent["p95_s"]) == (0.75, 0.75)
    assert (spent["model_p50_s"], spent["model_p95_s"]) == (0.25, 0.25)
    assert (spent["tokens"], spent["llm_calls"], spent["cost_usd"]) == (10, 1, 0)


def test_unknown_price_makes_the_mean_unknown(dataset, evidence):
    """A mean over only the known prices would look cheap."""

    def search(question, setting):
        price = None if "vitamin" in question else 0.5
        return evidence(question, setting.method, (), cost_usd=price)

    report = evaluate(dataset, search, [Setting("priced")])
    assert report.to_json()["methods"]["priced"]["search"]["cost_usd"] is None
    assert "unknown" in render(report)


def test_answers_are_scored_beside_the_search(dataset, search, reply):
    """EM, F1 and Acc are over the five questions with answers; usages stay apart."""

    def answer(question, setting):
        text = "It is Paris." if setting.method == "words" else "yes"
        return reply(question, setting.method, text, completion_tokens=7)

    data = summary(dataset, search, answer=answer)
    assert mean(data, "words", "EM") == 0
    assert mean(data, "words", "Acc") == pytest.approx(1 / 5)
    assert mean(data, "words", "F1 plain") == pytest.approx(2 * 1 / (3 + 1) / 5)
    assert mean(data, "fixed", "EM") == pytest.approx(1 / 5)
    assert data["methods"]["words"]["answer"]["tokens"] == 7
    assert data["methods"]["words"]["search"]["tokens"] == 10
    assert list(data["methods"]["fixed"]["against_first"]) == ["recall@5", "F1 plain"]


def test_f1_is_by_all_yes_no_conventions(dataset, search, reply):
    """The same answers score less where a yes that is not alone counts as wrong."""

    def answer(question, setting):
        return reply(question, setting.method, "yes it is")

    data = summary(dataset, search, answer=answer)
    assert mean(data, "fixed", "F1 plain") == pytest.approx(0.5 / 5)
    assert mean(data, "fixed", "F1 hotpot") == 0


def test_a_search_that_fails_scores_zero_and_the_rest_goes_on(dataset, search, reply):
    """One method lacks a layer on one question: counted, shown, and no other row changes."""

    def failing(question, setting):
        if setting.method == "words" and "land" in question:
            raise MissingLayer("no 'entity' layer")
        return search(question, setting)

    report = evaluate(
        dataset, failing, [FIXED, WORDS], answer=lambda q, s: reply(q, s.method, "yes")
    )
    rows = {(row.question_id, row.label): row for row in report.rows}
    assert rows["q1", "words"].error == "MissingLayer: no 'entity' layer"
    assert set(rows["q1", "words"].scores.values()) == {0}
    assert rows["q1", "words"].scores.keys() == rows["q1", "fixed"].scores.keys()
    assert rows["q1", "words"].answer_usage is None
    data = report.to_json()
    assert (data["methods"]["words"]["failed"], data["methods"]["fixed"]["failed"]) == (1, 0)
    assert "words failed in 1 of 6 searches, scored 0; first: MissingLayer" in render(report)


def test_a_method_that_always_fails_has_no_cost(dataset, search):

    def failing(question, setting):
        if setting.method == "words":
            raise MissingLayer("no 'entity' layer")
        return search(question, setting)

    report = evaluate(replace(dataset, questions=dataset.questions[:1]), failing, [FIXED, WORDS])
    assert report.to_json()["methods"]["words"]["search"] is None
    text = render(report)
    assert "words failed in 1 of 1 searches" in text
    assert any(line.split() == ["words", *"--------"] for line in text.splitlines())
    assert "questions without" not in text


def test_an_answer_that_fails_leaves_the_ranking(dataset, search):
    """An endpoint that dies after the search costs the answer's score only."""
    refuses = raising(EndpointError("connection refused"))
    report = evaluate(dataset, search, [FIXED], answer=refuses)
    data = report.to_json()
    assert mean(data, "fixed", "recall@5") > 0
    assert mean(data, "fixed", "F1 plain") == 0
    row = data["methods"]["fixed"]
    assert (row["failed_answers"], row["answer"]) == (6, None)
    assert "fixed failed in 6 of 6 answers" in render(report)


def test_notes_of_search_and_answer_are_kept_once(dataset, evidence, reply):
    """An answer's evidence has the search's notes and its own; one that fails leaves the former."""

    def search(question, setting):
        return replace(evidence(question, setting.method, ["paris"]), notes=("no graph",))

    def answer(question, setting):
        if "Madrid" in question:
            raise EndpointError("connection refused")
        found = reply(question, setting.method, "yes")
        return replace(found, evidence=replace(found.evidence, notes=("no graph", "no reply")))

    report = evaluate(dataset, search, [FIXED], answer=answer)
    assert [row.notes for row in report.rows[:2]] == [("no graph", "no reply"), ("no graph",)]
    assert report.summaries[0].notes == {"no graph": 6, "no reply": 5}


def test_what_a_search_raises(dataset):
    """Its error is told, and there are no notes; a bug in a method is no failed question."""
    search = raising(MissingLayer("no 'entity' layer"))
    assert evaluate(dataset, search, [FIXED]).rows[0].notes == ()
    with pytest.raises(ZeroDivisionError):
        evaluate(dataset, lambda *_: 1 / 0, [FIXED])


@pytest.mark.parametrize(
    ("settings", "scoring", "message"),
    [
        ([], Scoring(), "distinct labels, but are \\[\\]"),
        ([WORDS, FIXED, Setting("words")], Scoring(), "distinct labels"),
        (grid("words", {"n": [1, 1]}), Scoring(), "distinct labels, but are .*'words n=1'"),
        ([WORDS], Scoring(ks=()), "at least 1"),
        ([WORDS], Scoring(ks=(0, 5)), "at least 1, but are \\(0, 5\\)"),
        ([WORDS], Scoring(ks=(5, 5)), "different numbers"),
        ([WORDS], Scoring(context_tokens=0), "context_tokens must be at least 1, but is 0"),
    ],
)
def test_senseless_settings_are_refused(dataset, settings, scoring, message):
    with pytest.raises(InputError, match=message):
        evaluate(dataset, raising(AssertionError), settings, scoring)


def test_each_setting_has_its_row(dataset, search):
    """A grid has a row for each combination, named by what varies, and its own numbers."""
    data = summary_of(dataset, search, [WORDS, *grid("fixed", {"n": [1, 3], "x": ["a", "b"]})])
    names = "words, fixed n=1 x=a, fixed n=1 x=b, fixed n=3 x=a, fixed n=3 x=b"
    assert ", ".join(data["methods"]) == names
    row = data["methods"]["fixed n=3 x=b"]
    assert (row["method"], row["parameters"]) == ("fixed", {"n": 3, "x": "b"})
    row = data["methods"]["words"]
    assert (row["method"], row["parameters"]) == ("words", {})
    assert mean(data, "fixed n=1 x=a", "recall@5") == pytest.approx(1 / 4)
    assert mean(data, "fixed n=3 x=a", "recall@5") == pytest.approx((0.5 + 1) / 4)


def test_measurable_is_what_is_measured(dataset, search, reply):
    for questions in (dataset.questions, dataset.questions[3:4], dataset.questions[4:5]):
        part, scoring = replace(dataset, questions=questions), Scoring(ks=(1, 3))
        for answer in (None, lambda q, s: reply(q, s.method, "yes")):
            report = evaluate(part, search, [FIXED], scoring, answer=answer)
            found = report.summaries[0].estimates.keys()
            assert measurable(part, scoring, answers=answer is not None) == found


def judged(scores, **other):
    return lambda _question, _answer: Verdict(scores=scores, **other)


def test_a_judge_is_asked_after_the_answer(dataset, search, reply):
    """Its scores stand behind all others, and its usage by itself."""
    report = evaluate(
        dataset,
        search,
        [FIXED],
        answer=lambda q, s: reply(q, s.method, "Paris", completion_tokens=5),
        judge=judged({"judge": 1.0, "faithfulness": 0.5}, usage=Usage(prompt_tokens=70)),
    )
    assert list(report.rows[0].scores)[-2:] == ["judge", "faithfulness"]
    data = report.to_json()["methods"]["fixed"]
    assert data["metrics"]["faithfulness"]["mean"] == 0.5
    assert (data["answer"]["tokens"], data["judge"]["tokens"]) == (5, 70)
    have = measurable(dataset, Scoring(), answers=True, judged=("judge", "faithfulness"))
    assert have == report.summaries[0].estimates.keys()
    unanswered = replace(dataset, questions=dataset.questions[4:5])
    have = measurable(unanswered, Scoring(), answers=True, judged=("judge", "faithfulness"))
    assert ("judge" in have, "faithfulness" in have) == (False, True)
    report = evaluate(dataset, search, [FIXED], judge=judged({"judge": 1.0}))
    assert "judge" not in report.summaries[0].estimates


def test_what_a_judge_did_not_say_is_counted(dataset, search, reply):
    """By metric, how many verdicts could not be read, whether they score or not."""

    def judge(question, answer):
        if question.id == "q1":
            return Verdict(scores={"judge": 0.0}, unparsable=("judge", "faithfulness"))
        return Verdict(scores={"judge": 1.0, "faithfulness": 1.0})

    report = evaluate(
        dataset, search, [FIXED], answer=lambda q, s: reply(q, s.method, "x"), judge=judge
    )
    [summary] = report.summaries
    assert summary.unparsable == {"judge": 1, "faithfulness": 1}
    assert (summary.estimates["judge"].n, summary.estimates["faithfulness"].n) == (6, 5)
    assert report.to_json()["methods"]["fixed"]["unparsable"] == {"judge": 1, "faithfulness": 1}


def test_an_answer_that_failed_is_judged_as_an_empty_one(dataset, search):
    """So a method that fails is not left out of what the others are judged by."""
    texts = []

    def judge(question, given):
        texts.append(given.text)
        return Verdict(scores={"judge": float(bool(given.text))})

    refuses = raising(EndpointError("refused"))
    report = evaluate(dataset, search, [FIXED], answer=refuses, judge=judge)
    assert texts == [""] * 6
    assert report.summaries[0].estimates["judge"].mean == 0


def test_a_judge_that_fails_says_nothing(dataset, search, reply):
    """The failure is the judge's, so no method scores 0 for it; it is counted."""

    def judge(question, answer):
        if question.id == "q2":
            raise EndpointError("away")
        return Verdict(scores={"judge": 1.0})

    report = evaluate(
        dataset, search, [FIXED], answer=lambda q, s: reply(q, s.method, "x"), judge=judge
    )
    [summary] = report.summaries
    assert (summary.estimates["judge"].mean, summary.estimates["judge"].n) == (1, 5)
    assert (summary.n_failed_verdicts, summary.first_error) == (1, "EndpointError: away")


def test_recorded_rows_are_taken_over(dataset, search):
    whole = evaluate(dataset, search, [WORDS, FIXED])
    known = {(row.label, row.question_id): row for row in whole.rows[:5]}
    told = []
    steps = []
    again = evaluate(
        dataset, search, [WORDS, FIXED], None, lambda done, _: steps.append(done), recorded=known,
        on_row=told.append,
    )  # fmt: skip
    assert again.rows == whole.rows
    assert tuple(told) == whole.rows[5:]
    assert steps == list(range(1, 13))
    rows = []

    def find(question, setting):
        if "Tower" in question:
            raise BudgetSpent("no room")
        return search(question, setting)

    with pytest.raises(BudgetSpent, match="no room"):
        evaluate(dataset, find, [FIXED], on_row=rows.append)
    assert [row.question_id for row in rows] == ["q1", "q2"]


def test_evidence_is_looked_for_in_the_context(dataset, search):
    stated = ("The Eiffel Tower stands in Paris, the capital of France.", "Whales sing at night.")
    bare = DatasetQuestion(
        id="e", text="x", answers=(), type="", supporting_ids=(), evidence=stated
    )
    report = evaluate(replace(dataset, questions=(bare,)), search, [FIXED])
    assert report.rows[0].scores == {"evidence": 0.5}
    nothing = evaluate(
        replace(dataset, questions=(bare,)),
        lambda question, _: search(question, Setting("fixed", {"n": 0})),
        [FIXED],
    )
    assert nothing.rows[0].scores == {"evidence": 0}


def test_a_ranking_without_a_context_has_no_coverage(dataset):
    """As of another system, of which the ranking alone is known."""
    question = dataset.questions[0]
    scores = score_retrieval(question, ["france", "x"], None, (1, 2))
    assert scores["recall@2"] == 0.5
    assert not {"coverage", "evidence"} & scores.keys()
    assert score_answer(question, "Paris")["EM"] == 1
    assert score_answer(dataset.questions[4], "Paris") == {}


def test_settings_are_compared_on_what_both_have(dataset, search, reply):
    """A peer has no answers, so nothing is said of them; its ranking is compared."""
    report = evaluate(dataset, search, [FIXED], answer=lambda q, s: reply(q, s.method, "Paris"))
    peers = [
        Row(
            question_id=question.id,
            label="peer: a",
            scores=score_retrieval(question, ("paris",), None, (2, 5, 10)),
        )
        for question in dataset.questions
    ]
    both = add_published(replace(report, index_cost={"tokens": 9}), {"peer: a": peers})
    ours, theirs = both.summaries
    assert list(theirs.against_first) == ["recall@5"]
    assert (ours.index_cost, theirs.index_cost) == ({"tokens": 9}, {})
    assert (theirs.search, theirs.n_failed) == (None, 0)
    assert "peer: a" in render(both)


def test_quoted_looks_into_what_is_cited(dataset):
    """A right answer counts wherever it stands in the quotes; yes and no, and no answer, do not."""
    question = replace(dataset.questions[0], answers=("Paris",))
    cited = [
        Citation(number=1, chunk_id="c", document_id="d", source="s", start=0, end=9, quote=quote)
        for quote in ("It is far.", "They live in Paris.")
    ]
    assert score_quotes(question, cited) == {"quoted": 1.0}
    assert score_quotes(question, cited[:1]) == {"quoted": 0.0}
    assert score_quotes(question, ()) == {"quoted": 0.0}
    assert score_quotes(replace(question, answers=("no",)), cited) == {}
    assert score_quotes(replace(question, answers=()), cited) == {}
