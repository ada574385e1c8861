"""Small graphs for tests, as files of JSON lines, and what an index makes of them."""

from __future__ import annotations

import json

from clew import plugins
from clew.index import adding, graph
from tests.index.build import MODELS

SHIPS = (
    ["Fram", "built by", "Colin Archer"],
    ["Fram", "sailed by", "Fridtjof Nansen"],
    ["Colin Archer", "born in", "Larvik"],
    ["Larvik", "lies in", "Norway"],
)


def write(path, *lines):
    """Write one JSON value a line, and return the path."""
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def read_statements(path):
    """Return what a file states, by the satellite that reads it."""
    return plugins.load("graphs", "files", "a test").read_statements(path)


def take(store, path, models=MODELS):
    """Import the graph in a file, as `Index.import_graph` does, and return the report."""
    found = graph.import_graph(store, read_statements(path), models)
    adding.finish_index(store)
    return found
