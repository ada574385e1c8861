"""Pictures of threads: nothing lies on anything else, and nothing in them is more than text."""

import xml.etree.ElementTree as ET
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.base.types import Answer, Context, Evidence, EvidenceGraph, Fact, Hit, Path, Step
from clew.testing import models, small_documents

LETTER = 0.6  # of the size of a font: as wide as letters of a wide font mostly are


def elements(drawing, tag):
    return ET.fromstring(drawing.svg).iter(f"{{http://www.w3.org/2000/svg}}{tag}")  # noqa: S314 -- ours


def frames(drawing):
    """The boxes and labels of a picture, as left, top, right and bottom."""
    rects = [each for each in elements(drawing, "rect") if each.get("stroke")]
    for each in rects:
        x, y, wide, high = (float(each.get(name)) for name in ("x", "y", "width", "height"))
        yield x, y, x + wide, y + high


def words(drawing):
    """Each line of text, with the place where it stands as `frames` has it."""
    for each in elements(drawing, "text"):
        x, y, size = (float(each.get(name)) for name in ("x", "y", "font-size"))
        wide = len(each.text) * size * LETTER
        left = x - wide / 2 if each.get("text-anchor") == "middle" else x
        yield each.text, (left, y - 0.75 * size, left + wide, y)


def step(layer, number, text="A text that says something of the ship and of its crew.", **more):
    return Step(layer=layer, id=str(number), text=text, **more)


STEPS = st.builds(
    step,
    st.sampled_from(["entity", "unit", "chunk", "triple"]),
    st.integers(0, 5),
    st.sampled_from(["Fram", "Colin Archer built her for Nansen. " * 20, "Donau" * 30]),
    reason=st.sampled_from(["", "named by the question", "mentions it " * 20]),
)
FACTS = st.builds(
    lambda a, b, relation: Fact(
        id=f"{a}{b}",
        subject=str(a),
        relation=relation,
        object=str(b),
        text=f"Fram {relation} Fram",
        chunk_ids=("1",),
        candidate=1,
    ),
    st.integers(0, 5),
    st.integers(0, 5),
    st.sampled_from(["built by", "was the first to sail through"]),
)


@given(st.lists(st.lists(STEPS, min_size=1, max_size=5), max_size=6), st.lists(FACTS, max_size=8))
def test_nothing_lies_on_anything_else(paths, facts):
    """Boxes and labels are apart, each text is in one, and the same evidence has the same bytes."""
    evidence = Evidence(
        query="Who built the ship?",
        method="walk",
        paths=tuple(Path(tuple(each)) for each in paths),
        graph=EvidenceGraph(
            entities=tuple(step("entity", n) for n in range(3)), facts=tuple(facts)
        ),
    )
    drawing = clew.draw(evidence)
    boxes = list(frames(drawing))
    for (a, b, c, d), (e, f, g, h) in combinations(boxes, 2):
        assert c <= e or g <= a or d <= f or h <= b
    for text, (a, b, c, d) in words(drawing):
        assert any(a >= e and b >= f and c <= g and d <= h for e, f, g, h in boxes), text
    assert clew.draw(evidence) == drawing


def test_an_answer_is_drawn_up_to_its_quotes(tmp_path):
    with clew.open(tmp_path / "small.clew", models=models()) as index:
        index.add(small_documents())
        answer = index.ask("Who built the Comet?", min_support=0)
    lines = " ".join(text for text, _ in words(clew.draw(answer)))
    assert "Who built the Comet?" in lines
    assert all(cited.quote.split()[0] in lines for cited in answer.citations)
    assert lines.count("Quote") == len({(c.document_id, c.start) for c in answer.citations}) > 0
    assert "Passage" not in lines
    assert "Passage 1" in " ".join(text for text, _ in words(clew.draw(answer.evidence)))


def test_texts_are_escaped_and_a_refusal_is_its_question():
    evil = "</text><script>alert(1)</script> \u202e & \x00"
    hit = Hit(
        chunk_id="a", score=1, document_id="a", title="", source="", start=0, end=9, text=evil
    )
    evidence = Evidence(query=evil, method="bm25", hits=(hit,))
    drawing = clew.draw(evidence)
    assert list(elements(drawing, "script")) == []
    assert "<U+202E>" in "".join(text for text, _ in words(drawing))
    context = Context(passages=(), text="", n_tokens=0, budget_tokens=1)
    refused = Answer(
        question="Why?", text="", kind="refused", citations=(), context=context, evidence=evidence
    )
    assert clew.draw(refused).n_nodes == 1


def test_nodes_beyond_the_most_are_counted():
    hits = tuple(step("chunk", number) for number in range(9))
    evidence = Evidence(query="Why?", method="walk", paths=tuple(Path((each,)) for each in hits))
    drawing = clew.draw(evidence, most=5)
    assert (drawing.n_nodes, drawing.n_left_out, len(list(frames(drawing)))) == (5, 5, 5)
    assert drawing._repr_svg_() == drawing.svg
    with pytest.raises(clew.InputError, match="at least 1, not 0"):
        clew.draw(evidence, most=0)
    with pytest.raises(clew.InputError, match="draw needs an Answer or Evidence, not str"):
        clew.draw("Why?")
