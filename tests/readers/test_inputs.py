"""Standard input, file addresses and web pages: what is read of them, and what is refused."""

import io
from pathlib import Path

import pytest

from clew.errors import InputError
from clew.limits import ReadingLimits
from clew.readers import inputs


def test_names_of_other_machines():
    """A file of another machine is not looked for here."""
    with pytest.raises(InputError, match="is a file on another machine"):
        inputs.locate_input("file://other/a.md")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("a.md", Path("a.md")),
        (Path("-"), Path("-")),
        ("-", inputs.StandardInput()),
        ("file:///tmp/a%20b.md", Path("/tmp/a b.md")),  # noqa: S108 -- is not opened
        ("FILE://localhost/a", Path("/a")),
        ("https://x.example/a#b", inputs.Page("https://x.example/a")),
        ("ftp://x.example/a", inputs.Remote("ftp://x.example/a")),
    ],
)
def test_what_a_name_means(given, found):
    """Paths, file addresses, web addresses, and `-`."""
    assert inputs.locate_input(given) == found


@pytest.mark.parametrize(
    ("data", "name", "suffix", "path"),
    [
        (b"One.", "", "", "stdin.txt"),
        (b"One.", "", ".md", "stdin.md"),
        (b"One.", "notes/day.md", "", "day.md"),
        (b"%PDF-1.4", "", "", "stdin.pdf"),
        (b" <!DOCTYPE html><p>a", "", "", "stdin.html"),
        (b'{"text": "a"}\n{"text": "b"}\n', "", "", "stdin.jsonl"),
        (b'[{"text": "a"}]', "", "", "stdin.json"),
        (b"<?xml version='1.0'?><a/>", "", "", "stdin.xml"),
    ],
)
def test_standard_input(data, name, suffix, path):
    """Its format is that of the suffix, else of the name, else what its beginning says."""
    given = inputs.StandardInput(name=name or "stdin", suffix=suffix)
    with inputs.read_standard_input(given, io.BytesIO(data)) as file:
        assert (file.path.name, file.id) == (path, name or "stdin")
        assert file.path.read_bytes() == data


def test_standard_input_has_a_limit():
    """A stream without end is no document."""
    few = ReadingLimits(received_bytes=10)
    with (
        pytest.raises(InputError, match="standard input has more than 10 bytes: --limit received"),
        inputs.read_standard_input(inputs.StandardInput(), io.BytesIO(b"a" * 11), few),
    ):
        pass
