"""Vectors of texts in scripts that the default embedder was not trained on."""

import numpy as np
import pytest

from clew.models.minilm import DIMENSION, MiniLM, is_foreign, read_subwords


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Emil Racoviță sailed on the Belgica", False),
        ("Der Bär aß Brötchen in Łódź", False),
        ("He met 毛泽东 in the winter of that year, as his diary says", False),
        ("Кто построил Fram?", True),
        ("Debian 计划是哪一年建立的？", True),
        ("서울은 어디에 있나?", True),
        ("1892 - 1893", False),
        ("", False),
    ],
)
def test_which_texts_are_foreign(text, foreign):
    assert is_foreign(text) is foreign


def test_forms_of_a_word_are_alike_and_other_words_are_not():
    def nearness(a, b):
        return float(read_subwords(a, DIMENSION).pooled @ read_subwords(b, DIMENSION).pooled)

    assert nearness("пакетов", "пакеты") > 0.5
    assert nearness("서울은", "서울") > 0.4
    assert abs(nearness("пакеты", "корабль")) < 0.2
    assert nearness("東京タワーは赤い", "東京タワーの高さ") > 0.5
    assert abs(nearness("東京", "鯨")) < 0.2
    assert nearness("пакеты", "ПАКЕТЫ") == pytest.approx(1)


def test_every_term_has_a_unit_vector_at_its_place():
    text = "Проект Debian, 東京タワー!"
    read = read_subwords(text, DIMENSION)
    said = [text[a:b] for a, b in read.spans]
    assert said == ["Проект", "Debian", "東京", "京タ", "タワ", "ワー"]
    assert np.linalg.norm(read.vectors, axis=1) == pytest.approx(np.ones(len(said)), abs=1e-6)
    assert (read.ids < 0).all()
    assert np.linalg.norm(read.pooled) == pytest.approx(1, abs=1e-6)
    again = read_subwords(text, DIMENSION)
    assert again.vectors.tobytes() == read.vectors.tobytes()
    wide = read_subwords("。。。", 700)
    assert len(wide.vectors) == 0
    assert np.linalg.norm(wide.pooled) == pytest.approx(1, abs=1e-6)


def test_the_default_embedder_reads_both():
    """A text's vector depends on itself alone, whatever stands beside it."""
    texts = ["Кто построил корабль?", "Who built the ship?", "誰が船を造りましたか?", ""]
    model = MiniLM()
    rows = model.embed(texts, kind="document")
    tokens = model.embed_tokens(texts)
    for text, row, read in zip(texts, rows, tokens, strict=True):
        assert np.linalg.norm(row) == pytest.approx(1, abs=1e-5)
        assert model.embed([text], kind="query")[0].tobytes() == row.tobytes()
        assert read.pooled.tobytes() == row.tobytes()
    assert rows[0].tobytes() == read_subwords(texts[0], DIMENSION).pooled.tobytes()
    assert (tokens[1].ids >= 0).all()
