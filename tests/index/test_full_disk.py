"""A whole run on a disk that fills up, again and again: no reply is paid for twice."""

import errno
from collections import Counter
from contextlib import suppress
from dataclasses import replace

import pytest

from clew import testing
from clew.api import open_index
from clew.base.runtime import sqlite
from clew.errors import StoreError
from tests.index.reads import ReadsChat

pytest.importorskip("fastjsonschema")

STEP = 600_000  # bytes beside the held ones that are free before a run


def folder_size(folder):
    """Return the bytes of the files in a folder."""
    size = 0
    for each in folder.rglob("*"):
        with suppress(FileNotFoundError):  # held space that a thread gives up meanwhile
            size += each.stat().st_size if each.is_file() else 0
    return size


class Wordy(ReadsChat):
    """Its replies take room."""

    concurrency = 4

    def ask(self, prompt, turns=(), **how):
        turn = super().ask(prompt, turns, **how)
        return replace(turn, text=turn.text + " " * 100_000)


class Disk:
    """Lets the SQLite files of a folder, and what is held beside them, take so many bytes."""

    def __init__(self, folder, size):
        self.folder, self.size = folder, size
        self._connect = sqlite.connect

    def free(self):
        return self.size - folder_size(self.folder)

    def connect(self, path, **how):
        connection = self._connect(path, **how)
        if path == self.folder / "calls.sqlite":
            pages = connection.pragma("page_count") + max(self.free(), 0) // 4096
            connection.pragma("max_page_count", max(pages, 1))
        return connection

    def allocate(self, path, size):
        if size > self.free():
            raise OSError(errno.ENOSPC, "No space left on device")
        path.write_bytes(bytes(size))


def test_nothing_is_paid_for_twice(tmp_path, monkeypatch):
    """What came when the disk was full is there when there is room."""
    folder = tmp_path / "my.clew"
    chat = Wordy()
    texts = [
        replace(each, id=f"{each.id}{i}", text=each.text.replace(". ", f" in part {i}. "))
        for each in testing.small_documents()
        for i in range(8)
    ]
    with open_index(folder, models=testing.models(llm=chat)) as index:
        index.add(texts)
    disk = Disk(folder, folder_size(folder) + (8 << 20) + STEP)
    monkeypatch.setattr(sqlite, "connect", disk.connect)
    monkeypatch.setattr("clew.models.sqlite._allocate", disk.allocate)
    told = []
    while len(told) < 50:
        with open_index(folder, models=testing.models(llm=chat)) as index:
            try:
                index.add(texts, units=1, triples="llm")
                break
            except StoreError as error:
                told.append(str(error))
        disk.size = folder_size(folder) + (8 << 20) + STEP
    assert 3 <= len(told) < 50
    assert all("has no disk space for paid replies" in each for each in told)
    assert not [each for each, n in Counter(chat.texts).items() if n > 1]
    assert len(chat.texts) > 100
