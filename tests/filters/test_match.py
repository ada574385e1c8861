"""Which documents fulfil a filter: texts, numbers, dates, lists, and what a document lacks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew import filters
from clew.base.types import Document
from clew.errors import InputError
from clew.filters import match, parse
from tests.filters.test_grammar import COMPARISONS
from tests.index.build import indexed

DOCUMENTS = [
    Document(
        id="log/fram.md",
        title="Fram",
        text="Built of oak.",
        metadata={
            "date": "1893-06-24", "tags": ("ship", "ice"), "tons": 402, "draft": True,
            "sent": "1893-06-24T12:00:00+02:00", "Note": "In Vardø.",
        },
    ),
    Document(
        id="log/gjoa.md",
        title="Gjøa",
        text="Built in Rosendal.",
        metadata={"date": "1903", "tags": "ship", "tons": "45", "draft": "false", "note": None},
    ),
    Document(
        id="men/amundsen.md",
        title="Amundsen",
        text="Born in Borge.",
        metadata={"date": "July 1872", "tags": (), "tons": "none", "page count": 3},
    ),
    Document(id="zero.md", text="A page.", metadata={}),
]  # fmt: skip
FRAM, GJOA, MAN, ZERO = range(4)


@pytest.fixture(scope="module")
def snapshot():
    with indexed(*DOCUMENTS) as (found, _):
        yield found


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("id = 'zero.md'", [ZERO]),
        ("id like 'LOG/*'", [FRAM, GJOA]),
        ("title has 'ø'", [GJOA]),
        ("title = 'fram'", []),
        ("title like 'fram'", [FRAM]),
        ("source = ''", [FRAM, GJOA, MAN, ZERO]),
        # numbers, and texts that are some
        ("tons > 45", [FRAM]),
        ("tons >= 45", [FRAM, GJOA]),
        ("tons = 45.0", [GJOA]),
        ("tons = '402'", [FRAM]),
        ("tons < 1e3", [FRAM, GJOA]),
        ("tons > 'm'", [MAN]),
        ("tons in (402, 'none')", [FRAM, MAN]),
        # dates, as far as they are written
        ("date >= 1893", [FRAM, GJOA]),
        ("date > 1893", [GJOA]),
        ("date = 1893", [FRAM]),
        ("date = 1893-06", [FRAM]),
        ("date <= 1893-06-24", [FRAM]),
        ("date < 1893-06-24", []),
        ("date = '1893-06-24'", [FRAM]),
        ("date >= '1900'", [GJOA, MAN]),  # a text stands beside a text that is no date
        ("sent = 1893-06-24T10:00Z", [FRAM]),
        ("sent >= 1893-06-24T10:01Z", []),
        ("sent = 1893-06-24", [FRAM]),
        ("date in (1872, 1903)", [GJOA]),
        # lists
        ("tags = 'ship'", [FRAM, GJOA]),
        ("tags has 'ship'", [FRAM, GJOA]),
        ("tags has 'shi'", [GJOA]),
        ("tags != 'ice'", [GJOA, MAN, ZERO]),
        ("tags like 'i?e'", [FRAM]),
        ("tags in ('ice', 'man')", [FRAM]),
        ("tags not in ('ice', 'man')", [GJOA, MAN, ZERO]),
        # truth, and nothing
        ("draft = true", [FRAM]),
        ("draft = false", [GJOA]),
        ("draft != true", [GJOA, MAN, ZERO]),
        ("date = null", [ZERO]),
        ("date != null", [FRAM, GJOA, MAN]),
        ("not date >= 1893", [MAN, ZERO]),
        ("draft < 2", []),
        # names
        ("DATE = 1893", [FRAM]),
        ("Note = 'In Vardø.'", [FRAM]),
        ("note = null", [FRAM, GJOA, MAN, ZERO]),
        ("`page count` = 3", [MAN]),
        # together
        ("tags has 'ship' and not tons < 100", [FRAM]),
        ("tons = 402 or title = 'Amundsen' or date = null", [FRAM, MAN, ZERO]),
        ("not (tons = 402 or title = 'Amundsen')", [GJOA, ZERO]),
    ],
)
def test_rows(snapshot, text, rows):
    assert match.find_rows(snapshot, parse(text)).tolist() == rows
    assert match.find_ids(snapshot, parse(text)) == [DOCUMENTS[row].id for row in rows]


@pytest.mark.parametrize("name", ["writer", "NOTE", "pages"])
def test_fields_that_no_document_has(snapshot, name):
    """A misspelt name is an error, and so is one in a case that two fields share."""
    for find in (match.find_rows, match.resolve_fields):
        with pytest.raises(InputError, match=f"no document has the field '{name}': there are id, "):
            find(snapshot, parse(f"not (id = 'x' and {name} = 1)"))


FIELDS = st.sampled_from(["id", "title", "date", "tags", "tons", "draft", "note"])


@given(COMPARISONS, COMPARISONS, FIELDS, FIELDS)
def test_logic(snapshot, one, other, a, b):
    """What two filters let through together, and by halves, is what set algebra says."""
    one = type(one)(a, one.operator, one.value)
    other = type(other)(b, other.operator, other.value)
    first, second = (set(match.find_rows(snapshot, each).tolist()) for each in (one, other))
    assert set(match.find_rows(snapshot, one & other).tolist()) == first & second
    assert set(match.find_rows(snapshot, one | other).tolist()) == first | second
    assert set(match.find_rows(snapshot, ~one).tolist()) == set(range(4)) - first
    if one.operator in {"<", ">="} and not isinstance(one.value, tuple):
        turned = filters.expressions.Comparison(a, {"<": ">=", ">=": "<"}[one.operator], one.value)
        assert a == "tags" or not first & set(match.find_rows(snapshot, turned).tolist())


@pytest.mark.parametrize(
    ("given", "settled", "names"),
    [
        ("TONS >= 45", "tons >= 45", {"tons"}),
        ("not (Title = 'x' or `Page Count` > 2) and tags has 'ice'", None,
         {"title", "page count", "tags"}),
        ("note = null and Note = null", "note = null and Note = null", {"note", "Note"}),
    ],
)  # fmt: skip
def test_fields_are_called_as_documents_call_them(snapshot, given, settled, names):
    """So a filter that was read against some documents means the same among more of them."""
    found = match.resolve_fields(snapshot, parse(given))
    assert settled is None or found == parse(settled)
    assert match.collect_fields(found) == names
    assert (
        match.find_rows(snapshot, found).tolist()
        == match.find_rows(snapshot, parse(given)).tolist()
    )
