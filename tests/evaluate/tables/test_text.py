"""A report in the terminal: what is peculiar to it, beside what `test_report` reads."""

from __future__ import annotations

from typing import Any

import pytest

from clew.evaluate import Setting, render
from clew.types import Usage
from tests.evaluate.reports import report, rows


def line(text: str, beginning: str) -> str:
    """Return the one line that begins like that."""
    [found] = [each for each in text.splitlines() if each.startswith(beginning)]
    return found


@pytest.mark.parametrize("hotpot", [0.25, 0.5])
def test_other_rules_of_f1_are_shown_where_they_change_something(hotpot: float) -> None:
    """A column that repeats another's says nothing."""
    scores = [{"EM": 0.0, "F1 plain": 0.5, "F1 hotpot": hotpot, "F1 ket": 0.5}] * 2
    text = render(report([Setting("clue")], [rows("clue", scores)]))
    header = line(text, "answers")
    assert "F1 plain" in header
    assert ("F1 hotpot" in header) == (hotpot != 0.5)
    assert "F1 ket" not in header


def test_what_a_judge_says_and_costs_is_shown() -> None:
    """Its scores among the answers, its cost in a table of its own, its failures in the notes."""
    scores: list[dict[str, Any]] = [{"judge": 1.0}, {"judge": 0.0}, {}]
    judged = rows("clue", scores, judge_usage=Usage(seconds={"llm": 1.5}, llm_calls=2))
    judged[2:] = rows("clue", [{}, {}], unparsable=("judge",), judge_error="EndpointError: down")
    judged = [*judged[:2], judged[3]]
    text = render(report([Setting("clue")], [judged]))
    assert line(text, "answers").split() == ["answers", "judge"]
    assert line(text, "clue     0.500")
    assert line(text, "judge, a question").split()[3:5] == ["p50", "s"]
    assert "replies of the judge that could not be read, judge: 1" in text
    failed = "clue: the judge failed on 1 of 3 answers, not in its means; first: "
    assert f"{failed}EndpointError: down" in text


def test_replies_of_the_ledger_are_told() -> None:
    """They cost nothing this time, so the tables say too little of what the setting costs."""
    free = Usage(recorded_calls=2)
    measured = rows("clue", [{"EM": 1.0}] * 3, usage=free, answer_usage=Usage(llm_calls=1))
    text = render(report([Setting("clue")], [measured]))
    assert "clue: LLM calls that the ledger replied to, at no cost: 6 of search\n" in text
    assert "ledger" not in render(report([Setting("clue")], [rows("clue", [{"EM": 1.0}])]))


def test_a_setting_without_a_metric_has_a_dash() -> None:
    """A peer without answers stands beside settings with them."""
    measured = [rows("clue", [{"recall@5": 1.0, "EM": 1.0}]), rows("peer", [{"recall@5": 0.5}])]
    text = render(report([Setting("clue"), Setting("peer")], measured))
    answers = text[text.index("answers") :].splitlines()
    assert answers[1].split() == ["clue", "1.000"]
    assert answers[2].split() == ["peer", "-"]
