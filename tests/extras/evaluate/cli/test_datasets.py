"""`clew index --dataset` and `clew plan --dataset`: the index that `clew eval` then asks."""

import json

import pytest

from tests.cli.test_planning import chat, paying  # noqa: F401 -- fixtures

PASSAGES = {
    "Fram": "Colin Archer built the Fram for Nansen. She was launched in 1892.",
    "Colin Archer": "Colin Archer was a naval architect. He was born in Larvik.",
    "Larvik": "Larvik is a town in Norway. Ships were built in Larvik early.",
}
QUESTION = {"question": "Where was the builder of the Fram born?", "answer": "Larvik"}


def hotpot(**more):
    context = [[title, [text]] for title, text in PASSAGES.items()]
    facts = [["Fram", 0], ["Colin Archer", 0]]
    record = {"_id": "q", **QUESTION, "type": "bridge", "context": context, **more}
    return json.dumps([{**record, "supporting_facts": facts}])


def musique():
    paragraphs = [
        {"idx": i, "title": title, "paragraph_text": text, "is_supporting": title != "Larvik"}
        for i, (title, text) in enumerate(PASSAGES.items())
    ]
    record = {"id": "2hop__1_2", **QUESTION, "answer_aliases": [], "answerable": True}
    return json.dumps({**record, "paragraphs": paragraphs})


def bench(folder):
    texts = [{"corpus_name": title, "context": text} for title, text in PASSAGES.items()]
    (folder / "corpus.json").write_text(json.dumps(texts), encoding="utf-8")
    about = {"id": "q", "source": "Fram", "question_type": "Fact Retrieval", "evidence": "a; b"}
    return json.dumps([{**about, **QUESTION}])


def own(folder):
    lines = [{"id": title, "title": title, "text": text} for title, text in PASSAGES.items()]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "corpus.jsonl").write_text(text, encoding="utf-8")
    record = {"id": "q", "answers": ["Larvik"], "supporting_ids": ["Fram"]}
    return json.dumps({**record, "question": QUESTION["question"]})


FORMS = {
    "hotpot.json": lambda _: hotpot(),
    "2wiki.json": lambda _: hotpot(evidences=[["Fram", "builder", "Colin Archer"]]),
    "musique.jsonl": lambda _: musique(),
    "bench.json": bench,
    "questions.jsonl": own,
}


@pytest.fixture(params=FORMS)
def files(request, tmp_path):
    folder = tmp_path / "set"
    folder.mkdir()
    text = FORMS[request.param](folder)
    (folder / request.param).write_text(text, encoding="utf-8")
    if request.param == "bench.json":
        return ("--dataset", folder / "bench.json", "--corpus", folder / "corpus.json")
    return ("--dataset", folder if request.param == "questions.jsonl" else folder / request.param)


def test_a_data_set_is_indexed_with_triples_and_then_asked(clew, files, tmp_path):
    """In each format, and `eval` finds nothing left to do."""
    made = clew("index", *files, "--triples", "cooccurrence", "--chunk-overlap", "0")
    assert made.exit_code == 0, made.stderr
    assert "3 documents" in made.output
    [folder] = tmp_path.glob("*.clew")
    data = json.loads(clew("show", "--index", folder, "--json").stdout)
    assert data["layers"]["triple"] > 0
    assert data["recipe"]["chunk_overlap"] == 0
    methods = ("--methods", "ket_rag_p", "--json")
    told = clew("eval", *files[1:], *methods, "--index", folder)
    assert told.exit_code == 0, told.stderr
    assert "0 added, 0 changed, 0 restored, 3 unchanged" in told.stderr
    report = json.loads(told.stdout)
    assert report["dataset"]["questions"] == 1
    [note] = report["methods"]["ket_rag_p"]["notes"]
    assert "of 3 chunks 3 by co-occurrence" in note


def test_units_of_a_data_set_are_planned_and_bought(paying, files, chat):  # noqa: F811
    planned = paying("plan", *files, "--json")
    assert planned.exit_code == 0, planned.stderr
    calls = json.loads(planned.stdout)["estimates"][-1]["calls"]
    made = paying("index", *files, "--units", "1", "--triples", "llm", "--json")
    assert json.loads(made.stdout)["usage"]["llm_calls"] == calls == chat.n_asked > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Give PATH... or --dataset FILE."),
        (("x", "--dataset", "y"), "Give PATH... or --dataset FILE."),
        (("x", "--corpus", "y"), "--corpus goes with --dataset."),
    ],
)
def test_what_does_not_go_together(clew, dataset, arguments, message):
    arguments = [dataset if each == "set" else each for each in arguments]
    result = clew("index", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
