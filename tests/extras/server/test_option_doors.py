"""Each option is described once: every door has it, and refuses a wrong value in one sentence."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from clew.answers.question import ExportOptions, Question
from clew.api import Index
from clew.base.options import options_of, plain_options
from clew.cli import main
from clew.errors import InputError
from clew.extras.server.endpoints import parse_body
from clew.extras.server.jobs.options import ExtractOptions, IndexOptions
from clew.extras.server.rest.asking import AnswerBody, PlanBody, SearchBody
from clew.index.options import AddOptions, PlanOptions

COMMANDS = {
    "index": (AddOptions, "index"),
    "plan": (PlanOptions, "plan"),
    "ask": (Question, "answer"),
    "search": (Question, "search"),
    "export": (ExportOptions, "export"),
}
BODIES = [
    (AddOptions, "upload", IndexOptions),
    (AddOptions, "extract", ExtractOptions),
    (PlanOptions, "body", PlanBody),
    (Question, "answer", AnswerBody),
    (Question, "search", SearchBody),
]
# An option has its sentence where its type alone does not tell what is right.
WRONG = [
    (name, option, "nothing" if option.choices else -1)
    for name, option in plain_options(AddOptions, "upload").items()
    if option.choices or option.type in {int, float}
]
JOBS = Path(__file__).parents[3] / "docs" / "guides" / "jobs.md"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_every_option(command):
    value, door = COMMANDS[command]
    params = {param.name: param for param in main.commands[command].params}
    for name, option in plain_options(value, door).items():
        assert params[name].opts == [option.flag]
        assert option.doc.removesuffix(".") in params[name].help or option.off == params[name].help


@pytest.mark.parametrize(("value", "door", "body"), BODIES)
def test_a_body_has_every_option_with_its_words(value, door, body):
    properties = body.model_json_schema()["properties"]
    for name, option in plain_options(value, door).items():
        described = properties[name]
        if "description" in described:  # a body may declare an option by itself
            assert described["description"] == option.doc
        if option.choices:
            assert list(option.choices) == described["anyOf"][0]["enum"]


@pytest.mark.parametrize(
    ("method", "value"), [(Index.add, AddOptions), (Index.plan, PlanOptions)], ids=["add", "plan"]
)
def test_a_method_explains_every_option(method, value):
    lines = {line.strip() for line in method.__doc__.splitlines()}
    assert {f"{name}: {option.doc}" for name, option in options_of(value).items()} <= lines


@pytest.mark.parametrize(("name", "option", "wrong"), WRONG, ids=[name for name, *_ in WRONG])
def test_a_wrong_value_is_refused_in_one_sentence_at_every_door(name, option, wrong):
    said = f"{option.text_kind.words}, not "
    with pytest.raises(InputError) as raised:
        AddOptions(**{name: wrong})
    assert str(raised.value) == f"the argument '{name}' is {said}{wrong!r}"
    with pytest.raises(InputError) as raised:
        parse_body(IndexOptions, json.dumps({name: wrong}).encode(), at="options")
    assert str(raised.value) == f"options.{name}: {said}{wrong!r}"
    result = CliRunner().invoke(main, ["index", "docs", f"{option.flag}={wrong}"])
    assert result.exit_code == 2
    assert f"{said}'{wrong}'" in " ".join(result.stderr.split())


def test_the_guide_names_every_option_of_an_upload():
    guide = JOBS.read_text(encoding="utf-8")
    assert [name for name in plain_options(AddOptions, "upload") if f"`{name}`" not in guide] == []


def test_an_option_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="did you mean 'gitignore'"):
        Index(tmp_path).add("docs", gitignor=False)
