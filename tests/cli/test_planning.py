"""`clew plan`, and what an extraction looks like on the command line."""

import json
import re

import pytest

from clew.api import open_index
from clew.models import Turn
from clew.testing import models
from tests.index.reads import ReadsChat


@pytest.fixture
def chat():
    return ReadsChat()


@pytest.fixture
def paying(clew, chat):
    """Return a function that runs the command line with an LLM that bills."""

    def with_llm(folder, **named):
        llm = models(llm=chat)
        return open_index(folder, models=llm, **named)

    return lambda *arguments: clew(*arguments, obj=with_llm)


def test_plan_is_a_table(paying, articles, chat):
    """Every setting has its line; nothing was asked, and nothing written."""
    result = paying("plan", articles)
    assert result.exit_code == 0
    for part in ("α = 0.25", "α = 1", "a core of 80 % of", "everything", "clue, ket"):
        assert part in result.output
    assert "counted by the model itself" in result.output
    assert "try --probe 5" in result.output
    assert not chat.n_asked


def test_plan_of_another_core(paying, articles):
    """The line of the core chunks is of the share that is asked for, and says what it is."""
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
    assert other.exit_code == 1
    assert "statistical entities (threshold 0.3, at most 2 words)" in other.stderr


def test_useless_relations_leave_nothing(clew, articles):
    """Where the LLM is not up to it there is no co-occurrence instead, and the summary says so."""

    def with_llm(folder, **more):
        return open_index(folder, models=models(llm=UselessChat()), **more)

    command = ("index", articles, "--triples", "llm", "--entities", "statistical")
    result = clew(*command, obj=with_llm)
    assert re.search(r"triples: .* [1-6] got none, its replies being of no use", result.output)


def test_plan_without_an_llm_says_what_is_unknown(clew, articles):
    """Tokens are there; the price and the time are said to be unknown."""
    result = clew("plan", articles)
    assert result.exit_code == 0
    assert "no LLM named" in result.output
    assert "unknown" in result.output
    assert "The price is not known" in result.output
    assert clew("plan", articles, "--probe", "2").exit_code == 1


def test_price_makes_dollars(clew, articles, chat):
    """A price given on the command line is the one that counts."""

    def with_llm(folder, **named):
        llm = models(llm=chat)
        return open_index(folder, models=llm, **named)

    result = clew("plan", articles, "--price", "reads=1000000,0", "--json", obj=with_llm)
    estimate = json.loads(result.output)["estimates"][0]
    assert estimate["cost_usd"] == estimate["prompt_tokens"]
    assert clew("plan", articles, "--price", "reads=cheap").exit_code == 1


def test_index_says_what_was_extracted(paying, articles):
    """The summary counts chunks by what extracted them, and what it cost."""
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

    def with_llm(folder, **more):
        return open_index(folder, models=models(llm=UselessChat()), **more)

    result = clew("index", articles, "--units", "1", "--triples", triples, obj=with_llm)
    assert (
        "knowledge units: 0 chunks by the LLM, 6 fell back to sentences, its replies being of no"
        " use ('--retry' asks again)"
    ) in result.output
    assert ("triples: 0 chunks by the LLM, 6 fell back to co-occ" in result.output) == (
        triples == "llm"
    )
    assert "No reply of this model was usable: see docs/guides/llm.md" in result.output


def test_spent_budget_has_its_status(paying, articles):
    """What is missing is said in one line, with status 4, and the same command goes on."""
    command = ("index", articles, "--units", "1", "--triples", "llm")
    result = paying(*command, "--budget-tokens", "900", "--llm", "local")
    assert result.exit_code == 4
    assert "waiting" in result.output
    assert result.stderr.startswith("clew: the budget of 900 tokens leaves no room")
    assert paying(*command).exit_code == 0
    assert "0 tokens, 0 LLM calls" in paying(*command).output


def test_nothing_new_without_an_llm(clew, articles):
    """An extraction that needs an LLM says so where there is none."""
    result = clew("index", articles, "--units", "0.5")
    assert result.exit_code == 1
    assert "needs an LLM" in result.stderr


def test_triples_without_an_llm(clew, articles):
    """Co-occurrence needs nothing, and a chunk and an entity show their triples."""
    result = clew("index", articles, "--triples", "cooccurrence")
    assert result.exit_code == 0
    assert "triples: 6 chunks by rules" in result.output
    shown = json.loads(clew("show", "Colin Archer", "--json").output)
    assert any("Fram" in triple for triple in shown["triples"])


def test_import_triples(clew, own_index, tmp_path):
    """A file's triples are taken, and its bad lines named, with status 3."""
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
    """Names are shown as they are written, also those that are gone."""
    (tmp_path / "a.txt").write_text("Ola met The Royal Society. The Royal Society of Oslo left.")
    (tmp_path / "b.txt").write_text("Ola left Bakken Works Ltd for Bakken Works.")
    clew("index", tmp_path / "a.txt", tmp_path / "b.txt")
    result = clew("merge", "--rules", "--json")
    assert {"name": "Bakken Works Ltd", "into": "Bakken Works"} in json.loads(result.output)[
        "merged"
    ]
