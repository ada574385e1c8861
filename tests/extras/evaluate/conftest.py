"""A dataset of six questions that a person can check, and searches that look nothing up."""

import json

import pytest

from clew.base.types import Answer, Context, Evidence, Hit, Usage
from clew.evaluate import load

CORPUS = {
    "paris": "Paris is the capital of France. The Eiffel Tower stands there.",
    "france": "France borders Spain and Italy.",
    "spain": "Madrid is the capital of Spain.",
    "tower": "The Eiffel Tower was built in 1889.",
    "rome": "Rome is the capital of Italy.",
}
QUESTIONS = [
    {
        "id": "q1", "question": "capital of the land that borders Spain", "answers": ["Paris"],
        "type": "bridge", "supporting_ids": ["paris", "france"], "hop_count": 2, "split": "dev",
    },
    {
        "id": "q2", "question": "is Madrid in Spain", "answers": ["yes"], "type": "comparison",
        "supporting_ids": ["spain"], "hop_count": 1, "split": "dev",
    },
    {
        "id": "q3", "question": "when was the Eiffel Tower built", "answers": ["1889", "in 1889"],
        "type": "bridge", "supporting_ids": ["tower", "lost"], "hop_count": 1, "split": "test",
    },
    {"id": "q4", "question": "a question without gold", "answers": ["Rome"], "split": "test"},
    {"id": "q5", "question": "no answer known", "supporting_ids": ["rome"], "split": "test"},
    {"id": "q6", "question": "which vitamin", "answers": ["A", "retinol"], "split": "test"},
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "capitals"
    root.mkdir()
    corpus = [{"id": id_, "title": id_, "text": text} for id_, text in CORPUS.items()]
    for name, records in (("corpus.jsonl", corpus), ("questions.jsonl", QUESTIONS)):
        (root / name).write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")
    return root


@pytest.fixture
def dataset(folder):
    return load(folder)


def make_evidence(question, method, ids, **usage):
    """Evidence with a hit per document id; a repeated id is another chunk of the document."""
    hits = tuple(
        Hit(
            chunk_id=f"{id_}#{place}",
            score=1 / (place + 1),
            document_id=id_,
            title=id_,
            source=f"{id_}.txt",
            start=0,
            end=len(CORPUS[id_]),
            text=CORPUS[id_],
        )
        for place, id_ in enumerate(ids)
    )
    return Evidence(query=question, method=method, hits=hits, usage=Usage(**usage))


def make_reply(question, method, text, **usage):
    """Return an answer with an empty context."""
    return Answer(
        question=question,
        text=text,
        kind="generated" if text else "none",
        citations=(),
        context=Context(passages=(), text="", n_tokens=0, budget_tokens=100),
        evidence=make_evidence(question, method, ()),
        usage=Usage(**usage),
    )


@pytest.fixture
def evidence():
    return make_evidence


@pytest.fixture
def reply():
    return make_reply


@pytest.fixture
def search():
    """Finds by shared words ('words') or always the same documents ('fixed'), the first `n`."""

    def find(question, setting):
        method, words = setting.method, set(question.lower().split())
        ids = ["rome", "rome", "paris"]
        if method == "words":
            shared = {i: len(words.intersection(t.lower().split())) for i, t in CORPUS.items()}
            ids = sorted((i for i in CORPUS if shared[i]), key=lambda i: -shared[i])
        seconds = {"embed": 0.25, "rank": 0.5 if method == "words" else 0.0}
        ids = ids[: setting.parameters.get("n", len(ids))]
        return make_evidence(question, method, ids, seconds=seconds, prompt_tokens=10, llm_calls=1)

    return find
