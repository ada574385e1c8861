"""A whole run on a disk that fills up, again and again: what was recorded is paid for once."""

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

STEP = 600_000  # bytes that are free before a run


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
        return turn._replace(text=turn.text + " " * 100_000)


class Disk:
    """Lets the SQLite files of a folder take so many bytes."""

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


def test_what_is_recorded_is_paid_for_once(tmp_path, monkeypatch):
    """Only what was under way when the disk was full is asked for again."""
    folder = tmp_path / "my.clew"
    chat = Wordy()
    texts = [
        replace(each, id=f"{each.id}{i}", text=each.text.replace(". ", f" in part {i}. "))
        for each in testing.small_documents()
        for i in range(8)
    ]
    with open_index(folder, models=testing.models(llm=chat)) as index:
        index.add(texts)
    disk = Disk(folder, folder_size(folder) + STEP)
    monkeypatch.setattr(sqlite, "connect", disk.connect)
    told = []
    while len(told) < 50:
        with open_index(folder, models=testing.models(llm=chat)) as index:
            try:
                index.add(texts, units=1, triples="llm")
                break
            except StoreError as error:
                told.append(str(error))
        disk.size = folder_size(folder) + STEP
    assert 3 <= len(told) < 50
    assert all("disk is full" in each for each in told)
    again = Counter(chat.texts).total() - len(set(chat.texts))
    assert again <= chat.concurrency * len(told) * 20  # texts of a prompt
    assert len(chat.texts) > 100
