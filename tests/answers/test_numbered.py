"""A question that names a clause, a step or a section by its number is answered by that one."""

import pytest

import clew
from clew.base.types import Document
from clew.text.numbered import find_item_number, has_item_number

STEPS = {
    "list.md": "# Raising the mast\n\n1. Clear the deck.\n2. Fit the heel in its step.\n"
    "3. Haul on the forestay.\n4. Pin the shrouds.\n",
    "words.txt": "Raising the mast\n\nStep 1: Clear the deck.\n\nStep 2: Fit the heel.\n\n"
    "Step 3: Haul on the forestay.\n\nStep 4: Pin the shrouds.\n",
    "page.html": "<h1>Raising the mast</h1><ol><li>Clear the deck.<li>Fit the heel."
    "<li>Haul on the forestay.<li>Pin the shrouds.</ol>",
    "deutsch.md": "# Mast stellen\n\nSchritt 1: Das Deck räumen.\n\nSchritt 2: Den Fuß einsetzen."
    "\n\nSchritt 3: Haul on the forestay.\n\nSchritt 4: Die Wanten sichern.\n",
}
TERMS = """# Berth agreement

## 2 Fees

2.1 The fee is 90 crowns a week.

2.2 The fee of clause 2.1 is due on Mondays. Clause 2.11 does not apply.

2.11 Visitors pay half of the fee.

## 3 Conduct

Fires are not lit on deck.
"""


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("question", ["What is step 3?", "What is the third step?"])
def test_a_step_is_found_by_its_number(tmp_path, name, question):
    """As digits or as a word, in lists of any format."""
    (tmp_path / name).write_text(STEPS[name], encoding="utf-8")
    asked = (
        question.replace("step", "Schritt")
        if name == "deutsch.md" and "3" in question
        else question
    )
    with clew.open(tmp_path / "i.clew") as index:
        index.add(tmp_path / name)
        answer = index.ask(asked)
    assert answer.kind == "quoted"
    assert "Haul on the forestay" in answer.citations[0].quote


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What does clause 2.1 say?", "90 crowns"),
        ("What does clause 2.2 say?", "due on Mondays"),
        ("What does clause 2.11 say?", "Visitors"),
        ("What does section 3 say?", "Fires"),
    ],
)
def test_a_clause_is_found_by_its_number_and_not_by_a_reference_to_it(tmp_path, question, said):
    with clew.open(tmp_path / "i.clew") as index:
        index.add([Document(id="terms", text=TERMS)])
        answer = index.ask(question)
    assert said in answer.citations[0].quote


def test_what_is_no_number_of_an_item():
    assert find_item_number("How many steps has the tower?") == ""
    assert find_item_number("Who won in 2024?") == ""
    assert find_item_number("Was sagt § 7 der Satzung?") == "7"
    assert not has_item_number("3.5 litres are needed", "3")
    assert has_item_number("(3) Dogs are kept on a lead.", "3")
