"""The shapes in which LLMs give the parts of a reply, and what must be kept of each."""

import json

import pytest

from clew.index.layers.graph_extraction import graph_prompt, read_graph
from clew.index.layers.graph_form import GraphForm
from clew.index.layers.salient import TermSettings
from clew.index.layers.units import read_units, units_prompt
from clew.models import Turn
from clew.models.prompts.packing import split_reply
from clew.models.recorded_llm import RecordedLLM
from clew.models.replies import read
from clew.testing import ScriptedChat

pytest.importorskip("fastjsonschema")
pytest.importorskip("json_repair")

TEXT = "Gjøa | Roald Amundsen sailed the Gjøa. She was built in Rosendal."
NAMES = ["Gjøa", "Roald Amundsen", "Rosendal"]
TRIPLES = [("Roald Amundsen", "sailed", "Gjøa"), ("Gjøa", "built in", "Rosendal")]
ENTITIES = [{"name": name, "type": "other", "description": "in the text"} for name in NAMES]
RELATIONS = [
    {"subject": a, "predicate": b, "object": c, "description": f"{a} {b} {c}.", "strength": 8}
    for a, b, c in TRIPLES
]
PART = {"entities": ENTITIES, "relations": RELATIONS}
WHOLE = {"1": PART}
CUT = "the reply was truncated at the token limit"


def dump(value):
    return json.dumps(value, ensure_ascii=False)


def part(**changes):
    """Return a reply whose part has other lists."""
    return dump({"1": {**PART, **changes}})


def renamed(items, *names):
    """Return items whose fields are called otherwise."""
    return [dict(zip(names, item.values(), strict=False)) for item in items]


SHAPES = {
    "plain": dump(WHOLE),
    "indented": json.dumps(WHOLE, indent=2),
    "fence": f"```json\n{dump(WHOLE)}\n```",
    "fence within words": f"Sure! Here it is:\n```json\n{dump(WHOLE)}\n```\nAsk me for more.",
    "fence that does not end": f"```\n{dump(WHOLE)}",
    "words before": f"The graph of [1] is: {dump(WHOLE)}",
    "words behind": f"{dump(WHOLE)}\nThese are all entities [3] and relations [2].",
    "thoughts before": f"<think>Is {{Gjøa}} a ship? [yes]</think>{dump(WHOLE)}",
    "bare part": dump(PART),
    "list of one part": dump([PART]),
    "key in brackets": dump({"[1]": PART}),
    "key with a word": dump({"passage_1": PART}),
    "key with a word and a space": dump({"Passage 1": PART}),
    "key without quotes": dump(WHOLE).replace('"1"', "1"),
    "wrapped": dump({"passages": WHOLE}),
    "wrapped twice": dump({"status": "ok", "result": {"data": WHOLE}}),
    "wrapped list": dump({"passages": [{"passage": 1, **PART}]}),
    "list with numbers": dump([{"id": "1", **PART}]),
    "number within the part": dump({"results": [{"passage_number": 1, **PART}]}),
    "names for entities": part(entities=NAMES),
    "entities by name": part(entities={name: {"type": "other"} for name in NAMES}),
    "types by name": part(entities=dict.fromkeys(NAMES, "other")),
    "arrays for relations": part(relations=TRIPLES),
    "long arrays": part(relations=[[*each, "as it says", 7] for each in TRIPLES]),
    "head, relation, tail": part(relations=renamed(RELATIONS, "head", "relation", "tail")),
    "source, type, target": part(relations=renamed(RELATIONS, "source", "type", "target")),
    "from, verb, to": part(relations=renamed(RELATIONS, "from", "verb", "to")),
    "Source Entity": part(
        relations=renamed(RELATIONS, "Source Entity", "Relationship", "Target Entity")
    ),
    "entity_name": part(entities=renamed(ENTITIES, "entity_name", "entity_type")),
    "nodes and edges": dump({"1": {"nodes": ENTITIES, "edges": RELATIONS}}),
    "triples": dump({"1": {"entities": ENTITIES, "triples": TRIPLES}}),
    "capitals": dump({"1": {"Entities": ENTITIES, "Relationships": RELATIONS}}),
    "one list": dump({"1": [*ENTITIES, *RELATIONS]}),
    "types in capitals": part(entities=[{**each, "type": "OTHER"} for each in ENTITIES]),
    "unlisted type": part(entities=[{**ENTITIES[0], "type": "ship"}, *ENTITIES[1:]]),
    "null type": part(entities=[{**each, "type": None} for each in ENTITIES]),
    "no descriptions": part(entities=renamed(ENTITIES, "name", "type")),
    "null description": part(relations=[{**each, "description": None} for each in RELATIONS]),
    "strength as a string": part(relations=[{**each, "strength": "8"} for each in RELATIONS]),
    "strength with a fraction": part(relations=[{**each, "strength": 8.2} for each in RELATIONS]),
    "strength NaN": part(relations=[{**each, "strength": float("nan")} for each in RELATIONS]),
    "further fields": part(entities=[{**each, "id": 7, "score": 0.9} for each in ENTITIES]),
    "trailing commas": dump(WHOLE).replace("}]", "},]").replace("]}}", "],},}"),
    "Python": str(WHOLE),
    "Python with None": str({"1": {**PART, "note": None}}),
    "comment behind": f"{dump(WHOLE)} // all of it",
    "comments within": dump(WHOLE).replace("[{", "[ /* in order */ {"),
    "line comments": json.dumps(WHOLE, indent=1).replace("[\n", "[ // these\n"),
    "line breaks in strings": dump(WHOLE).replace("in the text", "in\nthe text"),
    "escapes of Markdown": dump(WHOLE).replace("in the text", "in\\_the\\_text"),
    "curly quotes": dump(WHOLE).replace('"subject"', "“subject”"),
    "missing comma": dump(WHOLE).replace("}, {", "} {"),
    "missing bracket at the end": dump(WHOLE)[:-1],
    "twice": f"{dump(WHOLE)}\n{dump(WHOLE)}",
    "JSON in a string": "The answer is\n" + dump(WHOLE) + "\n\n```python\nprint([])\n```",
}
DROPPED = {
    "null name": part(entities=[*ENTITIES, {"name": None, "type": "other"}]),
    "no name": part(entities=[{"type": "other"}, *ENTITIES]),
    "null object": part(relations=[*RELATIONS, {**RELATIONS[0], "object": None}]),
    "list for an object": part(relations=[{**RELATIONS[0], "object": ["a", "b"]}, *RELATIONS]),
    "half a relation": part(relations=[{"subject": "Gjøa"}, *RELATIONS]),
    "array of two": part(relations=[["Gjøa", "sailed"], *RELATIONS]),
    "truth for a name": part(entities=[*ENTITIES, True]),
}


def graph_of(text, fault=""):
    """Return names and triples that are kept of a reply about the text, and the reading."""
    reading = read(Turn(text, fault), graph_prompt([TEXT], [()]))
    [graph] = read_graph(reading.data, [TEXT])
    names = [] if graph is None else [each.name for each in graph.entities]
    triples = [] if graph is None else [(t.subject, t.relation, t.object) for t in graph.triples]
    return names, triples, reading


@pytest.mark.parametrize("name", SHAPES)
def test_all_is_kept_of_every_shape(name):
    """Whatever stands around the parts, and whatever they are called, none is asked for again."""
    names, triples, reading = graph_of(SHAPES[name])
    assert (names, triples) == (NAMES, TRIPLES)
    again = ("1",) if name == "missing bracket at the end" else ()
    assert (reading.lacking, reading.dropped) == (again, 0)


@pytest.mark.parametrize("name", DROPPED)
def test_an_item_that_cannot_be_used_costs_no_other(name):
    """It is left out and counted."""
    names, triples, reading = graph_of(DROPPED[name])
    assert (names, triples, reading.dropped, reading.fault) == (NAMES, TRIPLES, 1, "")


def test_a_reply_that_was_cut_off_keeps_its_complete_items():
    """At whatever character it ends, no cut name is taken, and the part is asked for again."""
    text = dump(WHOLE)
    kept = set()
    for end in range(len(text)):
        names, triples, reading = graph_of(text[:end], CUT)
        assert names == NAMES[: len(names)]
        assert triples == TRIPLES[: len(triples)]
        assert reading.lacking == ("1",)
        kept.add((len(names), len(triples)))
    assert kept >= {(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2)}


@pytest.mark.parametrize("text", ["", "I cannot do that.", "[1]", "{}", '{"1": "none"}', "[" * 999])
def test_of_a_reply_without_a_graph_nothing_is_made(text):
    """Nor of words that mention numbers."""
    names, triples, reading = graph_of(text)
    assert (names, triples, reading.data, reading.lacking) == ([], [], None, ("1",))


def test_an_empty_graph_is_an_answer():
    """It is not asked for again."""
    assert graph_of(dump({"1": {"entities": [], "relations": []}}))[2].lacking == ()


def test_what_a_repair_adds_is_not_kept():
    """A name whose quotes are missing may be two, and is none."""
    text = '{"1": {"entities": ["Gjøa" "Rosendal], "relations": []}}'
    assert set(graph_of(text)[0]) <= {"Gjøa", "Rosendal"}


# Several texts in one prompt

TEXTS = [
    f"{name} | {name} was a ship of {i} masts." for i, name in enumerate(("Fram", "Maud", "Nimrod"))
]
STATED = {str(i): [text.partition("| ")[2]] for i, text in enumerate(TEXTS, 1)}
PACKS = {
    "plain": dump(STATED),
    "in order": dump(list(STATED.values())),
    "wrapped, in order": dump({"passages": list(STATED.values())}),
    "objects one by one": "\n".join(dump({key: value}) for key, value in STATED.items()),
    "list of objects": dump([{key: value} for key, value in STATED.items()]),
    "JSON Lines": "\n".join(
        dump({"passage": int(key), "statements": value}) for key, value in STATED.items()
    ),
    "numbers and facts": dump([{"id": int(k), "facts": v} for k, v in STATED.items()]),
    "strings for lists": dump({key: value[0] for key, value in STATED.items()}),
    "objects for statements": dump(
        {key: [{"statement": each, "id": 3} for each in value] for key, value in STATED.items()}
    ),
    "keys twice": dump(STATED)[:-1] + ', "2": ' + dump(STATED["2"]) + "}",
    "keys twice, with other items": dump({**STATED, "2": []})[:-1]
    + ', "2": '
    + dump(STATED["2"])
    + "}",
    "fence for each": "\n".join(f"```json\n{dump({k: v})}\n```" for k, v in STATED.items()),
}


@pytest.mark.parametrize("name", PACKS)
def test_the_parts_of_several_texts_are_kept(name):
    """Each goes to its own text."""
    reading = read(Turn(PACKS[name]), units_prompt(TEXTS))
    assert read_units(reading.data, TEXTS) == [tuple(value) for value in STATED.values()]
    assert (reading.lacking, reading.dropped) == ((), 0)


@pytest.mark.parametrize(
    ("text", "fault", "kept", "lacking"),
    [
        (dump({key: STATED[key] for key in "13"}), "", "13", "2"),
        (dump({**STATED, "2": None}), "", "13", "2"),
        (dump({**STATED, "2": [None, 3.5e999]}), "", "13", "2"),
        (dump(STATED).replace('"2": [', '"2": {['), "", "1", "23"),
        (dump(STATED)[:60], CUT, "1", "23"),
        (dump(list(STATED.values())[:2]), "", "", "123"),
    ],
)  # fmt: skip
def test_only_what_is_missing_is_asked_for_again(text, fault, kept, lacking):
    """A list of fewer parts than texts does not say whose they are."""
    reading = read(Turn(text, fault), units_prompt(TEXTS))
    found = split_reply(reading.data, len(TEXTS))
    assert {str(i) for i, each in enumerate(found, 1) if each} >= set(kept)
    assert set(reading.lacking) >= set(lacking)
    assert all(STATED[key] == reading.data[key] for key in kept)


def test_the_second_request_names_what_is_missing_alone():
    """Its schema has no other parts, and both replies are one."""

    def answer(prompt, turns):
        keys = prompt.schema["properties"]
        assert list(keys) == (["2"] if turns else ["1", "2", "3"])
        return {key: STATED[key] for key in ("2" if turns else "13")}

    chat = ScriptedChat(answer)
    [reply] = RecordedLLM(chat).complete([units_prompt(TEXTS)])
    assert (reply.data, reply.error, reply.calls) == (STATED, "", 2)


def test_what_is_still_missing_costs_no_other_part():
    """The second reply may be of no use at all."""
    chat = ScriptedChat(lambda _, turns: "Sorry." if turns else {key: STATED[key] for key in "13"})
    [reply] = RecordedLLM(chat).complete([units_prompt(TEXTS)])
    assert (reply.data, reply.error) == ({key: STATED[key] for key in "13"}, "")


def test_a_text_that_was_cut_off_has_the_items_of_both_replies():
    """The second goes on where the first ended."""
    first = f'{{"1": ["{STATED["1"][0]}", "Fram sai'
    second = {"1": [STATED["1"][0], "Fram was a ship."]}
    chat = ScriptedChat(lambda _, turns: second if turns else first)
    [reply] = RecordedLLM(chat).complete([units_prompt(TEXTS[:1])])
    assert reply.data == second


def test_relations_among_terms_are_kept():
    """Under other names, without those that lack an end."""
    said = {"1": {"triples": [["Gjøa", "built in", "Rosendal"], ["Gjøa", "sailed"]]}}
    terms = ["Gjøa", "Rosendal"]
    form = GraphForm(terms=TermSettings())
    reading = read(Turn(dump(said)), graph_prompt([TEXT], [terms], form=form))
    [graph] = read_graph(reading.data, [TEXT], [terms], form)
    assert [(t.subject, t.relation, t.object) for t in graph.triples] == [TRIPLES[1]]
    assert reading.dropped == 1
