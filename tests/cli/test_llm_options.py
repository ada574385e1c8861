"""Prompts of one's own, how replies are drawn, and what the ledger keeps of what was asked."""

import json
from importlib.resources import files
from pathlib import Path
from string import Template

import pytest

from clew.api import open_index
from clew.models.loading import Specs, load_llm
from clew.models.prompts import PAPERS, fill_prompt, list_prompts, prompt_versions, read_wording
from clew.testing import ScriptedChat, models, small_documents
from tests.cli.conftest import with_llm

OWN = "version: 7\n\n# system\nBe short.\n\n# user\n$context\nQ: $question\n"


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "prompts"
    place.mkdir()
    (place / "short_answer.md").write_text(OWN, encoding="utf-8")
    return place


@pytest.fixture
def chat():
    return ScriptedChat(lambda *_: "Larvik")


def test_a_prompt_of_ones_own_is_sent(clew, folder, chat, own_index):
    # No other test asks this of the shared index, whose ledger would have the reply.
    question = "In which town was the shipbuilder Colin Archer born?"
    asked = ("ask", question, "--style", "short", "--index", own_index)
    result = clew(*asked, "--prompts", folder, obj=with_llm(chat))
    assert result.exit_code == 0, result.stderr
    prompt = chat.asked[-1][0]
    assert prompt.system.startswith("Be short.")
    assert prompt.user.endswith(f"Q: {question}")
    assert prompt.version.startswith("short_answer-7-")
    assert clew(*asked, obj=with_llm(chat)).exit_code == 0
    assert chat.asked[-1][0].version == f"short_answer-{prompt_versions()['short_answer']}"


def test_another_wording_is_another_version(folder):
    first = read_wording(folder)
    (folder / "short_answer.md").write_text(f"{OWN}!\n", encoding="utf-8")
    second = read_wording(folder)
    assert [*second.versions] == ["short_answer"]
    assert second.versions != first.versions
    prompt = fill_prompt("short_answer", context="see $question", question="Where?", estimate="")
    worded = second.reword(first.reword(prompt))
    assert worded == second.reword(prompt)
    assert worded.user == "see $question\nQ: Where?\n!"
    assert worded.version == f"short_answer-{second.versions['short_answer']}"
    other = fill_prompt("zero_shot", question="Where?")
    assert first.reword(other) is other


def test_two_indexes_of_a_process_have_words_of_their_own(folder, tmp_path):
    """And what a plan counts, and a run's head says, is of these."""
    (folder / "units.md").write_text(
        "version: 1\n\n# system\nSplit.\n\n# user\n$passages\n", encoding="utf-8"
    )
    versions, plans, heads = [], [], []
    for name, prompts in (("own", str(folder)), ("clew", None), ("again", str(folder))):
        chat = ScriptedChat(lambda *_: "Larvik")
        specs = Specs(prompts=prompts)
        with open_index(tmp_path / name, models=models(llm=chat), specs=specs) as index:
            index.add(small_documents())
            plans.append(index.plan(small_documents()).estimates[0].prompt_tokens)
            assert index.ask("Who built the Fram?", method="zero_shot").text == "Larvik"
            index.ask("Who built the Fram?", style="short")
            versions.append(chat.asked[-1][0].version)
            index.add(small_documents(), units=1.0)
            versions.append(chat.asked[-1][0].version)
            known = index.plan(small_documents())
            heads.append([each.n_known for each in known.estimates[:4]])
    own = read_wording(folder).versions
    assert versions[:2] == versions[4:] == [
        f"short_answer-{own['short_answer']}", f"units-{own['units']}",
    ]  # fmt: skip
    assert versions[2:4] == [
        f"{name}-{prompt_versions()[name]}" for name in ("short_answer", "units")
    ]
    assert plans[0] == plans[2] < plans[1]
    assert heads[0][-1] > 0


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("short_answer", OWN.replace("$question", "$query"), "the slot $query, which is unknown"),
        ("short_answer", OWN.replace("# user", "# us"), "lacks its 'version: '"),
        ("short_answer", f"{OWN} costs 5$", "or has a stray $"),
        ("answers", OWN, "is no prompt's name: rename it to one of bubble_analysis"),
    ],
)
def test_prompts_are_checked_at_the_start(clew, folder, chat, own_index, name, text, message):
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    asked = ("ask", "Where?", "--index", own_index, "--prompts", folder)
    result = clew(*asked, obj=with_llm(chat))
    assert result.exit_code == 1
    assert message in result.stderr
    assert not chat.asked


def test_a_folder_without_prompts_is_refused(clew, tmp_path, own_index):
    result = clew("ask", "Where?", "--index", own_index, "--prompts", tmp_path)
    assert "has no prompt NAME.md" in result.stderr


def test_the_guide_names_every_slot():
    """Of each prompt that a user may write anew."""
    guide = (files("clew.guides") / "llm.md").read_text(encoding="utf-8")
    for name in list_prompts():
        text = (files("clew.models.prompts") / f"{name}.md").read_text(encoding="utf-8")
        row = next(line for line in guide.splitlines() if line.startswith(f"- `{name}` "))
        slots = Template(text.partition("# user")[2]).get_identifiers()
        assert slots or name == "figure"  # whose picture comes beside it
        assert row.count("$") == len(slots)
        assert all(f"`${slot}`" in row for slot in slots)


@pytest.mark.satellite
def test_how_replies_are_drawn_is_in_the_models_name():
    """So no reply to another drawing is taken for one to it, and the head of a run has it."""
    drawn = Specs(llm="openai:m@http://x/v1", temperature=0.7, top_p=0.9, seed=3).sampling
    assert load_llm("openai:m@http://x/v1", sampling=drawn).name == (
        "m of x/v1 at temperature 0.7, top_p 0.9, seed 3"
    )
    assert load_llm("openai:m@http://x/v1").name == "m of x/v1"


@pytest.mark.satellite
def test_eval_gives_the_seed_to_the_llms(clew, dataset, tmp_path, monkeypatch):
    seen = []

    def load(spec, *, sampling, **_):
        seen.append(sampling)
        return ScriptedChat(lambda *_: "Larvik")

    monkeypatch.setattr("clew.models.loading.load_llm", load)
    options = ("--methods", "bm25", "--answer-llm", "x:y", "--runs", tmp_path / "runs")
    drawn = ("--seed", "4", "--temperature", "0.5", "--top-p", "0.8")
    result = clew("eval", dataset, *options, *drawn)
    assert result.exit_code == 0, result.stderr
    assert {(each.seed, each.temperature, each.top_p) for each in seen} == {(4, 0.5, 0.8)}
    head = json.loads((tmp_path / "runs" / "bm25.jsonl").read_text().splitlines()[0])
    assert head["scoring"]["seed"] == 4


def test_a_paper_s_prompts_take_one_passage_each(tmp_path, monkeypatch):
    """Clew has words of its own for what the prompts of some papers ask."""
    monkeypatch.chdir(tmp_path)  # where no folder has such a name
    for paper in PAPERS:
        wording = read_wording(Path(paper))
        assert wording.alone
        assert set(wording.versions) <= set(list_prompts())
    values = {"context": "c", "question": "q", "estimate": ""}
    reworded = read_wording(Path("agrag")).reword(fill_prompt("short_answer", **values))
    assert reworded.user.endswith("Question: q\nThought:")
    (tmp_path / "clue").mkdir()
    (tmp_path / "clue" / "units.md").write_text("version: 1\n# system\na\n# user\n$passages\n")
    assert not read_wording(Path("clue")).alone


def test_extraction_with_a_paper_s_prompts_asks_about_one_passage(clew, tmp_path, monkeypatch):
    """Otherwise short passages share a prompt."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for document in small_documents()[:4]:
        (tmp_path / "docs" / document.source).write_text(document.text, encoding="utf-8")
    chat = ScriptedChat(lambda *_: {"1": ["Mira Toll crossed it."], "2": [], "3": [], "4": []})
    asked = {}
    for name, more in (("own", ()), ("paper", ("--prompts", "clue"))):
        command = ("index", "docs", "--into", f"{name}.clew", "--units", "1", *more)
        assert clew(*command, obj=with_llm(chat)).exit_code == 0
        texts = [prompt.user.rpartition("Passage")[2] for prompt, *_ in chat.asked]
        asked[name] = [text.count("\n[") for text in texts]
        chat.asked.clear()
    assert max(asked["own"]) > 1
    assert set(asked["paper"]) == {1}
