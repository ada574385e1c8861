"""Proposals are what a person would want to see; merges by rule are few and safe."""

from collections import Counter
from itertools import combinations
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.index.layers.aliases import Proposal, Thresholds, may_be_one, propose_merges, rule_merges

CREW = [
    "roald amundsen", "fridtjof nansen", "hjalmar johansen", "robert falcon scott",
    "ernest shackleton", "colin archer", "south pole", "antarctic treaty system",
]  # fmt: skip


def merged(keys):
    return [(keys[a], keys[b]) for a, b in rule_merges(keys)]


def proposed(keys, vectors=None, **thresholds):
    """Return the reason of each proposed pair of keys."""
    found = propose_merges(keys, vectors, thresholds=Thresholds(**thresholds))
    return {frozenset((keys[p.a], keys[p.b])): p.reason for p in found}


def reason(a, b, *others):
    """Return why two keys among others are proposed, None if they are not."""
    return proposed([*CREW, a, b, *others]).get(frozenset((a, b)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("the fram", "fram"),
        ("smith and wesson", "smith wesson"),  # of "Smith & Wesson"
        ("burberry garments ltd", "burberry garments"),
        ("the royal society", "royal society"),
    ],
)
def test_merged_by_rule(a, b):
    """One key is the plain form of the other, and what is merged is not proposed as well."""
    for keys in ([a, b], [b, a]):
        assert rule_merges(keys) == [(0, 1)]
        assert propose_merges(keys) == []


@pytest.mark.parametrize(
    "keys",
    [
        ["who", "the who"],  # an organization and a band
        ["apple", "apple inc"],  # a fruit and a company
        ["polar tours", "polar tours ltd", "polar tours inc"],
        ["polar tours ltd", "polar tours inc"],
        ["and", "the and", "ice and", "ice"],
        ["fram", "fram 2"],
        ["", "the"],
    ],
)
def test_not_merged_by_rule(keys):
    """A rule that could join two things joins none."""
    assert merged(keys) == []


def test_rules_go_through_keys_that_exist():
    """Two steps are two merges, and no key is made up between them."""
    keys = ["the arctic and antarctic institute", "arctic and antarctic institute"]
    assert merged(keys) == [tuple(keys)]
    keys += ["arctic antarctic institute", "the arctic antarctic institute"]
    assert rule_merges(keys) == [(0, 1), (0, 3), (1, 2), (2, 3)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("roald amundsen", "roald amundson"),
        ("carsten borchgrevink", "carsten borchgrevinck"),
        ("pourquoi pas", "pourquoipas"),
        ("polar expedition", "polar expeditions"),
        ("erich von drygalski", "von drygalski erich"),
        ("second world war map", "second world war maps"),
        ("14th december 1911", "december 14 1911"),
        ("harald fairhair the elder", "harald fairhair elder"),
    ],
)
def test_spellings(a, b):
    """A letter, a plural, a space, the order of the words or a "the" is another spelling."""
    keys = [*(key for key in CREW if key != a), a, b]
    assert proposed(keys).get(frozenset((a, b))) == "spelling"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("norway", "norwegian"),
        ("iceland", "icelander"),
        ("chile", "chilean"),
        ("canada", "canadian"),
        ("antarctic", "antarctica"),
        ("argentina expedition", "argentine expedition"),
        ("sweden", "swedes"),
        ("arctic", "antarctic"),
        ("near east", "far east"),
        ("instruction", "construction"),
        ("fort ross", "ross island"),
        ("republic of iceland", "republican"),
        ("ross ross sea", "ross sea sea"),
        ("committee of public safety", "member of the committee of public safety"),
    ],
)
def test_other_words(a, b):
    """A word more or less is another thing, and so is another ending."""
    assert reason(a, b) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1911 expedition", "1912 expedition"),
        ("antarctic expedition", "antarctic expedition 1911"),
        ("1910s expeditions", "1910 expeditions"),
        ("1 12 1911", "12 1 1911"),
        ("lothair i", "lothair ii"),
        ("king harald v", "king harald"),
        ("olav tryggvason jr", "olav tryggvason"),
        ("olav tryggvason junior", "olav tryggvason senior"),
        ("south magnetic pole", "north magnetic pole"),
        ("first fram expedition", "second fram expedition"),
        ("14 december 1911", "14 november 1911"),
    ],
)
def test_what_tells_namesakes_apart(a, b):
    """Not even names of the same direction are proposed over another number."""
    keys = [*CREW, a, b]
    vectors = np.tile(np.float32([1, 0]), (len(keys), 1))
    assert frozenset((a, b)) not in proposed(keys, vectors, spelling=0.1, near=0.1)


@pytest.mark.parametrize(
    ("a", "b"), [("gustav vi adolf", "gustaf 6 adolf"), ("karl larsen jr", "karl larson junior")]
)
def test_marks_of_one_meaning(a, b):
    """A Roman numeral is a number, and "junior" is "jr"."""
    assert proposed([*CREW, a, b], spelling=0.3).get(frozenset((a, b))) == "spelling"


@pytest.mark.parametrize(
    ("short", "full"),
    [
        ("usa", "united states of america"),
        ("u s a", "united states of america"),
        ("usoa", "united states of america"),
        ("npi", "norwegian polar institute"),
        ("spc", "south pole club"),  # "south" tells nothing here
    ],
)
def test_initials(short, full):
    """They are of all words or of those that are no stop words, in one word or many."""
    assert reason(short, full) == "initials"


def test_initials_that_are_none():
    """Those of names with a number, and those that two names have."""
    assert reason("eoo", "expedition of 1911") is None
    assert reason("ww", "world war ii") is None
    assert reason("wwi", "world war ii") is None
    assert reason("u s a", "usa") == "initials"
    full = "norwegian polar institute"
    assert reason("npi", full, "north pole island") is None
    assert reason("npi", full, f"the {full}") == "initials"
    assert reason("npi", f"the {full}", full) is None  # once is enough


def test_longer_initials_are_surer():
    """Few names have six given initials by chance."""
    keys = ["icsps", "international committee for south polar studies", "npi",
            "norwegian polar institute"]  # fmt: skip
    first, second = propose_merges(keys)
    assert (first.a, first.b, second.a, second.b) == (0, 1, 2, 3)
    assert 0.9 >= first.score > second.score > 0.85


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("amundsen", "roald amundsen"),
        ("falcon scott", "robert falcon scott"),
        ("robert scott", "robert falcon scott"),
        ("treaty system", "antarctic treaty system"),
    ],
)
def test_shorter_forms(short, long):
    """A last name, or a name without its middle, that only one longer key has."""
    assert proposed([*CREW, short])[frozenset((short, long))] == "shorter form"


@pytest.mark.parametrize(
    ("short", "others"),
    [
        ("amundsen", ["gustav amundsen"]),
        ("amundsen", ["amundsen sea"]),
        ("roald", []),  # a first name is no short form
        ("norway", ["kingdom of norway"]),  # nor is what something is of
        ("1911", ["expedition of 1911", "expedition 1911"]),
        ("north", ["magnetic north"]),
        ("the", ["read the"]),
    ],
)
def test_no_shorter_forms(short, others):
    """It must stand for one thing, at the end of its name, and be a name itself."""
    pairs = proposed([*CREW, short, *others])
    assert not any(short in pair for pair in pairs)


def test_names_that_lie_together():
    """Vectors speak where the spelling is near, and nowhere else."""
    keys = ["norwegian polar institute", "norsk polarinstitutt", "colin archer", "larvik"]
    vectors = np.zeros((4, 3), dtype=np.float32)
    vectors[:2, 0] = vectors[2:, 1] = 1
    assert propose_merges(keys) == []
    found = propose_merges(keys, vectors, thresholds=Thresholds(near=0.3))
    assert found == [Proposal(a=0, b=1, score=1.0, reason="vectors")]
    vectors[1] = [0.8, 0.6, 0]
    assert propose_merges(keys, vectors, thresholds=Thresholds(near=0.3)) == []


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("fridtjof nansen", "fridtiof nanssen"),
        ("f nansen", "fridtjof nansen"),
        ("nansen fridtjof", "fridtjof nansen"),
        ("adrien de gerlache", "adrian de gerlache"),
        ("norwegian polar institute", "norsk polarinstitutt"),
        ("pourquoi pas", "pourquoipas"),
        ("the fram of norway", "fram norway"),
    ],
)
def test_may_be_one(a, b):
    """Every word has its like in the other name, whatever the order."""
    assert may_be_one(a, b)
    assert may_be_one(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("chile", "chilean"),
        ("norway", "norwegians"),
        ("mexico", "mexican"),
        ("antarctic", "antarctica"),
        ("iceland", "icelandic"),
        ("japan", "japanese"),
        ("national antarctic expedition", "australasian antarctic expedition"),
        ("norwegian polar institute", "norwegian polar archive"),
        ("polar institute", "polar institute oslo"),
        ("frederick cook", "james cook"),
    ],
)
def test_near_vectors_join_no_other_words(a, b):
    """What is of a place is not the place, and other words are other things."""
    assert not may_be_one(a, b)
    assert not may_be_one(b, a)
    vectors = np.ones((2, 1), dtype=np.float32)
    assert "vectors" not in proposed([a, b], vectors, near=0.01).values()


@pytest.mark.parametrize("keys", [[], [""], ["fram"], ["", "a", "b"]])
def test_few_keys(keys):
    """There is nothing to propose."""
    assert propose_merges(keys) == []
    assert propose_merges(keys, np.zeros((len(keys), 2), dtype=np.float32)) == []
    assert rule_merges(keys) == []


WORDS = st.sampled_from(
    "the and of boat boats nansen nanson amundsen roald r 1911 1912 i ii jr north ltd ra usa "
    "南极洲 é".split()
)
KEYS = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), unique=True, max_size=15)


@given(KEYS, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(keys, draw):
    """The same pairs come with the same scores and reasons, best first, then by row."""
    shuffled = draw.sample(keys, len(keys))

    def told(names):
        found = propose_merges(names)
        assert found == propose_merges(names)
        assert found == sorted(found, key=lambda p: (-p.score, p.a, p.b))
        assert all(p.a < p.b and 0 <= p.score <= 1 for p in found)
        return {(frozenset((names[p.a], names[p.b])), p.score, p.reason) for p in found}

    assert {pair for pair, *_ in told(shuffled)} == {pair for pair, *_ in told(keys)}
    assert {(pair, why) for pair, _, why in told(shuffled)} == {
        (pair, why) for pair, _, why in told(keys)
    }
    assert {frozenset(pair) for pair in merged(shuffled)} == {
        frozenset(pair) for pair in merged(keys)
    }


@given(KEYS)
def test_numbers_never_differ(keys):
    """Neither in what is proposed nor in what is merged."""
    pairs = [
        (keys[p.a], keys[p.b]) for p in propose_merges(keys, thresholds=Thresholds(spelling=0.1))
    ]
    for pair in pairs + merged(keys):
        first, second = ([word for word in key.split() if word.isdigit()] for key in pair)
        assert first == second


@given(
    st.lists(st.text("abcd ", min_size=1, max_size=12).map(str.split).map(" ".join), unique=True),
    st.sampled_from([0.3, 0.5, 0.8]),
)
def test_no_similar_pair_is_missed(keys, least):
    """Leaving out common trigrams loses nothing of what the words allow."""
    vectors = np.ones((len(keys), 1), dtype=np.float32)
    found = propose_merges(keys, vectors, thresholds=Thresholds(spelling=least, near=least))
    near = {(p.a, p.b) for p in found if p.reason == "vectors" or p.score == 1}
    cosines = compared(keys)
    words_allow = {(a, b) for a, b in cosines if may_be_one(keys[a], keys[b])}
    similar = {pair for pair, cosine in cosines.items() if cosine > least + 1e-6}
    assert similar & words_allow <= near
    surely_not = {pair for pair, cosine in cosines.items() if cosine < least - 1e-6}
    assert not surely_not & {(p.a, p.b) for p in found if p.reason in {"spelling", "vectors"}}


def compared(keys):
    """Return the cosine of the trigram weights of every two keys."""
    counts = [Counter(f" {key} "[i : i + 3] for i in range(len(key))) for key in keys]
    n_keys = Counter(trigram for count in counts for trigram in count)
    weights = [
        {trigram: n * (1 + log(len(keys) / n_keys[trigram])) for trigram, n in count.items()}
        for count in counts
    ]
    lengths = [sqrt(sum(value**2 for value in weight.values())) or 1.0 for weight in weights]
    return {
        (a, b): sum(value * weights[b].get(trigram, 0) for trigram, value in weights[a].items())
        / (lengths[a] * lengths[b])
        for a, b in combinations(range(len(keys)), 2)
    }
