"""The graph of near chunks, as a snapshot gives it."""

import numpy as np

from clew import steps
from clew.algo.knn import knn_graph
from clew.index import Settings
from clew.text.chunking import Chunking
from tests.index.build import indexed
from tests.store.corpus import documents

OVERLAPPING = Settings(chunking=Chunking(size=48, overlap=24))


def test_overlapping_chunks_are_no_neighbours():
    """Chunks that share text would choose each other; in the graph they are not joined."""
    with indexed(*documents(n=6), settings=OVERLAPPING) as (snapshot, _):
        chunks = snapshot.layer("chunk")
        owners, starts, ends = (chunks.columns[name] for name in ("document", "start", "end"))
        shared = (owners[1:] == owners[:-1]) & (starts[1:] < ends[:-1])
        first = np.flatnonzero(shared)
        plain = knn_graph(snapshot.link("chunk", "term"), chunks.vectors, 2)
        graph = steps.chunk_graph(snapshot)
        assert plain[first, first + 1].sum() > len(first) / 2
        assert graph[first, first + 1].sum() == 0
        assert graph.sum(axis=1).min() >= 1
