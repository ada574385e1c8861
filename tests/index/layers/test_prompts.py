"""What every prompt over texts keeps to, whatever it asks an LLM for."""

from functools import partial

import pytest

from clew.index.layers import graph_extraction, units
from clew.index.layers.graph_form import GraphForm
from clew.index.layers.salient import TermSettings
from clew.index.type_schema import read_schema
from clew.text import tokens
from tests.index.layers.texts import BRINE, FRAM, NANSEN, of_tokens, open_objects

HINTS = (
    "Captain Halvorsen, Dr Lindqvist, Greenlander Mathias, observatory, Potsdam, glacier, "
    "3 November, depots, sledges, expedition, instruments, stores"
).split(", ")


def graph_prompt(texts):
    return graph_extraction.graph_prompt(texts, [HINTS if len(texts) == 1 else ()] * len(texts))


def prompt_of(form, names=("Fram", "ice")):
    """Return what makes a form's prompt, and what it expects in reply."""
    expected = partial(graph_extraction.expected_tokens, form=form)
    return lambda texts: graph_extraction.graph_prompt(
        texts, [names] * len(texts), form=form
    ), expected


SCHEMA = read_schema({"entities": {"ship": "a vessel"}, "relations": {"built by": "its maker"}})
FORMS = (
    GraphForm(terms=TermSettings()),
    GraphForm.from_options(SCHEMA, "short", "on"),
    GraphForm.from_options("", "full", "off"),
)


@pytest.mark.parametrize(
    ("prompt", "expected_tokens"),
    [
        (graph_prompt, graph_extraction.expected_tokens),
        *map(prompt_of, FORMS),
        (units.units_prompt, units.expected_tokens),
    ],
)
def test_a_prompt_is_small_strict_and_leaves_room(prompt, expected_tokens):
    """Instructions are paid for once; a reply may have twice what is expected of its texts."""

    def cost(*texts):
        made = prompt(texts)
        return tokens.count(made.system) + tokens.count(made.user)

    assert cost(of_tokens(256)) < 600
    assert cost(NANSEN, FRAM, BRINE) < 0.5 * sum(map(cost, (NANSEN, FRAM, BRINE)))
    schema = prompt([NANSEN, FRAM]).schema
    assert list(schema["properties"]) == ["1", "2"]
    assert open_objects(schema) == []
    assert 0 == expected_tokens([]) < expected_tokens([BRINE]) < expected_tokens([BRINE, NANSEN])
    for texts in ([BRINE], [NANSEN, FRAM], [of_tokens(256)]):
        assert 2 * expected_tokens(texts) <= prompt(texts).max_tokens < 3000
