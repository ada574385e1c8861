"""RAPTOR: an LLM's summaries level by level, found beside chunks, paid for once."""

import re

import numpy as np
import pytest

import clew
from clew.errors import InputError
from clew.extras.baselines import raptor, summary_tree
from clew.extras.baselines.raptor import Raptor
from clew.models import Reply
from clew.models.budget import Budget
from clew.testing import ScriptedLLM, built, models, small_documents

SUBJECTS = ["whales swim far", "bakers knead dough", "stars burn gas", "pilots land planes"]
DOCUMENTS = [
    clew.Document(id=f"d{n:02}", text=f"Here {SUBJECTS[n % 4]} and that is number {n}.")
    for n in range(40)
]
QUESTION = "What of whales that swim far?"


class Echo(ScriptedLLM):
    """Answers with the words that the passages of its prompt begin with."""

    def _reply(self, prompt):
        words = re.findall(r"Here (\w+ \w+ \w+)", prompt.user)
        self._replies.append(f"Summary: {' '.join(sorted(set(words)))}.")
        return super()._reply(prompt)


@pytest.fixture
def folder(tmp_path):
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(DOCUMENTS)
    return tmp_path / "my.clew"


def search(folder, llm, question=QUESTION, **options):
    with clew.open(folder, models=models(llm=llm)) as index:
        return index.search(question, method="raptor", **options)


def test_without_an_llm_it_says_what_to_do():
    with (
        built(small_documents()) as snapshot,
        pytest.raises(InputError, match="name one with --llm, or use raptor_extractive"),
    ):
        Raptor().retrieve(QUESTION, snapshot, models())


def test_summaries_stand_beside_chunks(folder):
    """Chunks and summaries share the places; a summary is a row of the table."""
    llm = Echo()
    found = search(folder, llm, chunks=12)
    [table] = found.tables
    assert len(found.hits) + len(table.rows) == 12
    assert all(text.startswith("Summary: ") for [text] in table.rows)
    assert "whales swim far" in table.rows[0][0]
    assert {hit.text.split()[1] for hit in found.hits[:3]} == {"whales"}
    assert found.notes == ()
    assert llm.prompts[0].version.startswith("summary-")


def test_a_tree_is_paid_for_once(folder):
    """Asked again, in this process or another, all summaries come from the ledger."""
    llm = Echo()
    first = search(folder, llm)
    again = Echo()
    second = search(folder, again)
    assert second.hits == first.hits
    assert second.tables == first.tables
    assert (len(again.prompts), again.n_left) == (0, 0)
    with clew.open(folder, models=models(llm=again)) as index:
        index.search(QUESTION, method="raptor")
        usage = index.search("What of bakers?", method="raptor").usage
    assert (usage.llm_calls, usage.recorded_calls) == (0, 0)  # it is in memory


def by_four(level, _depth):
    return [np.arange(i, i + 4) for i in range(0, len(level.texts) // 4 * 4, 4)]


def test_levels_are_of_levels(folder):
    """Twelve summaries or more have summaries above them, of all chunks below."""
    with clew.open(folder, models=models()) as index:
        snapshot = index.snapshot()
        tree = summary_tree.read_tree(snapshot, models(llm=Echo()), by_four)
    assert [len(each) for each in tree.chunks] == [4] * 10 + [16] * 2
    assert tree.chunks[10].tolist() == list(range(16))
    assert tree.vectors.shape[0] == len(tree.texts) == 12


def test_a_budget_holds(folder):
    """What is not paid for is missing, which a note says, and nothing of it is kept."""
    found = search(folder, Echo(), budget=Budget(tokens=10))
    [note] = found.notes
    assert re.match(r"the LLM wrote 0 of \d+ summaries of a level \(", note)
    assert (len(found.hits), found.tables) == (10, ())
    assert search(folder, Echo()).notes == ()


def test_a_summary_that_fails_ends_the_tree(folder):
    failed = ScriptedLLM(*[Reply(text="", error="it broke")] * 40)
    assert "it broke" in search(folder, failed).notes[0]


def test_groups_are_of_tokens():
    """Large nodes make small clusters, of 3,500 tokens at most as far as possible."""
    random = np.random.default_rng(1)
    vectors = random.normal(size=(60, 16))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = np.arange(60)
    short, long = (
        summary_tree.Nodes(vectors, ["word " * n] * 60, [rows[i : i + 1] for i in rows], rows)
        for n in (10, 280)
    )
    sizes = [[len(each) for each in raptor.group_by_nearness(level, 0)] for level in (short, long)]
    assert max(sizes[1]) <= 12 < max(sizes[0])
    assert raptor.group_by_nearness(short, 5) == []


def test_without_an_llm_sentences_of_the_texts_are_summaries(folder):
    """Five of the cluster's chunks, nearest to its mean; nothing is said of an LLM."""
    with clew.open(folder, models=models()) as index:
        found = index.search(QUESTION, method="raptor_extractive", chunks=12)
        again = index.search(QUESTION, method="raptor_extractive", chunks=12)
    assert found.notes == ()
    assert again.hits == found.hits
    texts = {document.text for document in DOCUMENTS}
    [table] = found.tables
    for [summary] in table.rows:
        assert sum(text in summary for text in texts) == summary.count("Here") == 5
    assert table.rows[0][0].count("whales") == 5


def test_few_chunks_have_no_summaries(tmp_path):
    """Eleven are few: the nearest chunks come back."""
    with clew.open(tmp_path / "few.clew", models=models()) as index:
        index.add(DOCUMENTS[:11])
        found = index.search(QUESTION, method="raptor_extractive")
        dense = index.search(QUESTION, method="dense")
    assert found.tables == ()
    assert found.hits == dense.hits
