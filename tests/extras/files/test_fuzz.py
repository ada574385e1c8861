"""A minute of mutated files for each reader: a document or a reason, never anything else.

`FUZZ_SECONDS` and `FUZZ_SEED` set how long and from which seed on; a file that once went wrong has
its seed in `KNOWN`, and is tried with every run of the default suite.
"""

import io
import os
import random
import time
import zipfile

import pytest

from clew.base.types import Document, Skipped
from clew.limits import ReadingLimits
from clew.readers import read
from clew.readers.formats import READERS
from tests.extras.files.test_every_format import ONE_EACH
from tests.readers.writers import LIGHTHOUSES, files, packed, unpacked

SECONDS = float(os.environ.get("FUZZ_SECONDS", "60"))
SEED = int(os.environ.get("FUZZ_SEED", "0"))
KNOWN = [(suffix, seed) for suffix in ONE_EACH for seed in range(8)]
TOKENS = (
    b"<", b">", b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b"\0", b"\xff", b"\xed\xa0\x80", b"<p>",
    b"<div>", b"</", b"<!--", b"&#0;", b"&amp;", b"\r\n\r\n", b"From ", b"--b\n", b"\\u0000",
    b"]]>", b"1e999", b"-1", b"NaN", b"null", b"---\n", b"```\n", b"|", b"\t", b"\xcc\x81" * 40,
    b"{\\rtf1 ", b"%PDF", b"stream\n", b"endobj", b"PK\x03\x04", b"PAR1", b"\x00" * 64, b"9" * 40,
)  # fmt: skip
LIMITS = ReadingLimits(seconds=20)


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at = rng.randrange(len(data) + 1)
        size = rng.choice([1, 4, 40, 400])
        match rng.randrange(5):
            case 0 if at < len(data):
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = data[at : at + size] * rng.choice([1, 2, 50])
            case 3:
                data[at:at] = rng.choice(TOKENS) * rng.choice([1, 1, 3, 500])
            case _:
                data[at : at + 1] = rng.choice(TOKENS)
    return bytes(data)


def in_a_part(data, rng):
    """Change what is in a zip file, so that more than its checksums is looked at."""
    parts = unpacked(data)
    chosen = rng.choice([*parts])
    return packed({**parts, chosen: mutated(parts[chosen], rng)})


def made(write, suffix, seed):
    rng = random.Random(f"{suffix} {seed}")  # noqa: S311 -- a test's
    [(_, content), *_] = files(suffix, LIGHTHOUSES).items()
    content = content if isinstance(content, bytes) else content.encode()
    is_zip = zipfile.is_zipfile(io.BytesIO(content)) and rng.random() < 0.7
    return write(f"{seed}{suffix}", in_a_part(content, rng) if is_zip else mutated(content, rng))


def check(write, suffix, seeds):
    """Check what comes of the files of some seeds, named by them, read in one run."""
    for item in read([made(write, suffix, seed) for seed in seeds], limits=LIMITS):
        assert isinstance(item, Document | Skipped)
        if isinstance(item, Document):
            item.text.encode()
            assert all(0 <= h.start <= len(item.text) for h in item.headings), item.source
        else:
            assert item.reason, item.source
            assert "\n" not in str(item)


@pytest.mark.parametrize("suffix", ONE_EACH)
def test_what_was_found(write, suffix):
    """Some seeds of each reader, and those that once went wrong."""
    check(write, suffix, [seed for known, seed in KNOWN if known == suffix])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", sorted(ONE_EACH))
def test_a_minute_of_each_reader(write, suffix):
    """New files as long as there is time; the seed of one that fails is in the message."""
    assert suffix in READERS
    ends, seed = time.monotonic() + SECONDS, SEED
    while time.monotonic() < ends:
        seed += 1
        try:
            check(write, suffix, [seed])
        except BaseException as error:
            error.add_note(f"{suffix} with the seed {seed}: put ({suffix!r}, {seed}) into KNOWN")
            raise
