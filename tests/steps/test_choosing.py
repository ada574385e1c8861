"""Chunks as a set: parts of one stay together, paths follow, and what repeats goes behind."""

from dataclasses import replace

import pytest

from clew import methods, steps
from clew.base.types import Document, Evidence
from clew.methods.hybrid import Hybrid
from clew.steps.choosing import choose_hits, order_as_set
from clew.testing import QUESTIONS, HashTokenEmbedder, built, models, small_documents

LATE = HashTokenEmbedder(64)
BRIG = "Ada Lund sailed with Bo Tarn on the brig Hesper from the town of Moss to Holt in May."
OTHER = "Cy Venn kept bees on the hill above the harbour, and sold honey to the crew of the Hesper."


@pytest.fixture(scope="module")
def twice():
    """An index with one text in two documents, and another beside."""
    texts = {"one": BRIG, "two": BRIG, "other": OTHER}
    documents = [Document(id=name, text=text) for name, text in texts.items()]
    with built(documents, models(LATE)) as snapshot:
        yield snapshot


def test_what_repeats_another_goes_behind(twice):
    """The better one of both lists it, though its score is the second best."""
    asked = steps.read_query(models(LATE), "Who sailed on the brig Hesper?")
    rows = twice.layer("chunk").rows(
        [hit.chunk_id for hit in Hybrid().retrieve(asked.text, twice, models(LATE)).hits]
    )
    ids = [twice.layer("document").ids([row])[0] for row in rows]
    assert ids == ["one", "two", "other"]
    places, chosen = order_as_set(twice, asked, rows, [0.9, 0.9, 0.1])
    assert [ids[place] for place in places] == ["one", "other", "two"]
    assert chosen.also == {rows[0]: (rows[1],)}


REPORT = (
    "In the year {} the company had a revenue of {} million euro. The board thanks all employees"
    " for their work. The meeting was held in the town hall, and the auditors approved the accounts"
    " without remarks."
)


def repeated(documents, question):
    """Return for each document of a set the ids of those that repeat it."""
    with built(documents, models(LATE)) as snapshot:
        asked = steps.read_query(models(LATE), question)
        rows = list(range(len(documents)))
        _, chosen = order_as_set(snapshot, asked, rows, [1 / (row + 1) for row in rows])
        return {row: set(others) for row, others in chosen.also.items()}


def reports(*, titled):
    """Return a report for each of four years, all in the same words."""
    return [
        Document(
            id=str(year), title=f"Report {year}" if titled else "", text=REPORT.format(year, year)
        )
        for year in range(2012, 2016)
    ]


def test_what_the_question_tells_apart_repeats_nothing():
    """2012 and 2015 are asked for: each stays; 2013 and 2014 only repeat one another."""
    found = repeated(reports(titled=False), "Was the revenue higher in 2012 or 2015?")
    assert {row for others in found.values() for row in others} <= {1, 2}
    assert found


def test_titles_of_two_things_tell_their_chunks_apart():
    """No year is asked for, and each report has one in its title."""
    assert repeated(reports(titled=True), "What was the revenue?") == {}
    assert repeated(reports(titled=False), "What was the revenue?")


def test_a_code_of_another_chunk_tells_chunks_apart():
    """The log has 2014, which the question does not: that report is behind none of the others."""
    log = Document(id="log", text="On Monday the archive was flooded, and the papers of 2014 lost.")
    question = "What was the revenue in the year whose papers were lost?"
    found = repeated([*reports(titled=False), log], question)
    assert {row for others in found.values() for row in others} <= {0, 1, 3}
    assert found


def test_parts_of_a_chunk_stay_together(twice):
    """They come in the order in which they were given, at their chunk's place."""
    asked = steps.read_query(models(LATE), "Who kept bees?")
    [bees] = [
        row for row, text in enumerate(twice.layer("chunk").texts([0, 1, 2])) if text == OTHER
    ]
    [brig, *_] = [row for row in range(3) if row != bees]
    places, _ = order_as_set(twice, asked, [brig, bees, brig, bees], [0.4, 0.3, 0.2, 0.1])
    assert places in ([1, 3, 0, 2], [0, 2, 1, 3])


def test_nothing_found_stays_nothing(twice):
    """Evidence without a hit has none afterwards."""
    asked = steps.read_query(models(LATE), "Who?")
    nothing = Evidence(query="Who?", method="any")
    assert choose_hits(twice, asked, nothing, 5) == nothing


@pytest.mark.parametrize("name", ["clue", "ket", "bubble", "agrag"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_paper_s_method_may_choose_as_a_set(name, question):
    """Scores are 1 / the place, no more chunks are returned, and paths lead to hits in order."""
    kind = methods.load(name)
    with built(small_documents(), models(LATE), triples=True) as snapshot:
        plain, chosen = (
            replace(kind(), as_set=on).retrieve(question, snapshot, models(LATE))
            for on in (False, True)
        )
    assert [hit.score for hit in chosen.hits] == [1 / (i + 1) for i in range(len(chosen.hits))]
    assert len(chosen.hits) == len(plain.hits)
    places = {(hit.document_id, hit.start, hit.end): i for i, hit in enumerate(chosen.hits)}
    ends = [path.steps[-1] for path in chosen.paths]
    order = [places[end.document_id, end.start, end.end] for end in ends]
    assert order == sorted(order)
