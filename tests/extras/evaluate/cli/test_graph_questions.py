"""Questions about a graph, in each of their formats, and how methods answer them."""

import json

import pytest
from click.testing import CliRunner

from benchmarks.graph_questions import (
    GraphQuestion,
    load_graph_questions,
    measure_graph,
    run,
    score_graph,
)
from clew.base.types import Evidence, EvidenceGraph, Fact, GraphAnswer, Hit, Table
from clew.errors import InputError
from clew.models import Reply
from clew.testing import ScriptedLLM
from tests.cli.conftest import open_with_doubles, with_llm

TABLE = "Fram\tbuilt_by\tColin Archer\nFram\tled_by\tNansen\nColin Archer\tborn_in\tLarvik\n"
OBJECTS = [
    {
        "id": "a",
        "question": "Who was the Fram built by?",
        "answers": ["Colin Archer"],
        "topic_entity": "Fram",
        "hops": 1,
        "evidences": [["Fram", "built by", "Colin Archer"]],
    },
    {"question": "Where was the builder born?", "answer": "Larvik", "type": "compositional"},
]


def fact(name):
    ends = dict(zip(("subject", "relation", "object"), name.split("|"), strict=True))
    return Fact(id=name, text=name, chunk_ids=(), candidate=1, **ends)


def answer(name):
    return GraphAnswer(id=name, text=name, score=0.5, start="fram", relations=(), facts=())


def found(graph, **other):
    return Evidence(query="?", method="m", graph=graph, **other)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "graph.tsv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "q.txt").write_text(
        "who led [Fram]\tNansen|Nobody\n\nwho was [Fram] built by\tColin Archer\n", encoding="utf-8"
    )
    lines = "".join(json.dumps(each) + "\n" for each in OBJECTS)
    (tmp_path / "q.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "q.json").write_text(json.dumps(OBJECTS), encoding="utf-8")
    return tmp_path


def test_metaqa_s_text(files):
    """The bracketed name is the topic, and answers are parted by bars."""
    first, second = load_graph_questions(files / "q.txt")
    assert first == GraphQuestion(
        id="1", text="who led Fram", answers=("Nansen", "Nobody"), topic="Fram"
    )
    assert (second.id, second.answers) == ("3", ("Colin Archer",))


@pytest.mark.parametrize("name", ["q.jsonl", "q.json"])
def test_objects(files, name):
    first, second = load_graph_questions(files / name)
    assert (first.topic, first.group) == ("Fram", "1 hops")
    assert first.gold == (("Fram", "built by", "Colin Archer"),)
    assert (second.answers, second.group, second.gold) == (("Larvik",), "compositional", ())


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.jsonl", '{"question": "Who?"}', "line 1: has no 'question' with 'answers'"),
        ("a.jsonl", "[1", "line 1: is not valid JSON"),
        ("a.jsonl", "12", "line 1: is not a JSON object"),
        ("a.json", "{}", "holds no list of questions"),
        ("a.txt", "who led [Fram]", "line 1: has no 'question'"),
        ("a.txt", "\n", "holds no questions"),
        ("a.jsonl", '{"question": "?", "answer": "x", "evidences": [["a"]]}', "lists of three"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, content, reason):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=reason):
        load_graph_questions(tmp_path / name)


def test_a_worked_score():
    """Ranked answers count in order; the topic is none, and gold triples are compared in words."""
    question = GraphQuestion(
        id="1",
        text="",
        answers=("Oslo", "Larvik"),
        topic="Fram",
        gold=(("Fram", "built_by", "Archer"), ("Archer", "died in", "Oslo")),
    )
    facts = (fact("fram|built by|archer"), fact("archer|born in|larvik"))
    ranked = EvidenceGraph(facts=facts, answers=(answer("fram"), answer("bergen"), answer("oslo")))
    scores = {"hits@1": 0.0, "hits@5": 1.0, "recall": 1.0, "gold triples": 0.5}
    assert score_graph(question, found(ranked)) == scores
    plain = score_graph(question, found(EvidenceGraph(facts=facts)))
    assert (plain["hits@1"], plain["hits@5"], plain["recall"]) == (0.0, 1.0, 0.5)
    assert set(score_graph(question, found(None)).values()) == {0.0}
    questions = [
        GraphQuestion(id=str(n), text="?", answers=("x",), group=group)
        for n, group in enumerate(["2 hops", "1 hops", ""])
    ]
    rows = measure_graph(lambda *_: found(EvidenceGraph()), questions, "m")
    assert [(row.group, row.n) for row in rows] == [("1 hops", 1), ("2 hops", 1), ("all", 3)]
    assert rows[-1].means == {"hits@1": 0.0, "hits@5": 0.0, "recall": 0.0}


def test_a_method_without_a_graph_has_recall_alone():
    question = GraphQuestion(id="1", text="?", answers=("Larvik", "Oslo", "Arch", "Bergen"))
    table = Table(name="Relations", columns=("subject",), rows=(("Oslo",),))
    text = "Archer was born in Larvik."
    hit = Hit(
        chunk_id="c", score=1, document_id="d", title="", source="", start=0, end=26, text=text
    )
    evidence = found(None, tables=(table,), hits=(hit,), notes=("nearest instead",))
    [row] = measure_graph(lambda *_: evidence, [question], "m")
    assert row.means == {"recall": 0.5}
    assert row.notes == {"nearest instead": 1}


def measured(*arguments, obj=open_with_doubles):
    return CliRunner().invoke(run, list(map(str, arguments)), obj=obj)


@pytest.fixture
def answered(clew, files):
    """Return what asks the first question with answers of an LLM that replies so."""
    clew("import", files / "graph.tsv", "--into", files / "g.clew")

    def ask(*replies, options):

        asked = (files / "q.txt", "--index", files / "g.clew", "--answers", "--limit", 1)
        return measured(*asked, *options, obj=with_llm(ScriptedLLM(*replies))).stdout

    return ask


USELESS = Reply(text="", prompt_tokens=5, completion_tokens=2, error="cut off")


def test_with_an_llm(answered):
    """Its calls and tokens are told, its answers looked into, its useless replies counted."""
    said = Reply(text="ANSWER: Nansen [1]", prompt_tokens=10, completion_tokens=1)
    options = ("--methods", "bubble", "--param", "bubble.candidates=1")
    head, row, *notes = answered(*[USELESS] * 3, said, options=options).splitlines()
    assert head.split()[-4:] == ["facts", "ms", "calls", "tokens"]
    assert row.split()[-2:] == ["4.0", "32"]
    assert head.split().index("answered") == row.split().index("1.000", 3)
    assert "bubble: 1 of 1: the LLM did not analyse the question" in "\n".join(notes)


def test_an_answer_that_was_of_no_use_is_counted(answered):
    shown = answered(USELESS, options=("--methods", "paths"))
    assert "paths: 1 of 1: the LLM gave no answer (cut off)" in shown


def test_on_the_command_line(clew, files):
    clew("import", files / "graph.tsv", "--into", files / "g.clew")
    asked = (files / "q.jsonl", "--index", files / "g.clew")
    text = measured(*asked, "--methods", "paths,bubble").stdout
    assert text.split()[:5] == ["method", "questions", "n", "hits@1", "hits@5"]
    rows = json.loads(measured(*asked, "--methods", "paths", "--places", "odd", "--json").stdout)
    assert [(row["group"], row["n"]) for row in rows] == [("compositional", 1), ("all", 1)]
    (files / "one.txt").write_text("who led [Fram]\tNansen\n", encoding="utf-8")
    none = measured(files / "one.txt", "--index", files / "g.clew", "--places", "odd")
    assert "no questions at odd places" in str(none.exception)
