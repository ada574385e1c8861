"""What the tests of the readers share: a folder to write files into, and one to read them from."""

import pytest

from clew.base.types import Document
from clew.readers import read


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a file below the temporary folder, which is the current one, and return its name."""
    monkeypatch.chdir(tmp_path)

    def write_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write_file


@pytest.fixture
def document(write):
    """Write a file, read it and return its only document."""

    def read_document(name, content):
        (item,) = read([write(name, content)])
        assert isinstance(item, Document), item
        return item

    return read_document


@pytest.fixture
def skipped(write):
    """Write a file that gives no document, and return the reasons as people see them."""

    def read_skipped(name, content):
        items = list(read([write(name, content)]))
        assert not any(isinstance(item, Document) for item in items), items
        return [str(item) for item in items]

    return read_skipped
