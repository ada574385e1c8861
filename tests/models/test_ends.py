"""What may be the end of a triple."""

import pytest

from clew.base.types import ENTITY_TYPES, LABELS
from clew.models.cooccurrence import LONGEST, TYPES, End, build_extraction


def kept(*statements):
    return [(t.subject, t.relation, t.object) for t in build_extraction(statements).triples]


@pytest.mark.parametrize(
    ("subject", "object_"),
    [
        (End("Fram"), End("")),
        (End("?!"), End("Fram")),
        (End("she"), End("Fram")),
        (End("Fram"), End("Them")),
        (End("Fram"), End("FRAM's")),
        (End("Fram"), End("x" * (LONGEST + 1))),
        (End("1910", "DATE"), End("Fram")),
    ],
)
def test_what_is_no_statement(subject, object_):
    """Empty ends, pronouns, an entity with itself and dates as subjects are left out."""
    assert kept((subject, "met", object_)) == []


def test_what_is_a_statement():
    """Capitals tell the United States from "us"; of several spellings the first stands."""
    assert kept((End("Fram"), "left", End("US"))) == [("Fram", "left", "US")]
    fram, ship = End("The\n Fram"), End("Fram-ship")
    assert kept((fram, "was", ship), (End("the fram"), "Was", End("Fram ship"))) == [
        ("The Fram", "was", "Fram-ship")
    ]
    assert len(kept((fram, "was", ship), (fram, "is", ship))) == 2


def test_types_of_ends():
    """Known from a later statement, too; the table maps what a tagger says to what there is."""
    found = build_extraction(
        [
            (End("Fram"), "left", End("Oslo", "GPE")),
            (End("Fram", "PRODUCT"), "met", End("Oslo", "PERSON")),
        ]
    )
    assert {e.name: e.type for e in found.entities} == {"Fram": "product", "Oslo": "place"}
    assert set(TYPES) <= set(LABELS)
    assert set(TYPES.values()) <= set(ENTITY_TYPES)
