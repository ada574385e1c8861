"""`clew plan`, and what an extraction looks like on the command line."""

import json
import re
from functools import partial

import pytest

from clew.models import Turn
from tests.cli.conftest import with_llm
from tests.index.reads import ReadsChat


@pytest.fixture
def chat():
    return ReadsChat()


@pytest.fixture
def paying(clew, chat):
    return partial(clew, obj=with_llm(chat))


def test_plan_is_a_table(paying, articles, chat):
    result = paying("plan", articles)
    assert result.exit_code == 0
    for part in ("α = 0.25", "α = 1", "a core of 80 % of", "everything", "clue, ket"):
        assert part in result.output
    assert "counted by the model itself" in result.output
    assert "index a few documents first" in result.output
    assert not chat.n_asked
    result = paying("plan", articles, "--core", "0.5")
    assert re.search(r"triples of a core of 50 % of the chunks +ket +3 ", result.output)
    assert "Which chunks are core is not known before they are indexed" in result.output
    paying("index", articles)
    assert "Which chunks are core" not in paying("plan", articles, "--into", "my.clew").output
    assert paying("plan", articles, "--core", "1.5").exit_code == 2


def test_plan_as_json_is_the_bill(paying, articles):
    """The plan's numbers are what a run then costs."""
    planned = json.loads(paying("plan", articles, "--json").output)
    everything = planned["estimates"][-1]
    run = paying("index", articles, "--units", "1", "--triples", "llm", "--json")
    usage = json.loads(run.output)["usage"]
    assert everything["calls"] == usage["llm_calls"]
    assert everything["prompt_tokens"] == usage["prompt_tokens"]
    result = paying("plan", articles, "--price", "reads=1000000,0", "--json")
    estimate = json.loads(result.output)["estimates"][0]
    assert estimate["cost_usd"] == estimate["prompt_tokens"]
    assert paying("plan", articles, "--price", "reads=cheap").exit_code == 1


def test_triples_among_statistical_entities(paying, articles, chat):
    """They are planned at what they cost, and shown; what was asked for holds from then on."""
    terms = ("--entities", "statistical", "--entity-threshold", "0.3", "--entity-words", "2")
    planned = json.loads(paying("plan", articles, *terms, "--json").output)["estimates"][-2]
    run = paying("index", articles, "--triples", "llm", *terms, "--json")
    usage = json.loads(run.output)["usage"]
    assert planned["methods"] == ["agrag"]
    assert planned["calls"] == usage["llm_calls"] > 0
    assert planned["prompt_tokens"] == usage["prompt_tokens"]
    n_asked = chat.n_asked
    shown = json.loads(paying("show", "--index", "my.clew", "--json").output)
    assert (shown["recipe"]["entity_threshold"], shown["recipe"]["entity_words"]) == (0.3, 2)
    assert paying("index", articles).exit_code == 0
    assert chat.n_asked == n_asked
    other = paying("index", articles, "--triples", "llm", "--entities", "llm")
    assert other.exit_code == 0  # which reads all anew
    assert chat.n_asked > n_asked


def test_useless_relations_leave_nothing(clew, articles):
    """Where the LLM is not up to it there is no co-occurrence instead, and the summary says so."""
    command = ("index", articles, "--triples", "llm", "--entities", "statistical")
    result = clew(*command, obj=with_llm(UselessChat()))
    assert re.search(r"triples: .* [1-6] got none, its replies being unusable", result.output)


def test_without_an_llm(clew, articles):
    result = clew("plan", articles)
    assert result.exit_code == 0
    assert "no LLM named" in result.output
    assert "unknown" in result.output
    assert "The price is not known" in result.output
    result = clew("index", articles, "--units", "0.5")
    assert result.exit_code == 1
    assert "needs an LLM" in result.stderr
    result = clew("index", articles, "--triples", "cooccurrence")
    assert result.exit_code == 0
    assert "triples: 6 chunks by rules" in result.output
    shown = json.loads(clew("show", "Colin Archer", "--json").output)
    assert any("Fram" in triple for triple in shown["triples"])


def test_index_says_what_was_extracted(paying, articles):
    result = paying("index", articles, "--units", "1", "--triples", "llm")
    assert result.exit_code == 0
    assert "knowledge units: 6 chunks by the LLM" in result.output
    assert "triples: 6 chunks by the LLM" in result.output
    assert "LLM calls, $0.0" in result.output
    shown = json.loads(paying("show", "--index", "my.clew", "--json").output)
    assert shown["extraction"]["units"] == {"llm": 6, "waiting": 0}
    assert shown["extraction"]["wanted"]["triples"] == "llm"


class UselessChat(ReadsChat):
    """A model that is not up to it: no reply of its is JSON."""

    def ask(self, prompt, turns=(), *, stop=None, on_lost=None):
        super().ask(prompt, turns, stop=stop, on_lost=on_lost)
        return Turn("I cannot do that.", prompt_tokens=1, completion_tokens=1)


@pytest.mark.parametrize("triples", ["none", "llm"])
def test_useless_replies_are_named(clew, articles, triples):
    """The summary says what the chunks have instead, how to ask again, and where to read on."""
    command = ("index", articles, "--units", "1", "--triples", triples)
    shown = clew(*command, obj=with_llm(UselessChat())).output
    of_no_use = "its replies being unusable ('--retry' asks again)"
    assert f"knowledge units: 0 chunks by the LLM, 6 fell back to sentences, {of_no_use}" in shown
    fell_back = "triples: 0 chunks by the LLM, 6 fell back to co-occ"
    assert (fell_back in shown) == (triples == "llm")
    assert "No reply of this model was usable: see docs/guides/llm.md" in shown


def test_spent_budget_has_its_status(paying, articles):
    command = ("index", articles, "--units", "1", "--triples", "llm")
    result = paying(*command, "--budget-tokens", "900", "--llm", "local")
    assert result.exit_code == 4
    assert "waiting" in result.output
    assert result.stderr.startswith("clew: the budget of 900 tokens leaves no room")
    assert paying(*command).exit_code == 0
    assert "0 tokens, 0 LLM calls" in paying(*command).output


def test_import_triples(clew, own_index, tmp_path):
    path = tmp_path / "triples.jsonl"
    line = {"id": "polar/fram.md", "triples": [["Colin Archer", "built", "Fram"]]}
    path.write_text(f"{json.dumps(line)}\nnot json\n", encoding="utf-8")
    result = clew("import-triples", path, "--index", own_index)
    assert result.exit_code == 3
    assert "Triples of 1 chunk taken over; 1 triple now in" in result.output
    assert result.stderr.endswith(
        "triples.jsonl, line 2: is not valid JSON: Expecting value at column 1\n"
    )
    assert "skipped" not in result.stderr
    assert clew("import-triples", tmp_path / "none", "--index", own_index).exit_code == 1


def test_merge_and_unmerge(clew, own_index):
    """Names are joined, listed, and parted again; half a request is a usage error."""
    place = ("--index", own_index)
    assert "stands for Fram now" in clew("merge", "Belgica", "Fram", *place).output
    assert json.loads(clew("show", "--aliases", "--json", *place).output)["merged"] == {
        "belgica": "fram"
    }
    assert "stands for itself" in clew("unmerge", "Belgica", *place).output
    merged = json.loads(clew("merge", "Belgica", "Fram", "--json", *place).output)
    assert merged["merged"] == [{"name": "Belgica", "into": "Fram"}]
    assert json.loads(clew("unmerge", "Belgica", "--json", *place).output)["unmerged"] == "Belgica"
    assert "No name differs" in clew("merge", "--rules", *place).output
    assert clew("merge", "Belgica", *place).exit_code == 2
    assert clew("merge", *place).exit_code == 2
    assert clew("merge", "Nobody", "Fram", *place).exit_code == 1


def test_merge_by_rules_prints_names(clew, tmp_path):
    (tmp_path / "a.txt").write_text("Ola met The Royal Society. The Royal Society of Oslo left.")
    (tmp_path / "b.txt").write_text("Ola left Bakken Works Ltd for Bakken Works.")
    clew("index", tmp_path / "a.txt", tmp_path / "b.txt")
    result = clew("merge", "--rules", "--json")
    assert {"name": "Bakken Works Ltd", "into": "Bakken Works"} in json.loads(result.output)[
        "merged"
    ]
