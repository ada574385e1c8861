"""Each paper's presets on data sets in the files that its authors use, as they are."""

import json

import pytest

import clew
from clew.index.recipe import PAPERS
from tests.papers import worlds

evaluate = pytest.importorskip("clew.evaluate")
pytestmark = pytest.mark.satellite

# A question of two steps, and the passages that it needs beside one that it does not.
QUESTION, ANSWER = "Where was the builder of the Petrel born?", "Verle"
PASSAGES = {
    "Petrel": "The Petrel is a sloop. Dora Lenn built the Petrel in 1904.",
    "Dora Lenn": "Dora Lenn was born in Verle. She drew charts of the coast.",
    "Cape Horst": "Cape Horst has a lighthouse. Its keeper saw no ship.",
}
NEEDED = ("Petrel", "Dora Lenn")


def hipporag(folder):
    """HippoRAG's musique.json and musique_corpus.json, which Clue-RAG and BubbleRAG take."""
    paragraphs = [
        {"idx": i, "title": title, "paragraph_text": text, "is_supporting": title in NEEDED}
        for i, (title, text) in enumerate(PASSAGES.items())
    ]
    asked = {"id": "2hop__1_2", "question": QUESTION, "answer": ANSWER, "answer_aliases": []}
    corpus = [{"title": t, "text": x, "idx": i} for i, (t, x) in enumerate(PASSAGES.items())]
    (folder / "musique.json").write_text(json.dumps([{**asked, "paragraphs": paragraphs}]))
    (folder / "musique_corpus.json").write_text(json.dumps(corpus))
    return folder / "musique.json", folder / "musique_corpus.json"


def ketrag(folder):
    """KET-RAG's input/document.txt of all passages, and its pairs of question and answer."""
    for name in ("qa-pairs", "input"):
        (folder / name).mkdir()
    pairs = [{"id": "0", "question": QUESTION, "answer": ANSWER}]
    (folder / "qa-pairs" / "qa-pairs.json").write_text(json.dumps(pairs))
    text = "\n\n".join(f"{title}\n{passage}" for title, passage in PASSAGES.items())
    (folder / "input" / "document.txt").write_text(text)
    return folder / "qa-pairs" / "qa-pairs.json", folder / "input"


def graphrag_bench(folder):
    """GraphRAG-Bench's corpus and questions, which AGRAG takes."""
    asked = {
        "id": "Medical-1",
        "source": "Medical",
        "question": QUESTION,
        "answer": ANSWER,
        "question_type": "Complex Reasoning",
        "evidence": [PASSAGES[title] for title in NEEDED],
    }
    corpus = {"corpus_name": "Medical", "context": "\n".join(PASSAGES.values())}
    (folder / "questions.json").write_text(json.dumps([asked]))
    (folder / "medical.json").write_text(json.dumps([corpus]))
    return folder / "questions.json", folder / "medical.json"


@pytest.mark.parametrize("preset", ["paper", "released"])
@pytest.mark.parametrize(
    ("write", "method", "name"),
    [
        (hipporag, "clue", "musique"),
        (hipporag, "bubble", "musique"),
        (ketrag, "ket", "clew"),
        (graphrag_bench, "agrag", "graphrag-bench"),
    ],
)
def test_a_preset_runs_on_the_authors_files(tmp_path, write, method, name, preset):
    """Read as they are, indexed at 32-bit floats, and asked: what holds the answer is found."""
    if (method, preset) == ("bubble", "released"):
        pytest.skip("nothing of BubbleRAG is published")
    questions, corpus = write(tmp_path)
    dataset = evaluate.load(questions, corpus=corpus)
    [question] = dataset.questions
    assert (question.text, list(question.answers)) == (QUESTION, [ANSWER])
    with clew.open(tmp_path / "my.clew", models=worlds.TOKENLESS, settings=PAPERS) as index:
        index.add(dataset.corpus, triples="cooccurrence")
        found = index.search(question.text, method=f"{method}_{preset}")
    assert found.method == f"{method}_{preset}"
    assert any(ANSWER in hit.text for hit in found.hits)
    needed = set(question.supporting_ids)
    assert needed <= {hit.document_id for hit in found.hits}
    assert bool(needed) == (name == "musique")
