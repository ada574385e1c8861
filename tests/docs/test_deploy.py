"""What `deploy/` and its guide tell the server is what the server understands."""

import json
import re
import shlex
import tomllib

import click
import pytest
import yaml

from clew import __version__
from tests.docs.pages import ROOT, blocks

main = pytest.importorskip("clew.cli").main
health = pytest.importorskip("clew.extras.server.health")

GUIDE = ROOT / "docs" / "guides" / "deploy.md"
DEPLOY = ROOT / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
UNIT = (DEPLOY / "clew.service").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = COMPOSE["services"]
PORT = "8765"


def of_the_container():
    """Return what the Containerfile starts, and the compose file."""
    [entry] = re.findall(r"^ENTRYPOINT (.+)$", CONTAINERFILE, re.MULTILINE)
    [command] = re.findall(r"^CMD (.+)$", CONTAINERFILE, re.MULTILINE)
    composed = [re.sub(r"\$\{\w+:-(\w*)\}", r"\1", each) for each in SERVICES["clew"]["command"]]
    return [json.loads(entry) + json.loads(command), ["clew", *composed]]


def of_the_text():
    """Return each call of `clew` in the guide, the unit and the head of the compose file."""
    texts = [text.replace("\\\n", " ") for _, text in blocks(GUIDE, "bash")]
    lines = [line for text in texts for line in text.splitlines()]
    lines += re.findall(r"^ExecStart=(.+)$", UNIT, re.MULTILINE)
    lines += re.findall(r"^# First: (.+)$", (DEPLOY / "compose.yaml").read_text(), re.MULTILINE)
    for line in lines:
        found = re.search(
            r"(?:^|\s)(?:/opt/clew/bin/)?clew ((?:serve|keys|index|restore) .+)", line
        )
        if found:
            yield ["clew", *shlex.split(found[1])]


def of_the_chart():
    """Return what the chart starts, without the values that are given for it."""
    template = (DEPLOY / "helm" / "templates" / "server.yaml").read_text(encoding="utf-8")
    options = re.findall(r"^ {12}- (--\S+)", template, re.MULTILINE)
    return ["clew", "serve", *(each.replace("={{", "=x") for each in options)]


@pytest.mark.parametrize(
    "words", [*of_the_container(), of_the_chart(), *of_the_text()], ids=" ".join
)
def test_each_call_is_one_that_clew_takes(words):
    command, context, rest = main, None, words[1:]
    try:
        while isinstance(command, click.Group):
            name, rest = rest[0], rest[1:]
            command = command.commands[name]
        context = command.make_context(words[0], rest)
    except click.ClickException as error:
        pytest.fail(error.format_message())
    assert context.params


def test_calls_are_found():
    assert {words[1] for words in of_the_text()} == {"serve", "keys", "index", "restore"}


@pytest.mark.parametrize("text", [UNIT, GUIDE.read_text(encoding="utf-8")], ids=["unit", "guide"])
def test_variables_are_those_of_options(text):
    named = set(re.findall(r"CLEW_SERVE_(\w+)", text))
    options = {name for each in main.commands["serve"].params for name in each.opts}
    assert named
    assert {f"--{name.lower().replace('_', '-')}" for name in named} <= options


def test_the_image_has_what_it_is_made_of():
    kept = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = [
        source
        for line in re.findall(r"^COPY (?!--)(.+)$", CONTAINERFILE, re.MULTILINE)
        for source in line.split()[:-1]
    ]
    assert sorted(f"!{each}" for each in copied) == sorted(k for k in kept if k[0] == "!")
    assert all((ROOT / each).exists() for each in copied)


def test_ports_paths_and_volumes_agree():
    """The image, the compose file and the guide mean the same port, volumes and proxy."""
    assert re.findall(r"^EXPOSE (.+)$", CONTAINERFILE, re.MULTILINE) == [PORT]
    assert [o.default for o in main.commands["serve"].params if o.name == "port"] == [int(PORT)]
    assert f"{{$CLEW:clew:{PORT}}}" in (DEPLOY / "Caddyfile").read_text(encoding="utf-8")
    assert SERVICES["caddy"]["volumes"][0] == "./Caddyfile:/etc/caddy/Caddyfile:ro"
    assert SERVICES["open-webui"]["environment"]["OPENAI_API_BASE_URL"] == f"http://clew:{PORT}/v1"
    checked = re.search(rf"http://127\.0\.0\.1:{PORT}(/\w+)", CONTAINERFILE)[1]
    assert checked in health.OPEN_PATHS
    [volumes] = re.findall(r"^VOLUME (.+)$", CONTAINERFILE, re.MULTILINE)
    mounted = [each.split(":") for each in SERVICES["clew"]["volumes"]]
    assert [place for _, place in mounted] == json.loads(volumes)
    assert {name for name, _ in mounted} <= set(COMPOSE["volumes"])
    for place in json.loads(volumes):
        assert f":{place} " in GUIDE.read_text(encoding="utf-8")
    words = SERVICES["clew"]["command"]
    address = SERVICES["caddy"]["networks"]["inside"]["ipv4_address"]
    assert words[words.index("--proxy") + 1] == address


def test_the_chart_is_of_this_version_and_this_image():
    chart = yaml.safe_load((DEPLOY / "helm" / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__
    template = (DEPLOY / "helm" / "templates" / "server.yaml").read_text(encoding="utf-8")
    assert f"containerPort: {PORT}" in template
    assert set(re.findall(r"path: (/\w+)", template)) == {*health.OPEN_PATHS}
    [user] = set(re.findall(r"runAs(?:User|Group): (\d+)|fsGroup: (\d+)", template)[0]) - {""}
    assert f"USER {user}:{user}" in CONTAINERFILE
    [volumes] = re.findall(r"^VOLUME (.+)$", CONTAINERFILE, re.MULTILINE)
    assert set(json.loads(volumes)) | {"/tmp"} == set(re.findall(r"mountPath: (\S+)}", template))  # noqa: S108


def test_registries_of_mcp_start_what_there_is():
    server = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    [package] = server["packages"]
    assert server["version"] == package["version"] == __version__
    assert f"mcp-name: {server['name']} " in (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(server["description"]) <= 100  # as the registry bounds it
    [extras] = re.findall(r"clew\[(.+)\]", package["runtimeArguments"][0]["value"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    words = [each.get("value", "my.clew") for each in package["packageArguments"]]
    assert main.commands[words[0]].make_context("clew", words[1:])
