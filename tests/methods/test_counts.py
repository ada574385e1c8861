"""Counts, lists and amounts over the whole index: right, and never without their items."""

import csv
import io
from itertools import product
from random import Random
from statistics import mean

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import clew
from clew.base.types import Document
from clew.methods.counts import find_counted
from clew.testing import ScriptedLLM, models

PORTS, FUELS = ("Bergen", "Oslo", "Tromsø"), ("diesel", "electric")
RANDOM = Random(7)  # noqa: S311 -- test data
FERRIES = [
    {
        "Ferry": f"{first}{last}",
        "Home port": RANDOM.choice(PORTS),
        "Fuel": RANDOM.choice(FUELS),
        "Built": RANDOM.randint(1960, 2020),
        "Length (m)": RANDOM.randint(300, 1200) / 10,
        "Cars": RANDOM.choice([20, 50, 80, 1200]),
    }
    for first, last in product(("Sol", "Øst", "Nord", "Vest"), ("vær", "sund", "lys", "fjell"))
]
TEXTS = {
    "yards": "Anders Holte built the ship Nordstjernen. Anders Holte also built the sealer Isbjørn."
    " Peder Holte built the whaler Kobbe. Anders Holte never built the ship Tora.",
    "havfruen": "Havfruen was a schooner. She was built by Anders Holte for the lighthouses.",
    "crew": "The Isbjørn had a crew of nine men, and sailed with two ships to Svalbard.",
}


def table(rows, form):
    """Return rows as CSV, or as a table of Markdown with thousands marked."""
    columns = list(rows[0])
    if form == "csv":
        sink = io.StringIO()
        writer = csv.DictWriter(sink, columns)
        writer.writeheader()
        writer.writerows(rows)
        return sink.getvalue()
    lines = [columns, ["---"] * len(columns)]
    lines += [[f"{v:,}" if k == "Cars" else str(v) for k, v in row.items()] for row in rows]
    return "# Ferries\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


@pytest.fixture(scope="module", params=["csv", "md", "both"])
def folder(request, tmp_path_factory):
    """An index of ferries and of texts."""
    place = tmp_path_factory.mktemp("counts")
    files = place / "files"
    files.mkdir()
    for form in ("csv", "md") if request.param == "both" else (request.param,):
        (files / f"ferries.{form}").write_text(table(FERRIES, form), encoding="utf-8")
    with clew.open(place / "my.clew", models=models()) as index:
        index.add(files)
        titles = {"havfruen": "Havfruen"}
        index.add([Document(id=k, text=v, title=titles.get(k, "")) for k, v in TEXTS.items()])
    return place / "my.clew"


@pytest.fixture(scope="module")
def index(folder):
    with clew.open(folder, models=models()) as index:
        yield index


def of(**wanted):
    names = {"port": "Home port", "fuel": "Fuel"}
    return [row for row in FERRIES if all(row[names[k]] == v for k, v in wanted.items())]


def counted(index, question):
    return index.ask(question).evidence.counted


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How many ferries are there?", 16),
        ("How many ferries have Oslo as home port?", len(of(port="Oslo"))),
        ("How many electric ferries are in Bergen?", len(of(port="Bergen", fuel="electric"))),
        ("How many ferries are not in Bergen?", 16 - len(of(port="Bergen"))),
        ("How many ferries are in Oslo or Bergen?", len(of(port="Oslo") + of(port="Bergen"))),
        ("How many ferries were built before 1990?", sum(r["Built"] < 1990 for r in FERRIES)),
        ("How many ferries are longer than 80 m?", sum(r["Length (m)"] > 80 for r in FERRIES)),
        ("How many home ports are there?", len({r["Home port"] for r in FERRIES})),
        ("How many cars do the diesel ferries carry?", sum(r["Cars"] for r in of(fuel="diesel"))),
        ("What is the total of cars?", sum(r["Cars"] for r in FERRIES)),
        ("What is the average length of the ferries?", mean(r["Length (m)"] for r in FERRIES)),
        ("What is the highest number of cars?", 1200),
    ],
)
def test_numbers_of_a_table(index, question, number):
    found = counted(index, question)
    value = float(found.text.split()[0].replace(",", ""))
    assert value == pytest.approx(number, abs=0.005)
    assert found.items


def test_lists_groups_and_extremes(index):
    found = counted(index, "Which ferries have more than 1,000 cars?")
    assert found.text == ", ".join(r["Ferry"] for r in FERRIES if r["Cars"] > 1000)
    groups = counted(index, "How many ferries are there per home port?").text
    assert dict(each.split(": ") for each in groups.split("; ")) == {
        port: str(len(of(port=port))) for port in PORTS if of(port=port)
    }
    longest = max(FERRIES, key=lambda row: row["Length (m)"])
    found = counted(index, "Which ferry is the longest?")
    assert found.text == f"{longest['Ferry']} ({longest['Length (m)']} m)"
    oldest = min(row["Built"] for row in FERRIES)
    found = counted(index, "Which ferry is the oldest?")
    assert {i.label for i in found.items} == {
        f"{r['Ferry']} ({oldest})" for r in FERRIES if r["Built"] == oldest
    }


def test_each_item_has_its_quote(index):
    answer = index.ask("How many ferries have Oslo as home port?")
    found = answer.evidence.counted
    assert (answer.kind, answer.short.text, answer.short.kind) == ("counted", found.text, "count")
    assert len(answer.citations) == len(answer.short.spans) == len(found.items) == int(found.text)
    labels = answer.text.splitlines()[1:]
    snapshot = index.snapshot()
    for label, item, cited in zip(labels, found.items, answer.citations, strict=True):
        assert item.label == label
        assert answer.text[: cited.at[0]].endswith(label)
        [row] = snapshot.layer("document").rows([cited.document_id])
        text = snapshot.documents([row])[0].text
        assert text[item.start : item.end] == cited.quote
        assert "Oslo" in cited.quote
        assert label.partition(" (")[0] in cited.quote


def test_items_that_no_context_holds_are_counted(index):
    answer = index.ask("How many ferries are there?", context_tokens=150)
    assert answer.short.text == "16"
    assert len(answer.evidence.counted.items) == 16 > len(answer.citations) > 0
    assert "of 16 items are not quoted" in answer.evidence.notes[-1]


@pytest.mark.parametrize(
    "question",
    [
        "How many unicorns are there?",
        "How many unicorns are in Oslo?",
        "How many people live in Oslo?",
        "How many ferries sank in Oslo?",
        "How many ferries are in Atlantis?",
        "How many ferries have more than 5,000 cars?",
        "How many ferries were painted before 1990?",
        "What is the average draught of the ferries?",
        "Who is the oldest?",
        "How many ferries have more cars than Solvær?",
        "How many more ferries are in Oslo than in Bergen?",
    ],
)
def test_what_a_table_does_not_say_is_not_counted(index, question):
    """It is answered, or refused, as by the default method."""
    answer = index.ask(question)
    named = index.ask(question, method="walk")
    assert answer.evidence.counted is None
    assert (answer.kind, answer.text) == (named.kind, named.text)
    assert answer.evidence.hits == named.evidence.hits


@pytest.mark.parametrize(
    "question",
    ["Which ships did Anders Holte build?", "How many ships sailed to Svalbard?", "List all ships"],
)
def test_names_in_sentences_are_quoted(index, question):
    """A sentence says what it says: no count of these is complete."""
    assert counted(index, question) is None


def test_a_filter_and_a_method_that_is_named(index):
    question = "How many ferries are there?"
    assert counted(index, question).text == "16"
    assert index.ask(question, where="id = 'crew'").evidence.counted is None
    assert index.ask(question, method="walk").evidence.counted is None
    assert index.search(question, method="counts").counted is not None
    other = index.search("Who built the Kobbe?", method="counts", chunks=2)
    assert (other.method, len(other.hits), other.counted) == ("counts", 2, None)


def test_no_llm_is_asked_what_rows_say(folder):
    llm = ScriptedLLM()
    with clew.open(folder, models=models(llm=llm)) as index:
        answer = index.ask("How many ferries are there?")
        assert (answer.kind, answer.usage.llm_calls) == ("counted", 0)


@pytest.mark.satellite
def test_shards_count_what_they_gather_whole(folder, tmp_path):
    """A part of what there is has no total."""
    from clew.shards import Neighbourhood, open_shards, split

    parts = split(folder, tmp_path / "shards", 2)
    question = "How many ferries are there?"
    with open_shards(parts, models=models()) as shards:
        assert counted(shards, question).text == "16"
    size = Neighbourhood(chunks=1)
    with open_shards(parts, models=models(), size=size) as shards:
        assert counted(shards, question) is None


def test_rows_of_sums_and_columns_of_yes_and_no(tmp_path):
    text = (
        "# Piers\n\n| Pier | Open | Boats |\n|---|---|---|\n| A | yes | 1 |\n| B | no | 20 |\n"
        "| C | yes | n/a |\n| Total | | 21 |\n| Total boats | | 21 |\n"
        "\n# Films\n\n| Film | Director | Producer |\n|---|---|---|\n"
        "| Total Recall | Verhoeven | |\n| M | Lang | n/a |\n"
    )
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add([Document(id="piers", text=text)])
        assert counted(index, "Which piers are open?").text == "A, C"
        assert counted(index, "How many piers are not open?").text == "1"
        found = counted(index, "How many boats are there?")
        assert found.text == "21"
        assert counted(index, "How many films are there?").text == "2"
        assert "1 of 3 rows have no number there" in found.note
        assert counted(index, "How many directors are there?").text == "2"
        assert counted(index, "How many producers are there?") is None


@pytest.mark.satellite
@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many articles are in warehouse A?", "3"),
        ("How many pieces are in warehouse B?", "93"),
        ("How many articles are there?", "4"),
        ("How many tasks are there?", "2"),
        ("What is the total cost?", "352.50"),
        ("Which risks have a low probability?", "Frost"),
    ],
)
def test_tables_of_a_sheet_are_apart(tmp_path, question, text):
    """Beside each other and below each other, each with its caption."""
    rows = [
        ["WAREHOUSE A", "", "", "WAREHOUSE B", ""],
        ["Article", "Pieces", "", "Article", "Pieces"],
        ["Bolt", 420, "", "Bolt", 75],
        ["Nut", 380, "", "Hinge", 18],
        ["Washer", 1200, "", "", ""],
        [],
        ["TASKS"],
        ["Task", "Owner", "Cost"],
        ["Casting", "Bo Lind", 340],
        ["Design", "Dee Fox", 12.5],
        ["Total", "", 352.5],
        [],
        ["RISKS"],
        ["Risk", "Probability", "Owner"],
        ["Strike", "high", "Dee Fox"],
        ["Frost", "low", "Eli Roth"],
    ]
    from tests.extras.files.test_tables import workbook

    (tmp_path / "plan.xlsx").write_bytes(workbook(rows))
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(tmp_path / "plan.xlsx")
        assert counted(index, question).text == text


def test_values_that_look_like_columns_are_values(tmp_path):
    place = tmp_path / "stock.csv"
    place.write_text(
        'Item,Note,Price\nRope,"x; Price: 900",5\nOil,a; Price: 70,\nSail,,9\n', encoding="utf-8"
    )
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(place)
        found = counted(index, "What is the total price of all items?")
        assert found.text == "14"
        assert "1 of 3 rows have no number there" in found.note


def test_a_section_that_is_named_counts_alone(tmp_path):
    """Also a row that another section has, too; what is counted may be named in one of them."""
    head = "| Name | Cars |\n|---|---|\n"
    text = (
        f"# Ships\n\n## Ferries of Bergen\n\n{head}| Sol | 5 |\n| Lys | 6 |\n\n"
        f"## Fleet of Oslo\n\n{head}| Sol | 5 |\n| Nord | 7 |\n| Vest | 8 |\n"
    )
    (tmp_path / "ships.md").write_text(text, encoding="utf-8")
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(tmp_path / "ships.md")
        assert counted(index, "How many ferries of Bergen are there?").text == "2"
        assert counted(index, "How many cars are there in the Oslo fleet?").text == "20"
        assert counted(index, "How many ferries are there?").text == "4"


def test_all_files_of_the_same_columns_are_read(tmp_path):
    """Also those of which none is among the chunks that are looked at."""
    files = tmp_path / "files"
    files.mkdir()
    for n in range(15):
        rows = "".join(f"K{n}x{i},{i}\n" for i in range(20))
        (files / f"f{n}.csv").write_text(f"Crate,Weight\n{rows}", encoding="utf-8")
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(files)
        found = counted(index, "What is the total weight of the crates?")
        assert found.text == f"{15 * 190:,}"
        assert "300 rows in 15 files" in found.note


INVOICES = (
    "Invoice,Client,Amount\n901,Kite AS,400\n902,Orca AS,150\n903,Kite AS,250\n904,Heron,700\n"
)
RECHNUNGEN = (
    "Rechnungsnr.;Kunde;Datum;Betrag (EUR)\n20;Lotz;28.08.2024;1107,62\n"
    "21;Brandt;07.03.2024;200,38\n22;Lotz;01.02.2023;92,00\nSumme;;;1400,00\n"
)
BRANCHES = "Branch,2023,2024\nLyon,68,47\nNice,21,23\nBrest,77,93\nAll branches,166,163\n"
STAFF = (
    "Employee ID,Name,Department,Salary,Started\nE-1,Ada,IT,500,2019-02-01\n"
    "E-2,Bo,Sales,700,2011-05-01\nE-3,Cem,IT,600,2010-01-01\nE-4,Dora,Sales,450,2021-03-01\n"
)
RENTS = "Tenant,Rent,Paid,Time (min)\nAhn,600,yes,9\nBell,650,no,5\nCruz,750,yes,3\n"
STAYS = (
    "Booking,Guest,Nights,Price per night,Sum,Week\n189,Weber,1,80,80,1\n552,Silva,6,140,840,1\n"
    "789,Weber,5,95,475,2\n"
)


@pytest.mark.parametrize(
    ("file", "question", "text"),
    [
        (INVOICES, "How many invoices has Kite AS?", "2"),
        (INVOICES, "What is the total of the invoices of Kite AS?", "650"),
        (INVOICES, "What is the total of all invoices?", "1,500"),
        (INVOICES, "Which client has the most invoices?", "Kite AS: 2"),
        (INVOICES, "How many invoices did Kite AS receive?", "2"),
        (INVOICES, "What did Kite AS spend in all?", "650"),
        (INVOICES, "Which invoice has the lowest amount?", "902 (150)"),
        (INVOICES, "What is the average invoice?", None),
        (INVOICES, "What is the sum of the clients?", None),
        (RECHNUNGEN, "How many Rechnungen has Lotz?", "2"),
        (RECHNUNGEN, "What is the sum of Betrag?", "1,400 EUR"),
        (RECHNUNGEN, "What is the highest Rechnungsnr.?", None),
        (BRANCHES, "How many branches are there?", "3"),
        (STAFF, "What is the average salary in IT?", "550"),
        (STAFF, "Who started before 2012?", "Bo, Cem"),
        (STAFF, "Which employee has the highest ID?", None),
        (STAYS, "How much did Weber spend?", "555"),
        (STAYS, "How many weeks are there?", "2"),
        (STAYS, "Which guest spent the most?", "Silva: 840"),
        (RENTS, "Which tenants pay more than 600?", None),
        (RENTS, "How many tenants have paid?", "2"),
        (RENTS, "What is the fastest time?", "3 min (Cruz)"),
        (STAYS, "How many nights were booked in week 1?", "7"),
        (STAYS, "What is the average booking?", None),
    ],
)
def test_identifiers_and_sums_are_no_data(tmp_path, file, question, text):
    """Nothing is counted rather than a wrong column."""
    name = "rechnungen" if ";" in file else next(iter(file.split(","))).casefold()
    (tmp_path / f"{name}.csv").write_text(file, encoding="utf-8")
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(tmp_path / f"{name}.csv")
        found = counted(index, question)
        assert (None if found is None else found.text) == text


CASH = (
    "Date,Purpose,In/out,Amount\n2024-06-03,Stamps,out,17\n2024-06-11,Chairs,in,60\n"
    "2024-06-14,Taxi,out,31\n"
)
ORDERS = "Order,Client,Amount,Currency\nA-1,Kite,17,EUR\nA-2,Moss,60,USD\nA-3,Moss,31,USD\n"


@pytest.mark.parametrize(
    ("file", "question", "text"),
    [
        (CASH, "What is the total amount?", None),
        (CASH, "What is the average amount?", None),
        (CASH.replace("in,60", "out,60"), "What is the total amount?", "108"),
        (
            CASH.replace(",out", ",Credit").replace(",in", ",Debit"),
            "What is the total amount?",
            None,
        ),
        (ORDERS, "What is the total amount of the orders?", None),
        (ORDERS, "What is the total amount of the orders of Moss?", "91"),
    ],
)
def test_amounts_that_go_both_ways_or_are_in_two_currencies_have_no_sum(
    tmp_path, file, question, text
):
    (tmp_path / "orders.csv").write_text(file, encoding="utf-8")
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(tmp_path / "orders.csv")
        found = counted(index, question)
        assert (None if found is None else found.text) == text


MANUAL = (
    "<h1>Server</h1>" + "<p>The server reads its settings when it starts, and logs.</p>" * 30
    + "<h2>Log levels</h2><table><tr><th>Level</th><th>Use</th></tr><tr><td>error</td><td>faults"
    "</td></tr><tr><td>warn</td><td>doubts</td></tr><tr><td>info</td><td>news</td></tr></table>"
    "<h2>LogLevel directive</h2><table><tr><th>Description:</th><td>Sets the level</td></tr><tr>"
    "<th>Default:</th><td>warn</td></tr><tr><th>Status:</th><td>Core</td></tr></table>"
    "<h2>Options</h2><table><tr><th>Option</th><th>Default</th></tr><tr><td>Quiet</td><td>off</td>"
    "</tr><tr><td>Deep</td><td>on</td></tr><tr><td>Fast</td><td>off</td></tr></table>"
)  # fmt: skip


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many log levels are there?", "3"),
        ("Which options have the default off?", "Quiet, Fast"),
        ("How many options does the server have?", None),
        ("Which directives have the default warn?", None),
        ("How many levels does the server log?", None),
        ("How many settings does the server read?", None),
    ],
)
def test_a_table_among_other_text_answers_only_what_names_its_rows(tmp_path, question, text):
    (tmp_path / "server.html").write_text(MANUAL, encoding="utf-8")
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(tmp_path / "server.html")
        found = counted(index, question)
        assert (None if found is None else found.text) == text


WORDS = (
    "how many list all which what total average highest per ferries cars ports oslo Bergen 20 1990"
    " before between and more than m longest built not in of the electric number ? , ( Norwegian"
).split()


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_words_give_a_total_with_items_or_none(index, question):
    snapshot = index.snapshot()
    found = find_counted(question, snapshot)
    if found is not None:
        assert found.counted.text
        assert found.counted.items
        assert found.hits
