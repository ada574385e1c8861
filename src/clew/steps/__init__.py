"""Steps that methods share, from a query to hits. Rows are positions in a snapshot's layers."""

from clew.steps.evidence import (
    chunk_step,
    entity_step,
    hits,
    ranked,
    subchunk_step,
    term_step,
    triple_step,
    unit_step,
)
from clew.steps.linking import (
    Linked,
    bought,
    named_entities,
    query_names,
    same_names,
    similar_entities,
)
from clew.steps.nearest import chunk_graph, chunk_ranks, keyword_lengths, near_rows
from clew.steps.relevance import Coverage, Relevance
from clew.steps.scores import (
    Query,
    beside_hybrid,
    bm25,
    chunk_titles,
    dense_scores,
    hybrid_scores,
    lexical_scores,
    read_query,
    term_rows,
)

__all__ = [
    "Coverage",
    "Linked",
    "Query",
    "Relevance",
    "beside_hybrid",
    "bm25",
    "bought",
    "chunk_graph",
    "chunk_ranks",
    "chunk_step",
    "chunk_titles",
    "dense_scores",
    "entity_step",
    "hits",
    "hybrid_scores",
    "keyword_lengths",
    "lexical_scores",
    "named_entities",
    "near_rows",
    "query_names",
    "ranked",
    "read_query",
    "same_names",
    "similar_entities",
    "subchunk_step",
    "term_rows",
    "term_step",
    "triple_step",
    "unit_step",
]
