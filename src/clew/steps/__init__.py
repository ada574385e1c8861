"""Steps that methods share, from a query to hits. Rows are positions in a snapshot's layers."""

from typing import TYPE_CHECKING

from clew.runtime.lazy import lazy as _lazy

if TYPE_CHECKING:
    from clew.steps.evidence import (
        UnreadStep,
        apparatus_behind,
        chunk_step,
        entity_step,
        hits,
        nearest_chunks,
        ranked,
        read_steps,
        subchunk_step,
        term_step,
        triple_step,
        unit_step,
    )
    from clew.steps.linking import (
        Linked,
        longest,
        name_spans,
        named_entities,
        query_names,
        reply_to,
        same_names,
        similar_entities,
    )
    from clew.steps.mentions import (
        MENTIONED,
        MENTIONS,
        TITLED,
        chunk_entities,
        entity_chunks,
        entity_units,
        titled_chunks,
    )
    from clew.steps.names import NAMES, name_links
    from clew.steps.neighbours import (
        KEYWORDS,
        NEIGHBOURS,
        chunk_graph,
        chunk_ranks,
        keyword_lengths,
    )
    from clew.steps.parameters import check_least, check_range, check_words
    from clew.steps.rankings import (
        Ranking,
        dense_ranking,
        hybrid_ranking,
        lexical_ranking,
        nearest,
        nearest_units,
        units_near,
    )
    from clew.steps.relevance import Coverage, Relevance
    from clew.steps.scores import (
        LEXICAL,
        Query,
        beside_hybrid,
        chunk_lengths,
        chunk_titles,
        cosines_of,
        dense_scores,
        hybrid_scores,
        lexical_scores,
        n_chunks,
        read_query,
        term_chunks,
        term_rows,
    )
    from clew.steps.sketched import SKETCHES, near_rows

__all__ = [
    "KEYWORDS",
    "LEXICAL",
    "MENTIONED",
    "MENTIONS",
    "NAMES",
    "NEIGHBOURS",
    "SKETCHES",
    "TITLED",
    "Coverage",
    "Linked",
    "Query",
    "Ranking",
    "Relevance",
    "UnreadStep",
    "apparatus_behind",
    "beside_hybrid",
    "check_least",
    "check_range",
    "check_words",
    "chunk_entities",
    "chunk_graph",
    "chunk_lengths",
    "chunk_ranks",
    "chunk_step",
    "chunk_titles",
    "cosines_of",
    "dense_ranking",
    "dense_scores",
    "entity_chunks",
    "entity_step",
    "entity_units",
    "hits",
    "hybrid_ranking",
    "hybrid_scores",
    "keyword_lengths",
    "lexical_ranking",
    "lexical_scores",
    "longest",
    "n_chunks",
    "name_links",
    "name_spans",
    "named_entities",
    "near_rows",
    "nearest",
    "nearest_chunks",
    "nearest_units",
    "query_names",
    "ranked",
    "read_query",
    "read_steps",
    "reply_to",
    "same_names",
    "similar_entities",
    "subchunk_step",
    "term_chunks",
    "term_rows",
    "term_step",
    "titled_chunks",
    "triple_step",
    "unit_step",
    "units_near",
]

# A method loads the steps that it takes; scipy comes with some of these.
__getattr__ = _lazy(
    "clew.steps",
    {
        "evidence": (
            "UnreadStep apparatus_behind chunk_step entity_step hits nearest_chunks ranked"
            " read_steps subchunk_step term_step triple_step unit_step"
        ).split(),
        "linking": (
            "Linked longest name_spans named_entities query_names reply_to same_names"
            " similar_entities"
        ).split(),
        "mentions": (
            "MENTIONED MENTIONS TITLED chunk_entities entity_chunks entity_units titled_chunks"
        ).split(),
        "names": ["NAMES", "name_links"],
        "neighbours": ["KEYWORDS", "NEIGHBOURS", "chunk_graph", "chunk_ranks", "keyword_lengths"],
        "parameters": ["check_least", "check_range", "check_words"],
        "rankings": (
            "Ranking dense_ranking hybrid_ranking lexical_ranking nearest nearest_units units_near"
        ).split(),
        "relevance": ["Coverage", "Relevance"],
        "scores": (
            "LEXICAL Query beside_hybrid chunk_lengths chunk_titles cosines_of dense_scores"
            " hybrid_scores lexical_scores n_chunks read_query term_chunks term_rows"
        ).split(),
        "sketched": ["SKETCHES", "near_rows"],
    },
)
