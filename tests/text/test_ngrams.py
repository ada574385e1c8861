"""Tokens for BLEU, and n-grams of content words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.text.analyze import STOP_WORDS
from clew.text.ngrams import bleu_tokens, content_ngrams, token_ids, uncontained

TEXT = st.lists(
    st.text(max_size=8)
    | st.sampled_from(["sea ", "ice ", "the ", "1910 ", "pack-ice ", "北京大学", "กรุงเทพ ", ". "])
).map("".join)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Fram left Oslo.", ["the", "fram", "left", "oslo", "."]),
        ("pack-ice, 78.5° N!", ["pack", "-", "ice", ",", "78", ".", "5", "°", "n", "!"]),
        ("Nansen's", ["nansen", "'", "s"]),
        ("北京 Oslo市", ["北", "京", "oslo", "市"]),
        ("काठमांडू है", ["काठमांडू", "है"]),
        (" \n", []),
        ("", []),
    ],
)
def test_bleu_tokens(text, expected):
    """Words and marks in lower case; scripts without spaces give characters."""
    assert bleu_tokens(text) == expected


@given(TEXT)
def test_bleu_tokens_leave_out_nothing_but_space(text):
    """Every other character of the text is in a token, in order."""
    assert "".join(bleu_tokens(text)) == "".join(text.lower().split())


def test_token_ids_number_words_by_first_occurrence():
    """Equal words of different texts have one number, and every text its place."""
    tokens, starts = token_ids(["Ice and ice", "", "sea and ice"])
    assert tokens.tolist() == [0, 1, 0, 2, 1, 0]
    assert starts.tolist() == [0, 3, 3, 6]


def test_no_texts_have_no_tokens():
    """Where a text starts is known even without any."""
    tokens, starts = token_ids([])
    assert tokens.tolist() == []
    assert starts.tolist() == [0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pack ice", ["pack", "pack ice", "ice"]),
        ("ship of ice", ["ship", "ice"]),
        ("ship, ice", ["ship", "ice"]),
        ("ship 1910 ice", ["ship", "ice"]),
        ("ship 1910-12 ice", ["ship", "ice"]),
        ("ship x ice", ["ship", "ice"]),
        ("ship\nice", ["ship", "ship ice", "ice"]),
        ("Ship\n\nice", ["ship", "ice"]),
        ("Nansen's ship", ["nansen", "nansen ship", "ship"]),
        ("B-52 pack-ice", ["b-52", "b-52 pack-ice", "pack-ice"]),
        ("北京大学", ["北京", "北京大", "北京大学", "京大", "京大学", "大学"]),
        ("Oslo市場", ["oslo", "市場"]),
        ("在 Oslo", ["oslo"]),
        ("the 1910", []),
        ("", []),
    ],
)
def test_ngrams_of_a_text(text, expected):
    """Neighbours join only across white space inside a paragraph."""
    assert list(content_ngrams(text)) == expected


def test_ngrams_are_counted():
    """Each n-gram up to the length asked for, as often as it stands there."""
    text = "Sea ice drifts. The sea ice grows, and sea fog comes."
    assert content_ngrams(text, 2) == {
        "sea": 3,
        "ice": 2,
        "drifts": 1,
        "grows": 1,
        "fog": 1,
        "comes": 1,
        "sea ice": 2,
        "ice drifts": 1,
        "ice grows": 1,
        "sea fog": 1,
        "fog comes": 1,
    }


def test_longest_is_a_number_of_words():
    """One word gives words, four give n-grams of four; less than a word is refused."""
    text = "old wooden sealing ship"
    assert list(content_ngrams(text, 1)) == ["old", "wooden", "sealing", "ship"]
    assert text in content_ngrams(text, 4)
    assert text not in content_ngrams(text, 3)
    with pytest.raises(InputError, match="the longest cannot have 0"):
        content_ngrams(text, 0)


@given(TEXT)
def test_ngrams_have_content(text):
    """No n-gram holds a stop word or a number by itself, and its words are n-grams too."""
    counts = content_ngrams(text)
    for gram, n in counts.items():
        for word in gram.split(" "):
            assert len(word) > 1
            assert any(c.isalpha() for c in word)
            assert word not in STOP_WORDS
            assert counts[word] >= n or not word.isascii()


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"sea": 2, "sea ice": 1, "ice": 1}, ["sea", "sea ice"]),
        ({"old": 1, "old ship": 1, "old ship fram": 1, "fram": 2}, ["old ship fram", "fram"]),
        ({"ice": 1, "pack ice": 1, "ice floe": 1}, ["pack ice", "ice floe"]),
        ({"edition": 1, "old expedition": 1}, ["edition", "old expedition"]),
        ({"北京": 1, "北京大": 1, "京大": 2}, ["北京大", "京大"]),
        ({}, []),
    ],
)
def test_ngrams_inside_longer_ones_go(counts, expected):
    """Only whole words count as inside, and only where both stand equally often."""
    assert uncontained(counts) == {gram: counts[gram] for gram in expected}


@given(TEXT)
def test_whatever_goes_is_inside_one_that_stays(text):
    """Nothing is lost: what was left out can be read in a longer n-gram, as often."""
    counts = content_ngrams(text)
    kept = uncontained(counts)
    for gram in counts.keys() - kept.keys():
        assert any(gram in longer and counts[longer] == counts[gram] for longer in kept)


@pytest.mark.parametrize("filler", [" ", "\n", "ice ", "a ", "中", "_"])
def test_hostile_texts_take_linear_time(filler):
    """A hundred thousand spaces or words are read in a moment."""
    text = "sea" + filler * 100_000 + "fog"
    assert len(uncontained(content_ngrams(text))) <= 10
    assert len(bleu_tokens(text)) <= 100_002
