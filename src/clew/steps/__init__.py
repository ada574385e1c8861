"""Steps that methods share, from a query to hits. Rows are positions in a snapshot's layers."""
# ruff: noqa: F403

from typing import TYPE_CHECKING

from clew.base.runtime.lazy import lazy as _lazy

if TYPE_CHECKING:  # of these names `_NAMES` has those that can be imported from here
    from clew.index.neighbours import *
    from clew.steps.evidence import *
    from clew.steps.linking import *
    from clew.steps.mentions import *
    from clew.steps.parameters import *
    from clew.steps.rankings import *
    from clew.steps.relevance import *
    from clew.steps.scores import *

# A method loads the steps that it takes; scipy comes with some of these.
_NAMES = {
    "steps.evidence": (
        "UnreadStep apparatus_behind build_evidence by_rank hits nearest_chunks ranked read_step"
        " read_steps"
    ).split(),
    "steps.linking": (
        "Linked longest name_spans named_entities query_names replies_to reply_to same_names"
        " similar_entities"
    ).split(),
    "steps.mentions": (
        "MENTIONED MENTIONS TITLED chunk_entities entity_chunks entity_units titled_chunks"
    ).split(),
    "index.neighbours": ["KEYWORDS", "NEIGHBOURS", "chunk_graph", "chunk_ranks", "keyword_lengths"],
    "steps.parameters": ["check_least", "check_range", "check_words"],
    "steps.rankings": (
        "Ranking SKETCHES dense_ranking hybrid_ranking lexical_ranking near_rows nearest"
        " nearest_units units_near"
    ).split(),
    "steps.relevance": ["Coverage", "Relevance"],
    "steps.scores": (
        "LEXICAL Query beside_hybrid chunk_lengths chunk_titles cosines_of dense_scores"
        " hybrid_scores lexical_scores n_chunks read_query term_chunks term_rows"
    ).split(),
}
__all__ = [name for names in _NAMES.values() for name in names]
__getattr__ = _lazy("clew", _NAMES)
