"""Citations in a reply, and the line of it that is a short answer."""

import pytest

from clew.text.answer_line import find_answer_line, find_marks, parse_numbers
from clew.text.prose import ProseStream, read_prose


def text_of(reply):
    return "".join(claim for claim, _ in read_prose(reply, 3)).rstrip()


def heard(reply):
    """What is told of a reply that comes character by character."""
    told = []
    stream = ProseStream(told.append, lambda: lambda *_: None, 3, refuses=False)
    for piece in reply:
        stream.feed(piece)
    stream.end(text_of(reply))
    return told


def test_the_line_behind_the_last_marker():
    """Reasoning before it and what stands below do not count; a reply without one counts whole."""
    reply = "Archer built her. The answer is clear.\n**ANSWER:** born in **Larvik** [2], [3]\nBye"
    assert find_answer_line(reply) == "born in Larvik [2], [3]"
    assert find_answer_line("ANSWER: Oslo, I think. ANSWER: Larvik") == "Larvik"
    assert find_answer_line("the xANSWER: none") == "the xANSWER: none"
    assert find_answer_line("In\n Larvik") == "In Larvik"


@pytest.mark.parametrize(
    ("said", "numbers"),
    [
        ("Archer [1]", [1]),
        ("Archer [1][2]", [1, 2]),
        ("Archer [1] [3] and [2].", [1, 3, 2]),
        ("Archer [1, 2]", [1, 2]),
        ("Archer [1; 3]", [1, 3]),
        ("Archer [1-3]", [1, 2, 3]),
        ("Archer [2–3].", [2, 3]),
        ("Archer [^1]", [1]),
        ("Archer [^1^][2]", [1, 2]),
        ("Archer [[3]].", [3]),
        ("Archer [Source 1]", [1]),
        ("Archer [Sources: 1, 3].", [1, 3]),
        ("Archer [Source 1, Source 3]", [1, 3]),
        ("Archer [passage 2 and passage 3]", [2, 3]),
        ("Archer (Source 2) built", [2]),
        ("Archer [citation:1]", [1]),
        ("Archer【1】", [1]),
        ("Archer【1†source】.", [1]),
        ("Archer【2†L3-L5】", [2]),
        ("Archer 【1†source】【3†source】", [1, 3]),
        ("Archer ［2］", [2]),
        ("Archer ([1], [2]).", [1, 2]),
        ("Archer (see [3]).", [3]),
        ("Archer (1).", [1]),
        ("Archer (1), who", [1]),
        ("Archer (1)(3).", [1, 3]),
    ],
)
def test_how_models_cite(said, numbers):
    """Their marks are left off, and their numbers read, whole and character by character."""
    rest = {"Archer (Source 2) built": " built", "Archer (1), who": ", who"}
    answer = "Archer" + rest.get(said, "." if said.endswith(".") else "")
    marks = find_marks(3).findall(said)
    assert [n for mark in marks for n in parse_numbers(mark)] == numbers
    assert text_of(said) == answer
    listener = heard(said)
    assert "".join(listener) == answer


@pytest.mark.parametrize(
    "said",
    [
        "It was built in 1892 (1892).",
        "There are two: (1) Fram and (2) Maud",
        "Passage 9 is not there (9).",
        "f(1).",
        "group (1) of them",
        "at [10:30] he came",
        "in [2024] it was",
        "as [Figure 1] shows",
        "so [sic] it is",
        "[1-1000]",
    ],
)
def test_what_is_no_citation(said):
    """Years, lists, times, names of figures and numbers of no passage stay in the answer."""
    assert text_of(said) == said
    assert "".join(heard(said)) == said
