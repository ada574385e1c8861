"""Files of a knowledge graph: every format is read, and everything that cannot be is reported."""

import csv
import gzip
import io
import json
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import Described, Skipped, Triple
from clew.errors import InputError, MissingExtra, UnreadableSource
from clew.extras.connect.imports.graph_files import read_graph_file
from clew.extras.connect.imports.stated import Stated
from clew.text.keys import name_key
from clew.text.normalize import entity_key

BUILT = Triple(subject="Fram", relation="built by", object="Colin Archer")
LEFT = Triple(subject="Fram", relation="left", object="Vardø")
MORE = BUILT._replace(description='Archer built "Fram".', strength=7)

PREFIXES = """@prefix : <http://sea.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
"""
NT = (
    "<http://sea.example/Fram> <http://sea.example/builtBy> <http://sea.example/Colin_Archer> .\n"
    '<http://sea.example/Fram> <http://sea.example/left> "Vardø" .\n'
)
FILES = {
    "a.tsv": "Fram\tbuilt_by\tColin Archer\nFram\tleft\tVardø\n",
    "b.tsv": "object\tRelation \tsubject\nColin  Archer\tbuilt by\tFram\nVardø\tleft\tFram",
    "c.tsv": '"Fram"\tbuilt by\t"Colin Archer"\n\n \t\nFram\tleft\tVardø\r\n',
    "a.csv": 'Fram,built_by,"Colin Archer"\nFram,left,Vardø\n',
    "b.csv": "head;type;tail\r\nFram;built by;Colin Archer\r\nFram;left;Vardø\r\n",
    "c.csv": "from\tedge\tto\nFram\tbuilt by\tColin Archer\nFram\tleft\tVardø\n",
    "a.jsonl": '["Fram", "built_by", "Colin Archer"]\n["Fram", "left", "Vard\\u00f8"]\n',
    "b.jsonl": (
        '{"head": "Fram", "type": "built_by", "tail": "Colin Archer"}\n'
        '{"Subject": " Fram", "predicate": "left", "relation": null, "object": "Vardø"}\n'
    ),
    "a.ndjson": '{"id": 1, "triples": [["Fram", "built_by", "Colin Archer"], '
    '{"subject": "Fram", "predicate": "left", "object": "Vardø"}]}',
    "a.nt": NT,
    "a.ttl": PREFIXES + ':Fram :builtBy <Colin%20Archer> ;\n  :left "Vardø"@en .\n',
    "b.ttl": "@prefix : <#> .\n:Fram :built_by :Colin_Archer ; :left 'Vardø' .\n",
}


@pytest.fixture
def graph(write):
    """Write a file, read it, and return what it states and what was reported of it."""

    def read_file(name, content):
        items = list(read_graph_file(write(name, content)))
        reports = [str(item) for item in items if isinstance(item, Skipped)]
        return [item for item in items if isinstance(item, Stated)], reports

    return read_file


def triples(items):
    return [item.triple for item in items if item.triple]


def ends(items):
    return [(triple.subject, triple.relation, triple.object) for triple in triples(items)]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_gives_the_same_triples(graph, name, packed):
    """So it does in a gzip file, whatever the order and the names of the columns."""
    content = FILES[name].encode()
    items, reports = graph(f"{name}.GZ", gzip.compress(content)) if packed else graph(name, content)
    assert triples(items) == [BUILT, LEFT]
    assert reports == []


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_and_newlines(graph, name, encoding):
    """A byte order mark and Windows line ends change nothing, not even the numbers."""
    plain, _ = graph(name, FILES[name])
    text = "\r\n".join(FILES[name].splitlines())
    assert graph(name, text.encode(encoding)) == (plain, [])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.csv",
            (
                "description,weight,subject,relation,object,source_id\n"
                '"Archer built ""Fram"".",7,Fram,built_by,Colin Archer, 12 \n'
            ),
        ),
        (
            "a.tsv",
            (
                "subject\trelation\tobject\tdocument\tdescription\tstrength\n"
                'Fram\tbuilt by\tColin Archer\t12\tArcher built "Fram".\t7.0\n'
            ),
        ),
        (
            "a.jsonl",
            (
                '{"subject": "Fram", "relation": "built_by", "object": "Colin Archer", '
                '"weight": 7, "document": 12, "description": "Archer built \\"Fram\\"."}'
            ),
        ),
    ],
)
def test_more_about_a_triple(graph, name, content):
    """Its description, its strength and its document come along."""
    ((item,), reports) = graph(name, content)
    assert (item.triple, item.document_id, reports) == (MORE, "12", [])


def test_entities_of_json_lines(graph):
    """A line may describe an entity; so may one of recorded triples, which have documents."""
    lines = [
        '{"entity": "Vardø", "type": "City", "description": "A port.", "passage_id": "p"}',
        '{"name": "$"}',
        '{"_id": "d", "entities": [{"name": "Fram", "type": "ship"}], "triples": []}',
        '{"triples": [["Fram", "has_tag", "$"]]}',
    ]
    items, reports = graph("a.jsonl", "\n".join(lines))
    assert reports == []
    assert items == [
        Stated(
            described=Described(name="Vardø", type="place", description="A port."),
            document_id="p",
            line=1,
        ),
        Stated(described=Described(name="$"), line=2),
        Stated(described=Described(name="Fram", type="product"), document_id="d", line=3),
        Stated(triple=Triple(subject="Fram", relation="has tag", object="$"), line=4),
    ]


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 1, "triple": ["Fram", "built_by", "Colin Archer"]}',
        '{"triple": {"s": "Fram", "p": "built_by", "o": "Colin Archer"}}',
        '{"fact": ["Fram", "built by", "Colin Archer"]}',
        '{"s": "Fram", "p": "built by", "o": "Colin Archer"}',
        '{"h": "Fram", "r": "built_by", "t": "Colin Archer"}',
        '{"head": "Fram", "relation": "built_by", "tail": "Colin Archer"}',
        '{"subject": "Fram", "predicate": "built_by", "object": "Colin Archer"}',
    ],
)
def test_plain_forms_of_a_triple(graph, line):
    """A triple may stand under a key of its own, and its parts have several names."""
    items, reports = graph("a.jsonl", line.encode())
    assert reports == []
    assert ends(items) == [("Fram", "built by", "Colin Archer")]


def test_what_a_first_line_may_be(graph):
    """A header names all three; whoever has other keys learns which ones to take."""
    assert ends(graph("a.csv", "source,of,Nile\nFram,left,Vardø")[0])[0] == ("source", "of", "Nile")
    items, reports = graph("b.csv", "source,year,type,target,relation\nFram,1893,x,Vardø,left")
    assert ends(items) == [("Fram", "left", "Vardø")]
    assert reports == [
        "b.csv, line 1: its column 'year' is not used",
        "b.csv, line 1: its column 'type' is not used",
    ]
    _, [report] = graph("a.jsonl", b'{"label": "Fram"}')
    for key in ("subject", "head", "s", "relation", "p", "object", "tail", "o", "triple", "entity"):
        assert repr(key) in report


LONG = "x" * 101
GOOD = {  # a line of a file
    "tsv": b"Fram\tleft\tOslo",
    "csv": b"Fram,left,Oslo",
    "jsonl": b'["Fram","left","Oslo"]',
}


@pytest.mark.parametrize(
    ("name", "line", "reason"),
    [
        ("a.tsv", b"Fram\tleft", "has 2 columns, not 3"),
        ("a.tsv", b"Fram\tleft\tVard\t1893", "has 4 columns, not 3"),
        ("a.tsv", b"Fram\t \tVard", "its triple is not three non-empty strings"),
        ("a.tsv", b"Fram\tleft\tVard\xf8", "is not valid UTF-8 text"),
        ("a.tsv", f"Fram\tleft\t{LONG}".encode(), "its triple has an end of more than 100 char"),
        ("a.csv", b'"Fram,left,Vard', "is not valid CSV: unexpected end of data"),
        ("a.csv", b'"Fram"s,left,Vard', "is not valid CSV: ',' expected after '\"'"),
        ("a.csv", b"Fram,left,", "its triple is not three non-empty strings"),
        ("a.jsonl", b'["Fram", "left"', "is not valid JSON: Expecting ',' delimiter at column 16"),
        ("a.jsonl", b"12", "is not a JSON object"),
        ("a.jsonl", b'["Fram", "left"]', "its triple is not three non-empty strings"),
        ("a.jsonl", b'["Fram", "left", 5]', "its triple is not three non-empty strings"),
        ("a.jsonl", b'{"subject": "Fram"}', "its triple is not three non-empty strings"),
        (
            "a.jsonl",
            b'{"label": "Fram"}',
            "is neither a triple nor an entity: a triple has the keys",
        ),
        ("a.jsonl", b'{"triple": ["Fram"]}', "its triple is not three non-empty strings"),
        ("a.jsonl", b'{"name": " "}', "its entity has no name"),
        ("a.jsonl", b'["\xff", "left", "Oslo"]', "is not valid UTF-8 text"),
        ("a.jsonl", b'{"triples": "Fram"}', "its 'triples' is of type str, not a list"),
        ("a.jsonl", b'{"id": [], "triples": []}', "its 'id' is of type list, not a string"),
        ("a.jsonl", b'{"name": "Fram", "document": ""}', "its 'document' is empty"),
        ("a.jsonl", f'{{"name": "{LONG}"}}'.encode(), "its entity has a name of more than 100 ch"),
        (
            "a.jsonl",
            f'{{"triples": [["Fram", "left", "{LONG}"]]}}'.encode(),
            "its triple 1 has an end of more than 100 characters",
        ),
    ],
)
def test_a_bad_line_costs_only_itself(graph, name, line, reason):
    """It is named with its number and the reason."""
    other = GOOD[name.partition(".")[2]]
    items, (report,) = graph(name, b"\n".join([other, b"", line, other]))
    assert [item.line for item in items] == [1, 4]
    assert report.startswith(f"{name}, line 3: {reason}")


@pytest.mark.parametrize("strength", ["0", "11", "0.73", "nan", "much"])
def test_a_strange_strength_is_reported(graph, strength):
    """The triple is kept, as one of the least strength."""
    items, reports = graph("a.csv", f"head,relation,tail,weight\nFram,left,Vardø,{strength}\n")
    assert triples(items) == [LEFT]
    assert reports == [
        (
            "a.csv, line 2: the strength of its triple is not a whole number from 1 to 10, "
            "so 1 is taken"
        )
    ]


def test_a_bad_first_line(graph):
    """It is no header, and is reported like any other; none is left out because there are many."""
    items, reports = graph("a.csv", b"head,relation,t\xffl\nFram,left,Oslo\n")
    assert ends(items) == [("Fram", "left", "Oslo")]
    assert reports == ["a.csv, line 1: is not valid UTF-8 text"]
    items, reports = graph("a.tsv", "Fram\tleft\n" * 300 + "Fram\tleft\tOslo\n")
    assert (len(items), len(reports)) == (1, 300)


def test_a_file_that_went_away(write):
    """The error says what the system said."""
    path = Path(write("a.nt", NT))
    items = read_graph_file(path)
    path.unlink()
    with pytest.raises(UnreadableSource, match=r"a.nt: cannot be read: No such file"):
        next(items)


@pytest.mark.skipif(sys.platform == "win32", reason="file names there are text")
def test_a_file_name_that_is_no_text(write):
    """Reports show it with what any encoding can write."""
    [report] = read_graph_file(write(os.fsdecode(b"a\xff.tsv"), "Fram\tleft\n"))
    assert report.source == "a\N{REPLACEMENT CHARACTER}.tsv"


@pytest.mark.parametrize("bad", ["x" * (1 << 20), "x y " * (1 << 18)])
def test_a_very_long_line(graph, bad):
    """It is reported, and what stands behind it is read."""
    items, reports = graph("a.tsv", f"{bad}\tleft\tVardø\n{bad}\nFram\tleft\tVardø\n")
    assert triples(items) == [LEFT]
    assert [len(report) < 80 for report in reports] == [True, True]


def test_characters_and_quotes(graph):
    """Half a character is replaced; a quote of TSV need not be closed."""
    items, reports = graph("a.jsonl", r'["Fr\u0000am", "left\nfor", "Var\tdø"]')
    assert (ends(items), reports) == ([("Fr\0am", "left for", "Var dø")], [])
    items, reports = graph("a.jsonl", r'["F\ud83d", "\ude00", "V"]')
    assert (ends(items), reports) == ([("F�", "�", "V")], [])
    content = '"Weird Al" Yankovic\tplays\t"UHF"\nthe "Fram\tis\t"\n'
    items, reports = graph("a.tsv", content)
    assert ends(items) == [('"Weird Al" Yankovic', "plays", "UHF"), ('the "Fram', "is", '"')]
    assert reports == []


def test_labels(graph):
    """English or no language before others, kinds of labels in order, then the least text."""
    items, reports = graph(
        "a.ttl",
        PREFIXES
        + """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
        :Q1 :P1 :Q2, :Q3 .
        :P1 rdfs:label "was built by"@en .
        :Q1 rdfs:label "Das Schiff"@de, "The Fram"@en-GB, "The Ship"@en ; schema:name "A ship" .
        :Q2 rdfs:label "Architekt"@de ; skos:prefLabel "Arkitekt"@nb, "Colin Archer" .
        :Q3 rdfs:label "Vardø"@nb, "Wardöhus"@de .
        """,
    )
    assert reports == []
    assert ends(items) == [
        ("The Fram", "was built by", "Colin Archer"),
        ("The Fram", "was built by", "Wardöhus"),
    ]


def test_two_things_with_one_label_stay_two(graph):
    """The first IRI keeps the name; the others have what tells them apart behind it."""
    content = PREFIXES + "@prefix b: <http://b.example/> .\n"
    iris = "Paris Paris_Texas paris-texas paris_texas paris~texas".split()
    things = [":Paris", ":Paris_Texas", *(f"<http://b.example/{iri}>" for iri in iris)]
    content += "".join(f'{thing} rdfs:label "Paris" ; :n 1 .\n' for thing in things)
    content += ":Rome :n 1 . b:Rome :n 1 .\n"
    items, reports = graph("a.ttl", content)
    assert reports == []
    names = [triple.subject for triple in triples(items)]
    assert names == [
        "Paris (http://sea.example/Paris)",
        "Paris (http://sea.example/Paris_Texas)",
        "Paris",
        "Paris (Paris Texas)",
        "Paris (http://b.example/paris-texas)",
        "Paris (2)",
        "Paris (3)",
        "Rome (http://sea.example/Rome)",
        "Rome",
    ]
    assert len({name_key(name) for name in names}) == len(names)


def test_names_of_rdf_without_room_or_letter(graph):
    """They are told apart as they are written; where nothing fits the later one is left out."""
    content = ':A rdfs:label "$" ; :n 1 . :B rdfs:label "€" ; :n 1 . :C rdfs:label "$" ; :n 1 .'
    items, _ = graph("a.ttl", PREFIXES + content)
    assert [triple.subject for triple in triples(items)] == ["$", "€", "$ (C)"]
    content = "".join(f':{thing} rdfs:label "{LONG[:99]}" ; :n 1 .\n' for thing in "ab")
    items, reports = graph("a.ttl", PREFIXES + content)
    assert ends(items) == [(LONG[:99], "n", "1")]
    assert reports == ["a.ttl, line 5: has an end of more than 100 characters"]


def test_names_of_iris(graph):
    """The end of an IRI is decoded; a relation's words are set apart."""
    content = """
    <http://x.example/dir/M%C3%BCnchen_(Bayern)/> <http://x.example/#numberOfPages>
        <urn:isbn:12> .
    <http://x.example/#a> <http://x.example/hasURL> <http://x.example/_> .
    """
    items, _ = graph("a.ttl", content)
    assert ends(items) == [
        ("München (Bayern)", "number of pages", "urn:isbn:12"),
        ("a", "has URL", "http://x.example/_"),
    ]


def test_types_and_descriptions(graph):
    """A type is a triple too, and the entity's where it is one of Clew's."""
    items, reports = graph(
        "a.ttl",
        PREFIXES
        + f"""@prefix dbo: <http://dbpedia.org/ontology/> .
        :Fram a :Ship, :CreativeWork, :Wreck ;
            dbo:abstract "{"A ship. " * 50}"@en ; rdfs:comment "Ein Schiff."@de .
        :Ship rdfs:label "ship" .
        """,
    )
    assert [item.described for item in items if item.described] == [
        Described(name="Fram", type="product"),
        Described(name="Fram", type="work"),
        Described(name="Fram", description=("A ship. " * 50).strip()),
    ]
    assert ends(items) == [
        ("Fram", "is a", "ship"),
        ("Fram", "is a", "CreativeWork"),
        ("Fram", "is a", "Wreck"),
    ]
    assert reports == ["a.ttl: literals left out, since their language is not 'en': 1"]


def test_literals_and_blank_nodes_are_counted(graph):
    """What is in no language that is read, or has no name, is left out, and that is said."""
    content = PREFIXES + ':Fram :n "Schiff"@de-AT, "skip"@nb, "1892" .\n'
    items, reports = graph("a.ttl", content)
    assert [end for *_, end in ends(items)] == ["Schiff", "1892"]
    assert reports == ["a.ttl: literals left out, since their language is not 'de': 1"]
    content = (
        PREFIXES + ":Fram :built [ :in :Larvik ] ; :crew ( :Nansen ) .\n_:b rdfs:label 'x' .\n"
    )
    items, reports = graph("a.ttl", content + ":Fram :left :Oslo .\n")
    assert ends(items) == [("Fram", "left", "Oslo")]
    assert reports == ["a.ttl: triples left out, since an end is a blank node or a triple: 6"]


START, END = b"<http://sea.example/Fram> <http://sea.example/left> ", b' "Oslo" .'


@pytest.mark.parametrize("suffix", ["nt", "ttl"])
@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'"no end .', "Line jumps are not allowed in string literals, use \\n"),
        (b"<http://sea.example/no end .", "Invalid IRI code point ' '"),
        (b'wrong"quote .', ""),
        (b'"\xf8" .', "is not valid UTF-8 text"),
        (b"<http://sea.example/\xf8> .", "is not valid UTF-8 text"),
        (b'"\\uD83D" .', "The escape sequence '\\uD83D' is encoding D83D"),
        (b'" " .', "its object is empty"),
        (f'"{LONG}" .'.encode(), "has an end of more than 100 characters"),
        (f"<http://x.example/{LONG}> .".encode(), "has an end of more than 100 characters"),
    ],
)
def test_a_bad_line_of_rdf_costs_only_itself(graph, suffix, line, reason):
    """Also where the parser would take half of the file for a text; each is reported once."""
    bad, good = START + line, START + END
    items, reports = graph(f"a.{suffix}", b"\n".join([good, bad, good, good, bad, bad, good, good]))
    assert [item.line for item in items] == [1, 3, 4, 7, 8]
    assert [report.split(": ")[0] for report in reports] == [
        f"a.{suffix}, line {n}" for n in (2, 5, 6)
    ]
    assert all(reason in report for report in reports)


def test_labels_that_cannot_be_used(graph):
    """They are reported, and the end of the IRI is the name."""
    content = f':Fram rdfs:label " ", "{LONG}" ; :left :Oslo .\n'
    items, reports = graph("a.ttl", PREFIXES + content)
    assert ends(items) == [("Fram", "left", "Oslo")]
    assert reports == [
        "a.ttl, line 4: its object is empty",
        "a.ttl, line 4: has a name of more than 100 characters",
    ]


def test_turtle_goes_on_after_an_error(graph):
    """Prefixes hold, lines keep their numbers, and a text of several lines is one."""
    lines = [
        "@base <http://base.example/> .",
        ':Fram :note """two',
        'lines""" ; :left :Oslo .',
        ":Fram :left none ;",
        "    :left :Bergen .",
        ':Fram :left "open .',
        "<Fram> :left <Vadsø>, :Tana .",
        "unknown:Fram :left :Oslo .",
        ':Fram :note """never closed .',
        ":Fram :left :Alta .",
    ]
    items, reports = graph("a.ttl", PREFIXES + "\n".join(lines))
    assert [(item.line - 3, item.triple.object) for item in items if item.triple] == [
        (3, "two lines"),
        (3, "Oslo"),
        (7, "Vadsø"),
        (7, "Tana"),
        (10, "Alta"),
    ]
    assert [int(report.split()[2][:-1]) - 3 for report in reports] == [4, 6, 8, 9]
    assert items[2].triple.subject.startswith("Fram")


def test_long_lines_of_rdf(graph):
    """A line may be longer than what the parser reads at once."""
    text = "æ " * 20_000
    items, _ = graph(
        "a.nt", f'<http://a.example/b> <http://purl.org/dc/terms/description> "{text}" .\n' + NT
    )
    assert items[0].described == Described(name="b", description=text.strip())
    assert [item.line for item in items] == [1, 2, 3]


@pytest.mark.parametrize("name", ["a", "a.json", "a.gz", "a.nt.zip"])
def test_an_unknown_suffix(write, name):
    """The error lists those that are known, and comes with the call."""
    write(name, NT)
    with pytest.raises(
        InputError, match=r"Hint: .* \.tsv, \.csv, \.jsonl, \.ndjson, \.parquet, \.nt, \.ttl"
    ):
        read_graph_file(name)


def test_no_such_file(tmp_path):
    """The error comes with the call, before anything is read."""
    for path in (tmp_path, tmp_path / "none.nt"):
        with pytest.raises(InputError, match="there is no file"):
            read_graph_file(path)


@pytest.mark.parametrize("suffix", ["tsv", "csv", "jsonl", "nt", "ttl"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty: it holds no triples"),
        (b"\n \n", "is empty: it holds no triples"),
        (b"\x00\x01", "looks like a binary file"),
        ("Fram".encode("utf-16") + b"\x00", "is not valid UTF-16 text; save it as UTF-8"),
    ],
)
def test_a_file_without_triples(write, suffix, content, reason):
    """It cannot be what the caller meant."""
    with pytest.raises(UnreadableSource, match=f"a.{suffix}: {reason}"):
        list(read_graph_file(write(f"a.{suffix}", content)))


def test_a_file_of_names_only(write):
    """Labels are no triples, and a header is none."""
    for name, text in {
        "a.ttl": PREFIXES + ":Fram rdfs:label 'Fram' .\n",
        "a.csv": "head,relation,tail\n",
    }.items():
        with pytest.raises(UnreadableSource, match="holds no triples"):
            list(read_graph_file(write(name, text)))


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda _: b"Fram", lambda d: d[:12]])
def test_a_broken_gzip_file(write, damage):
    """Nothing of it is read."""
    content = damage(gzip.compress(NT.encode()))
    with pytest.raises(UnreadableSource, match=r"a.nt.gz: is a broken gzip file, or not one"):
        list(read_graph_file(write("a.nt.gz", content)))


def test_without_the_extra(write, monkeypatch):
    """The error names it."""
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(MissingExtra, match=r"pip install 'clew\[rdf\]'"):
        list(read_graph_file(write("a.ttl", NT)))


NAME = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=20).map(
    lambda text: " ".join(f"a{text}".split())
)
RELATION = st.from_regex(r"[a-z]{1,9}( [a-z]{1,9}){0,2}", fullmatch=True)
TRIPLES = st.lists(st.tuples(NAME, RELATION, NAME), min_size=1, max_size=8)


def table(rows, delimiter):
    sink = io.StringIO()
    csv.writer(sink, delimiter=delimiter).writerows(rows)
    return sink.getvalue()


def rdf(rows):
    """Write entities as numbered IRIs with labels, one for each key."""
    number = {
        key: i for i, key in enumerate({entity_key(n): 0 for s, _, o in rows for n in (s, o)})
    }
    labels = {number[entity_key(n)]: n for s, _, o in rows for n in (s, o)}
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    lines = [
        f"<http://a.example/{i}> {label} {json.dumps(n, ensure_ascii=False)} ."
        for i, n in labels.items()
    ]
    lines += [
        f"<http://a.example/{number[entity_key(s)]}> <http://a.example/{p.replace(' ', '_')}> "
        f"<http://a.example/{number[entity_key(o)]}> ."
        for s, p, o in rows
    ]
    return "\n".join(lines)


@given(TRIPLES)
def test_any_graph_comes_back(tmp_path_factory, rows):
    """What was written in any of the formats is read to the character, and twice the same."""
    folder = tmp_path_factory.mktemp("graph")
    first = {}  # RDF has one spelling for each entity
    for subject, _, target in rows:
        for name in (subject, target):
            first[entity_key(name)] = name
    one = [(first[entity_key(s)], p, first[entity_key(o)]) for s, p, o in rows]
    files = {
        "a.tsv": (table(rows, "\t"), rows),
        "a.csv": (table([("subject", "relation", "object"), *rows], ","), rows),
        "a.jsonl": ("\n".join(map(json.dumps, rows)), rows),
        "a.nt": (rdf(one), one),
        "a.ttl": (rdf(one), one),
    }
    for name, (text, expected) in files.items():
        path = folder / name
        path.write_text(text, encoding="utf-8", newline="")
        items = list(read_graph_file(path))
        assert ends([item for item in items if isinstance(item, Stated)]) == expected
        assert [item for item in items if isinstance(item, Skipped)] == []
        assert items == list(read_graph_file(path))


@given(st.binary(max_size=80), st.sampled_from(["tsv", "csv", "jsonl", "nt", "ttl"]))
def test_any_bytes_are_read_or_refused(tmp_path_factory, noise, suffix):
    """No input makes another error, or hides what stands before it; nor behind, but in Turtle."""
    good = GOOD.get(suffix, START + END)
    noise = noise.replace(b"\0", b"")
    path = tmp_path_factory.mktemp("noise") / f"a.{suffix}"
    path.write_bytes(b"\n".join([good, noise, good]))
    try:
        items = list(read_graph_file(path))
    except UnreadableSource as error:
        assert "binary" in str(error)  # noqa: PT017
        return
    found = [item.triple for item in items if isinstance(item, Stated) and item.triple]
    kept = found.count(Triple(subject="Fram", relation="left", object="Oslo"))
    assert kept >= (1 if suffix == "ttl" else 2)
