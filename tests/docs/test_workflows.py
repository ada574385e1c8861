"""What workflows call is there, and nothing in them is more than it has to be."""

import re

import pytest
import yaml

from tests.docs.pages import ROOT

FOLDER = ROOT / ".github" / "workflows"
FLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in FOLDER.glob("*.yml")}
JOBS = {f"{flow}-{name}": job for flow, each in FLOWS.items() for name, job in each["jobs"].items()}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^([a-z][a-z-]*):.*## ", MAKEFILE, re.MULTILINE))


def steps(job):
    matrix = job.get("strategy", {}).get("matrix", {}).get("target", [""])
    for step in job.get("steps", ()):
        yield from (step | {"run": step.get("run", "").replace('"$TARGET"', t)} for t in matrix)


@pytest.mark.parametrize("name", JOBS)
def test_what_is_made_can_be_made(name):
    called = [
        word
        for step in steps(JOBS[name])
        for words in re.findall(r"\bmake ([^\n]+)", step["run"])
        for word in words.split()
        if "=" not in word
    ]
    assert set(called) <= TARGETS
    assert called or name.split("-")[1] in {"tests", "windows", "attest", "pypi", "github"}


@pytest.mark.parametrize("name", JOBS)
def test_an_action_is_one_commit(name):
    for step in steps(JOBS[name]):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step.get("uses", f"a@{'0' * 40}"))


@pytest.mark.parametrize("name", JOBS)
def test_a_job_may_do_what_it_says(name):
    assert FLOWS[name.split("-")[0]]["permissions"] == {}
    assert JOBS[name]["permissions"]


def test_pull_requests_write_nothing_and_see_no_secret():
    assert "pull_request_target" not in FLOWS["tests"][True]  # YAML's name of "on"
    granted = {v for job in FLOWS["tests"]["jobs"].values() for v in job["permissions"].values()}
    assert granted == {"read"}
    assert not any("secrets." in path.read_text("utf-8") for path in FOLDER.glob("*.yml"))


def test_every_version_that_is_promised_is_tested():
    promised = re.findall(
        r'"Programming Language :: Python :: (3\.\d+)"', (ROOT / "pyproject.toml").read_text()
    )
    matrix = FLOWS["tests"]["jobs"]["suite"]["strategy"]["matrix"]
    assert matrix["python"] == promised
