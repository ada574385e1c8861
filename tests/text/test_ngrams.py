"""Tokens for BLEU, and content words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.analyze import STOP_WORDS, fold
from clew.text.ngrams import TextPiece, bleu_tokens, content_words, split_pieces, token_ids

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
    """Equal words of different texts have one number; where a text starts is known without any."""
    tokens, starts = token_ids(["Ice and ice", "", "sea and ice"])
    assert tokens.tolist() == [0, 1, 0, 2, 1, 0]
    assert starts.tolist() == [0, 3, 3, 6]
    tokens, starts = token_ids([])
    assert tokens.tolist() == []
    assert starts.tolist() == [0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("old ship\nFram", ["old", "ship", "Fram", ""]),
        ("old\n\n ship ", ["old", "", "ship", ""]),
        ("old \n \t\n\n ship", ["old", "", "ship", ""]),
        ("", [""]),
    ],
)
def test_pieces_of_a_text(text, expected):
    """White space is between them, and an empty one behind each paragraph."""
    assert split_pieces(text) == expected


@pytest.mark.parametrize(
    ("piece", "words", "added", "joins", "closes"),
    [
        ("Ship", ["ship"], [" ship"], [True], True),
        ("(Ship", ["ship"], [" ship"], [False], True),
        ("ship,", ["ship"], [" ship"], [True], False),
        ("Nansen's", ["nansen"], [" nansen"], [True], True),
        ("pack-ice", ["pack-ice"], [" pack-ice"], [True], True),
        ("ship/1910/ice", ["ship", "ice"], [" ship", " ice"], [True, False], True),
        ("北京大学", ["北京", "京大", "大学"], [" 北京", "大", "学"], [True] * 3, True),
        ("Oslo市場", ["oslo", "市場"], [" oslo", " 市場"], [True, False], True),
        ("the", [], [], [], False),
        ("1910", [], [], [], False),
        ("", [], [], [], False),
    ],
)
def test_content_words_of_a_piece(piece, words, added, joins, closes):
    """Whatever is no content word ends a run, before the first word and behind the last one too."""
    found = TextPiece(tuple(words), tuple(added), tuple(joins), closes)
    assert content_words(piece) == found


@given(TEXT)
def test_content_words_have_content(text):
    """No stop word, number or single character is one, and all stand in their text.

    "U.S." is "us", and so is "US", which is no stop word.
    """
    for piece in split_pieces(text):
        for word in content_words(piece).words:
            assert len(word) > 1
            assert any(c.isalpha() for c in word)
            assert word not in STOP_WORDS or word.upper() in piece.replace(".", "")
            assert word in fold(piece) or word in fold(piece).replace(".", "")


@pytest.mark.parametrize("filler", [" ", "\n", "\n \n", "ice ", "a ", "中", "_"])
def test_hostile_texts_take_linear_time(filler):
    """A hundred thousand spaces or words are read in a moment."""
    text = "sea" + filler * 100_000 + "fog"
    assert len(set(map(content_words, split_pieces(text)))) <= 4
    assert len(bleu_tokens(text)) <= 100_002
