"""When triples hold: stored with them, shown, and asked for by `--as-of`."""

import json

import pytest

import clew
from clew.index import generation
from clew.testing import ScriptedLLM, models
from tests.index.build import document

SCHEMA = {"validity": True}


def reply(*rows):
    """Return the reply about one text: subject, relation, object and dates."""
    names = ("valid_from", "valid_to", "stated_on")
    relations = [
        {
            **dict(zip(("subject", "predicate", "object"), ends, strict=True)),
            "description": "",
            "strength": 5,
            **dict(zip(names, dates, strict=True)),
        }
        for *ends, dates in rows
    ]
    return {"1": {"entities": [], "relations": relations}}


BERG = ("Anna Berg", "led", "Nordlys", ("2019", "March 2023", ""))
DAHL = ("Bo Dahl", "led", "Nordlys", ("2023-04-01", "", ""))
SEAT = ("Nordlys", "sits in", "Oslo", ("", "", ""))
STAFF = ("Nordlys", "has", "40 people", ("", "", "2021-06"))
DOCUMENTS = {
    "a": ("Anna Berg led Nordlys of Oslo from 2019 to March 2023.", reply(BERG, SEAT)),
    "b": (
        "Bo Dahl has led Nordlys since 1 April 2023. In June 2021 it had 40 people.",
        reply(DAHL, STAFF),
    ),
}


@pytest.fixture
def index(tmp_path):
    llm = ScriptedLLM(*(said for _, said in DOCUMENTS.values()))
    with clew.open(tmp_path / "i.clew", models=models(llm=llm)) as opened:
        for name, (text, _) in DOCUMENTS.items():
            opened.add([document(name, text)], triples="llm", schema=SCHEMA)
        yield opened


def texts(index, where=None):
    triples = index.snapshot(where).triples
    return sorted(triples.texts(range(len(triples))))


ALL = [
    "Anna Berg led Nordlys (from 2019 until 2023-03)",
    "Bo Dahl led Nordlys (from 2023-04-01)",
    "Nordlys has 40 people (as of 2021-06)",
    "Nordlys sits in Oslo",
]


def test_words_of_a_triple_say_when_it_holds(index):
    """Wherever it is shown; its id has no dates."""
    assert texts(index) == ALL
    shown = index.show("anna berg|led|nordlys")
    assert shown["validity"] == ["from 2019 until 2023-03"]
    assert index.show("Nordlys")["triples"][0] in ALL


@pytest.mark.parametrize(
    ("date", "heads"),
    [
        ("2018", []),
        ("2019", ["Anna Berg"]),
        ("2023-03-31", ["Anna Berg"]),
        ("2023", ["Anna Berg", "Bo Dahl"]),
        ("2023-04", ["Bo Dahl"]),
        ("2031-12-01", ["Bo Dahl"]),
    ],
)
def test_as_of_a_date(index, date, heads):
    """Triples that do not hold then are gone, as if they had not been extracted."""
    for where in (f"valid on {date}", f"id like '*' and valid on {date}"):
        assert [text.partition(" led")[0] for text in texts(index, where) if "led" in text] == heads
        assert ALL[2] in texts(index, where)
        assert ALL[3] in texts(index, where)


def test_a_text_without_dates_says_that_it_holds_at_any_time(tmp_path):
    """One triple of two texts is gone only where both say that it does not hold."""
    undated = (*BERG[:3], ("", "", ""))
    llm = ScriptedLLM(reply(BERG), reply(undated))
    with clew.open(tmp_path / "i.clew", models=models(llm=llm)) as index:
        index.add([document("a", DOCUMENTS["a"][0])], triples="llm", schema=SCHEMA)
        index.add([document("c", "Anna Berg led Nordlys.")])
        assert texts(index) == ALL[:1]
        later = index.snapshot("valid on 2030").triples
        assert later.texts([0]) == ["Anna Berg led Nordlys"]


@pytest.mark.parametrize("edited_from", [0, 2_000])
def test_dates_outlive_updates(index, monkeypatch, edited_from):
    """Compaction and removal keep or take what belongs to a document, also where they are edits."""
    monkeypatch.setattr(generation, "EDITED_FROM", edited_from)
    index.compact()
    assert texts(index) == ALL
    assert len(texts(index, "valid on 2018")) == 2
    index.remove("a")
    assert texts(index) == ALL[1:3]
    assert texts(index, "valid on 2018") == ALL[2:3]


@pytest.mark.satellite
def test_an_export_has_the_dates(index, tmp_path):
    index.export(tmp_path / "g.json")
    edges = json.loads((tmp_path / "g.json").read_text(encoding="utf-8"))["edges"]
    times = {edge["relation"]: edge["validity"] for edge in edges if edge["source"] != "bo dahl"}
    assert times == {"led": "from 2019 until 2023-03", "sits in": "", "has": "as of 2021-06"}


@pytest.mark.satellite
def test_shards_heed_the_date(index, tmp_path):
    """A question over several shards uses the triples that hold, as one over the whole does."""
    from clew.shards import open_shards, split

    split(index.folder, tmp_path / "parts", 2)
    with open_shards(tmp_path / "parts", models=index.models) as shards:
        assert shards.recipe == index.snapshot().recipe
        for date, heads in (("2020", {"anna berg"}), ("2024", {"bo dahl"})):
            where = f"valid on {date}"
            found = shards.search("Who led Nordlys?", method="paths", where=where)
            texts = {s.id for p in found.paths for s in p.steps if s.layer == "triple"}
            led = {each.partition("|")[0] for each in texts if "|led|" in each}
            whole = index.search("Who led Nordlys?", method="paths", where=where)
            texts = {s.id for p in whole.paths for s in p.steps if s.layer == "triple"}
            assert led == {each.partition("|")[0] for each in texts if "|led|" in each} == heads
