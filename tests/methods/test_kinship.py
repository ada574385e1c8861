"""Words of kinship, as the relations that they stand for."""

import pytest

import clew
from clew.steps.graph_paths.asked import expand_kinship
from tests.methods.test_paths import asked

FAMILY = [
    ("Ann Ray", "father", "Bo Ray"),
    ("Ann Ray", "mother", "Cay Dahl"),
    ("Ann Ray", "spouse", "Hal Moen"),
    ("Bo Ray", "father", "Dag Ray"),
    ("Bo Ray", "mother", "Eli Ray"),
    ("Cay Dahl", "father", "Finn Dahl"),
    ("Cay Dahl", "mother", "Gro Dahl"),
    ("Hal Moen", "mother", "Ida Moen"),
    ("Hal Moen", "date of birth", "4 May 1901"),
    ("Bo Ray", "date of birth", "1 May 1871"),
    ("Bo Ray", "place of birth", "Larvik"),
]


@pytest.mark.parametrize(
    ("phrase", "steps"),
    [
        ("paternal grandfather", "father,father"),
        ("grandmother", "parent,mother"),
        ("maternal great-grandfathers", "mother,parent,father"),
        ("grandchildren", "child,child"),
        ("father-in-law", "spouse,father"),
        ("daughter-in-law", "child,spouse"),
        ("stepmother", "father,spouse"),
        ("maternal uncle", "mother,sibling"),
        ("niece", "sibling,child"),
        ("grandmother of film", "parent,mother,of film"),
        ("father", ""),
        ("grand piano", ""),
    ],
)
def test_what_words_stand_for(phrase, steps):
    """Each by its definition, on the side that is said; other words stay as they are."""
    found = expand_kinship(phrase.split(), ())
    assert ",".join(" ".join(each) for each in found) == steps


def test_a_relation_of_the_graph_stays():
    """Where the graph has the relation, the word means it."""
    assert expand_kinship(("paternal", "uncle"), {"uncle"}) == []


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    pytest.importorskip("ctranslate2")
    folder = tmp_path_factory.mktemp("kin")
    rows = "".join("\t".join(row) + "\n" for row in FAMILY)
    (folder / "family.tsv").write_text(rows, encoding="utf-8")
    with clew.open(folder / "family.clew") as index:
        index.import_graph(folder / "family.tsv")
        yield index


@pytest.mark.satellite
@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Who is the paternal grandfather of Ann Ray?", "Dag Ray"),
        ("Who is Ann Ray's maternal grandmother?", "Gro Dahl"),
        ("Who is Ann Ray's mother-in-law?", "Ida Moen"),
        ("Who is Ann Ray's father?", "Bo Ray"),
        ("When was the father of Ann Ray born?", "1 May 1871"),
        ("When was Ann Ray's husband born?", "4 May 1901"),
    ],
)
@pytest.mark.parametrize("method", ["paths", "bubble"])
def test_families(family, question, first, method):
    """Two steps of one relation, another's relatives, and no person where a date is asked for."""
    assert asked(family, question, method)[1][0] == first
