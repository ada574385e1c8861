"""The JSON Schemas beside the documentation are of what is printed and read."""

import json
import tomllib

import jsonschema
import pytest
from click.testing import CliRunner

from clew.cli import main
from docs.site import schemas
from tests.docs.pages import ROOT, blocks

SETTINGS = schemas.describe_settings()
# In this order.
RUN = {
    "index": "index docs --triples cooccurrence",
    "ask": "ask",
    "search": "search",
    "hop": "hop",
    "plan": "plan docs --llm openai:gpt-4o-mini",
    "themes": "themes",
    "changes": "changes 0..",
    "show": "show",
    "list": "list",
    "export": "export graph.json",
    "methods": "methods",
    "check": "check",
    "backup": "backup index.tar",
    "restore": "restore index.tar --into restored",
    "split": "split shards 2",
    "import": "import ships.tsv",
    "import-triples": "import-triples triples.jsonl",
    "merge": "merge",
    "unmerge": "unmerge",
    "edit": "edit --type ship",
    "remove": "remove docs/tea.md",
    "compact": "compact",
    "config": "config --all",
}
GIVEN = {
    "ask": "Who built the Fram?", "search": "Fram",
    "hop": "Fram", "merge": "Fram Nansen", "unmerge": "Fram",
    "edit": "Fram",
}  # fmt: skip


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What each command prints with --json, by the names of the schemas."""
    folder = tmp_path_factory.mktemp("schemas")
    (folder / "docs").mkdir()
    for name, text in {
        "fram": "The Fram was built by Colin Archer for Nansen. Nansen sailed north.",
        "larvik": "Colin Archer was born in Larvik. Larvik lies in Norway.",
        "tea": "Tea was grown in Assam by Robert Bruce.",
    }.items():
        front = f"---\nlabel: {name[0]}\n---\n# {name.title()}\n\n{text}\n"
        (folder / "docs" / f"{name}.md").write_text(front, encoding="utf-8")
    (folder / "ships.tsv").write_text("Fram\tbuilt by\tColin Archer\n", encoding="utf-8")
    triples = {"id": "docs/fram.md", "triples": [["Fram", "built by", "Colin Archer"]]}
    (folder / "triples.jsonl").write_text(json.dumps(triples) + "\n", encoding="utf-8")
    runner, outputs = CliRunner(), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, words in RUN.items():
            rest = GIVEN.get(name, "")
            last = rest.split() if name == "merge" else [rest] if rest else []
            done = runner.invoke(main, [*words.split(), *last, "--json"])
            assert done.exit_code == 0, (name, done.output)
            outputs[name] = json.loads(done.stdout)
    return outputs


def test_every_command_is_run():
    assert set(RUN) == set(schemas.OUTPUTS)
    with_json = {
        name
        for name, command in main.commands.items()
        if any(param.name == "as_json" for param in command.params)
    }
    assert with_json - set(schemas.OUTPUTS) == {"eval"}  # whose numbers are named by the user


@pytest.mark.parametrize("command", list(schemas.OUTPUTS))
def test_what_is_printed_is_as_its_schema_says(printed, command):
    schema = schemas.describe_output(command)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(printed[command], schema, jsonschema.Draft202012Validator)
    if schema.get("properties"):
        assert set(printed[command]) == set(schema["properties"])


def test_a_schema_refuses_what_another_command_prints(printed):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(printed["search"], schemas.describe_output("ask"))


def test_the_guides_settings_fulfil_the_schema():
    jsonschema.Draft202012Validator.check_schema(SETTINGS)
    [text] = [text for _, text in blocks(ROOT / "docs" / "guides" / "config.md", "toml")]
    jsonschema.validate(tomllib.loads(text), SETTINGS)


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        ("min-cosine = 0.2\n[ask]\nchunks = 3\nas_of = '2024'", False),
        ("into = 'a.clew'\nllm = 'openai:m'\n[ask]\nchunks = 3\nas_of = '2024'", True),
        ("[index]\ngitignore = false\nexclude = ['a']", True),
        ("[index]\nno-gitignore = true", False),
        ("chunkz = 3", False),
        ("[as]", False),
        ("[prices]\nm = [1]", False),
        ("[prices]\nm = [1, 2.5]", True),
    ],
)
def test_the_schema_takes_what_clew_takes(text, is_taken, tmp_path):
    (tmp_path / "clew.toml").write_text(text, encoding="utf-8")
    settings = {"CLEW_CONFIG": str(tmp_path / "clew.toml")}
    assert (CliRunner().invoke(main, ["config"], env=settings).exit_code == 0) == is_taken
    validator = jsonschema.Draft202012Validator(SETTINGS)
    assert validator.is_valid(tomllib.loads(text)) == is_taken


@pytest.mark.parametrize("text", ["[ask]\nchunks = 0", "[ask]\nwhere = 3", "[ask]\nanyway = 1"])
def test_the_schema_knows_what_values_are(text):
    assert not jsonschema.Draft202012Validator(SETTINGS).is_valid(tomllib.loads(text))
