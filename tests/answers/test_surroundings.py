"""What is read around a quote: what is near, a table's header, a list's lead-in."""

from hypothesis import given
from hypothesis import strategies as st

from clew.answers.surroundings import find_surroundings

TABLE = """The register of holders.

| Code | Holder | Shares |
|---|---|---|
| A-1 | Ada Lund | 1,200 |
| A-2 | Bo Tarn | 3,849 |

It is kept in Moss."""
LIST = """Bring these to the berth:

- the ship's papers,
- a list of the crew,
- the berth fee.

Nothing else is needed."""


def around(text, quote):
    start = text.index(quote)
    return find_surroundings(text, start, start + len(quote))


def test_a_row_has_the_header_of_its_table():
    header = "| Code | Holder | Shares |"
    assert around(TABLE, "| A-2 | Bo Tarn | 3,849 |") == (header, "")
    before, after = around(TABLE, header)
    assert before == "The register of holders."
    assert after.startswith("|---|")


def test_an_item_has_what_leads_into_its_list():
    assert around(LIST, "- a list of the crew,")[0] == "Bring these to the berth:"


def test_a_term_has_its_definition_and_the_reverse():
    text = "queue_run_delay (default: 300s)\n    How often the queue is read.\n" + "x " * 200
    term = "queue_run_delay (default: 300s)"
    assert around(text, term)[1].startswith("How often the queue is read.")
    assert around(text, "How often the queue is read.")[0] == term


def test_headings_are_left_out_and_sentences_whole():
    text = "Old words. " * 20 + "\n\n# The Fram\n\nShe was built in Larvik. She is in Oslo.\n" * 2
    start = text.rindex("She is in Oslo.")
    assert find_surroundings(text, start, start + 15) == ("She was built in Larvik.", "")
    long = "The ship was built in the town. " * 30
    before, after = find_surroundings(long, 320, 351)
    assert before.startswith("The ship")
    assert after.endswith("town.")


def test_the_stop_of_a_quote_without_it_is_left_out():
    text = "Fram built by Colin Archer. Fram kept in Oslo."
    assert around(text, "Fram built by Colin Archer") == ("", "Fram kept in Oslo.")
    assert around(text, "Fram kept in Oslo") == ("Fram built by Colin Archer.", "")
    assert around("It costs 4 .5 a day.", "It costs 4")[1] == ".5 a day."


@given(st.text(alphabet="a|.:\n -#1", max_size=400), st.integers(0, 400), st.integers(0, 50))
def test_all_of_it_stands_in_the_text(text, start, length):
    start = min(start, len(text))
    for near in find_surroundings(text, start, min(start + length, len(text))):
        assert near in text
        assert near == near.strip()
