"""A graph in files of other programs: networkx and pyarrow read what was written."""

import json
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import asdict, replace
from itertools import chain, pairwise

import networkx as nx
import pyarrow.parquet as pq
import pytest

import clew
from clew.api import Index
from clew.base.types import (
    Candidate,
    ConceptAnchors,
    Document,
    Edge,
    Evidence,
    EvidenceGraph,
    Expansion,
    Fact,
    Hit,
    Skipped,
    Step,
)
from clew.errors import InputError, MissingExtra
from clew.extras.connect.export import ExportedGraph, evidence_graph, index_graph, target
from clew.extras.connect.imports.graph_files import read_graph_file
from clew.extras.connect.imports.systems import open_system
from clew.readers.roots import Roots
from clew.testing import models
from tests import subgraphs

TEXTS = {
    "fram": "Colin Archer built the Fram. Nansen sailed her.",
    "kit": "Kit Vane saw the Fram at sea.",
}
BUILT = {"subject": "Colin Archer", "relation": "built", "object": "Fram", "strength": 7}
BUILT |= {"description": "He built her.", "validity": ""}
SAILED = ["Nansen", "sailed", "Fram"]
SHIP = [{"name": "Fram", "type": "product", "description": "A ship."}]
TRIPLES = [
    {"id": "fram", "triples": [BUILT, SAILED], "entities": SHIP},
    {"id": "kit", "triples": [["Kit Vane", "saw", "Fram"], SAILED], "entities": SHIP},
]
NAMES = ['"Quotes" & <tags>', "🧶 ball", "שלום עולם", "tab\tand\x01more", '"whole"', "𝔘nicode"]


@pytest.fixture
def index(tmp_path):
    """Give an index of two texts with triples that another program extracted."""
    (tmp_path / "recorded.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in TRIPLES), encoding="utf-8"
    )
    with clew.open(tmp_path / "my.clew", models=models()) as opened:
        opened.add([Document(id=name, text=text) for name, text in TEXTS.items()])
        opened.import_triples(tmp_path / "recorded.jsonl")
        yield opened


def stated(path):
    """Return the distinct triples and descriptions of a file, as the import reads them."""
    found = list(read_graph_file(path))
    assert not [each for each in found if isinstance(each, Skipped)]
    triples = {(s.triple, s.document_id) for s in found if s.triple}
    return triples, {s.described for s in found if s.described}


def made(names):
    """Return a graph in which each name is joined to the next one."""
    nodes = [
        {"id": name, "name": name, "type": "other", "description": "", "n_chunks": 1}
        for name in names
    ]
    edges = [
        {"source": a, "target": b, "key": f"{a}|to|{b}", "subject": a, "relation": "to",
         "object": b, "strength": 1.5, "description": f"{a}\r\nto {b}", "validity": "",
         "chunks": [f"{a}:0-1", f"{b}:2-3"], "places": [(None, 1.5)]}
        for a, b in pairwise(names)
    ]  # fmt: skip
    types = {"relation": "string", "description": "string", "chunks": "string"}
    return ExportedGraph(
        about={},
        node_types={"name": "string", "n_chunks": "int"},
        edge_types={**types, "strength": "double"},
        n_nodes=len(nodes),
        n_edges=len(edges),
        nodes=lambda: iter(nodes),
        edges=lambda: iter(edges),
    )


def read_json(path):
    return nx.node_link_graph(json.loads(path.read_text(encoding="utf-8")), edges="edges")


def test_graphml_and_json_are_the_graph_of_the_index(index, tmp_path):
    """Entities have what is known of them, triples where they stand; in JSON lists are lists."""
    exported = index.export(tmp_path / "g.graphml")
    assert exported.file == str(tmp_path / "g.graphml")
    assert (exported.n_nodes, exported.n_edges) == (4, 3)
    index.export(tmp_path / "g.json")
    graph = nx.read_graphml(tmp_path / "g.graphml", force_multigraph=True)
    other = read_json(tmp_path / "g.json")
    assert graph.is_directed()
    assert other.is_multigraph()
    assert set(graph.nodes) == set(other.nodes)
    assert set(graph.edges) == set(other.edges)
    known = {"name": "Fram", "type": "product", "description": "A ship.", "n_chunks": 2}
    assert graph.nodes["fram"] == known
    ends = ("nansen", "fram", "nansen|sailed|fram")
    chunks = index.show(ends[-1])["chunks"]
    sailed = {"relation": "sailed", "strength": 2.0}
    assert graph.edges[ends] == {**sailed, "chunks": "\n".join(chunks)}
    assert other.edges[ends] == {**sailed, "chunks": chunks, "description": "", "validity": ""}
    built = graph.edges["colin archer", "fram", "colin archer|built|fram"]
    assert (built["strength"], built["description"]) == (7.0, "He built her.")


def test_json_lines_are_read_back(index, tmp_path):
    index.export(tmp_path / "g.jsonl")
    index.export(tmp_path / "g.json")
    triples, described = stated(tmp_path / "g.jsonl")
    assert {(t.subject, t.relation, t.object, t.strength, d) for t, d in triples} == {
        ("Colin Archer", "built", "Fram", 7, "fram"),
        ("Nansen", "sailed", "Fram", 1, "fram"),
        ("Nansen", "sailed", "Fram", 1, "kit"),
        ("Kit Vane", "saw", "Fram", 1, "kit"),
    }
    assert [(d.name, d.type, d.description) for d in described] == [("Fram", "product", "A ship.")]
    with clew.open(tmp_path / "copy.clew", models=models()) as copy:
        copy.add([Document(id=name, text=text) for name, text in TEXTS.items()])
        copy.import_graph(tmp_path / "g.jsonl")
        copy.export(tmp_path / "copy.json")
    graphs = [read_json(tmp_path / name) for name in ("g.json", "copy.json")]
    assert set(graphs[0].edges) <= set(graphs[1].edges)


def test_tables_have_the_triples(index, tmp_path):
    """Three columns below a header; in Parquet strength, description and chunks besides."""
    index.export(tmp_path / "g.tsv")
    header, *lines = (tmp_path / "g.tsv").read_text(encoding="utf-8").splitlines()
    assert header == "subject\trelation\tobject"
    triples = ["Colin Archer\tbuilt\tFram", "Kit Vane\tsaw\tFram", "Nansen\tsailed\tFram"]
    assert sorted(lines) == triples
    index.export(tmp_path / "g.parquet")
    rows = pq.read_table(tmp_path / "g.parquet").to_pylist()
    assert len(rows) == 3
    [built] = [row for row in rows if row["relation"] == "built"]
    assert built.pop("chunks") == index.show("colin archer|built|fram")["chunks"]
    assert built == BUILT


def test_an_imported_graph_comes_back(tmp_path):
    rows = [("Ann Lee", "knows", "Bo Dahl"), ("Bo Dahl", "knows", "Ann Lee"), ("$", "is a", "sign")]
    (tmp_path / "kg.tsv").write_text("".join("\t".join(r) + "\n" for r in rows), encoding="utf-8")
    with clew.open(tmp_path / "kg.clew", models=models()) as index:
        index.import_graph(tmp_path / "kg.tsv")
        for name in ("out.tsv", "out.jsonl"):
            assert index.export(tmp_path / name).n_edges == 3
            triples, _ = stated(tmp_path / name)
            assert {(t.subject, t.relation, t.object) for t, _ in triples} == set(rows)
            assert {document for _, document in triples} == {""}


@pytest.fixture
def hostile(tmp_path):
    def write(name):
        target(tmp_path / name, whole=True).write(made(NAMES))
        return tmp_path / name

    return write


def test_files_hold_every_name(hostile):
    """A control character is escaped, as XML cannot hold most of them."""
    graph = nx.read_graphml(hostile("g.graphml"), force_multigraph=True)
    shown = [name.replace("\x01", "<U+0001>") for name in NAMES]
    assert list(graph.nodes) == shown
    assert [graph.nodes[name]["name"] for name in shown] == shown
    [first, *_] = graph.edges(data=True)
    assert first[2]["description"] == f"{shown[0]}\r\nto {shown[1]}"
    assert first[2]["chunks"] == f"{shown[0]}:0-1\n{shown[1]}:2-3"
    graph = read_json(hostile("g.json"))
    assert list(graph.nodes) == NAMES
    assert [data["chunks"][0] for _, _, data in graph.edges(data=True)] == [
        f"{name}:0-1" for name in NAMES[:-1]
    ]


@pytest.mark.parametrize("suffix", [".tsv", ".jsonl"])
def test_tables_and_lines_hold_every_name(tmp_path, suffix):
    """They are read with white space as a space, and with everything else as it was."""
    path = tmp_path / f"g{suffix}"
    target(path, whole=True).write(made([*NAMES, "two\nlines", "n\0l"]))
    triples, _ = stated(path)
    plain = [name for name in NAMES if "\x01" not in name]
    assert set(chain.from_iterable((t.subject, t.object) for t, _ in triples)) == {
        *plain,
        "two lines",
        "tab and\x01more",
        "n\0l",
    }


FORMULAS = [
    "=1+1", "@SUM(A1)", "+44|x", "-2+3", "＝1", '"=1', "'=1", "-1.5", "Fr\u200bam", "<U+200B>",
]  # fmt: skip


@pytest.mark.satellite
def test_names_come_back_from_graphml(tmp_path):
    """With white space as a space."""
    name = "g.graphml"
    formulas = [each for each in FORMULAS if each[1:] != "=1"]  # which have the key of another
    target(tmp_path / name, whole=True).write(made([*NAMES, *formulas, "two\nlines"]))
    with open_system(tmp_path / name, Roots()) as (_, system):
        triples = [each.triple for each in system.statements if each.triple]
    names = set(chain.from_iterable((each.subject, each.object) for each in triples))
    assert names == {*NAMES[:3], "tab and\x01more", *NAMES[4:], *formulas, "two lines"}


def test_cypher_merges_every_node_and_relationship(tmp_path):
    """Its rows, read as JSON, are the names and edges of the graph."""
    names = [name for name in (*NAMES, *FORMULAS) if "\x01" not in name]  # which XML cannot have
    for name in ("g.cypher", "g.graphml"):
        target(tmp_path / name, whole=True).write(made(names))
    written = (tmp_path / "g.cypher").read_text("utf-8")
    quoted = re.sub(r'("(?:[^"\\]|\\.)*")|(\w+): ', lambda m: m[1] or f'"{m[2]}": ', written)
    rows = [json.loads(line.rstrip(",")) for line in quoted.splitlines() if line[0] == "{"]
    graph = nx.read_graphml(tmp_path / "g.graphml")
    assert {row["id"]: row["name"] for row in rows if "id" in row} == dict(
        graph.nodes("name", default="")
    )
    edges = [(row["source"], row["target"]) for row in rows if "source" in row]
    assert sorted(edges) == sorted((a, b) for a, b, *_ in graph.edges)
    assert written.count("MERGE (a)-[") == written.count("MATCH (a:") > 0


@pytest.mark.parametrize(
    "name", [pytest.param("g.graphml", marks=pytest.mark.satellite), "g.parquet", "g.jsonl"]
)
def test_an_export_is_imported_as_the_same_graph(index, tmp_path, name):
    """Alone, or beside the same texts, which have the triples again."""
    index.export(tmp_path / name)
    edges = {
        (e["subject"], e["relation"], e["object"]) for e in index_graph(index.snapshot()).edges()
    }
    for texts in ({}, TEXTS):
        with clew.open(tmp_path / f"{len(texts)}.clew", models=models()) as copy:
            copy.add(
                [Document(id=own, text=text) for own, text in texts.items()]
            ) if texts else None
            done = copy.import_graph(tmp_path / name)
            graph = index_graph(copy.snapshot())
            assert {(e["subject"], e["relation"], e["object"]) for e in graph.edges()} == edges
            assert done.n_placed == (4 if texts else 0)
            assert not done.skipped


def test_raw_files_have_names_as_they_are(tmp_path):
    """A spreadsheet gets texts and numbers, and an import gets the names as they were."""
    target(tmp_path / "g.tsv", whole=True).write(made(FORMULAS))
    lines = (tmp_path / "g.tsv").read_text(encoding="utf-8").splitlines()
    cells = {cell for line in lines[1:] for cell in line.split("\t")}
    assert [cell for cell in cells if cell[0] in "=+-@＝＋－＠"] == ["-1.5"]
    assert {"'=1+1", "''=1", '"""=1"', "Fr<U+200B>am", "<U+003C>U+200B>"} <= cells
    triples, _ = stated(tmp_path / "g.tsv")
    assert set(chain.from_iterable((t.subject, t.object) for t, _ in triples)) == set(FORMULAS)
    for name in ("g.tsv", "g.graphml"):
        target(tmp_path / name, whole=True, raw=True).write(made([*FORMULAS, "n\0l"]))
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "n\N{REPLACEMENT CHARACTER}l" in text
        assert "Fr\u200bam" in text
    assert "\n=1+1\t" in (tmp_path / "g.tsv").read_text(encoding="utf-8")


# -- what a question found ------------------------------------------------------------------------


def entity(name, **more):
    return Step(layer="entity", id=name.lower(), text=name, **more)


FACT = {"subject": "archer", "candidate": 1}
EVIDENCE = Evidence(
    query='Who built the "Fram"?',
    method="by hand",
    graph=EvidenceGraph(
        groups=(
            ConceptAnchors(concept="Fram", weight=0.6, anchors=(entity("Fram"),)),
            ConceptAnchors(
                concept="who built",
                weight=0.4,
                anchors=(
                    Step(layer="triple", id="archer|built|fram", text="Archer built Fram"),
                    entity("Archer"),
                ),
            ),
        ),
        candidates=(
            Candidate(
                rank=1, chosen=True, kind="inter", score=0.7, cost=0.2, missing=0.0,
                covers=("Fram", "who built"), misses=(), entities=("fram", "archer"),
                triples=("archer|built|fram",),
            ),
        ),
        expansions=(
            Expansion(candidate=1, depth=1, triple="archer|of|larvik", reason="says where"),
        ),
        entities=(entity("Fram", reason="anchor", score=1.0), entity("Archer"), entity("Larvik")),
        facts=(
            Fact(
                id="archer|built|fram", relation="built", object="fram", text="Archer built Fram",
                chunk_ids=("a:0-9", "b:0-9"), **FACT,
            ),
            Fact(
                id="archer|of|larvik", relation="of", object="larvik", text="Archer of Larvik",
                chunk_ids=(), depth=1, **FACT,
            ),
        ),
    ),
)  # fmt: skip


def test_evidence_as_graphml_and_json(tmp_path):
    """Nodes have the groups that they anchor, edges where they come from; in JSON all is there."""
    for name in ("e.graphml", "e.json"):
        exported = target(tmp_path / name, whole=False).write(evidence_graph(EVIDENCE))
        assert (exported.n_nodes, exported.n_edges) == (3, 2)
    graph = nx.read_graphml(tmp_path / "e.graphml", force_multigraph=True)
    assert (graph.graph["query"], graph.graph["method"]) == ('Who built the "Fram"?', "by hand")
    fram = {"name": "Fram", "reason": "anchor", "score": 1.0, "groups": "Fram", "candidates": "1"}
    assert graph.nodes["fram"] == fram
    assert graph.nodes["larvik"] == {"name": "Larvik"}
    ends = ("archer", "fram", "archer|built|fram")
    assert graph.edges[ends] == {
        "relation": "built", "text": "Archer built Fram", "groups": "who built", "candidate": 1,
        "depth": 0, "chunks": "a:0-9\nb:0-9",
    }  # fmt: skip
    added = graph.edges["archer", "larvik", "archer|of|larvik"]
    assert (added["depth"], added["reason"]) == (1, "says where")
    graph = read_json(tmp_path / "e.json")
    assert graph.graph["groups"][1]["anchors"][0]["id"] == "archer|built|fram"
    assert graph.graph["candidates"][0]["covers"] == ["Fram", "who built"]
    assert graph.graph["expansions"][0]["reason"] == "says where"
    assert graph.graph["answers"] == []
    assert graph.nodes["archer"]["groups"] == ["who built"]
    assert graph.nodes["larvik"]["candidates"] == []
    assert graph.edges[ends]["chunks"] == ["a:0-9", "b:0-9"]


@pytest.fixture
def reasoned(tmp_path):
    """Write a reasoning subgraph as GraphML and as JSON; give both as networkx reads them."""
    for name in ("r.graphml", "r.json"):
        exported = target(tmp_path / name, whole=False).write(evidence_graph(subgraphs.EVIDENCE))
        assert (exported.n_nodes, exported.n_edges) == (9, 10)
    graphml = nx.read_graphml(tmp_path / "r.graphml", force_multigraph=True)
    return graphml, read_json(tmp_path / "r.json")


def test_nodes_of_a_subgraph(reasoned):
    graphml, plain = reasoned
    fram = {
        "name": "Fram", "kind": "entity", "reason": "holds 0.25", "score": 0.25, "terminal": True,
        "in_tree": True, "growth": 0, "component": 1,
    }  # fmt: skip
    assert graphml.nodes["fram"] == fram
    assert plain.nodes["fram"] == fram | {"text": "", "section": "", "pages": ""}
    assert graphml.nodes[subgraphs.LARVIK] == {
        "name": subgraphs.LARVIK, "kind": "chunk", "text": "Larvik built many a polar ship.",
        "reason": "on the tree", "score": 0.0125, "terminal": False, "in_tree": False, "growth": 3,
        "component": 1,
    }  # fmt: skip
    assert graphml.nodes["polar ship"]["kind"] == "statistical"
    assert graphml.nodes["belgica"]["component"] == 2


def test_chunks_of_a_subgraph_say_where_they_stand(tmp_path):
    [node] = [each for each in subgraphs.NODES if each.id == subgraphs.LARVIK]
    place = {"section": "Ships > Polar ships", "page": 3, "last_page": 4, "source": "larvik.pdf"}
    hit = Hit(
        chunk_id=node.id, score=1.0, document_id="larvik", title="Larvik", start=0, end=31,
        text=node.text, **place,
    )  # fmt: skip
    found = evidence_graph(replace(subgraphs.EVIDENCE, hits=(hit,)))
    target(tmp_path / "r.json", whole=False).write(found)
    shown = read_json(tmp_path / "r.json").nodes[node.id]
    assert (shown["section"], shown["pages"]) == ("Ships > Polar ships", "pp. 3-4")


def test_facts_of_a_subgraph_are_edges(reasoned):
    """Several between two nodes are as many edges, which have the cost of what joins the two."""
    graphml, plain = reasoned
    assert set(graphml["colin archer"]["fram"]) == {subgraphs.BUILT, subgraphs.DREW}
    drew = {"kind": "fact", "relation": "drew", "text": "colin archer drew fram", "cost": 0.2}
    drew |= {"in_tree": True, "growth": 0, "component": 1}
    places = [subgraphs.ARCHER, subgraphs.LARVIK]
    ends = ("colin archer", "fram", subgraphs.DREW)
    assert graphml.edges[ends] == drew | {"chunks": "\n".join(places)}
    assert plain.edges[ends] == drew | {"chunks": places}
    born = graphml.edges["colin archer", "larvik", subgraphs.BORN]
    assert (born["in_tree"], born["growth"]) == (False, 1)
    assert graphml.edges["belgica", "antwerp", subgraphs.LEFT]["component"] == 2
    graphml, plain = reasoned
    assert graphml.graph["query"] == plain.graph["query"] == subgraphs.EVIDENCE.query
    assert "growth" not in graphml.graph
    assert plain.graph["growth"][0] == asdict(subgraphs.SUBGRAPH.growth[0])


def test_other_edges_of_a_subgraph(reasoned):
    """A chunk contains an entity, and synonyms are alike; both say how much that costs."""
    graphml, plain = reasoned
    ends = (subgraphs.ARCHER, "archer", f"contains:{subgraphs.ARCHER}|archer")
    contains = {"kind": "contains", "cost": 0.5, "in_tree": True, "growth": 0, "component": 1}
    assert graphml.edges[ends] == contains
    assert plain.edges[ends] == contains | {"relation": "", "text": "", "chunks": []}
    assert graphml.edges["archer", "colin archer", "synonym:archer|colin archer"]["cost"] == 0.125
    grown = {(a, b): data["growth"] for a, b, data in graphml.edges(data=True) if data["growth"]}
    assert grown == {
        ("colin archer", "larvik"): 1,
        (subgraphs.ARCHER, "larvik"): 1,
        (subgraphs.ARCHER, "polar ship"): 2,
        (subgraphs.LARVIK, "larvik"): 3,
        (subgraphs.LARVIK, "polar ship"): 3,
    }


def test_keys_of_a_subgraph_are_each_of_one_edge(tmp_path):
    """Also where the relation of a triple is called as an edge that none states."""
    graph = subgraphs.EVIDENCE.graph
    ends = {"subject": "archer", "object": "colin archer", "relation": "synonym"}
    name = "archer|synonym|colin archer"
    fact = Fact(id=name, text="", chunk_ids=(), candidate=1, **ends)
    edge = Edge(a="archer", b="colin archer", kind="fact", cost=0.2, facts=(name,))
    both = replace(
        graph,
        subgraph=replace(graph.subgraph, edges=(*graph.subgraph.edges, edge)),
        facts=(*graph.facts, fact),
    )
    path = tmp_path / "r.graphml"
    target(path, whole=False).write(evidence_graph(replace(subgraphs.EVIDENCE, graph=both)))
    keys = [each.get("id") for each in ET.parse(path).findall(".//{*}edge")]  # noqa: S314 -- our own file
    assert len(keys) == len(set(keys)) == 11
    assert name in keys


class Searched(Index):
    """An index whose method found something by hand."""

    def search(self, query):
        return replace(EVIDENCE, query=query.text, method=query.method)


def test_a_question_is_searched_for(tmp_path):
    with Searched(tmp_path / "my.clew", models()) as index:
        index.add(Document(id="a", text="Colin Archer built the Fram."), triples="cooccurrence")
        exported = index.export(tmp_path / "e.json", query="Who?", method="some", depth=2)
    assert (exported.n_nodes, exported.n_edges) == (3, 2)
    graph = read_json(tmp_path / "e.json").graph
    assert (graph["query"], graph["method"]) == ("Who?", "some")


def test_a_graph_without_nodes_is_not_written(tmp_path):
    nothing = replace(EVIDENCE, graph=EvidenceGraph(), notes=("no anchor",))
    with pytest.raises(
        InputError, match=r"'by hand' found nothing in the graph .*question \(no anchor\)"
    ):
        target(tmp_path / "e.json", whole=False).write(evidence_graph(nothing))
    assert not list(tmp_path.glob("e.json*"))
    graph = made(["a", "b"])
    [edge] = graph.edges()
    edge["places"] = [("one", 12.0), ("two", 0.3), (None, 3.0)]
    target(tmp_path / "g.jsonl", whole=True).write(graph)
    triples, _ = stated(tmp_path / "g.jsonl")
    assert {(document, t.strength) for t, document in triples} == {("one", 10), ("two", 1), ("", 3)}


# -- files ----------------------------------------------------------------------------------------


def test_what_cannot_be_written_is_told(index, tmp_path):
    with pytest.raises(InputError, match=r"\.graphml, \.json, \.jsonl, \.tsv, \.parquet"):
        index.export(tmp_path / "g.gexf")
    with pytest.raises(InputError, match=r"to \.graphml, \.json, and not to '.*e\.tsv'"):
        index.export(tmp_path / "e.tsv", query=" ", method="no such method")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InputError, match=r"folder\.json is a folder: name a file"):
        index.export(tmp_path / "folder.json")
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        index.export(tmp_path / "nowhere" / "g.json")
    with pytest.raises(InputError, match=r"cannot be written \(Not a directory\)"):
        index.export(tmp_path / "recorded.jsonl" / "g.json")
    with pytest.raises(InputError, match="the method 'dense' found no graph.*'bubble' or 'agrag'"):
        index.export(tmp_path / "e.json", query="Who built the Fram?", method="dense")
    assert not (tmp_path / "e.json").exists()


def test_an_export_that_breaks_leaves_the_old_file(tmp_path):
    path = tmp_path / "g.graphml"
    target(path, whole=True).write(made(["a", "b"]))
    before = path.read_bytes()
    graph = made(["a", "b", "c"])
    broken = replace(graph, edges=lambda: (1 / 0 for _ in range(1)))
    with pytest.raises(ZeroDivisionError):
        target(path, whole=True).write(broken)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["g.graphml"]
    target(path, whole=True).write(graph)
    assert len(ET.parse(path).findall(".//{*}node")) == 3  # noqa: S314 -- our own file


@pytest.mark.parametrize(
    ("text", "triples", "message"),
    [
        (TEXTS["fram"], None, "run 'clew index PATH --triples cooccurrence' .no LLM., or '--trip"),
        ("it rained.", "cooccurrence", "none were found in its chunks"),
        (None, None, "this index is empty: add documents first"),
    ],
)
def test_an_index_without_triples(tmp_path, text, triples, message):
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add([Document(id="fram", text=text or "Gone.")], triples=triples)
        if text is None:
            index.remove("fram")
        for suffix in (".jsonl", ".tsv", ".parquet", *((".json", ".graphml") * (text is None))):
            with pytest.raises(InputError, match=message):
                index.export(tmp_path / f"g{suffix}")
    assert not list(tmp_path.glob("g.*"))


@pytest.mark.parametrize("suffix", [".json", ".graphml"])
def test_without_triples_names_of_one_sentence_are_joined(tmp_path, suffix):
    """An edge says in how many sentences both stand, and where; a part of a name is not joined."""
    texts = {
        "a": "Ada Lund met Bo Berg. Bo Berg and Ada Lund sailed the Fram. It rained.",
        "b": "Bo Berg left the Fram in Oslo.",
        "list": " ".join(f"Name{chr(65 + n // 26)}{chr(97 + n % 26)} Of," for n in range(40))
        + " end.",
    }
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add([Document(id=id_, text=text) for id_, text in texts.items()])
        exported = index.export(tmp_path / f"g{suffix}")
        index.export(tmp_path / f"again{suffix}")
    assert exported.edges_are == "sentences"
    written = tmp_path / f"g{suffix}"
    assert written.read_bytes() == (tmp_path / f"again{suffix}").read_bytes()
    is_xml = suffix == ".graphml"
    graph = nx.read_graphml(written, force_multigraph=True) if is_xml else read_json(written)
    assert (len(graph), graph.size()) == (exported.n_nodes, exported.n_edges)
    edges = {frozenset((a, b)): data for a, b, data in graph.edges(data=True)}
    assert edges[frozenset(("ada lund", "bo berg"))]["strength"] == 2
    found = edges[frozenset(("bo berg", "fram"))]
    chunks = found["chunks"].split("\n") if is_xml else found["chunks"]
    assert (found["strength"], sorted(c.partition(":")[0] for c in chunks)) == (2, ["a", "b"])
    assert not [pair for pair in edges if pair <= {"ada lund", "ada", "lund"}]
    assert frozenset(("ada lund", "oslo")) not in edges
    assert not [pair for pair in edges if any(name.startswith("name") for name in pair)]


def test_the_same_index_gives_the_same_bytes(index, tmp_path, monkeypatch):
    for suffix in ("graphml", "cypher", "zip"):
        for name in ("a", "b"):
            index.export(tmp_path / f"{name}.{suffix}")
        a, b = (tmp_path / f"{name}.{suffix}" for name in ("a", "b"))
        assert a.read_bytes() == b.read_bytes()
    graph = index_graph(index.snapshot())
    assert (len(list(graph.nodes())), len(list(graph.edges()))) == (graph.n_nodes, graph.n_edges)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'clew\[parquet\]'"):
        index.export(tmp_path / "g.parquet")
    assert not list(tmp_path.glob("g.parquet*"))
