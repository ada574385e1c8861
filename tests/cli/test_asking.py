"""`clew ask` and `clew search`."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import click
import pytest
from rich.cells import cell_len

from clew.api import open_index
from clew.base.types import (
    Candidate,
    ConceptAnchors,
    Document,
    Evidence,
    EvidenceGraph,
    Expansion,
    Fact,
    Heading,
    Hit,
    Step,
    Table,
)
from clew.cli import render
from clew.cli.options import parse_parameters
from clew.index.snapshot import Snapshot
from clew.models import Reply
from clew.testing import ScriptedLLM, models
from tests.cli.conftest import finding, with_llm

QUESTION = "Where was Colin Archer born?"
TEXT = "Colin Archer was born in Larvik."
PLACE = {"document_id": "archer", "source": "archer.md", "start": 0, "end": len(TEXT)}
HIT = Hit(
    chunk_id="archer:0-32", score=0.812, title="Colin Archer", text=TEXT, channel="graph", **PLACE
)
ENTITIES = Table(
    name="Entities",
    columns=("id", "entity", "description"),
    rows=(
        ("1", "Colin Archer", "naval architect"),
        ("2", "Larvik", "a town " * 40),
        *((str(n), f"Ship {n}", "") for n in range(3, 16)),
    ),
)


def group(concept, weight, *anchors, kind="explicit"):
    found = tuple(Step(layer="entity", id=name.lower(), text=name) for name in anchors)
    return ConceptAnchors(concept=concept, kind=kind, weight=weight, anchors=found)


def candidate(rank, *, chosen=True, covers=("Archer",), misses=(), triples=(), cost=0.216):
    score = 5.4321 / rank if cost else 1e6
    found = {"rank": rank, "score": score, "cost": cost, "covers": covers, "misses": misses}
    found |= {"kind": "inter", "missing": 0.1, "entities": ("colin archer",)}
    return Candidate(**found, chosen=chosen, triples=triples)


def fact(name):
    ends = {"subject": "a", "relation": "r", "object": "b"}
    return Fact(id=name, text=f"Archer {name}", chunk_ids=(), candidate=1, depth=1, **ends)


ARCHER = Step(layer="entity", id="colin archer", text="Colin Archer")
FACTS = tuple(map(fact, ("built Fram", "left Oslo", "drew ships", "saw Larvik")))
GRAPH = EvidenceGraph(
    groups=(
        group("Archer", 0.75, "Colin Archer", "Archer", "Archer Street", "Archery", "Arch"),
        group("the town", 0.25, "Larvik", kind="latent"),
    ),
    candidates=(
        candidate(1, misses=("the town",)),
        candidate(2, covers=("Archer", "the town"), triples=("left Oslo", "saw Larvik")),
        candidate(3, cost=0.0),
        candidate(4, chosen=False),
    ),
    expansions=(
        *(
            Expansion(candidate=1, depth=1, triple=each.id, reason=f"because of {n}")
            for n, each in enumerate(FACTS)
        ),
        Expansion(candidate=2, depth=2, triple=FACTS[0].id, reason="as well"),
    ),
    entities=(ARCHER,),
    facts=FACTS,
)


def finds(**fields):
    """Return an opener of an index that finds a hit, and `fields` beside it."""
    return finding(Evidence(**{"query": QUESTION, "method": "clue", "hits": (HIT,), **fields}))


def test_ask_quotes_and_cites(clew, own_index):
    result = clew("ask", QUESTION, "--index", own_index)
    assert result.exit_code == 0
    assert re.search(r"\[\d\] \S+/archer\.md:3\n +\"", result.stdout)
    assert re.search(r"\n0 tokens, 0 LLM calls; .+\n$", result.stdout)
    assert "\x1b" not in result.stdout
    answer = json.loads(clew("ask", QUESTION, "--index", own_index, "--json").stdout)
    assert answer["kind"] == "quoted"
    for cited in answer["citations"]:
        text = Path(cited["source"]).read_text(encoding="utf-8")
        assert text[cited["start"] : cited["end"]] == cited["quote"]


def test_an_llm_answers_in_its_words(clew, own_index):
    names = Reply(text="", data={"named_entities": []}, prompt_tokens=10, cost_usd=0.001)
    text = "in Larvik [1]"
    said = Reply(text=text, prompt_tokens=10, completion_tokens=5, cost_usd=0.002)
    opener = with_llm(ScriptedLLM(names, said))
    result = clew("ask", QUESTION, "--index", own_index, obj=opener)
    assert result.stdout.startswith("in Larvik [1]\n\n  [1] ")
    assert "25 tokens, 2 LLM calls, $0.0030;" in result.stdout
    result = clew("ask", QUESTION, "--index", own_index, "--method", "zero_shot")
    assert result.stdout.startswith("No answer: ")
    assert "Note: zero_shot needs an LLM" in result.stdout


def test_search_ranks_chunks(clew, own_index):
    result = clew("search", "Shackleton died aboard", "--index", own_index, "--method", "bm25")
    assert re.search(r"\n\nsupport 0\.\d\d\n\n", result.stdout)
    assert re.match(
        r"  1  \d\.\d{3}  Quest\n +\S+quest\.md:3  relevance 0\.\d\d\n +Ernest", result.stdout
    )
    result = clew("search", "xyzzy", "--index", own_index, "--method", "bm25")
    assert result.exit_code == 0
    assert result.stdout.startswith("Nothing in the index fits")


def test_a_hit_says_where_it_stands(clew):
    found = replace(HIT, section="Youth > Birth", page=12, last_page=13, apparatus="index")
    said = clew("search", QUESTION, obj=finds(hits=(found,))).stdout
    assert re.search(r"Colin Archer > Youth > Birth\n +archer\.md  pp\. 12-13  index\n", said)
    shown = clew("search", QUESTION, obj=finds()).stdout
    assert shown.startswith("  1  0.812  (graph)  Colin Archer\n            archer.md\n")
    also = ("a.html:0-9", "b.html:0-9", "c.html:0-9", "d.html:0-9")
    hits = (replace(HIT, also=also), HIT)
    lines = clew("search", QUESTION, obj=finds(hits=hits)).stdout.splitlines()
    said = [line.strip() for line in lines if "also said in" in line]
    assert said == ["also said in a.html:0-9, b.html:0-9, c.html:0-9 and 1 more"]


def test_a_citation_says_where_it_stands(clew, tmp_path):
    document = Document(
        id="archer",
        text=f"Birth\n\n{TEXT}",
        source="archer.pdf",
        headings=(Heading(0, 1, "Birth"),),
        pages=(0,),
    )
    with open_index(tmp_path / "a.clew", models=models()) as index:
        index.add([document])
    said = clew("ask", QUESTION, "--index", tmp_path / "a.clew").stdout
    assert "  [1] archer.pdf  p. 1  Birth\n" in said


def test_search_json_and_number_of_chunks(clew, own_index):
    result = clew("search", "Fram", "--index", own_index, "--chunks", 2, "--json")
    evidence = json.loads(result.stdout)
    assert evidence["method"] == "walk"
    assert [set(hit) >= {"chunk_id", "score", "start"} for hit in evidence["hits"]] == [True] * 2
    result = clew("ask", "Fram", "--index", own_index, "--context-tokens", 30, "--json")
    assert json.loads(result.stdout)["context"]["n_tokens"] <= 30
    given = ["--method=clue", "--param=depth=1", "--param=fill=no", "--param=ranking=chunks"]
    result = clew("search", "Fram", "--index", own_index, *given, "--json")
    assert result.exit_code == 0
    assert max(len(path["steps"]) for path in json.loads(result.stdout)["paths"]) <= 4


@pytest.mark.parametrize("budget", [("--budget-tokens", "9"), ("--budget-usd", "0")])
@pytest.mark.parametrize("command", ["ask", "search"])
def test_a_budget_without_an_llm_is_noted(clew, command, budget):
    """It bounds nothing, and says so; with an LLM named there is nothing to say."""
    alone = clew(command, QUESTION, *budget, obj=finds())
    assert alone.stderr == "clew: without --llm the budget limits paid embeddings alone\n"
    assert alone.exit_code == 0
    assert not clew(command, QUESTION, *budget, "--llm", "local", obj=finds()).stderr


@pytest.mark.parametrize("said", [("TRUE", "no"), ("on", "Off"), ("1", "0"), ("yes", "false")])
def test_truth_has_several_words(said):
    """On the command line, in any case; another word stays as it is, to be refused."""
    given = [f"{name}={word}" for name, word in zip(("fill", "seed_units"), said, strict=True)]
    assert parse_parameters("clue", given) == {"fill": True, "seed_units": False}
    assert parse_parameters("clue", ["fill=maybe"]) == {"fill": "maybe"}


def test_exact_reaches_the_search(clew, own_index, monkeypatch):
    """It says of the generation that all rows are compared."""
    seen = []
    exactly = Snapshot.exactly
    monkeypatch.setattr(Snapshot, "exactly", lambda self: seen.append(1) or exactly(self))
    plain = clew("search", QUESTION, "--index", own_index, "--json")
    assert not seen
    exact = clew("search", QUESTION, "--index", own_index, "--json", "--exact")
    assert seen == [1]
    assert json.loads(exact.stdout)["hits"] == json.loads(plain.stdout)["hits"]


def test_tables_are_compact(clew):
    result = clew("search", QUESTION, obj=finds(tables=(ENTITIES,)), env={"COLUMNS": "60"})
    lines = result.stdout.splitlines()
    assert lines[:3] == [
        "Entities",
        "  id  entity        description",
        "  1   Colin Archer  naval architect",
    ]
    assert re.fullmatch(r"  2   Larvik        (a town )+(a to?)?…", lines[3])
    assert len(lines[3]) == 60
    assert lines[4:14] == [f"  {n:<2}  Ship {n}" for n in range(3, 11)] + ["  … and 5 more", ""]
    assert lines[14].startswith("  1  0.812  ")
    table = Table(name="Entities", columns=ENTITIES.columns, rows=ENTITIES.rows[:10])
    shown = clew("search", QUESTION, obj=finds(tables=(table,), hits=())).stdout
    assert "\n  10  Ship 10\n\n" in shown
    assert "more" not in shown
    assert "Nothing in the index fits" not in shown


def test_narrow_columns_leave_their_room_to_wide_ones(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    rows = (
        ("Colin Archer", "shipbuilder " * 9, "9", "of Larvik " * 9),
        ("科林", "造船师" * 9, "9", "of Larvik"),
    )
    shown = render.render_table(Table(name="All", columns=("entity", "a", "n", "b"), rows=rows))
    [_, *lines] = click.unstyle(shown).splitlines()
    assert max(map(cell_len, lines)) <= 50
    [_, line, chinese] = lines
    assert cell_len(chinese.partition("  9  ")[0]) == line.index("  9  ")
    assert re.fullmatch(r"  Colin Archer  shipbuild\S* *\S*…  9  of Larvik.*…", line)


def test_json_has_tables_and_channels(clew):
    opener = finds(tables=(ENTITIES,))
    table = {"name": "Entities", "columns": list(ENTITIES.columns)}
    table["rows"] = [list(row) for row in ENTITIES.rows]
    evidence = json.loads(clew("search", QUESTION, "--json", obj=opener).stdout)
    assert evidence["tables"] == [table]
    assert evidence["hits"][0]["channel"] == "graph"
    asked = json.loads(clew("ask", QUESTION, "--json", obj=opener).stdout)
    assert asked["context"]["tables"] == asked["evidence"]["tables"] == [table]
    opener = finds(graph=GRAPH)
    searched = json.loads(clew("search", QUESTION, "--json", obj=opener).stdout)["graph"]
    asked = json.loads(clew("ask", QUESTION, "--json", obj=opener).stdout)["evidence"]["graph"]
    assert searched == asked == json.loads(json.dumps(asdict(GRAPH)))
    assert len(searched["expansions"]) == 5
    assert json.loads(clew("search", QUESTION, "--json", obj=finds()).stdout)["graph"] is None


def test_a_table_is_shown_before_hits_and_a_graph_as_json_only(clew):
    shown = clew("search", QUESTION, obj=finds(graph=GRAPH, tables=(ENTITIES,))).stdout
    assert shown.startswith("Entities\n")
    asked = clew("ask", QUESTION, obj=finds(graph=GRAPH, tables=(ENTITIES,))).stdout
    assert f'"{TEXT}"' in asked
    assert "Entities" not in asked
    shown = clew("search", QUESTION, obj=finds(graph=EvidenceGraph(), hits=())).stdout
    assert shown.startswith("Nothing in the index fits")


@pytest.mark.parametrize("command", ["ask", "search", "show"])
def test_documents_cannot_command_the_terminal(clew, tmp_path, command):
    text = "# \x1b[31mRed\n\n[bold]Evil Bob[/bold] said \x1b]0;owned\x07 and \u202eback \x9b2J."
    (tmp_path / "evil.md").write_text(text, encoding="utf-8")
    clew("index", tmp_path / "evil.md")
    arguments = ["evil.md"] if command == "show" else ["Evil Bob"]
    result = clew(command, *arguments, color=True)
    assert result.exit_code == 0
    assert command == "ask" or "Red" in result.stdout
    own = re.compile(r"\x1b\[(0|1|2|36)m")  # what the command line itself sets
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", own.sub("", result.stdout))
    if command != "show":
        assert "[bold]Evil Bob[/bold]" in click.unstyle(result.stdout)


def test_lines_fit_the_terminal(clew, own_index):
    for columns, most in ((200, 100), (60, 60)):
        env = {"COLUMNS": str(columns)}
        text = clew("methods", "clue", env=env).stdout
        text += clew("methods", env=env).stdout
        assert max(map(len, text.splitlines())) <= most
    result = clew("search", "Fram", "--index", own_index, env={"NO_COLOR": "1"}, color=True)
    assert "\x1b" not in result.stdout


SOURDOUGH = "How do I bake sourdough bread?"


def test_a_question_that_nothing_answers_is_refused(clew, own_index):
    found = clew("ask", SOURDOUGH, "--index", own_index, "--method", "dense")
    assert found.exit_code == 5
    assert found.stdout.startswith("Nothing in this index answers this.\n")
    assert "The nearest passages, which are no answer (--anyway answers from them)" in found.stdout
    assert len(re.findall(r"\.md:\d+  relevance 0\.\d\d\n", found.stdout)) == 3
    assert '"' not in found.stdout
    found = clew("ask", SOURDOUGH, "--index", own_index, "--method", "dense", "--json")
    answer = json.loads(found.stdout)
    assert (found.exit_code, answer["kind"], answer["text"]) == (5, "refused", "")
    assert answer["evidence"]["support"] < 0.25
    assert answer["context"]["passages"]
    asked = ["ask", QUESTION, "--index", own_index]
    assert [clew(*asked, "--threshold", each).exit_code for each in (0.25, 1, 1.5)] == [0, 5, 2]
    found = clew("ask", "zebra", "--index", own_index, "--method", "bm25")
    assert found.exit_code == 5
    assert "nearest" not in found.stdout


@pytest.mark.parametrize("options", [["--anyway"], ["--threshold", "0"]])
def test_nothing_is_refused_anyway(clew, own_index, options):
    found = clew("ask", SOURDOUGH, "--index", own_index, "--method", "dense", *options)
    assert found.exit_code == 0
    assert found.stdout.startswith("Not sure: this may not answer the question.\n")
    assert re.search(r"\n  \[1\] .+\n", found.stdout)


def test_an_answer_that_no_source_says_ends_as_a_refusal(clew, own_index):
    """Quotes take its place, below what the LLM said."""
    opener = with_llm(ScriptedLLM("ANSWER: The capital of Peru is Lima [1]"))
    found = clew("ask", QUESTION, "--index", own_index, "--method", "bm25", obj=opener)
    assert found.exit_code == 5
    assert found.output.startswith("No source says what the LLM answered:\n  The capital of Peru")
    assert "quoted sentences instead" in found.output
