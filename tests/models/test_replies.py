"""JSON in a model's words, what is wrong with them, and how it is asked again."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.models import Prompt, Turn
from clew.models.replies import ReadReply, is_open, json_values, messages, read, repair_reply

pytest.importorskip("fastjsonschema")
pytest.importorskip("json_repair")

PROSE = st.text(st.characters(exclude_characters="[]{}`", exclude_categories=["Cs"]))
NUMBERS = st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(
    VALUES.filter(lambda value: isinstance(value, list | dict)),
    PROSE,
    PROSE,
    st.sampled_from(["", "json", "JSON"]),
)
def test_any_json_in_a_fence_is_read_back(value, before, after, language):
    """Whatever the value and whatever the model says around its code block."""
    text = f"{before}\n```{language}\n{json.dumps(value, indent=2)}\n```\n{after}"
    assert next(json_values(text)) == value


@given(VALUES.filter(lambda value: isinstance(value, list | dict)), PROSE, PROSE)
def test_any_object_or_array_in_prose_is_read_back(value, before, after):
    """Without a code block the first bracket begins the value."""
    assert next(json_values(before + json.dumps(value, ensure_ascii=False) + after)) == value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (']}{"a": [1]}] {', [{"a": [1]}]),
        ('[[[ {"a": 1} ]', [[{"a": 1}]]),
        ("[NaN] [1] [1,]", [[1]]),
        ('{"a" {"a": 1} "x"', [{"a": 1}]),
        ('"[1" {"b": [2]} ```', [{"b": [2]}]),
    ],
)
def test_values_are_found_in_nonsense(text, expected):
    """Brackets that close nothing, and what is nearly JSON, hide no value behind them."""
    assert list(json_values(text)) == expected


@given(st.text(st.sampled_from('[]{}",:1 \\u`\n'), max_size=60))
def test_nonsense_is_passed_over(text):
    """Whatever a model writes, what is read is JSON that stands there, and some if there is any."""
    found = list(json_values(text))
    parts = {text[a:b] for a in range(len(text)) for b in range(a + 1, len(text) + 1)}
    there = [value for part in parts for value in parsed(part)]
    assert all(value in there for value in found)
    assert found or not any(isinstance(value, list | dict) for value in there)


def parsed(text):
    """Return the value of a text that is JSON, in a list, or an empty one."""
    try:
        return [json.loads(text, parse_constant=no_json)]
    except ValueError:
        return []


def no_json(name):
    raise ValueError(name)


@pytest.mark.parametrize("text", ["[" * 50_000, '{"a":' * 20_000, '"' + "[" * 50_000])
def test_a_hostile_reply_costs_little(text):
    """Ten thousands of brackets neither hang nor overflow the reader."""
    assert list(json_values(text)) == []


# Replies that are nearly JSON

MENDED = [
    ('{"1": ["Fram", "Gjøa",],}', {"1": ["Fram", "Gjøa"]}),
    ("```json\n{'1': ['Fram', \"Nansen's ship\"]}\n```", {"1": ["Fram", "Nansen's ship"]}),
    ("Here it is:\n```json\n[1, 2,]", [1, 2]),
    ('Here: {"1": ["Fram"] "2": ["Gj\\u00f8a"]} Anything else?', {"1": ["Fram"], "2": ["Gjøa"]}),
    ('["She sailed\nsouth."]', ["She sailed\nsouth."]),
    ('["She was called "Fram" in Norway."]', ['She was called "Fram" in Norway.']),
    ('{"known": True, "seen": [False,]}', {"known": True, "seen": [False]}),
    ("[“Fram”, “Gjøa”]", ["Fram", "Gjøa"]),
]
LEFT = [
    ('{"1": ["Fram"], "2": ["Gj', {"1": ["Fram"], "2": []}),
    ('{"1": ["Fram"], "2": ["Gjøa"]', {"1": ["Fram"], "2": ["Gjøa"]}),
    ('["Fram", "Gjøa", ...]', ["Fram", "Gjøa"]),
    ('{"1": ["Fram"], // the others are alike\n}', {"1": ["Fram"]}),
    ("['it's', 'he's']", None),
    ("[NaN,]", [None]),
    ('["\\ud800",]', [None]),
    ("nothing", None),
]


@pytest.mark.parametrize(("text", "value"), LEFT, ids=range(len(LEFT)))
def test_of_what_is_cut_off_or_unclear_the_rest_is_kept(text, value):
    """No string is cut, or made of two."""
    assert all(
        (found, value) == (value, found) or (value is None and not any(strings(found)))
        for found in repair_reply(text, is_cut=is_open(text))
    )


@pytest.mark.parametrize("text", ["[" * 5_000 + "]" * 5_000, '["' * 1_000])
def test_a_hostile_reply_is_not_repaired(text):
    """Nor does it end the run."""
    assert not any(strings(list(repair_reply(text))))


@pytest.mark.parametrize(("text", "value"), MENDED, ids=range(len(MENDED)))
def test_commas_and_quotes_are_mended(text, value):
    """All words of the reply are in the value, and no others."""
    assert value not in json_values(text)
    assert list(repair_reply(text)) == [value]


def test_an_escaped_form_feed_is_one():
    assert list(repair_reply(r'{"a": "x\f", "b": "\\f"', is_cut=True)) == [{"a": "x\f", "b": "\\f"}]


@given(VALUES.filter(lambda value: isinstance(value, list | dict)), st.data())
def test_what_is_cut_off_has_whole_strings_alone(value, data):
    """At whatever character a reply ends."""
    text = json.dumps(value, ensure_ascii=False)
    text = text[: data.draw(st.integers(0, len(text) - 1))]
    whole = {json.loads(each) for each in re.findall(r'"(?:[^"\\]|\\.)*"', text)}
    assert {*strings(list(repair_reply(text, is_cut=True)))} <= {*whole, ""}


def strings(value):
    """Yield the strings in a value, but for keys."""
    if isinstance(value, str):
        yield value
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from strings(each)


# What is wrong, and asking again

CLOSED = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
ASKED = Prompt(user="Who led?", system="Be brief.", schema=CLOSED)


def test_a_reply_keeps_to_the_schema():
    """The first value that satisfies it counts; of several wrong properties none is named."""
    assert read(Turn('First [1], then {"name": "Nobile"}'), ASKED) == ReadReply({"name": "Nobile"})
    assert read(Turn("{'name': 'Nobile',}"), ASKED) == ReadReply({"name": "Nobile"})
    assert read(Turn("{'ship': 'Italia',}"), ASKED).data is None
    assert read(Turn("{'name': 'Nobile',}", "the reply was truncated"), ASKED).data is None
    fault = read(Turn('{"name": "Byrd", "ship": 1, "pole": 2, "year": 3}'), ASKED).fault
    assert fault == "data must have no properties but those of the schema"


def test_a_conversation_is_the_prompt_then_each_reply_with_its_fault():
    """The model sees what was wrong with what it said; the schema may stand in words."""
    said = messages(ASKED, [Turn("Nobile", "there is no JSON in it")])
    assert [part["role"] for part in said] == ["system", "user", "assistant", "user"]
    assert said[2]["content"] == "Nobile"
    assert "there is no JSON in it" in said[3]["content"]
    plain, told = messages(ASKED), messages(ASKED, in_words=True)
    assert plain[0]["content"] == "Be brief."
    assert json.dumps(CLOSED) in told[0]["content"]
    assert plain[1] == told[1]
