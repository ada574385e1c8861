"""What an index cost since it was made, and what another LLM than its own does with it."""

import pytest

from clew.api import open_index
from clew.base.types import Document
from clew.errors import EndpointError, InputError
from clew.models.budget import Budget
from clew.models.recorded_llm import recorded
from clew.testing import ScriptedChat, models


def document(name, text="Colin Archer built the Fram in Larvik."):
    return Document(id=name, text=text)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "my.clew"


def calls(prompt, _turns):
    """Reply to whatever is asked with nothing of use but its shape."""
    return {"triples": [], "entities": [], "relations": [], "knowledge_units": []}


def test_a_new_index_cost_what_its_writes_cost(folder):
    """The sum of what each `add` reports, whoever opens it; what changes nothing is not counted."""
    with open_index(folder, models=models()) as index:
        first = index.add([document("a")]).usage
        second = index.add([document("b")]).usage
        before = index.spent()
        costs = index.costs()
        index.add([document("a"), document("b")])
    with open_index(folder, models=models()) as index:
        assert index.spent() == before
    assert [each.kind for each in costs] == ["add", "add"]
    assert [each.before for each in costs] == [0, costs[0].generation]
    assert [each.usage for each in costs] == [first, second]
    assert before.total_seconds == pytest.approx(first.total_seconds + second.total_seconds)
    assert set(before.seconds) == {*first.seconds, *second.seconds}
    with open_index(folder, models=models()) as index:
        index.add([document("a")])
        cost = index.show()["cost"]
        spent = index.spent()
    assert (cost["tokens"], cost["llm_calls"], cost["cost_usd"]) == (0, 0, 0)
    assert cost["seconds"] == round(spent.total_seconds, 3)
    assert cost["seconds_by_stage"].keys() == spent.seconds.keys()


def test_tokens_and_dollars_are_kept(folder):
    """What an LLM extracted was paid for by the index; what it answered was not."""
    chat = ScriptedChat(calls, price=(1.0, 1.0))
    with open_index(folder, models=models(llm=chat)) as index:
        usage = index.add([document("a")], triples="llm").usage
        index.ask("Who built the Fram?")
        spent = index.spent()
    assert usage.llm_calls == spent.llm_calls > 0
    assert spent.total_tokens == usage.total_tokens > 0
    assert spent.cost_usd == pytest.approx(usage.cost_usd)


@pytest.mark.satellite
def test_imports_are_counted(folder, tmp_path):
    """A graph, recorded triples, and triples of chosen chunks each are a write."""
    (tmp_path / "graph.tsv").write_text("Archer\tbuilt\tFram\n", encoding="utf-8")
    (tmp_path / "t.jsonl").write_text(
        '{"id": "a", "triples": [["Archer", "built", "Fram"]]}\n', encoding="utf-8"
    )
    seconds = []
    with open_index(folder, models=models(llm=ScriptedChat(calls))) as index:
        for write in (
            lambda: index.import_graph(tmp_path / "graph.tsv"),
            lambda: index.add([document("a"), document("b", "Nansen crossed Greenland.")]),
            lambda: index.import_triples(tmp_path / "t.jsonl"),
            lambda: index.extract_triples([index.show("b")["chunks"][0]]),
        ):
            write()
            seconds.append(index.spent().total_seconds)
        assert index.spent().llm_calls > 0
    assert seconds == sorted(set(seconds))


def test_a_write_that_fails_is_counted_as_far_as_it_came(folder):
    """The documents are in the index, and so is what they cost."""

    def refuse(_prompt, _turns):
        raise KeyboardInterrupt

    with open_index(folder, models=models(llm=ScriptedChat(refuse))) as index:
        with pytest.raises(KeyboardInterrupt):
            index.add([document("a")], triples="llm")
        assert index.spent().total_seconds > 0


def test_replies_that_changed_nothing_are_counted(folder):
    """They were paid for, and the next write takes them from the ledger for nothing."""
    asked = []

    def once(prompt, turns):
        asked.append(prompt)
        if len(asked) > 1:
            raise EndpointError("down")
        return calls(prompt, turns)

    documents = [document("a"), document("b", "Nansen crossed Greenland.")]
    with open_index(folder, models=models()) as index:
        index.add(documents)
    with open_index(folder, models=models(llm=ScriptedChat(once))) as index:
        with pytest.raises(EndpointError):
            index.add(documents, triples="llm")
        assert index.spent().llm_calls == 1


def test_without_its_record_the_cost_is_unknown(folder):
    with open_index(folder, models=models()) as index:
        index.add([document("a")])
    (folder / "calls.sqlite").unlink()
    with open_index(folder, models=models()) as index:
        assert index.spent() is None
        index.add([document("b")])
        assert index.spent() is None
        assert index.show()["cost"] == "unknown"
    with open_index(folder, models=models()) as index:
        index.add([document("a")])
    (folder / "calls.sqlite").write_bytes(b"not a database at all, but long enough to be read")
    with open_index(folder, models=models()) as index:
        assert index.show()["cost"] == "unknown"


def test_another_llm_answers(folder):
    own, other = (ScriptedChat(lambda *_, name=n: f"ANSWER: {name}") for n in ("own", "other"))
    with open_index(folder, models=models(llm=own)) as index:
        index.add([document("a")])
        evidence = index.search("Who built the Fram?", method="bm25")
        assert index.answer(evidence).text == "own"
        found = index.answer(evidence, llm=other)
        assert (found.text, found.usage.llm_calls) == ("other", 1)
        with_budget = index.answer(evidence, llm=recorded(other), budget=Budget(0))
    assert with_budget.kind == "quoted"


def test_an_llm_is_loaded_once_and_recorded(folder, monkeypatch):
    loaded = []

    def load(spec, **_):
        loaded.append(ScriptedChat(lambda *_: "ANSWER: Larvik"))
        return recorded(loaded[-1])

    monkeypatch.setattr("clew.models.loading.load_llm", load)
    for _ in range(2):
        with open_index(folder, models=models()) as index:
            index.add([document("a")])
            evidence = index.search("Where was the Fram built?", method="bm25")
            for _ in range(2):
                assert index.answer(evidence, llm=index.load_llm("local")).text == "Larvik"
    assert [len(chat.asked) for chat in loaded] == [1, 0]


def test_bounds_are_kept_and_told(folder):
    """Whoever bounds several steps can tell that one of them was not paid."""
    budget = Budget(5)
    llm = recorded(ScriptedChat(lambda *_: "x"), budget=budget)
    with open_index(folder, models=models(llm=llm)) as index:
        index.add([document("a")])
        assert budget.refused == ""
        index.answer(index.search("Who?", method="bm25"))
    assert "leaves no room" in budget.refused
    with open_index(folder, models=models(llm=ScriptedChat(calls))) as index:
        index.add([document("a")])
        chunks = index.show("a")["chunks"]
        done = index.extract_triples(chunks, budget=Budget(tokens=1))
        assert "budget" in done.stopped
        assert index.spent().llm_calls == 0
        assert index.extract_triples(chunks).n_chunks == 1
    with open_index(folder, models=models()) as index, pytest.raises(InputError, match="no LLM"):
        index.load_llm("magic")
