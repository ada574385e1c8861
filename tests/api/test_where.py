"""`where=` in Python: only documents that fulfil a filter are seen, whatever is asked."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from clew import field, testing
from clew.api import open_index
from clew.base.types import Document
from clew.errors import InputError

QUESTION = "Where was the builder of the Comet at home?"
KINDS = {"bakken": "place", "comet": "ship", "eriksen": "man", "dorn": "man", "lund": "place"}
MODELS = testing.models()


def documents(without=""):
    return [
        replace(each, metadata={"kind": kind})
        for each in testing.small_documents()
        if (kind := KINDS.get(each.id, "other")) != without
    ]


@pytest.fixture
def index(tmp_path):
    with open_index(tmp_path / "all.clew", models=MODELS) as opened:
        opened.add(documents(), triples="cooccurrence")
        yield opened


@pytest.fixture
def alone(tmp_path):
    """An index that has never held the documents that the filter leaves out."""
    with open_index(tmp_path / "some.clew", models=MODELS) as opened:
        opened.add(documents(without="man"), triples="cooccurrence")
        yield opened


WHERE = "kind != 'man'"


@pytest.mark.parametrize("method", [None, "walk", "hybrid", "bubble", "agrag", "pagerank"])
def test_a_question_is_asked_of_some_documents(index, alone, method):
    index.ask(QUESTION, method=method)  # what was computed for all documents is not used
    found = index.ask(QUESTION, method=method, where=WHERE, min_support=0)
    other = alone.ask(QUESTION, method=method, min_support=0)
    assert found.evidence.where == WHERE
    assert "eriksen" not in {hit.document_id for hit in found.evidence.hits}
    assert (found.text, found.kind, found.citations) == (other.text, other.kind, other.citations)
    for part in ("hits", "paths", "seeds", "graph", "support", "notes", "tables"):
        assert getattr(found.evidence, part) == getattr(other.evidence, part)
    assert found.context == other.context


@pytest.mark.satellite
def test_what_a_question_of_some_documents_gives(index, alone, tmp_path):
    evidence = index.search(QUESTION, where=field("kind") != "man")
    assert evidence.where == WHERE
    assert index.answer(evidence).text == alone.answer(alone.search(QUESTION)).text
    hits = index.search(QUESTION).hits
    assert {hit.metadata["kind"] for hit in hits} <= {"man", "place", "ship", "other"}
    assert hits[0].to_dict()["metadata"] == {"kind": hits[0].metadata["kind"]}
    index.export(tmp_path / "a.json", where=WHERE)
    alone.export(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_filters_of_documents(index):
    assert index.documents(where="kind = 'man'") == ["dorn", "eriksen"]
    assert index.documents("d*", where="kind = 'man'") == ["dorn"]
    assert index.documents("v*", where="kind = 'man'") == []
    assert len(index.documents(where="  ")) == 12
    assert index.snapshot("kind like '*'") is index.snapshot()
    assert len(index.search("salt and tides", where="kind = 'man'").hits) == 2
    index.add(Document(id="new", text="A third man sold salt.", metadata={"kind": "man"}))
    hits = index.search("salt and tides", where="kind = 'man'").hits
    assert sorted(hit.document_id for hit in hits) == ["dorn", "eriksen", "new"]


def test_documents_are_removed_by_a_filter(index):
    assert index.remove("d*", where="kind = 'man'", dry_run=True) == ["dorn"]
    with pytest.raises(InputError, match="no document has one of these names and matches"):
        index.remove("v*", where="kind = 'man'")
    for nothing in ([], ()):
        with pytest.raises(InputError, match="name the documents to remove"):
            index.remove(nothing)
    assert index.remove(where="kind = 'man'") == ["dorn", "eriksen"]
    with pytest.raises(InputError, match="no document matches the filter \"kind = 'man'\""):
        index.search(QUESTION, where="kind = 'man'")


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("kind =", "ends where a value is expected"),
        ("colour = 1", "no document has the field 'colour': there are id, source, title, kind"),
        ("kind = 'sea'", "no document matches"),
        (3, "a filter must be a text or built with clew.field, not 3"),
        (field("kind"), "a filter must be a text or built with clew.field, not field"),
    ],
)
def test_filters_that_cannot_be(index, where, reason):
    for ask in (index.ask, index.search):
        with pytest.raises(InputError, match=reason):
            ask(QUESTION, where=where)


def test_many_filters_at_once(index):
    """Threads with filters of their own do not get each other's documents."""

    def ask(kind):
        where = field("kind") == kind
        hits = [hit for _ in range(5) for hit in index.search(QUESTION, where=where).hits]
        return {KINDS.get(hit.document_id, "other") for hit in hits} <= {kind}

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(ask, ("man", "place", "other")))


def test_another_time_of_a_file_costs_nothing(tmp_path):
    """A document has the time of its file; where only that changed, no row is made anew."""
    path = tmp_path / "notes" / "a.md"
    path.parent.mkdir()
    path.write_text("---\ntags: [x]\n---\nAda wound a rope.", encoding="utf-8")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    (tmp_path / "notes" / "rows.csv").write_text("text\nIce.\n", encoding="utf-8")

    class Counting(testing.HashEmbedder):
        texts = 0

        def embed(self, texts, *, kind):
            Counting.texts += len(texts)
            return super().embed(texts, kind=kind)

    with open_index(tmp_path / "i.clew", models=testing.models(Counting())) as index:
        index.add(tmp_path / "notes")
        assert index.documents(where="modified = 2023-11-14") == ["notes/a.md"]
        digest, embedded = index.digest(), Counting.texts
        os.utime(path, (1_800_000_000, 1_800_000_000))
        report = index.add(tmp_path / "notes").report
        assert (report.restated, report.changed, report.n_unchanged) == (["notes/a.md"], [], 1)
        assert index.documents(where="modified > 2024") == ["notes/a.md"]
        assert index.documents(where="modified < 2024") == []
        path.write_text("---\ntags: [y]\nmodified: 2001-01-01\n---\nAda wound a rope.", "utf-8")
        index.add(tmp_path / "notes")
        assert index.documents(where="modified = 2001") == ["notes/a.md"]
        path.write_text("---\ntags: [x]\n---\nAda wound a rope.", encoding="utf-8")
        index.add(tmp_path / "notes")
        assert index.digest() == digest
        assert Counting.texts >= embedded
