"""Diff between two states of an index."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import clew
from clew import Document
from clew.errors import InputError
from clew.testing import models

FRAM = Document(
    id="fram",
    title="Fram",
    text="Colin Archer built the Fram in 1892. The ship cost 280,000 kroner. She sailed north.",
    metadata={"kind": "ship", "date": "2023"},
)
LATER = replace(FRAM, text=FRAM.text.replace("1892", "1893").replace("She sailed north", "Gone"))
NORGE = Document(
    id="norge",
    title="Norge",
    text="Umberto Nobile flew the Norge. It flew in 1926.",
    metadata={"kind": "airship", "date": "2024"},
)


@pytest.fixture
def index(tmp_path):
    with clew.open(tmp_path / "my.clew", models=models()) as opened:
        opened.add([FRAM])
        opened.add([LATER, NORGE])
        yield opened


def listed(changes):
    return {each.id: each.change for each in changes.documents}


def test_documents_values_and_entities_of_the_last_write(index):
    """The worked example: a changed year, a sentence that left, and a document that came."""
    changes = index.changes()
    assert (changes.before.generation, changes.after.generation) == (1, index.generation)
    assert listed(changes) == {"fram": "changed", "norge": "came"}
    fram = changes.documents[0]
    assert [each.text for each in fram.went] == [
        "Colin Archer built the Fram in 1892.",
        "She sailed north.",
    ]
    assert [each.text for each in fram.came] == ["Colin Archer built the Fram in 1893.", "Gone."]
    for step, document in ((fram.went[0], FRAM), (fram.came[0], LATER)):
        assert document.text[step.start : step.end] == step.text
    [value] = changes.values
    assert (value.was, value.now) == ("1892", "1893")
    assert value.before.text.endswith("1892.")
    kinds = {each.id: (each.change, each.n_came, each.n_went) for each in changes.entities}
    assert kinds["colin archer"] == ("changed", 1, 1)
    assert kinds["umberto nobile"] == ("came", 1, 0)
    assert changes.n_documents == 2
    assert len(index.changes(most=1).documents) == 1
    assert index.changes(most=1).n_documents == 2


def test_there_and_back_mirror_each_other(index):
    """What one write brought, the next one takes: came and went change places."""
    generation = index.generation
    index.edit("Fram", type="ship")
    assert listed(index.changes()) == {"fram": "changed", "norge": "came"}
    index.remove("norge")
    index.add([FRAM])
    there, back = index.changes(1, generation), index.changes(generation)
    assert listed(index.changes()) == {"fram": "changed"}
    assert listed(back) == {"fram": "changed", "norge": "went"}
    assert [(each.was, each.now) for each in back.values] == [("1893", "1892")]
    mirrored = {each.id: (each.n_went, each.n_came) for each in back.entities}
    assert mirrored == {each.id: (each.n_came, each.n_went) for each in there.entities}
    assert listed(index.changes(1)) == {}
    with pytest.raises(InputError, match="is later than 1: swap them"):
        index.changes(generation, 1)
    for since, until in (("9" * 200, None), (1, "9" * 5000)):
        with pytest.raises(InputError, match="generation"):
            index.changes(since, until)


def test_renamed_documents_are_no_news(index, tmp_path):
    """A file of another name has its former id, and no sentence of it came or went."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Belgica\n\nThe Belgica sailed south.\n", encoding="utf-8")
    index.add(folder)
    (folder / "a.md").rename(folder / "b.md")
    index.add(folder, prune=True)
    [change] = index.changes().documents
    assert (change.change, change.former_id, change.id) == ("renamed", "docs/a.md", "docs/b.md")
    assert index.changes().entities == ()
    assert listed(index.changes(where="id = 'docs/b.md'")) == {"docs/b.md": "renamed"}
    assert listed(index.changes(where="id = 'norge'")) == {}


def test_dates_of_writes_and_of_documents(index):
    """Dates are those of writes, or by `dated` those by which documents hold."""
    assert listed(index.changes("2000-01-01")) == {"fram": "came", "norge": "came"}
    assert listed(index.changes("2999-01-01")) == {}
    assert listed(index.changes("1999-01-01", "2000-01")) == {}
    assert listed(index.changes("2023", "2024", dated=True)) == {"norge": "came"}
    with pytest.raises(InputError, match="since a date"):
        index.changes(dated=True)


def test_a_filter_sees_no_other_document(index):
    """Each state has the documents that fulfil it then; a field that none has is an error."""
    assert listed(index.changes(where="kind = 'airship'")) == {"norge": "came"}
    index.remove("norge")
    assert listed(index.changes(where="kind = 'airship'")) == {"norge": "went"}
    with pytest.raises(InputError, match="colour"):
        index.changes(where="colour = 'red'")


def test_what_was_erased_is_compared_with_a_backup(index, tmp_path):
    """Another index is the former state; without one the sentence says what to do."""
    index.remove("norge")
    index.backup(tmp_path / "old.tar.gz")
    index.add([replace(LATER, text=LATER.text.replace("280,000", "281,000"))])
    index.compact()
    with pytest.raises(InputError, match="restore a backup"):
        index.changes(1)
    clew.restore(tmp_path / "old.tar.gz", tmp_path / "old.clew")
    [value] = index.changes(tmp_path / "old.clew").values
    assert (value.was, value.now) == ("280,000", "281,000")
    with pytest.raises(InputError, match="not a generation, date or index"):
        index.changes(tmp_path / "none.clew")


@settings(max_examples=8, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 2), max_size=3), max_size=3))
def test_changes_are_those_of_the_texts(tmp_path_factory, states):
    """Whatever was written, any two generations differ as the documents' texts do."""
    texts = ["Ada met Bo.", "Bo left in 1911.", "Bo left in 1912."]
    with clew.open(tmp_path_factory.mktemp("any") / "i.clew", models=models()) as index:
        index.add([Document(id="x", text="Nobody is here.")])
        held = [(1, {})]
        for state in states:
            if state:
                index.add([Document(id=name, text=texts[n]) for name, n in state.items()])
            if gone := [name for name in held[-1][1] if name not in state]:
                index.remove(gone)
            if not (state or gone):
                continue
            held.append((index.snapshot().generation, state))
        for earlier, (since, old) in enumerate(held):
            for until, new in held[earlier:]:
                wanted = dict.fromkeys(old.keys() - new.keys(), "went")
                wanted |= {
                    name: "changed" if name in old else "came"
                    for name in new
                    if old.get(name) != new[name]
                }
                assert listed(index.changes(since, until)) == wanted
