"""Answers of a graph: names, walks, what is said in order, and what is asked for."""

import numpy as np
import pytest

import clew
from clew.steps.graph_paths import build_step_graph, find_starts
from clew.steps.graph_paths.asked import parse_question
from clew.steps.graph_paths.relations import read_relations
from clew.steps.graph_paths.steps_graph import Walks
from clew.testing import models

pytestmark = pytest.mark.satellite

# Ships, who built and led them, where these were born: "built by" and "led by" end at people.
TRIPLES = [
    ("Fram", "built by", "Colin Archer"),
    ("Fram", "led by", "Otto Sverdrup"),
    ("Fram", "launched in", "1892"),
    ("Ingeborg", "built by", "Colin Archer"),
    ("Ingeborg", "led by", "Anna Lund"),
    ("Ingeborg", "launched in", "1895"),
    ("Maud", "built by", "Christian Jensen"),
    ("Maud", "led by", "Otto Sverdrup"),
    ("Colin Archer", "born in", "Larvik"),
    ("Christian Jensen", "born in", "Vollen"),
    ("Otto Sverdrup", "born in", "Bindal"),
    ("The Story", "led by", "Anna Lund"),
]


def opened(folder, **given):
    rows = "".join("\t".join(row) + "\n" for row in TRIPLES)
    (folder / "ships.tsv").write_text(rows, encoding="utf-8")
    index = clew.open(folder / "ships.clew", **given)
    index.import_graph(folder / "ships.tsv")
    return index


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("paths"), models=models()) as found:
        yield found


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """The same, with the default models, which know what words mean."""
    pytest.importorskip("ctranslate2")
    with opened(tmp_path_factory.mktemp("paths")) as found:
        yield found


def asked(index, question, method="paths", **parameters):
    found = index.search(question, method=method, **parameters)
    return found, [answer.text for answer in found.graph.answers]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who built the Fram?", ["Fram"]),
        ("Who led the story of Fram?", ["Fram"]),  # not sure: "the story" in lower case
        ("who led the story", ["The Story"]),
        ("who built fram", ["Fram"]),
        ("Fram and Maud: who led both?", ["Fram", "Maud"]),
        ("Was Otto Sverdrup’s ship the Fram?", ["Otto Sverdrup", "Fram"]),
        ("What was launched in 1892?", ["1892"]),
        ("Who built it?", []),
    ],
)
def test_names_of_the_graph(index, question, names):
    """Names with capitals or digits come before others, the longest before parts of it."""
    snapshot = index.snapshot()
    rows = [each.entity for each in find_starts(snapshot, index.models, question)]
    assert snapshot.layer("entity").texts(rows) == names


@pytest.mark.parametrize(
    ("question", "name", "phrases", "wanted"),
    [
        (
            "which language are the films directed by Ann Ray in",
            "Ann Ray",
            [("films", "directed"), ("language",)],
            "which language",
        ),
        (
            "the ships that share builders with the ship Fram were led by who",
            "Fram",
            [("ships",), ("share", "builders"), ("ship",), ("led",)],
            "who",
        ),
        (
            "when did the ship built by Ann Ray sink",
            "Ann Ray",
            [("ship", "built"), ("sink",)],
            "when",
        ),
        ("describe Fram in words", "Fram", [("words",), ("describe",)], "describe"),
        ("who is Fram", "Fram", [], "who"),
        ("can you name a ship built by Ann Ray", "Ann Ray", [("ship", "built")], "which ship"),
        ("List the ships which Ann Ray built", "Ann Ray", [("built",), ("ships",)], "which ships"),
        ("Tell me who built Fram", "Fram", [("built",)], "who"),
        ("Find Me was built by whom", "Find Me", [("built",)], "whom"),
    ],
)
def test_a_question_is_read_from_its_name_on(question, name, phrases, wanted):
    """What stands far from the interrogative is said of the name, what is near of the answer."""
    start = question.index(name)
    found = parse_question(question, [(start, start + len(name))])
    assert (list(found.phrases), found.wanted) == (phrases, wanted)
    assert name not in found.rest


def test_walks_are_all_ways_and_never_come_back(index):
    """Beside a plain search over the triples: what each walk reaches, and one way to it."""
    snapshot = index.snapshot()
    relations = read_relations(snapshot, index.models.embedder)
    graph = build_step_graph(snapshot, relations)
    layer = snapshot.layer("entity")
    [start] = layer.rows(["fram"])
    seen = Walks(graph, start, 3, np.ones(graph.n_steps, dtype=bool), 1_000)
    expected = {}

    def go(walk, here):
        for subject, relation, end in TRIPLES:
            number = 2 * relations.labels.index(relation)
            for step, a, b in ((number, subject, end), (number + 1, end, subject)):
                if a == here and b != "Fram":
                    expected.setdefault((*walk, step), set()).add(b)
                    if len(walk) < 2:
                        go((*walk, step), b)

    go((), "Fram")
    found = {walk: set(layer.texts(seen.get_reached(walk).tolist())) for walk in seen.all}
    assert {walk: ends for walk, ends in found.items() if ends} == expected
    for walk in expected:
        assert seen.compute_shares(walk).sum() == pytest.approx(1) or len(walk) > 1
        for end in seen.get_reached(walk).tolist():
            assert len(seen.trace_path(walk, end)) == len(walk)


def test_a_worked_example(real):
    """Two steps from the ship to the town, with the facts of the way in order."""
    found, answers = asked(real, "In which town was the builder born who built the Fram?")
    assert answers[0] == "Larvik"
    best = found.graph.answers[0]
    assert best.relations == ("built by", "born in")
    assert best.facts == ("fram|built by|colin archer", "colin archer|born in|larvik")
    assert best.start == "fram"


def test_ways_back_and_from_two_names(real):
    """Other ships of one builder, and what ways from both names lead to."""
    _, answers = asked(real, "Which ships share the builder of the Fram?")
    assert "Ingeborg" in answers
    assert "Fram" not in answers
    _, answers = asked(real, "Fram and Maud were led by who?")
    assert answers[0] == "Otto Sverdrup"


@pytest.mark.parametrize("facts", [1, 2, 3, 60])
def test_ways_are_among_the_facts(index, facts):
    """An answer has all of its way in the evidence, also where few facts are wanted."""
    found, _ = asked(index, "Who built the Fram?", facts=facts)
    known = {fact.id for fact in found.graph.facts}
    assert all(known.issuperset(answer.facts) for answer in found.graph.answers)
    assert found.graph.answers


def test_an_answer_is_named_and_its_facts_are_cited(real, index):
    """Without an LLM `ask` names what ranks first; the plain variant goes two steps."""
    answer = real.ask("Who built the Fram?", method="paths")
    assert (answer.kind, answer.text) == ("named", "Colin Archer")
    assert [citation.quote for citation in answer.citations] == ["Fram built by Colin Archer"]
    found, answers = asked(index, "Who was the Fram built by?", method="paths_plain")
    assert found.method == "paths_plain"
    assert "Colin Archer" in answers


def test_without_names_or_many_triples(index):
    """There is no graph in the evidence then, or less of it, and a note says why."""
    found = index.search("Who sailed?", method="paths")
    assert found.graph is None
    assert "names nothing" in found.notes[0]
    found, answers = asked(index, "Who built the Fram?", edges=3)
    assert len(answers) < len(asked(index, "Who built the Fram?", walks=50)[1])
    assert any("edges" in note for note in found.notes)


def test_who_built_a_ship_is_not_whom_it_was_built_for(tmp_path):
    """A "for" in a relation counts where the question has it, and against it where not."""
    rows = [("Fram", "built by", "Colin Archer"), ("Fram", "built for", "Fridtjof Nansen")]
    path = tmp_path / "roles.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    with clew.open(tmp_path / "roles.clew", models=models()) as index:
        index.import_graph(path)
        built = [asked(index, q)[1][0] for q in ("Who built Fram?", "Who was Fram built for?")]
    assert built == ["Colin Archer", "Fridtjof Nansen"]


@pytest.mark.parametrize(
    ("question", "is_date"),
    [
        ("When was the Fram built?", True),
        ("When was the Ingeborg led?", True),
        ("Who built the Fram?", False),
        ("Who launched the Maud?", False),
    ],
)
def test_a_date_answers_when_and_nothing_else(real, question, is_date):
    """Where the graph has dates, no person is named for "when", and no date for "who"."""
    assert asked(real, question)[1][0].isdigit() == is_date
