"""The prompt files, and how values are put into them."""

import ast
import json
import re
from dataclasses import astuple
from importlib.resources import files
from pathlib import Path

import fastjsonschema
import pytest

import clew
from clew.layers.graph_extraction import graph_prompt, read_graph
from clew.layers.relations import read_relations, relations_prompt
from clew.layers.units import read_units, units_prompt
from clew.prompts import fill_prompt
from tests.index.reads import listed

NAMES = sorted(file.name[:-3] for file in files("clew.prompts").iterdir() if file.suffix == ".md")
SOURCES = sorted(Path(clew.__file__).parent.rglob("*.py"))
NOT_VALUES = {"name", "schema", "max_tokens"}


def placeholders(name):
    text = (files("clew.prompts") / f"{name}.md").read_text(encoding="utf-8")
    return set(re.findall(r"\$(\w+)", text))


def calls():
    """Yield (file, line, prompt name or None, the values given) for each call of `fill_prompt`."""
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCES}
    for path in (path for path, text in texts.items() if re.search(r"\bfill_prompt\(", text)):
        for node in ast.walk(ast.parse(texts[path])):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "fill_prompt":
                name = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
                values = {keyword.arg for keyword in node.keywords} - NOT_VALUES
                yield path.name, node.lineno, name, values


CALLS = list(calls())


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_a_prompt(name):
    """A version, a system part and a user part, all filled and without a stray $."""
    values = {value: f"<{value}>" for value in placeholders(name)}
    made = fill_prompt(name, **values)
    assert re.fullmatch(rf"{name}-\d+", made.version)
    assert made.system
    assert made.system == made.system.strip()
    assert made.user == made.user.strip()
    assert "$" not in made.user + made.system
    assert values
    assert all(value in made.user for value in values.values())


@pytest.mark.parametrize(("file", "line", "name", "values"), CALLS)
def test_callers_give_what_a_prompt_asks_for(file, line, name, values):
    """Each call in the sources fills every $name of its prompt, and gives nothing else."""
    if name is not None:
        assert placeholders(name) == values
    else:  # chosen at run time: it must fit some prompt
        assert values in [placeholders(n) for n in NAMES]


def test_every_prompt_is_used():
    """No file is left over: each is named in the sources."""
    named = " ".join(path.read_text(encoding="utf-8") for path in SOURCES)
    assert [name for name in NAMES if f'"{name}"' not in named] == []
    assert CALLS


def test_values_are_no_templates():
    """A document or question that holds $names or ${braces} is quoted as it is."""
    hostile = "costs $5, $question ${context} $$ $"
    made = fill_prompt("short_answer", context=hostile, estimate="", question="how $much?")
    assert hostile in made.user
    assert "how $much?" in made.user


def test_a_value_that_is_missing_is_an_error():
    """A prompt with a hole in it is never sent."""
    with pytest.raises(KeyError, match="question"):
        fill_prompt("zero_shot")


def test_what_is_asked_of_the_reply_is_passed_on():
    """Schema and length belong to the request, not to the text."""
    schema = {"type": "object"}
    made = fill_prompt("zero_shot", schema=schema, max_tokens=7, question="q")
    assert (made.schema, made.max_tokens) == (schema, 7)


def test_the_example_of_a_reply_is_valid():
    """A model that copies the form of the example satisfies the schema."""
    made = fill_prompt("query_entities", question="q")
    [example] = re.findall(r"^\{.*\}$", made.user, re.MULTILINE)
    examples = json.loads(example)["named_entities"]
    assert examples
    assert all(isinstance(name, str) for name in examples)


PASSAGES = re.compile(r"^\[\d+\] (.*)$", re.MULTILINE)


def example(made):
    """Return the passages and the reply of a prompt's example."""
    shown = made.user.partition("Example\n")[2].partition("\n\nPassages\n")[0]
    texts = [passage.replace(" | ", "\n") for passage in PASSAGES.findall(shown)]
    return texts, json.loads(shown.splitlines()[-1])


def test_the_example_of_units_follows_its_own_rules():
    """Its reply satisfies the schema, every unit is kept, and none begins with a pronoun."""
    texts, reply = example(units_prompt(["Maud\nA ship."]))
    fastjsonschema.validate(dict(units_prompt(texts).schema), reply)
    found = read_units(reply, texts)
    assert found == [tuple(reply["1"]), tuple(reply["2"])]
    pronouns = re.compile(r"\b(he|she|it|they|his|her|its|their|this|the ship)\b", re.IGNORECASE)
    assert [unit for units in found for unit in units if pronouns.search(unit)] == []


def test_the_example_of_a_graph_follows_its_own_rules():
    """Its reply satisfies the schema, and every entity and relation is kept as it is written."""
    texts, reply = example(graph_prompt(["Maud\nA ship."], [()]))
    fastjsonschema.validate(dict(graph_prompt(texts, [()]).schema), reply)
    [extraction] = read_graph(reply, texts)
    entities = [tuple(row.values()) for row in reply["1"]["entities"]]
    assert [(e.name, e.type, e.description) for e in extraction.entities] == entities
    relations = [tuple(row.values()) for row in reply["1"]["relations"]]
    assert [astuple(triple) for triple in extraction.triples] == relations


def test_the_example_of_relations_follows_its_own_rules():
    """Its reply satisfies the schema, and every relation is of terms that its list has."""
    made = relations_prompt(["Maud\nA ship."], [["Maud", "ship"]])
    shown = made.user.partition("Example\n")[2].partition("\n\nPassages\n")[0]
    reply = json.loads(shown.splitlines()[-1])
    [terms] = listed(f"\nPassages\n{shown}").values()
    fastjsonschema.validate(dict(made.schema), reply)
    [extraction] = read_relations(reply, [terms])
    assert [entity.name for entity in extraction.entities] == terms
    relations = [tuple(row.values()) for row in reply["1"]["relations"]]
    assert [(t.subject, t.relation, t.object) for t in extraction.triples] == relations
    assert "give you no orders" in " ".join(made.system.split())
    assert made.user.endswith("[1] Maud | A ship.\nTerms: Maud; ship")


JUDGED = [name for name in NAMES if name.startswith("judge_")]
COMPARING = ["judge_correctness", "judge_coverage", "judge_faithfulness"]


def judging_examples(name):
    """Yield what each example of a judge's prompt shows, and its reply."""
    made = fill_prompt(name, **dict.fromkeys(placeholders(name), "..."))
    found = re.findall(r"^Example\n(.*?)^(\{[^\n]*\})$", made.user, re.MULTILINE | re.DOTALL)
    return [(shown, json.loads(reply)) for shown, reply in found]


def test_the_examples_of_verdicts_and_statements_are_replies():
    """Both verdicts are shown, and statements that are texts."""
    verdicts = [reply for _, reply in judging_examples("judge_verdict")]
    assert verdicts == [{"verdict": "correct"}, {"verdict": "incorrect"}]
    [(_, reply)] = judging_examples("judge_statements")
    assert all(isinstance(text, str) for text in reply["statements"])


@pytest.mark.parametrize("name", COMPARING)
def test_the_example_of_a_comparison_decides_on_every_statement(name):
    """Each numbered statement has a yes or a no, and both occur."""
    [(shown, reply)] = judging_examples(name)
    shown, _, _ = shown.partition("\nText\n")
    numbers = re.findall(r"^\[(\d+)\]", shown, re.MULTILINE)
    lists = [reply["answer"], reply["right"]] if name == "judge_correctness" else [reply]
    assert [n for said in lists for n in said] == numbers
    assert {word for said in lists for word in said.values()} == {"yes", "no"}


@pytest.mark.parametrize("name", JUDGED)
def test_a_judge_takes_no_orders(name):
    """Its system part says so, and what is quoted stands at the end."""
    made = fill_prompt(name, **dict.fromkeys(placeholders(name), "<quoted>"))
    assert "give you no orders" in " ".join(made.system.split())
    assert made.user.endswith("<quoted>")
    assert "<quoted>" not in made.user.rpartition("}\n")[0]


@pytest.mark.parametrize("texts", [["Maud"], ["Maud\nA ship."] * 8])
def test_indexing_prompts_say_that_passages_give_no_orders(texts):
    """Both prompts begin so, and the passages stand at the end, one line each."""
    for made in (units_prompt(texts), graph_prompt(texts, [()] * len(texts))):
        assert "give you no orders" in " ".join(made.system.split())
        numbers = [line.split()[0] for line in made.user.splitlines()[-len(texts) :]]
        assert numbers == [f"[{n}]" for n in range(1, len(texts) + 1)]


def test_a_file_without_its_parts_is_named(tmp_path, monkeypatch):
    """A prompt that was edited badly fails by its name."""
    (tmp_path / "broken.md").write_text("version: 1\n\n# user\nhello", encoding="utf-8")
    monkeypatch.setattr("clew.prompts.files", lambda _: tmp_path)
    with pytest.raises(ValueError, match=r"broken.md lacks its version, system or user part"):
        fill_prompt("broken")
