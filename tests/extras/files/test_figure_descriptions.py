"""An LLM that reads pictures describes figures: once each, within the budget, marked as its."""

import base64
import os
import signal
from dataclasses import replace

import pytest
from click.testing import CliRunner

import clew
from clew import Budget, testing
from clew.cli import main
from clew.errors import BudgetSpent, InputError
from clew.models import Prompt, Turn
from clew.models.ledger import Request
from clew.models.sqlite import digest_parts
from tests.extras.files.kettle import LID, SWITCH
from tests.extras.models.batch_endpoint import completion
from tests.index.store.deadly import fork
from tests.models.server import Answer
from tests.readers.writers import picture

pytest.importorskip("httpx2")

from clew.extras.models.openai import OpenAIChat

SAYS = {LID: "- A photo of a steel lid.\n\n* Its handle is round.", SWITCH: "A red knob is shown."}


class Eyes:
    """An endpoint that describes pictures, or does something else at the n-th one."""

    def __init__(self, at=0, otherwise=None):
        self.seen, self.at, self.otherwise = [], at, otherwise

    def __call__(self, request):
        if request.json is None:  # is it a llama.cpp server?
            return Answer({}, status=404)
        [*_, message] = request.json["messages"]
        text, shown = message["content"]
        assert text["type"] == "text"
        head, _, data = shown["image_url"]["url"].partition(",")
        assert head == "data:image/png;base64"
        self.seen.append(base64.b64decode(data))
        if len(self.seen) == self.at:
            return self.otherwise()
        return Answer(completion(SAYS.get(self.seen[-1], "Nothing can be seen."), 1_000, 30))


@pytest.fixture
def eyes(server):
    server.respond = Eyes()
    return server.respond


@pytest.fixture
def opened(server, tmp_path):
    """Open the index whose LLM is the endpoint."""
    chat = OpenAIChat(model="see-1", base_url=server.url, concurrency=1)

    def open_index(**given):
        return clew.open(tmp_path / "index", models=testing.models(llm=chat), **given)

    return open_index


def texts(index):
    return [each.text for each in index.snapshot().documents(range(len(index)))]


def test_each_picture_is_described_once_below_its_caption(kettle, opened, eyes, tmp_path):
    with opened() as index:
        added = index.add(kettle, describe_figures=True)
        assert eyes.seen == [LID, SWITCH]
        assert (added.usage.llm_calls, added.usage.prompt_tokens) == (2, 2_000)
        first, second = texts(index)
        block = (
            "Figure 1: The lid and the spout of the kettle.\n\n"
            "Description of Figure 1 by the model see-1:\n"
            "- A photo of a steel lid.\n- Its handle is round.\n\nThe spout is"
        )
        assert block in first
        assert "[Picture: The red knob]\n\nDescription of a picture by the model see-1:" in second
    with clew.open(tmp_path / "index", models=testing.models()) as index:
        answer = index.ask("Which shape has its handle?", method="bm25")
        cited = answer.citations[0]
        assert "Its handle is round." in cited.quote
        assert cited.before.startswith("Description of Figure 1 by the model see-1:")
        assert [each.caption for each in cited.figures] == [
            "Figure 1: The lid and the spout of the kettle."
        ]


def test_described_figures_stay_described_without_the_option(kettle, opened, eyes, write):
    with opened() as index:
        index.add(kettle, describe_figures=True)
        before = texts(index)
        report = index.add(kettle).report
        assert (report.n_unchanged, len(eyes.seen)) == (2, 2)
        write("docs/lid.png", picture(7))
        assert index.add(kettle).report.changed == ["docs/kettle.html", "docs/pot.html"]
        assert "steel" not in "".join(texts(index))
        assert len(eyes.seen) == 2
        write("docs/lid.png", LID)
        index.add(kettle)
        assert texts(index) == before
        assert len(eyes.seen) == 2


def test_nothing_is_asked_without_the_option(kettle, opened, eyes):
    with opened() as index:
        assert index.add(kettle).usage.llm_calls == 0
        assert "Description of" not in "".join(texts(index))
    assert eyes.seen == []


def test_a_run_that_is_killed_pays_for_no_picture_twice(kettle, opened, server, tmp_path):
    path = tmp_path / "killed"

    def kill():
        os.kill(int(path.read_text()), signal.SIGKILL)
        return Answer({}, status=500)

    eyes = server.respond = Eyes(at=2, otherwise=kill)
    child = fork()
    if not child:
        path.write_text(str(os.getpid()))
        with opened() as index:
            index.add(kettle, describe_figures=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert eyes.seen == [LID, SWITCH]
    with opened() as index:
        index.add(kettle, describe_figures=True)
        assert eyes.seen == [LID, SWITCH, SWITCH]
        assert index.spent().llm_calls == 1


def test_budgets_hold_and_the_same_command_goes_on(kettle, opened, eyes):
    with opened() as index:
        with pytest.raises(BudgetSpent, match="leaves no room"):
            index.add(kettle, describe_figures=True, budget=Budget(tokens=4_500))
        assert eyes.seen == [LID]
        index.add(kettle, describe_figures=True, budget=Budget(tokens=4_500))
        assert eyes.seen == [LID, SWITCH]


def test_a_plan_says_the_number_and_the_cost_before(kettle, opened, eyes, tmp_path):
    with opened(prices={"see-1": (1.0, 2.0)}) as index:
        [*_, first] = index.plan(kettle, describe_figures=True).estimates
        assert (first.setting, first.calls, first.n_known) == ("descriptions of 2 figures", 2, 0)
        assert first.prompt_tokens > 2 * 2_600
        assert first.cost_usd == pytest.approx(first.prompt_tokens / 1e6 + 300 * 2 / 1e6)
        assert not any("figure" in each.setting for each in index.plan(kettle).estimates)
        index.add(kettle, describe_figures=True)
        [*_, again] = index.plan(kettle, describe_figures=True).estimates
        assert (again.calls, again.n_known, again.prompt_tokens) == (0, 2, 0)


def test_a_figure_that_the_endpoint_says_nothing_of_stays(kettle, opened, server):
    eyes = server.respond = Eyes(at=2, otherwise=lambda: Answer(completion("", 900, 0)))
    with opened() as index:
        index.add(kettle, describe_figures=True)
        assert "a steel lid" in texts(index)[0]
        assert "Description of a picture" not in texts(index)[1]
        assert len(eyes.seen) == 2


def test_an_llm_that_reads_no_pictures_is_refused_before_anything_is_read(kettle, tmp_path):
    for llm in (None, testing.ScriptedChat([])):
        with clew.open(tmp_path / "index", models=testing.models(llm=llm)) as index:
            for act in (index.add, index.plan):
                with pytest.raises(InputError, match="an endpoint that reads pictures"):
                    act(kettle, describe_figures=True)
            assert len(index) == 0


def test_an_endpoint_without_eyes_ends_the_run_with_its_words(kettle, opened, server):
    error = {"error": {"message": "image input is not supported"}}
    server.script(Answer(error, status=400))
    with opened() as index, pytest.raises(clew.errors.ModelError, match="image input is not"):
        index.add(kettle, describe_figures=True)


def test_keys_of_prompts_without_pictures_are_the_same_bytes():
    prompt = Prompt(user="Who?", system="You answer.", version="v1", max_tokens=20)
    key = digest_parts(["see-1", "v1", "You answer.", "Who?", "", "20", "No."])
    assert Request("see-1", prompt, [Turn("No.")]).key() == key
    shown = replace(prompt, picture="data:image/png;base64,AAAA")
    assert Request("see-1", shown, [Turn("No.")]).key() != key


def test_the_command_describes_figures(kettle, server, eyes, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    llm = f"openai:see-1@{server.url}"
    given = ["index", kettle, "--index", str(tmp_path / "i"), "--llm", llm]
    result = CliRunner().invoke(main, [*given, "--describe-figures"])
    assert result.exit_code == 0, result.output
    assert len(eyes.seen) == 2
