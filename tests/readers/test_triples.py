"""Recorded triples: every shape is read, and everything that cannot be is reported."""

import json
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import ENTITY_TYPES, Described, Extraction, Skipped, Triple
from clew.errors import InputError, UnreadableSource
from clew.readers.triples import Recorded, entity_type, paragraph_id, read_triples

BUILT = Triple(subject="Fram", relation="built by", object="Colin Archer")


@pytest.fixture
def recorded(write):
    """Write lines, read them, and return what they hold and what was reported of them."""

    def read_lines(*lines):
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        items = list(read_triples(write("a.jsonl", "\n".join(texts))))
        reports = [str(item) for item in items if isinstance(item, Skipped)]
        return [item for item in items if isinstance(item, Recorded)], reports

    return read_lines


@pytest.mark.parametrize("id_", ["document_id", "passage_id", "id", "_id", "ID", " Passage_Id "])
@pytest.mark.parametrize(
    "triple",
    [
        ["Fram", "built by", "Colin Archer"],
        [" Fram\n", "built  by", "Colin\tArcher"],
        {"subject": "Fram", "relation": "built by", "object": "Colin Archer"},
        {"subject": "Fram", "predicate": "built by", "object": "Colin Archer", "strength": 1.0},
        {"subject": "Fram", "relation": None, "predicate": "built by", "object": "Colin Archer"},
    ],
)
def test_every_shape_gives_the_same_triple(recorded, id_, triple):
    """Runs of white space inside a name are one space."""
    items, reports = recorded({id_: "fram.txt", "triples": [triple]})
    extraction = Extraction(triples=(BUILT,))
    assert items == [Recorded(document_id="fram.txt", extraction=extraction, line=1)]
    assert reports == []


def test_details_of_a_triple(recorded):
    """A description and a strength come along; half a character of JSON is replaced."""
    more = {"description": "Archer built the Fram.", "strength": 9}
    triple = {"subject": "Fram", "relation": "built by", "object": "Colin Archer", **more}
    ((item,), _) = recorded({"id": 1, "triples": [triple]})
    assert item.document_id == "1"
    assert item.extraction.triples == (
        Triple(
            subject="Fram",
            relation="built by",
            object="Colin Archer",
            description="Archer built the Fram.",
            strength=9,
        ),
    )
    items, reports = recorded(r'{"id": "a\ud83d", "triples": [["F\ud83d", "\ude00", "V"]]}')
    assert reports == []
    assert items[0].document_id == "a�"
    (triple,) = items[0].extraction.triples
    assert (triple.subject, triple.relation, triple.object) == ("F�", "�", "V")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ({"entities": ["Vardø"]}, Described(name="Vardø")),
        ({"entities": ["Vardø"], "entity_types": ["City"]}, Described(name="Vardø", type="place")),
        ({"entities": ["Vardø"], "entity_types": [None]}, Described(name="Vardø")),
        ({"entities": [{"name": "Vardø"}]}, Described(name="Vardø")),
        (
            {"entities": [{"name": "Vardø", "type": "place", "description": "A port."}]},
            Described(name="Vardø", type="place", description="A port."),
        ),
        (
            {"entities": [{"name": "Vardø", "type": None}], "entity_types": ["place"]},
            Described(name="Vardø", type="place"),
        ),
    ],
)
def test_entities(recorded, line, expected):
    """An entity is a name, or a name with what is said of it."""
    items, reports = recorded({"id": "a", **line})
    assert [item.extraction.entities for item in items] == [(expected,)]
    assert reports == []


def test_types():
    """Other programs' types become ours; an unknown one is no loss of the entity."""
    words = ["PERSON", "Org", "GPE", "work of art", "Work_Of_Art", "film", "Time", "event"]
    found = [entity_type(word) for word in words]
    assert found == [
        "person", "organization", "place", "work", "work", "work", "date", "event",
    ]  # fmt: skip
    assert [entity_type(word) for word in ("quark", "", None, 5, ["person"])] == ["other"] * 5
    assert [entity_type(name) for name in ENTITY_TYPES] == list(ENTITY_TYPES)


def test_bad_lines_are_reported_and_the_rest_goes_on(write):
    """Each has its line number and its reason."""
    lines = [
        b'{"id": "a", "triples": [["Fram", "left", "Oslo"]]}',
        b'{"id": "b", "triples": [',
        b"",
        b"[1]",
        b'{"triples": []}',
        b'{"id": " ", "triples": []}',
        b'{"id": true, "triples": []}',
        b'{"id": "b"}',
        b'{"id": "b", "triples": null}',
        b'{"id": "b", "triples": "Fram"}',
        b'{"id": "b", "triples": [], "entities": {"Fram": "ship"}}',
        b'{"id": "\xff", "triples": []}',
        b'{"id": "b", "triples": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"id": "b", "triples": []}',
        b'{"id": "b", "triples": null, "entities": []}',
        b'{"id": "z", "entities": ["Fram"]}',
    ]
    first, *bad, last = read_triples(write("a.jsonl", b"\n".join(lines)))
    assert (first.document_id, last.document_id, last.line) == ("a", "z", 16)
    assert [str(item).removeprefix("a.jsonl, line ") for item in bad] == [
        "2: is not valid JSON: Expecting value at column 25",
        "4: is not a JSON object",
        "5: has no document_id, passage_id, id or _id",
        "6: its 'id' is empty",
        "7: its 'id' is of type bool, not a string",
        "8: has neither 'triples' nor 'entities'",
        "9: has neither 'triples' nor 'entities'",
        "10: its 'triples' is of type str, not a list",
        "11: its 'entities' is of type dict, not a list",
        "12: is not valid UTF-8 text",
        "13: is nested too deeply",
        "14: has no triples",
        "15: has no triples",
    ]


@pytest.mark.parametrize(
    "triple",
    [
        ["Fram", "built by"],
        ["Fram", "built by", "Colin Archer", "1892"],
        ["Fram", " ", "Colin Archer"],
        ["Fram", "built in", 1892],
        ["Fram", "built by", None],
        {"subject": "Fram", "object": "Colin Archer"},
        {"subject": "Fram", "relation": ["built by"], "object": "Colin Archer"},
        "Fram built by Colin Archer",
        None,
    ],
)
def test_a_bad_triple_costs_only_itself(recorded, triple):
    """The report counts from one, and the line's other triples are kept."""
    good = ["Fram", "built by", "Colin Archer"]
    ((item,), reports) = recorded({"id": "a", "triples": [good, triple, good]})
    assert item.extraction.triples == (BUILT, BUILT)
    assert reports == ["a.jsonl, line 1: its triple 2 is not three non-empty strings"]


def test_names_without_a_letter(recorded):
    """They would have no key, so no index could hold them; a line of them alone gives nothing."""
    line = {"id": "a", "triples": [["Fram", "left", "…"]], "entities": ["—", "", {"type": "x"}]}
    items, reports = recorded(line)
    assert items == []
    assert reports == [
        "a.jsonl, line 1: its entity 1 has a name without a letter or digit",
        "a.jsonl, line 1: its entity 2 has no name",
        "a.jsonl, line 1: its entity 3 has no name",
        "a.jsonl, line 1: its triple 1 has an end without a letter or digit",
    ]


@pytest.mark.parametrize("strength", [0, 11, 2.5, "9", True, [1]])
def test_a_strange_strength_is_reported(recorded, strength):
    """The triple is kept, as one of the least strength."""
    triple = {"subject": "Fram", "relation": "built by", "object": "Colin Archer"}
    ((item,), reports) = recorded({"id": "a", "triples": [triple | {"strength": strength}]})
    assert item.extraction.triples == (BUILT,)
    reason = "the strength of its triple 1 is not a whole number from 1 to 10, so 1 is taken"
    assert reports == [f"a.jsonl, line 1: {reason}"]


def test_strange_details_are_reported(recorded):
    """The entity is kept without a description that is no string and without a doubtful type."""
    line = {
        "id": "a",
        "entities": [{"name": "Fram", "description": 5}],
        "entity_types": ["ship", "place"],
    }
    ((item,), reports) = recorded(line)
    assert item.extraction.entities == (Described(name="Fram"),)
    assert reports == [
        "a.jsonl, line 1: has 2 entity_types for 1 entities; none is used",
        "a.jsonl, line 1: the description of its entity 1 is no string, so it is kept without one",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_marks_and_newlines(write, encoding, newline):
    """A byte order mark, Windows line ends and empty lines change nothing but the numbers."""
    line = json.dumps({"id": "ø", "triples": [["Fram", "left", "Vardø"]]}, ensure_ascii=False)
    text = newline.join(["", line, "  ", line])
    items = list(read_triples(write("a.jsonl", text.encode(encoding))))
    assert [(item.document_id, item.line) for item in items] == [("ø", 2), ("ø", 4)]
    assert items[0].extraction.triples[0].object == "Vardø"


def test_no_such_file(tmp_path):
    """The error comes with the call, before anything is read."""
    with pytest.raises(InputError, match="there is no file '.*none.jsonl' of recorded triples"):
        read_triples(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="there is no file"):
        read_triples(tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "a.jsonl: is empty: it holds no records"),
        (b"\n \n", "a.jsonl: is empty: it holds no records"),
        (b"\x00\x01", "a.jsonl: looks like a binary file"),
    ],
)
def test_a_file_without_lines(write, content, reason):
    """It cannot be what the caller meant."""
    with pytest.raises(UnreadableSource, match=reason):
        list(read_triples(write("a.jsonl", content)))


def test_lines_are_read_one_at_a_time(write):
    """Memory does not grow with the file."""
    line = json.dumps({"id": "a", "triples": [["Fram", "left", "x" * 1800]] * 10}) + "\n"
    path = write("a.jsonl", line * 400)
    size = Path(path).stat().st_size
    tracemalloc.start()
    n = sum(isinstance(item, Recorded) for item in read_triples(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n == 400
    assert peak < size / 3


# Without controls, which make a small file look like a binary one.
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])).map(
    lambda text: " ".join(f"a{text}".split())
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-20, 20) | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["subject", "relation", "object", "name", "type"]), inner)
    ),
    max_leaves=8,
)
LINES = st.lists(
    st.dictionaries(
        st.sampled_from(["id", "passage_id", "triples", "entities", "entity_types"]), JSON
    )
    | JSON,
    min_size=1,
    max_size=5,
)


@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=5), st.booleans())
def test_any_triples_come_back(tmp_path_factory, triples, escaped):
    """What was written as JSON lines is read to the character."""
    path = tmp_path_factory.mktemp("recorded") / "a.jsonl"
    line = {"document_id": "a", "triples": triples}
    path.write_bytes(json.dumps(line, ensure_ascii=escaped).encode())
    items = [item for item in read_triples(path) if isinstance(item, Recorded)]
    read = [triple for item in items for triple in item.extraction.triples]
    assert [(t.subject, t.relation, t.object) for t in read] == triples


@given(LINES)
def test_every_line_is_accounted_for(tmp_path_factory, lines):
    """Whatever a line holds, it gives a record, a report or both, and never another error."""
    path = tmp_path_factory.mktemp("recorded") / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    items = list(read_triples(path))
    assert {item.line for item in items} == set(range(1, len(lines) + 1))
    for number, line in enumerate(lines, 1):
        (record,) = [i for i in items if isinstance(i, Recorded) and i.line == number] or [None]
        reports = sum(isinstance(i, Skipped) and i.line == number for i in items)
        if record:
            assert record.extraction != Extraction()
            kept = len(record.extraction.triples) + len(record.extraction.entities)
            given = len(line.get("triples") or []) + len(line.get("entities") or [])
            assert kept + reports >= given


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"validity": "from 2019 until May 2023; as of 2024"}, "20190000 20230500 0, 0 0 20240000"),
        ({"validity": ""}, ""),
        ({"validity": "recently"}, None),
        ({"validity": "from 2019 until then"}, None),
        ({"validity": "from 2023 until 2019"}, None),
        ({"validity": ["from 2019"]}, None),
    ],
)
def test_dates_of_a_triple(recorded, fields, expected):
    """As an export writes them; others are reported, and left out."""
    triple = {"subject": "Anna Berg", "relation": "led", "object": "Nordlys", **fields}
    ((item,), reports) = recorded({"id": "a", "triples": [triple]})
    [read] = item.extraction.triples
    times = (" ".join(map(str, time)) for time in read.validity)
    assert ", ".join(times) == (expected or "")
    assert len(reports) == (expected is None)


def test_results_of_openie_are_read_as_hipporag_keeps_them(tmp_path):
    """One object in one line: a passage has the id of its title and text, and faults are told."""
    passage = "Fram\nThe Fram was built in Larvik by Colin Archer."
    docs = [
        {
            "idx": 0,
            "passage": passage,
            "extracted_entities": ["Fram", "Larvik"],
            "extracted_triples": [["Fram", "built in", "Larvik"], ["Fram", "a ship"]],
        },
        {"idx": 1, "passage": "Nothing\nIt says nothing.", "extracted_triples": []},
        {"idx": 2, "passage": "No title.", "extracted_triples": [["Maud", "left", "Vardo"]]},
        "no passage",
    ]
    path = tmp_path / "openie_results_ner_some-llm.json"
    path.write_text(json.dumps({"docs": docs, "avg_ent_chars": 5.2, "num_docs": 4}))
    items = list(read_triples(path))
    recorded = [item for item in items if isinstance(item, Recorded)]
    title, text = passage.split("\n")
    assert [(item.document_id, item.line) for item in recorded] == [
        (paragraph_id(title, text), 1),
        (paragraph_id("", "No title."), 3),
    ]
    assert [entity.name for entity in recorded[0].extraction.entities] == ["Fram", "Larvik"]
    assert len(recorded[0].extraction.triples) == 1
    told = [(item.line, item.reason) for item in items if isinstance(item, Skipped)]
    assert told == [
        (1, "its triple 2 is not three non-empty strings"),
        (2, "has no triples"),
        (4, "has no triples"),
    ]
