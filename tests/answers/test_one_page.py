"""Questions about a single page, alone in an index and among other documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.base.types import Document
from tests.trials import trials

LICENCE = """# Licence for a market stall

1. The stall is rented from Monday to Saturday, from six in the morning.

2. The rent is 48 pounds a day and is paid in advance.

3. A stall may be three metres wide at most.

4. Hot food needs a permit of the fire brigade.

5. Music is not allowed before ten.

6. Waste is taken to the container behind the church.

7. Who does not come by half past seven loses the place for that day.

8. A stall can be passed on to a child or a spouse, to nobody else.

9. Electricity is charged at 31 pence a unit.

10. The market is closed on Christmas Day and on Good Friday.

11. A trader may end the licence with four weeks' notice.

12. Damage to the paving is repaired at the trader's cost.

13. Complaints go to the market master, Edith Vane.
"""
SHEET = """Tower crane TC 90

Max. load: 6 t
Jib length: 50 m
Hook height: 38 m
Hoist motor: 22 kW
Total weight: 61 t
Noise level: 84 dB
Serial number: 90-2214-K
Inspection: every 12 months
Country of origin: Italy
"""
QUESTIONS = """Ein Blatt der Bibliothek

Frage: Wie lange darf man ein Buch behalten?
Antwort: Vier Wochen.

Frage: Was kostet ein verlorener Ausweis?
Antwort: Sechs Euro.

Frage: Wo gibt man Bücher am Sonntag ab?
Antwort: Im Kasten neben dem Tor.
"""
PAGES = {
    "licence.md": (
        LICENCE,
        [
            ("How much is the rent?", "48 pounds"),
            ("How wide may a stall be?", "three metres"),
            ("What does hot food need?", "fire brigade"),
            ("Is music allowed?", "before ten"),
            ("Where does the waste go?", "church"),
            ("How much notice must a trader give?", "four weeks"),
            ("When is the market closed?", "Good Friday"),
            ("Who deals with complaints?", "Edith Vane"),
            ("Can a stall be passed on to a child?", "spouse"),
            ("What does electricity cost?", "31 pence"),
        ],
    ),
    "crane.txt": (
        SHEET,
        [
            ("How long is the jib?", "50 m"),
            ("How much does it weigh?", "61 t"),
            ("What is the maximum load?", "6 t"),
            ("How often is it inspected?", "12 months"),
            ("What is the serial number?", "90-2214-K"),
            ("How loud is it?", "84 dB"),
            ("How powerful is the hoist motor?", "22 kW"),
        ],
    ),
    "blatt.txt": (
        QUESTIONS,
        [
            ("Wie lange darf ich ein Buch behalten?", "Vier Wochen"),
            ("Was kostet ein verlorener Ausweis?", "Sechs Euro"),
            ("Wo gebe ich Bücher am Sonntag ab?", "Kasten"),
        ],
    ),
}
FAR = [
    "How do I bake sourdough bread?",
    "Who was the first woman to win a Nobel Prize?",
    "Wie heißt die Hauptstadt von Australien?",  # codespell:ignore australien
    "What is the boiling point of ethanol?",
    "Which team won the football World Cup in 1998?",
    "Which enzyme breaks down lactose?",
]
BESIDE = [
    f"The {bird} nests {where} and lays {n} eggs."
    for n, (bird, where) in enumerate(
        zip(
            ["heron", "swift", "bittern", "dipper", "wryneck", "smew", "scoter", "dunlin"],
            ["in reeds", "under roofs", "by lakes", "at weirs", "in orchards"] * 2,
            strict=False,
        ),
        2,
    )
]


@pytest.fixture(scope="module")
def indexes(tmp_path_factory):
    """An index for each page alone, and one of all of them beside the birds."""
    folder = tmp_path_factory.mktemp("pages")
    for name, (text, _) in PAGES.items():
        (folder / name).write_text(text, encoding="utf-8")
        clew.open(folder / f"{name}.clew").add(folder / name)
    index = clew.open(folder / "all.clew")
    index.add([folder / name for name in PAGES])
    index.add([Document(id=f"bird-{n}", text=text) for n, text in enumerate(BESIDE)])
    return {name: clew.open(folder / f"{name}.clew") for name in [*PAGES, "all"]}


@pytest.mark.parametrize("place", ["alone", "all"])
@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_is_quoted(indexes, page, place):
    """However small the index is: each statement is judged, not the whole page."""
    index = indexes[page if place == "alone" else place]
    for question, said in PAGES[page][1]:
        answer = index.ask(question)
        assert answer.kind == "quoted", question
        assert any(said in each.quote for each in answer.citations), question


@pytest.mark.parametrize("page", [*PAGES, "all"])
def test_a_question_about_something_else_is_refused(indexes, page):
    assert [indexes[page].ask(question).kind for question in FAR] == ["refused"] * len(FAR)


@trials(2, 12)
@given(st.lists(st.sampled_from(BESIDE), min_size=1, max_size=8, unique=True))
def test_unrelated_documents_change_the_support_little(tmp_path_factory, indexes, texts):
    page, (text, asked) = next(iter(PAGES.items()))
    with clew.open(tmp_path_factory.mktemp("beside") / "i.clew") as index:
        index.add([Document(id=page, text=text)])
        index.add([Document(id=f"b{n}", text=each) for n, each in enumerate(texts)])
        for question, _ in asked:
            answer = index.ask(question)
            assert answer.kind == "quoted", question
            alone = indexes[page].search(question).support
            assert index.search(question).support == pytest.approx(alone, abs=0.2)
