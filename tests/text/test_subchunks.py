"""Sub-chunks: halves of halves, by tokens."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.text import tokens
from clew.text.chunking import Chunking, halve

# Eight words, each of one token.
CHUNKS = ["the ship left the port in the spring", "ice held the ship for the whole winter"]
WORDS = st.lists(st.sampled_from(["ice", " ship", " wintered", "\n\nNansen", ". ", ", 1893"]))
MIXED = st.lists(
    st.text(max_size=6)
    | st.sampled_from(["word ", "😀", "𓀀", "北京", "<|endoftext|>"])
    | st.sampled_from([" \n\t", "\n \n" * 4])
)
HALVINGS = st.integers(0, 5)


def texts_of(text, parts):
    return [text[start:end] for start, end in parts]


def n_tokens(text, parts):
    """Count by where the tokens of the whole text begin."""
    begins = tokens.token_starts(text)
    return [int(((begins >= start) & (begins < end)).sum()) for start, end in parts]


def readable(text, parts):
    """Return the parts without the white space around them."""
    heads = [start + len(text[start:end]) - len(text[start:end].lstrip()) for start, end in parts]
    return [
        (head, start + len(text[start:end].rstrip()))
        for head, (start, end) in zip(heads, parts, strict=True)
    ]


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (0, ["ice held the ship for the whole winter"]),
        (1, ["ice held the ship", " for the whole winter"]),
        (2, ["ice held", " the ship", " for the", " whole winter"]),
        (3, ["ice", " held", " the", " ship", " for", " the", " whole", " winter"]),
        (4, ["ice", " held", " the", " ship", " for", " the", " whole", " winter"]),
    ],
)
def test_the_worked_example(depth, expected):
    """Eight words of one token; one token is not halved."""
    text = CHUNKS[1]
    assert tokens.count(text) == 8
    assert texts_of(text, halve(text, 0, len(text), depth, 8)) == expected


def test_characters_are_those_of_the_whole_text():
    """A chunk is a range of its document, and so are its parts, the first with the odd token."""
    document = ". ".join(CHUNKS)
    start = document.index("ice")
    parts = halve(document, start, len(document), 1, 8)
    assert texts_of(document, parts) == ["ice held the ship", " for the whole winter"]
    assert parts[0][0] == start
    text = "the ship left the port"
    parts = halve(text, 0, len(text), 1, 8)
    assert texts_of(text, parts) == ["the ship left", " the port"]


@pytest.mark.parametrize(("limit", "n_parts"), [(8, 4), (16, 2), (31, 2), (32, 1), (1200, 1)])
def test_a_short_chunk_stays_whole(limit, n_parts):
    """Eight tokens where a chunk may have `limit`: only what is above its share is cut."""
    text = CHUNKS[0]
    assert len(halve(text, 0, len(text), 2, limit)) == n_parts


@given(MIXED.map("".join), st.data(), HALVINGS, st.integers(1, 12))
def test_parts_cover_the_range(text, data, depth, limit):
    """In order, without a gap, and none of them empty, whatever the characters."""
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    parts = halve(text, start, end, depth, limit)
    assert "".join(texts_of(text, parts)) == text[start:end]
    assert all(a < b for a, b in parts)
    assert all(one[1] == other[0] for one, other in pairwise(parts))
    assert len(parts) <= 2**depth


@given(MIXED.map("".join), HALVINGS, st.integers(1, 12))
def test_every_part_has_something_to_read(text, depth, limit):
    """A text of white space alone stays whole; any other leaves no such part."""
    parts = halve(text, 0, len(text), depth, limit)
    if text.strip():
        assert all(map(str.strip, texts_of(text, parts)))
    else:
        assert parts == ([(0, len(text))] if text else [])


GAP = " \n\t" * 8  # of nine tokens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ice" + GAP + "ship", ["ice" + GAP, "ship"]),
        (GAP + "ice ship", [GAP + "ice", " ship"]),
        ("ice ship" + GAP, ["ice", " ship" + GAP]),
        (GAP, [GAP]),
    ],
)
def test_white_space_joins_its_neighbour(text, expected):
    """The part before it, or the first one with something to read."""
    assert tokens.count(GAP) == 9
    assert texts_of(text, halve(text, 0, len(text), 5, 1)) == expected


@given(WORDS.map("".join), HALVINGS, st.integers(0, 20))
def test_no_part_of_a_chunk_is_above_its_share(text, depth, spare):
    """A chunk of at most `limit` tokens leaves parts of at most ⌈limit / 2^τ⌉ to read."""
    limit = max(tokens.count(text) + spare, 1)
    parts = halve(text, 0, len(text), depth, limit)
    assert sum(n_tokens(text, parts)) == tokens.count(text)
    sizes = n_tokens(text, readable(text, parts))
    assert max(sizes, default=0) <= math.ceil(limit / 2**depth)


@given(MIXED.map("".join), HALVINGS)
def test_a_character_is_never_cut(text, depth):
    """One of several tokens may take a part above its share by the others, at most three."""
    limit = max(tokens.count(text), 1)
    sizes = n_tokens(text, readable(text, halve(text, 0, len(text), depth, limit)))
    assert max(sizes, default=0) <= math.ceil(limit / 2**depth) + 3


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_an_empty_range_has_no_parts(depth):
    """Nothing to index."""
    assert halve("some text", 4, 4, depth, 8) == []


@pytest.mark.parametrize(("depth", "limit"), [(-1, 8), (1, 0)])
def test_senseless_numbers_are_refused(depth, limit):
    """Both values are named."""
    with pytest.raises(InputError, match=f"cannot halve {depth} times from {limit} tokens"):
        halve("some text", 0, 9, depth, limit)


@pytest.mark.parametrize(("size", "most"), [(1, 0), (8, 3), (9, 3), (256, 8)])
def test_depths_of_a_chunk(size, most):
    """Chunks can be halved until their parts are of one token."""
    assert Chunking(size=size, overlap=0, subchunk_depth=most).subchunk_depth == most
    for depth in (-1, most + 1, 10**9):
        with pytest.raises(
            InputError, match=f"halved {depth} times: use a sub-chunk depth of 0 to {most}$"
        ):
            Chunking(size=size, overlap=0, subchunk_depth=depth)
