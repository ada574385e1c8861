"""Ranked lists of other systems in our reports."""

import json

import pytest

from clew.errors import InputError
from clew.evaluate import Scoring, Setting, evaluate, load
from clew.extras.evaluate.published import read_published
from tests.extras.evaluate.test_formats import HOTPOT, write

SCORING = Scoring(ks=(10, 1, 2))
FOUND = {
    "q1": ["paris", "rome", "paris", "france"], "q2": [], "q3": ["rome", "tower"], "q4": ["rome"],
    "q5": ["tower", "rome"], "q6": ["spain"],
}  # fmt: skip


def line(method, question, ids, **more):
    return {"method": method, "question_id": question, "retrieved_ids": list(ids), **more}


def peer(name="bm25", answers=None):
    given = {} if answers is None else {q: {"answer": answers.get(q, "")} for q in FOUND}
    return [line(name, question, ids, **given.get(question, {})) for question, ids in FOUND.items()]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "peers.jsonl"


def scored(file, dataset, lines):
    file.write_text("".join(f"{json.dumps(each)}\n" for each in lines), encoding="utf-8")
    return read_published([file], dataset, SCORING.ks)


def test_rankings_are_scored_by_hand_and_as_our_own(file, dataset, search):
    """Repeated ids count once, unknown gold is never found, and no gold gives no score."""
    (rows,) = scored(file, dataset, peer()).values()
    assert [row.question_id for row in rows] == list(FOUND)
    assert rows[0].document_ids == ("paris", "rome", "france")
    assert rows[0].scores["recall@1"] == rows[0].scores["recall@2"] == 0.5
    assert rows[0].scores["recall@10"] == rows[0].scores["all@10"] == 1
    assert rows[0].scores["nDCG@10"] == pytest.approx((1 + 0.5) / (1 + 0.63092975))
    assert set(rows[1].scores.values()) == {0}
    assert rows[2].scores["recall@10"] == rows[2].scores["MRR@10"] == 0.5
    assert rows[3].scores == {}
    assert rows[4].scores["MRR@10"] == 0.5
    assert (rows[0].type, rows[0].hops, rows[3].type, rows[3].hops) == ("bridge", 2, "", None)
    report = evaluate(dataset, search, [Setting("words")], SCORING)
    lines = [line("copy", row.question_id, row.document_ids) for row in report.rows]
    (rows,) = scored(file, dataset, lines).values()
    for mine, theirs in zip(report.rows, rows, strict=True):
        ranking = {m: s for m, s in mine.scores.items() if not m.startswith("coverage")}
        assert list(theirs.scores.items()) == list(ranking.items())
    assert any("MRR@10" in row.scores for row in rows)


def test_a_peer_has_a_name_of_its_own_and_may_have_answers(file, dataset):
    """What it cost is not known, and nothing is said of a context."""
    found = scored(file, dataset, [*peer("bm25"), *peer("ours v2")])
    assert list(found) == ["peer: bm25", "peer: ours v2"]
    for label, rows in found.items():
        assert {row.label for row in rows} == {label}
        assert all(row.usage is None and row.context_tokens is None for row in rows)
        assert not any("coverage" in row.scores for row in rows)
    (rows,) = scored(file, dataset, peer(answers={"q1": "Paris!", "q2": "no"})).values()
    assert [row.scores.get("EM") for row in rows] == [1, 0, 0, 0, None, 0]
    assert rows[0].answer == "Paris!"


def test_what_cannot_be_compared_is_refused(file, dataset, folder):
    """Means over other questions, or numbers of chunks as ids."""
    chunks = [line("bm25", question, ["7"]) for question in FOUND]
    for lines, message in (
        (peer()[2:], "no result for 2 of 6 .* 'q1': ask only .* --split"),
        (peer()[1:-1], "no result for 2 of 6 "),
        ([*peer("a"), *peer("b")[1:]], "method 'b' has no result for 1 of 6 questions"),
        (chunks, "'bm25' found no document of the corpus, .* '7'"),
        ([], r"peers\.jsonl: no results"),
    ):
        with pytest.raises(InputError, match=message):
            scored(file, dataset, lines)
    assert scored(file, load(folder, split="test"), peer()[2:])
    assert scored(file, dataset, [line("bm25", question, []) for question in FOUND])


def test_what_a_list_lacks_is_noted(file, dataset, folder):
    """recall@10 of three documents says less than it seems to; repeated ids count once."""
    (rows,) = scored(file, dataset, peer()).values()
    short = "lists end at 3 documents: measures that look further are lower bounds"
    repeated = "documents that the list repeats count once"
    assert repeated in rows[0].notes
    assert all(row.notes == (short,) for row in rows[1:])
    deep = [line("a", question, [*map(str, range(10)), "rome"]) for question in FOUND]
    (rows,) = scored(file, dataset, deep).values()
    assert rows[0].notes == ("some documents found are not in the corpus",)
    (rows,) = scored(file, load(folder, limit=2), peer()).values()
    assert len(rows) == 2
    assert rows[0].notes[0] == "4 results were ignored: no question is left for them"


def test_a_pooled_corpus_has_ids_too(file, tmp_path):
    dataset = load(write(tmp_path / "hotpot.json", HOTPOT))
    lines = [line("a", q.id, q.supporting_ids) for q in dataset.questions]
    (rows,) = scored(file, dataset, lines).values()
    assert [row.scores["recall@2"] for row in rows] == [1, 1]
    assert "some documents found are not in the corpus" in rows[1].notes


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (line("bm25", "q1", []), "line 7: a second result of 'bm25' for this question"),
        ({"question_id": "q1", "retrieved_ids": []}, "line 7: there is no 'method'"),
        ({"method": "a", "retrieved_ids": []}, "line 7: there is no 'question'"),
        ({"method": "a", "question_id": "q1"}, "line 7: there is no 'retrieved_ids'"),
        (line("a", "q1", [1]), "line 7: 'retrieved_ids' must contain texts"),
        (line("a", "q1", [], answer=3), "line 7: 'answer' must be a non-empty text, but is 3"),
        (3, "line 7: must be a JSON object"),
    ],
)
def test_malformed_lines_are_named(file, dataset, last, message):
    with pytest.raises(InputError, match=rf"peers\.jsonl, {message}"):
        scored(file, dataset, [*peer(), last])


PASSAGES = {"Fram": "A ship.", "Larvik": "A town.", "Maud": "A ship too."}
ASKED = ("Where?", "Who?", "Where?")  # two questions in the same words


@pytest.fixture
def musique(tmp_path):
    """Questions about Fram and Larvik, each of them needed."""
    paragraphs = [
        {"title": title, "paragraph_text": text, "is_supporting": title != "Maud"}
        for title, text in PASSAGES.items()
    ]
    questions = [
        {"id": f"2hop__{i}", "question": asked, "answer": "Norway", "paragraphs": paragraphs}
        for i, asked in enumerate(ASKED)
    ]
    write(tmp_path / "musique.json", questions)
    return load(tmp_path / "musique.json")


def hipporag(i, ranked, form="{}\n{}".format):
    """A question as `output/ircot/*.json` of the first HippoRAG has it."""
    return {
        "id": f"2hop__{i}",
        "question": ASKED[i],
        "answer": "Norway",  # the right one
        "supporting_docs": [],
        "retrieved": [form(title, PASSAGES[title]) for title in ranked],
        "retrieved_scores": [1.0] * len(ranked),
        "recall": {"1": 0.5},
    }


def hipporag2(i, ranked, answer="Oslo"):
    """A question as `QuerySolution.to_dict` of HippoRAG 2 has it: nothing but words tell it."""
    return {
        "question": ASKED[i],
        "answer": answer,
        "gold_answers": ["Norway"],
        "docs": [f"{title}\n{PASSAGES[title]}" for title in ranked],
        "doc_scores": [0.1234] * len(ranked),
        "gold_docs": ["Fram\nA ship."],
    }


def as_dict(title, text):
    return {"title": title, "text": text}


@pytest.mark.parametrize("form", ["{}\n{}".format, as_dict, lambda *pair: list(pair)])
def test_results_of_hipporag_are_a_peer(tmp_path, musique, form):
    """As they were published: passages by their words, in its three forms, no answers."""
    lists = (["Larvik", "Maud"], ["Maud"], [])
    results = [hipporag(i, ranked, form) for i, ranked in enumerate(lists)]
    write(tmp_path / "ircot_results_musique.json", results[::-1])
    peers = read_published([tmp_path / "ircot_results_musique.json"], musique, SCORING.ks)
    [(label, rows)] = peers.items()
    assert label == "peer: ircot_results_musique"
    assert [row.scores["recall@2"] for row in rows] == [0.5, 0, 0]
    assert [row.scores["MRR@10"] for row in rows] == [1, 0, 0]
    assert not any("EM" in row.scores for row in rows)
    read = [each | {"prediction": "norway"} for each in results]  # as its reader adds them
    write(tmp_path / "qa_musique.json", read)
    (rows,) = read_published([tmp_path / "qa_musique.json"], musique, SCORING.ks).values()
    assert [row.scores["EM"] for row in rows] == [1, 1, 1]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda results: results,
        lambda results: {"results": results, "overall_qa_results": {"F1": 0.5}},
    ],
)
def test_results_of_hipporag_2_are_found_by_the_words_of_questions(tmp_path, musique, wrap):
    """Equal questions come in order; "answer" is what was answered."""
    lists = (["Larvik", "Fram"], ["Maud"], ["Fram"])
    results = [hipporag2(i, ranked) for i, ranked in enumerate(lists)]
    results[2]["answer"] = "Norway."
    other = results[1] | {"question": "What else?"}
    file = tmp_path / "hipporag2.json"
    file.write_text(json.dumps(wrap([*results[:2], other, results[2]]), indent=2))
    (rows,) = read_published([file], musique, SCORING.ks).values()
    assert [row.scores["recall@2"] for row in rows] == [1, 0, 0.5]
    assert [row.scores["EM"] for row in rows] == [0, 0, 1]
    assert rows[0].notes[0] == "1 results were ignored: no question is left for them"
    file.write_text(json.dumps(results))
    with pytest.raises(InputError, match="method 'hipporag2' is in an earlier file too"):
        read_published([file, file], musique, SCORING.ks)
    file.write_text(json.dumps([results[0] | {"docs": "Fram"}]))
    with pytest.raises(InputError, match="record 1: 'docs' must be a list of texts"):
        read_published([file], musique, SCORING.ks)
