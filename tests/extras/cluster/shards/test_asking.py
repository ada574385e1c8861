"""Shards that fail, hang or are slow: other copies are asked, and answers say what is missing."""

import shutil
import threading
import time

import pytest

import clew
from clew import errors
from clew.extras.cluster.shards import asking
from clew.extras.cluster.shards.asking import Shard
from clew.extras.cluster.shards.exchange import Describe, Near
from clew.extras.cluster.shards.index import Shards
from clew.extras.cluster.shards.links import LocalShard
from clew.shards import Neighbourhood, open_shards, split
from clew.testing.small import QUESTIONS
from tests.extras.cluster.shards.small import SETTINGS, whole_and_parts
from tests.extras.cluster.shards.test_shards import told
from tests.index.build import MODELS, scratch

ALL_OF_IT = Neighbourhood(chunks=1_000, units=1_000, triples=1_000)
QUESTION = QUESTIONS[0]
SHORT_S = 4.0  # a deadline, long enough for a busy machine


class Faulty:
    """A copy of a shard that can be made to fail, to hang, or to take its time."""

    def __init__(self, folder, name):
        self.name = name
        self.does = "reply"  # or "fail", "hang", or a number of seconds to wait
        self.kinds = ()  # of the requests to which it does that; all if empty
        self.n_asked = 0
        self.goes_on = threading.Event()  # what hangs
        self._link = LocalShard(clew.open(folder, models=MODELS))

    def ask(self, request):
        self.n_asked += 1
        does = "reply" if self.kinds and not isinstance(request, self.kinds) else self.does
        if does == "fail":
            raise errors.StoreError("its disk is gone")
        if does != "reply":
            self.goes_on.wait(None if does == "hang" else does)
        return self._link.ask(request)

    def close(self):
        self.goes_on.set()
        self._link.close()


@pytest.fixture(scope="module")
def folder():
    with whole_and_parts(parts=3) as place:
        yield place


@pytest.fixture
def opening(folder):
    """A function that opens the three shards with copies of each, and gives these, too."""
    opened = []

    def opens(copies=1, deadline_s=SHORT_S, **how):
        places = [folder / "parts" / f"shard-{number:04d}" for number in range(3)]
        links = [[Faulty(at, f"{at.name}.{c}") for c in range(copies)] for at in places]
        own = [Shard(each, at.name) for each, at in zip(links, places, strict=True)]
        for each in own:
            each.first = 0
        how = {"models": MODELS, "size": ALL_OF_IT, "deadline_s": deadline_s, **how}
        opened.append(Shards(own, folder / "parts", **how))
        return opened[-1], links

    yield opens
    for each in opened:
        each.close()


def timed(call):
    began = time.monotonic()
    value = call()
    return value, time.monotonic() - began


def is_complete_soon(shards):
    """Return whether an answer is complete again, as soon as the late replies are taken."""
    until = time.monotonic() + 30
    while shards.search(QUESTION).partial and time.monotonic() < until:
        time.sleep(0.05)
    return not shards.search(QUESTION).partial


@pytest.mark.parametrize("does", ["fail", "hang"])
def test_a_lost_shard_is_missing(opening, folder, does, caplog):
    """The answer is that of the others, and says so; so is the next one, which hardly waits."""
    shards, links = opening()
    complete = shards.search(QUESTION)
    assert (complete.partial, complete.missing, complete.notes) == (False, (), ())
    links[1][0].does = does
    (found, taken), (again, soon) = (timed(lambda: shards.search(QUESTION)) for _ in range(2))
    assert (found.partial, found.missing) == (True, ("shard-0001",))
    assert found.notes[-1] == "partial: 1 shard of 3 did not reply (shard-0001)"
    assert taken < SHORT_S
    assert told(again) == told(found)
    assert does == "fail" or soon < taken
    assert len([each for each in caplog.messages if "failed" in each]) == 1
    with clew.open(folder / "parts" / "shard-0001", models=MODELS) as lost:
        assert found.hits
        assert not {hit.document_id for hit in found.hits} & {*lost.documents()}
    links[1][0].does = "reply"
    assert told(shards.search(QUESTION)) == told(complete)


def test_thanks_need_no_document_of_a_remote_shard(opening):
    shards, _ = opening()
    assert shards.ask("Thank you!").evidence.notes == ("this asks nothing: ask a question",)


def test_support_is_lowered_by_the_share_that_is_missing(opening):
    """The same hit supports less where a shard that does not have it did not reply."""
    shards, links = opening()
    whole = shards.search(QUESTION, method="bm25", chunks=1)
    [home] = [clew.shards.shard_of(hit.document_id, 3) for hit in whole.hits]
    links[(home + 1) % 3][0].does = "fail"
    found = shards.search(QUESTION, method="bm25", chunks=1)
    assert [hit.text for hit in found.hits] == [hit.text for hit in whole.hits]
    assert 0 < found.support < whole.support
    answer = shards.ask(QUESTION, method="bm25")
    assert answer.evidence.partial
    assert answer.to_dict()["evidence"]["missing"] == [f"shard-{(home + 1) % 3:04d}"]


def test_a_shard_that_cannot_matter_is_not_missed(opening):
    """Where no document of it fulfils the filter, the answer is complete without it."""
    shards, links = opening()
    whole = shards.search(QUESTION, where='title = "Comet"')
    links[(clew.shards.shard_of("comet", 3) + 1) % 3][0].does = "fail"
    assert told(shards.search(QUESTION, where='title = "Comet"')) == told(whole)


def test_a_shard_that_was_never_there_is_missing(opening):
    shards, links = opening()
    links[0][0].does = "hang"
    (found, taken), _ = (timed(lambda: shards.search(QUESTION)) for _ in range(2))
    assert (found.missing, taken < SHORT_S) == (("shard-0000",), True)
    links[0][0].does = "reply"
    links[0][0].goes_on.set()
    assert is_complete_soon(shards)


def test_shards_that_are_lost_one_by_one_take_no_longer(opening):
    shards, links = opening()
    shards.search(QUESTION)
    links[0][0].does, links[1][0].does = "hang", "hang"
    links[1][0].kinds = (Near,)
    found, taken = timed(lambda: shards.search(QUESTION))
    assert (found.missing, taken < SHORT_S) == (("shard-0000", "shard-0001"), True)


@pytest.mark.parametrize("does", ["fail", "hang"])
def test_without_any_shard_there_is_no_answer(opening, does):
    shards, links = opening()
    shards.search(QUESTION)
    for [each] in links:
        each.does = does
    began = time.monotonic()
    with pytest.raises(errors.StoreError, match=r"^the shard shard-0000.0 failed: .*[^.]$"):
        shards.search(QUESTION)
    assert time.monotonic() - began < SHORT_S


def test_strict_shards_give_no_partial_answer(opening):
    shards, links = opening(strict=True)
    links[1][0].does = "fail"
    with pytest.raises(errors.StoreError, match="the shard shard-0001.0 failed: its disk is gone"):
        shards.search(QUESTION)


def test_a_filter_that_only_a_lost_shard_fulfils_is_no_error_of_the_caller(opening):
    shards, links = opening()
    home = clew.shards.shard_of("comet", 3)
    links[home][0].does = "fail"
    with pytest.raises(errors.StoreError, match=rf"did not reply \(shard-{home:04d}\)"):
        shards.search(QUESTION, where='title = "Comet"')


@pytest.mark.parametrize("does", ["fail", "hang", 5.0])
def test_another_copy_replies(opening, does, monkeypatch):
    """Whatever is wrong with a copy: the answer is complete, and the copy is asked last then."""
    shards, links = opening(copies=2, deadline_s=20)
    complete = shards.search(QUESTION)
    links[1][0].does = does
    found, taken = timed(lambda: shards.search(QUESTION))
    assert (told(found), taken < 5) == (told(complete), True)
    monkeypatch.setattr(asking, "_HEDGE_LEAST_S", 20.0)  # a busy machine delays good copies, too
    before = links[1][0].n_asked
    assert told(shards.search(QUESTION)) == told(complete)
    assert links[1][0].n_asked == before


def test_a_copy_that_replies_late_is_well_again(opening):
    shards, links = opening(copies=2)
    shards.search(QUESTION)
    for each in links[1]:
        each.does = "hang"
    assert shards.search(QUESTION).partial
    assert shards._shards[1].failed == {0, 1}  # noqa: SLF001
    links[1][1].does = "reply"
    links[1][1].goes_on.set()
    assert is_complete_soon(shards)


def test_a_copy_that_hangs_keeps_no_question(opening):
    """However many questions it did not reply to: none waits longer, and no thread is left over."""
    shards, links = opening()
    shards.search(QUESTION)
    links[1][0].does = "hang"
    before = links[1][0].n_asked
    for _ in range(12):
        found, taken = timed(lambda: shards.search(QUESTION))
        assert (found.partial, taken < SHORT_S) == (True, True)
    assert links[1][0].n_asked - before <= 4  # the others wait, and are taken back
    links[1][0].does = "reply"
    links[1][0].goes_on.set()
    assert is_complete_soon(shards)


def test_copies_of_another_state_are_never_mixed(folder):
    """A copy that was made anew, and counts its generations alike, is told by what it has."""
    with scratch() as place:
        shutil.copytree(folder / "parts", place / "parts")
        first = place / "parts" / "shard-0000"
        other = [clew.Document(id="aaa", title="Aaa", text="Nothing of the kind was built here.")]
        with clew.open(first, models=MODELS) as index:
            names, generation = index.documents(), index.generation
            others = [*index.snapshot().documents(range(len(names))), *other]
        made = place / "made-anew"
        with clew.open(made, models=MODELS, settings=SETTINGS) as index:
            for start in range(generation):
                index.add(others[start::generation], triples="cooccurrence")
            assert index.generation >= generation
        copies = [Faulty(first, "old"), Faulty(made, "new")]
        rest = [Faulty(place / "parts" / f"shard-{n:04d}", str(n)) for n in (1, 2)]
        own = [Shard(copies, "first"), *(Shard([each], each.name) for each in rest)]
        own[0].first = 0
        with Shards(own, place / "parts", models=MODELS, size=ALL_OF_IT, deadline_s=5) as shards:
            old = shards.search(QUESTION)
            copies[0].does, copies[0].kinds = "fail", (Near,)  # in the middle of a question
            found = shards.search(QUESTION)
            with Shards([Shard([copies[1]], "first"), *own[1:]], place, models=MODELS,
                        size=ALL_OF_IT) as alone:  # fmt: skip
                new = alone.search(QUESTION)
        assert told(old) != told(new)
        assert told(found) in (told(new), told(old)) or found.partial
        assert not (found.partial and found.missing != ("first",))


def test_options_stand_beside_the_names(folder):
    with scratch() as place:
        home = place / "home"
        split(folder / "whole", home, 2)
        names = '"shards": ["shard-0000", "shard-0001"]'
        (home / "shards.json").write_text(f'{{{names}, "deadline_s": 3, "strict": true}}')
        with open_shards(home, models=MODELS) as shards:
            assert (shards._deadline_s, shards._strict) == (3, True)  # noqa: SLF001
        with open_shards(home, models=MODELS, strict=False) as shards:
            assert not shards._strict  # noqa: SLF001
        for wrong in ('"deadline_s": 0', '"deadline_s": "1"', '"strict": 1', '"copies": true'):
            (home / "shards.json").write_text(f"{{{names}, {wrong}}}")
            name = wrong.partition('"')[2].partition('"')[0]
            with pytest.raises(errors.InputError, match=f"the argument '{name}' is"):
                open_shards(home, models=MODELS)


def test_a_description_names_what_a_shard_has(folder):
    """Copies that were filled in other steps are alike; one with another text is not."""
    with scratch() as place:
        documents = [clew.Document(id=str(n), text=f"Ship {n} was built.") for n in range(3)]
        states = {}
        for name, batches in {
            "one": [documents],
            "two": [documents[:1], documents[1:]],
            "other": [documents[:2]],
        }.items():
            with clew.open(place / name, models=MODELS, settings=SETTINGS) as index:
                for batch in batches:
                    index.add(batch)
                states[name] = LocalShard(index).ask(Describe()).state
        assert states["one"] == states["two"] != states["other"]
