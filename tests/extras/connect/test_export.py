"""A graph in files of other programs: networkx and pyarrow read what was written."""

import itertools
import json
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import chain, pairwise

import networkx as nx
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew.base.types import Document, Skipped, Validity
from clew.errors import InputError, MissingExtra
from clew.extras.connect.export import ExportedGraph, index_graph, target
from clew.extras.connect.imports.graph_files import read_graph_file
from clew.extras.connect.imports.systems import open_system
from clew.readers.roots import Roots
from clew.testing import models
from tests.index.build import scratch

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
    return ExportedGraph(
        n_nodes=len(nodes), n_edges=len(edges), nodes=lambda: iter(nodes), edges=lambda: iter(edges)
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
        target(tmp_path / name).write(made(NAMES))
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
    target(path).write(made([*NAMES, "two\nlines", "n\0l"]))
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
    target(tmp_path / name).write(made([*NAMES, *formulas, "two\nlines"]))
    with open_system(tmp_path / name, Roots()) as (_, system):
        triples = [each.triple for each in system.statements if each.triple]
    names = set(chain.from_iterable((each.subject, each.object) for each in triples))
    assert names == {*NAMES[:3], "tab and\x01more", *NAMES[4:], *formulas, "two lines"}


def test_cypher_merges_every_node_and_relationship(tmp_path):
    """Its rows, read as JSON, are the names and edges of the graph."""
    names = [name for name in (*NAMES, *FORMULAS) if "\x01" not in name]  # which XML cannot have
    for name in ("g.cypher", "g.graphml"):
        target(tmp_path / name).write(made(names))
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


DAY = st.builds(
    lambda year, month, day: year * 10_000 + month * 100 + day * bool(month),
    *(st.integers(800, 2100), st.integers(0, 12), st.integers(0, 28)),
)
TIMES = st.builds(
    lambda days, said: Validity(*(day * own for day, own in zip(days, said, strict=True))),
    st.tuples(DAY, DAY, DAY).map(lambda days: (*sorted(days[:2]), days[2])),
    st.tuples(*[st.booleans()] * 3).filter(any),
)


@settings(max_examples=8)
@given(st.lists(st.lists(TIMES, max_size=3, unique=True), min_size=3, max_size=3))
def test_dates_of_triples_come_back(times):
    """By all formats that have them, whether the texts are there or not."""
    with scratch() as folder, clew.open(folder / "my.clew", models=models()) as index:
        ends = (["Colin Archer", "built", "Fram"], SAILED, ["Fram", "left", "Oslo"])
        triples = [
            dict(zip(("subject", "relation", "object"), names, strict=True))
            | {"validity": "; ".join(map(str, own))}
            for names, own in zip(ends, times, strict=True)
        ]
        index.add([Document(id=name, text=text) for name, text in TEXTS.items()])
        (folder / "t.jsonl").write_text(json.dumps({"id": "fram", "triples": triples}))
        assert not index.import_triples(folder / "t.jsonl").skipped
        expected = find_times(index)
        names = map("|".join, (map(str.casefold, names) for names in ends))
        assert expected == {n: set(own) for n, own in zip(names, times, strict=True) if own}
        for name, texts in itertools.product(("g.graphml", "g.jsonl", "g.parquet"), ({}, TEXTS)):
            index.export(folder / name)
            with clew.open(folder / f"{len(texts)}{name}.clew", models=models()) as copy:
                if texts:
                    copy.add([Document(id=own, text=text) for own, text in texts.items()])
                assert not copy.import_graph(folder / name).skipped
                assert find_times(copy) == expected


def find_times(index):
    """Return the times of each dated triple by its id."""
    layer = index.snapshot().layer("triple")
    rows = list(layer.validity)
    return {name: set(layer.validity[row]) for name, row in zip(layer.ids(rows), rows, strict=True)}


def test_an_imported_triple_is_asked_for_as_of_a_date(tmp_path):
    lines = [
        ("Anna Berg", "led", "Nordlys", "from 2019 until 2023-03"),
        ("Bo Dahl", "led", "Nordlys", "from 2023-04-01"),
    ]
    table = "".join("\t".join(line) + "\n" for line in lines)
    (tmp_path / "g.tsv").write_text(f"subject\trelation\tobject\tvalidity\n{table}")
    with clew.open(tmp_path / "g.clew", models=models()) as index:
        assert not index.import_graph(tmp_path / "g.tsv").skipped
        for date, head in (("2020", "anna berg"), ("2024", "bo dahl")):
            triples = index.snapshot(f"valid on {date}").triples
            assert triples.ids(range(len(triples))) == [f"{head}|led|nordlys"]


def test_raw_files_have_names_as_they_are(tmp_path):
    """A spreadsheet gets texts and numbers, and an import gets the names as they were."""
    target(tmp_path / "g.tsv").write(made(FORMULAS))
    lines = (tmp_path / "g.tsv").read_text(encoding="utf-8").splitlines()
    cells = {cell for line in lines[1:] for cell in line.split("\t")}
    assert [cell for cell in cells if cell[0] in "=+-@＝＋－＠"] == ["-1.5"]
    assert {"'=1+1", "''=1", '"""=1"', "Fr<U+200B>am", "<U+003C>U+200B>"} <= cells
    triples, _ = stated(tmp_path / "g.tsv")
    assert set(chain.from_iterable((t.subject, t.object) for t, _ in triples)) == set(FORMULAS)
    for name in ("g.tsv", "g.graphml"):
        target(tmp_path / name, raw=True).write(made([*FORMULAS, "n\0l"]))
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "n\N{REPLACEMENT CHARACTER}l" in text
        assert "Fr\u200bam" in text
    assert "\n=1+1\t" in (tmp_path / "g.tsv").read_text(encoding="utf-8")


def test_json_lines_have_whole_strengths(tmp_path):
    """From 1 to 10, as an import has them."""
    graph = made(["a", "b"])
    [edge] = graph.edges()
    edge["places"] = [("one", 12.0), ("two", 0.3), (None, 3.0)]
    target(tmp_path / "g.jsonl").write(graph)
    triples, _ = stated(tmp_path / "g.jsonl")
    assert {(document, t.strength) for t, document in triples} == {("one", 10), ("two", 1), ("", 3)}


# -- files ----------------------------------------------------------------------------------------


def test_what_cannot_be_written_is_told(index, tmp_path):
    with pytest.raises(InputError, match=r"\.graphml, \.json, \.jsonl, \.tsv, \.parquet"):
        index.export(tmp_path / "g.gexf")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InputError, match=r"folder\.json is a folder: name a file"):
        index.export(tmp_path / "folder.json")
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)"):
        index.export(tmp_path / "nowhere" / "g.json")
    with pytest.raises(InputError, match=r"cannot be written \(Not a directory\)"):
        index.export(tmp_path / "recorded.jsonl" / "g.json")


def test_an_export_that_breaks_leaves_the_old_file(tmp_path):
    path = tmp_path / "g.graphml"
    target(path).write(made(["a", "b"]))
    before = path.read_bytes()
    graph = made(["a", "b", "c"])
    broken = replace(graph, edges=lambda: (1 / 0 for _ in range(1)))
    with pytest.raises(ZeroDivisionError):
        target(path).write(broken)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["g.graphml"]
    target(path).write(graph)
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
    for suffix in ("graphml", "cypher"):
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
