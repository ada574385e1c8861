"""The requests and keys of the guides of the server, as they are printed, on their own data."""

import json
import os
import re
import shlex
import shutil
import subprocess
from dataclasses import replace

import httpx2
import pytest
from click.testing import CliRunner

from clew.cli import main
from clew.extras.server import application
from clew.extras.server.serving import make_config
from tests.docs.conftest import ARTICLES
from tests.docs.pages import ROOT, blocks
from tests.extras.server.conftest import open_small
from tests.loopback import on_loopback

GUIDES = ROOT / "docs" / "guides"
ADDRESS = "localhost:8765"
LLM = "openai:m@http://127.0.0.1:9/v1"  # of which nothing is asked before a job has begun


def requests(guide):
    """Return the requests of a guide to a server of this machine, each as the shell has it."""
    found = []
    for _, text in blocks(GUIDES / guide, "bash"):
        # A command goes on behind a backslash, and within quotes.
        for command in re.split(r"\n(?=curl|clew|podman|docker|SITE)", text):
            if command.startswith("curl") and ADDRESS in command and "/ID?" not in command:
                found.append(pytest.param(command, id=f"{guide} {len(found) + 1}"))
    return found


def sent(command, address, folder, key="none"):
    """Run a command as it is printed; what it sends to the guides' address comes to a test's."""
    port = address.rpartition(":")[2]
    settings = f"connect-to = {ADDRESS}:127.0.0.1:{port}\nfail-with-body\nsilent\nshow-error\n"
    (folder / ".curlrc").write_text(settings, encoding="utf-8")
    environment = {**os.environ, "CURL_HOME": str(folder), "CLEW_KEY": key, "NO_PROXY": "*"}
    return subprocess.run(
        ["bash", "-euc", command],  # noqa: S607
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def polar(tmp_path_factory):
    """The index that the guides make, of some of its documents."""
    folder = tmp_path_factory.mktemp("guides")
    (folder / "polar").mkdir()
    for article in ARTICLES:
        shutil.copy(ROOT / "examples" / "polar" / f"{article}.md", folder / "polar")
    with open_small(folder / "polar.clew") as index:
        index.add(folder / "polar")
    return folder / "polar.clew"


needs_curl = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("bash")), reason="the guides ask by curl and bash"
)


@needs_curl
@pytest.mark.parametrize(
    "command", [*requests("server.md"), *requests("connect.md"), *requests("deploy.md")]
)
def test_a_request_is_answered(home, polar, tmp_path, command):
    with home.serving(indexes={"polar": polar}) as address:
        done = sent(command, address, tmp_path)
    assert done.returncode == 0, (done.stdout, done.stderr)
    if done.stdout.startswith("event: "):
        assert "event: answer" in done.stdout
        return
    found = json.loads(done.stdout)
    assert (
        found.get("items")
        or found.get("hits")
        or found.get("text")
        or (found.get("choices") or found.get("status"))
    )


@needs_curl
def test_requests_for_jobs_are_taken(jobs_home, tmp_path):
    """In the order in which they stand; those that need an LLM have one that is not asked yet."""
    (tmp_path / "march.md").write_text("# March\n\nThe Fram drifts.\n", encoding="utf-8")
    shutil.copy(tmp_path / "march.md", tmp_path / "report.pdf")
    settings = replace(jobs_home.settings, specs=replace(jobs_home.settings.specs, llm=LLM))
    commands = [each.values[0] for each in requests("jobs.md")]
    assert len(commands) > 5
    with on_loopback(make_config(application(settings), settings)) as address:
        for command in commands:
            done = sent(command, address, tmp_path)
            assert done.returncode == 0, (command, done.stdout)
            assert json.loads(done.stdout)["state"] in {"queued", "running", "done"}


def test_keys_are_made_as_printed(home, polar, monkeypatch):
    """Each command does what it says; the key that is bound to a filter sees what fulfils it."""
    monkeypatch.setenv("CLEW_HOME", str(home.folder))
    lines = [
        line.removeprefix("$ clew ")
        for _, text in blocks(GUIDES / "server.md", "console")
        for line in text.splitlines()
        if line.startswith("$ clew keys")
    ]
    keys = {}
    for line in lines:
        done = CliRunner().invoke(main, shlex.split(line))
        assert done.exit_code == 0, (line, done.output)
        if line.startswith("keys add"):
            keys[shlex.split(line)[2]] = done.stdout.strip().splitlines()[-1]
    with home.serving(indexes={"polar": polar}) as address:
        headers = {"Authorization": f"Bearer {keys['reader']}"}
        found = httpx2.get(f"{address}/api/v1/indexes/polar/documents", headers=headers).json()
    assert {each["title"][0] for each in found["items"]} == {"F"}
