"""What parentheses behind a name say."""

import pytest

from clew.extras.models.parentheses import in_parentheses
from clew.models.extractors.ends import End

NAMES = {
    "Odd Dahl": End("Odd Dahl", "PERSON"),
    "Dahl": End("Dahl"),
    "Maud": End("Maud", "PRODUCT"),
    "Polar Institute": End("Polar Institute", "ORG"),
    "Unknown": End(""),  # what stands for a text's topic, where the text has none
}


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Odd Dahl (1898–1994) flew.",
         [("Odd Dahl", "born in", "1898"), ("Odd Dahl", "died in", "1994")]),
        ("Odd Dahl( 1898– 1994) flew.",
         [("Odd Dahl", "born in", "1898"), ("Odd Dahl", "died in", "1994")]),
        ("Odd Dahl, (3 November 1898 - June 1994), flew.",
         [("Odd Dahl", "born on", "3 November 1898"), ("Odd Dahl", "died in", "June 1994")]),
        ("Odd Dahl (born 3 November 1898 in Drammen, Norway) flew.",
         [("Odd Dahl", "born on", "3 November 1898"), ("Odd Dahl", "born in", "Drammen")]),
        ("Odd Dahl (died 1994) flew.", [("Odd Dahl", "died in", "1994")]),
        ("Maud (1916–1930) sank.", [("Maud", "from", "1916"), ("Maud", "to", "1930")]),
        ("Maud (a ship) sank.", []),
        ("The Unknown (UNK) sank. Unknown (1916–1930) sank.", []),
        ("The Polar Institute (PI) paid.", [("Polar Institute", "abbreviated as", "PI")]),
        ("The Polar Institute (NATO) paid.", []),
        ("The pilot (1898–1994) flew.", []),
        ("(1898–1994)", []),
        ("Maud ()", []),
    ],
)  # fmt: skip
def test_what_parentheses_say(sentence, expected):
    """The longest known name in front is who was born, died, or is abbreviated."""
    found = [
        (subject.name, relation, object_.name)
        for subject, relation, object_ in in_parentheses(sentence, NAMES)
        if object_.name
    ]
    assert found == expected
