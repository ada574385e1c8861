"""Tokens are those of cl100k_base."""

import gzip
import hashlib
from base64 import b64encode

import numpy as np
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from clew.text import tokens

PUBLISHED = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
TEXTS = [
    "",
    "The Fram left Oslo in 1910.",
    "  two  spaces\n\nand a paragraph\t",
    "naïve café, Jesús, Straße",
    "北京大学在北京。",
    "القاهرة عاصمة مصر",
    "😀 👨‍👩‍👧 🇳🇴",
    "<|endoftext|> and <|im_start|>",
    "x" * 300,
]
# Whole texts of one kind find nothing; mixtures do.
MIXED = st.lists(st.text(max_size=8) | st.sampled_from([*TEXTS, "word ", "😀"])).map("".join)


def published_vocabulary():
    """Return our vocabulary as OpenAI publishes it: a line for each token, with its rank."""
    by_rank = gzip.decompress(tokens.VOCABULARY.read_bytes()).split(b"\xff")
    lines = (b64encode(token or b"\xff") + b" %d\n" % rank for rank, token in enumerate(by_rank))
    return b"".join(lines)


@pytest.fixture(scope="module")
def encoding(tmp_path_factory):
    """Give tiktoken's own encoding, with our file where it keeps what it has fetched."""
    cache = tmp_path_factory.mktemp("tiktoken")
    kept = cache / hashlib.sha1(PUBLISHED.encode(), usedforsecurity=False).hexdigest()
    kept.write_bytes(published_vocabulary())
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TIKTOKEN_CACHE_DIR", str(cache))
        return tiktoken.get_encoding("cl100k_base")  # which compares the SHA-256


def test_the_vocabulary_is_the_published_one(encoding):
    """Its tokens and its cuts are those of tiktoken, and the licence says where it is from."""
    own = tokens._encoding()  # noqa: SLF001 -- what is compared
    assert own.token_byte_values() == encoding.token_byte_values()
    assert own._pat_str == encoding._pat_str  # noqa: SLF001 -- no other way to read it
    licence = (tokens.VOCABULARY.parent / "LICENSE").read_text(encoding="utf-8")
    digest = hashlib.sha256(published_vocabulary()).hexdigest()
    assert PUBLISHED in licence
    assert digest in licence
    assert "MIT License" in licence


@pytest.mark.parametrize("text", TEXTS)
def test_count_is_the_number_of_tokens(encoding, text):
    """The count is what the tokenizer itself gives, special markers read as plain text."""
    assert tokens.count(text) == len(encoding.encode(text, disallowed_special=()))


def test_markers_and_parts_of_characters():
    """A text that holds <|endoftext|> hides nothing."""
    assert tokens.count("<|endoftext|>") > 1
    assert len(tokens.token_starts("<|endoftext|> a")) == tokens.count("<|endoftext|> a")
    begins = tokens.token_starts("a𓀀b").tolist()
    assert begins == [0, *[1] * (len(begins) - 2), 2]
    assert len(begins) > 3


@pytest.mark.parametrize("text", [t for t in TEXTS[1:] if "😀" not in t and "京" not in t])
def test_starts_are_where_tokens_begin(encoding, text):
    """Where no character is shared, the pieces between starts are the tokens' own texts."""
    begins = tokens.token_starts(text).tolist()
    pieces = [text[a:b] for a, b in zip(begins, [*begins[1:], len(text)], strict=True)]
    ids = encoding.encode(text, disallowed_special=())
    assert pieces == [encoding.decode([i]) for i in ids]


@given(st.text(alphabet="ab1. \n\t-'é船\u0301\u00a0", max_size=400), st.integers(1, 40))
def test_starts_are_the_same_block_by_block(text, size):
    """A long text is placed some at a time, and its tokens are those of the whole."""
    whole = tokens.token_starts(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tokens, "_BLOCK", size)
        assert tokens.token_starts(text).tolist() == whole.tolist()


@given(MIXED)
def test_starts_ascend_inside_the_text(text):
    """There is a start for each token, none before its forerunner or behind the end."""
    begins = tokens.token_starts(text).tolist()
    assert len(begins) == tokens.count(text)
    assert begins == sorted(begins)
    assert all(0 <= begin < len(text) for begin in begins)


@given(MIXED, st.data())
def test_a_part_has_at_most_as_many_tokens_as_is_said(text, data):
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    part = text[start:end]
    assert tokens.count(part) <= tokens.count_part_at_most(part, tokens.count(text))


def test_what_a_part_has_at_most_is_near_to_what_it_has():
    text = "The Fram left Oslo in June, and came home after three years in the ice. " * 20
    n = tokens.count(text)
    assert n <= tokens.count_part_at_most(text, n) <= n + 8


@given(MIXED, st.integers(-2, 12))
def test_truncate_gives_a_prefix_that_fits(text, n):
    """No budget is exceeded, not even by a cut that merges differently, and nothing is added."""
    cut = tokens.truncate(text, n)
    assert text.startswith(cut)
    assert tokens.count(cut) <= max(n, 0)
    if tokens.count(text) <= n:
        assert cut == text


def test_truncate_keeps_as_many_tokens_as_fit():
    """The first three tokens of a sentence stay; half of an emoji's tokens are none of it."""
    text = "The Fram left Oslo"
    assert tokens.truncate(text, 3) == text[: int(tokens.token_starts(text)[3])]
    assert tokens.truncate(text, 0) == ""
    assert tokens.truncate("a𓀀b", 2) == "a"


@pytest.mark.parametrize(("white", "n"), [(" ", 1_000_000), ("\t", 100_000), ("\n ", 50_000)])
def test_a_million_of_white_space_is_counted(white, n):
    """The encoder itself ends with an error there."""
    text = f"a{white * n}b"
    starts = tokens.token_starts(text)
    assert starts[0] == 0
    assert starts[-1] >= len(text) - 2
    assert (np.diff(starts) > 0).all()
    assert 0 < tokens.count(text) < len(text)
