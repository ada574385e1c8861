"""A context: tables and numbered passages, never more tokens than the budget."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.answers.context import build_context, build_counted_context
from clew.errors import InputError
from clew.text import blocks, tokens
from tests.answers.evidence import evidence, hit, table

# What breaks token arithmetic: several tokens per character, marks, long runs, wide scripts.
HARD = st.sampled_from(
    ["👩‍🚀", "é", "ẍ̧", "南極", " ", "\n\n", "a" * 40, "<|endoftext|>", "[2] ", "\x00"]
)
WORDS = st.sampled_from(["the", "Fram", "left", "Oslo.", "In", "1893", "Antarctica"])
TEXTS = st.lists(st.one_of(HARD, WORDS.map(lambda w: w + " ")), min_size=1, max_size=40).map(
    "".join
)
TITLES = st.one_of(st.just(""), TEXTS, st.just("A title of many words " * 20))
HITS = st.lists(
    st.builds(
        lambda i, text, title, start: hit(f"d{i}", text, title=title, start=start),
        st.integers(0, 9),
        TEXTS,
        TITLES,
        st.integers(0, 1000),
    ),
    max_size=5,
)
CELLS = st.one_of(st.just(""), TEXTS)
TABLES = st.lists(
    st.builds(
        lambda name, rows: table(*rows, name=name),
        st.sampled_from(["Entities", "Relations", ""]),
        st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=4),
    ),
    max_size=3,
)
BUDGETS = st.one_of(st.integers(1, 30), st.integers(1, 400))


def cost(of):
    """Count what evidence takes, as a method does that fills a budget."""
    used = 0
    for each in of.tables:
        used += blocks.count_table_tokens(each.name, each.columns)
        used += sum(map(blocks.count_row_tokens, each.rows))
    return used + sum(blocks.count_passage_tokens(h.title, h.text) for h in of.hits)


def written(passage):
    return blocks.format_passage(passage.number, passage.title, passage.text)


@given(TABLES, HITS, BUDGETS)
def test_stored_counts_change_no_context(tables, hits, budget):
    """What is known to fit is not counted, whatever the budget leaves out."""
    sizes = np.array([tokens.count(each.text) for each in hits], dtype=np.int32)
    chunks = SimpleNamespace(rows=lambda ids: [*range(len(ids))], columns={"n_tokens": sizes})
    found = evidence(*hits, tables=tables)
    counted = build_counted_context(found, budget, SimpleNamespace(layer=lambda _: chunks))
    assert counted == build_context(found, budget_tokens=budget)


def test_what_fits_by_the_stored_counts_is_not_counted(monkeypatch):
    chunks = SimpleNamespace(rows=lambda _: [0], columns={"n_tokens": np.array([4])})
    snapshot = SimpleNamespace(layer=lambda _: chunks)
    found = evidence(hit("fram", "The Fram left Oslo."))
    with monkeypatch.context() as patch:
        patch.setattr(tokens, "_encoding", None)
        context = build_counted_context(found, 100, snapshot)
        assert [each.text for each in context.passages] == ["The Fram left Oslo."]
    assert context.to_dict()["n_tokens"] == tokens.count(context.text) > 4


@given(TABLES, HITS, BUDGETS)
def test_a_context_keeps_its_promises(tables, hits, budget):
    """For any texts and budget: it fits, counts from 1 in order, and its ranges slice right."""
    found = build_context(evidence(*hits, tables=tables), budget_tokens=budget)
    assert tokens.count(found.text) == found.n_tokens <= budget == found.budget_tokens
    assert [p.number for p in found.passages] == list(range(1, len(found.passages) + 1))
    for of, passage in zip(hits, found.passages, strict=False):
        assert passage.chunk_id == of.chunk_id
        assert passage.start == of.start
        assert passage.text == of.text[: passage.end - passage.start] != ""
    assert all(p.text == of.text for of, p in zip(hits[1:], found.passages[1:], strict=False))
    above = "".join(blocks.format_table(t.name, t.columns, t.rows) for t in found.tables)
    assert found.text == above + "".join(map(written, found.passages))


@given(TABLES, HITS, st.integers(0, 3))
def test_evidence_that_fits_comes_through_whole(tables, hits, spare):
    """A method that filled exactly its budget loses nothing, however much of it are tables."""
    of = evidence(*hits, tables=tables)
    budget = max(cost(of), 1)
    found = build_context(of, budget_tokens=budget + spare)
    assert found.tables == of.tables
    assert [p.text for p in found.passages] == [h.text for h in of.hits]
    assert found.n_tokens == cost(of)


@given(TABLES, HITS, BUDGETS)
def test_tables_leave_the_hits_their_half(tables, hits, budget):
    """Tables take more than half of a budget only where the hits are there whole all the same."""
    found = build_context(evidence(*hits, tables=tables), budget_tokens=budget)
    if cost(evidence(tables=found.tables)) > budget // 2:
        assert [p.text for p in found.passages] == [h.text for h in hits]


@given(TABLES, BUDGETS)
def test_rows_come_from_the_top(tables, budget):
    """A table is cut from below, and one without rows leaves no head behind."""
    found = build_context(evidence(tables=tables), budget_tokens=budget)
    assert all(t.rows for t in found.tables)
    whole = iter(tables)
    for part in found.tables:
        assert any(
            (part.name, part.columns, part.rows) == (t.name, t.columns, t.rows[: len(part.rows)])
            for t in whole
        )


def test_passages_and_tables_are_written_in_order():
    found = build_context(
        evidence(hit("a", "Fram left Oslo.", title="The\n Fram"), hit("b", "Oslo is a city."))
    )
    assert found.text == "[1] The Fram\nFram left Oslo.\n\n[2]\nOslo is a city.\n\n"
    assert found.n_tokens == tokens.count(found.text)
    entities = table(("Fram", "polar ship"), ("Oslo", "city | port"))
    found = build_context(evidence(hit("a", "Fram left Oslo."), tables=[entities]))
    assert found.tables == (entities,)
    assert found.text == (
        "Table: Entities\nentity|description\nFram|polar ship\nOslo|city / port\n---\n\n"
        "[1]\nFram left Oslo.\n\n"
    )


def test_tables_get_half_where_not_all_fits():
    rows = [(f"Entity {n}", "a ship of the south") for n in range(40)]
    hits = [hit(f"d{n}", "Fram left Oslo in 1893. " * 4) for n in range(10)]
    found = build_context(evidence(*hits, tables=[table(*rows)]), budget_tokens=200)
    [part] = found.tables
    assert part.rows == tuple(rows[: len(part.rows)])
    used = cost(evidence(tables=found.tables))
    assert 100 - blocks.count_row_tokens(rows[0]) < used <= 100
    assert len(found.passages) == 100 // blocks.count_passage_tokens("", hits[0].text) > 1
    rows = [(f"Entity {n}", "a ship of the south") for n in range(40)]
    found = build_context(evidence(hit("a", "Short."), tables=[table(*rows)]), budget_tokens=200)
    assert len(found.passages) == 1
    assert found.n_tokens > 200 - blocks.count_row_tokens(rows[0])
    long, short = table(("Fram", "ship " * 50), name="Long"), table(("Oslo", "city"), name="Short")
    found = build_context(evidence(tables=[long, short]), budget_tokens=40)
    assert found.tables == (short,)
    assert "Long" not in found.text


def test_all_that_fits_is_there():
    hits = evidence(hit("a", "Fram left Oslo in 1893."), hit("b", "Oslo is a city in Norway."))
    both = build_context(hits)
    assert len(both.passages) == 2
    exact = build_context(hits, budget_tokens=both.n_tokens)
    assert exact.text == both.text
    less = build_context(hits, budget_tokens=both.n_tokens - 1)
    assert [p.document_id for p in less.passages] == ["a"]
    assert less.passages[0].text == "Fram left Oslo in 1893."
    hits = evidence(hit("a", "Fram left Oslo."), hit("b", "word " * 200), hit("c", "Short."))
    found = build_context(hits, budget_tokens=100)
    assert [p.document_id for p in found.passages] == ["a"]
    assert build_context(evidence()).text == ""
    tiny = build_context(evidence(hit("a", "Fram left Oslo.")), budget_tokens=1)
    assert (tiny.passages, tiny.text, tiny.n_tokens) == ((), "", 0)


def test_only_the_first_passage_is_cut():
    text = "Fram left Oslo in 1893 with thirteen men and five years of food. " * 30
    found = build_context(evidence(hit("a", text, start=7), hit("b", "Short.")), budget_tokens=50)
    [passage] = found.passages
    assert 45 <= found.n_tokens <= 50
    assert passage.end - passage.start == len(passage.text) < len(text)
    assert text.startswith(passage.text)
    assert passage.start == 7
    tables = [table(("Fram", "ship"), ("Oslo", "city"))]
    found = build_context(evidence(hit("a", "word " * 200), tables=tables), budget_tokens=80)
    assert found.tables == tuple(tables)
    [passage] = found.passages
    assert passage.end == len(passage.text) < 1000
    assert 75 <= found.n_tokens <= 80
    long = hit("a", "Fram left Oslo in 1893.", title="An endless heading " * 200)
    found = build_context(evidence(long), budget_tokens=30)
    assert [p.text for p in found.passages] == ["Fram left Oslo in 1893."]
    assert found.n_tokens <= 30


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_below_one_is_refused(budget):
    with pytest.raises(InputError, match=f"at least 1 token, not {budget}"):
        build_context(evidence(hit("a", "Fram.")), budget_tokens=budget)
