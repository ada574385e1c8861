"""Steps that methods share, from a query to hits. Rows are positions in a snapshot's layers."""

from typing import TYPE_CHECKING

from clew.base.runtime.lazy import lazy as _lazy

if TYPE_CHECKING:
    from clew.index.neighbours import KEYWORDS as KEYWORDS
    from clew.index.neighbours import NEIGHBOURS as NEIGHBOURS
    from clew.index.neighbours import chunk_graph as chunk_graph
    from clew.index.neighbours import chunk_ranks as chunk_ranks
    from clew.index.neighbours import keyword_lengths as keyword_lengths
    from clew.steps.evidence import UnreadStep as UnreadStep
    from clew.steps.evidence import apparatus_behind as apparatus_behind
    from clew.steps.evidence import chunk_step as chunk_step
    from clew.steps.evidence import entity_step as entity_step
    from clew.steps.evidence import hits as hits
    from clew.steps.evidence import nearest_chunks as nearest_chunks
    from clew.steps.evidence import ranked as ranked
    from clew.steps.evidence import read_steps as read_steps
    from clew.steps.evidence import subchunk_step as subchunk_step
    from clew.steps.evidence import term_step as term_step
    from clew.steps.evidence import triple_step as triple_step
    from clew.steps.evidence import unit_step as unit_step
    from clew.steps.linking import Linked as Linked
    from clew.steps.linking import longest as longest
    from clew.steps.linking import name_spans as name_spans
    from clew.steps.linking import named_entities as named_entities
    from clew.steps.linking import query_names as query_names
    from clew.steps.linking import reply_to as reply_to
    from clew.steps.linking import same_names as same_names
    from clew.steps.linking import similar_entities as similar_entities
    from clew.steps.mentions import MENTIONED as MENTIONED
    from clew.steps.mentions import MENTIONS as MENTIONS
    from clew.steps.mentions import TITLED as TITLED
    from clew.steps.mentions import chunk_entities as chunk_entities
    from clew.steps.mentions import entity_chunks as entity_chunks
    from clew.steps.mentions import entity_units as entity_units
    from clew.steps.mentions import titled_chunks as titled_chunks
    from clew.steps.names import NAMES as NAMES
    from clew.steps.names import name_links as name_links
    from clew.steps.parameters import check_least as check_least
    from clew.steps.parameters import check_range as check_range
    from clew.steps.parameters import check_words as check_words
    from clew.steps.rankings import SKETCHES as SKETCHES
    from clew.steps.rankings import Ranking as Ranking
    from clew.steps.rankings import dense_ranking as dense_ranking
    from clew.steps.rankings import hybrid_ranking as hybrid_ranking
    from clew.steps.rankings import lexical_ranking as lexical_ranking
    from clew.steps.rankings import near_rows as near_rows
    from clew.steps.rankings import nearest as nearest
    from clew.steps.rankings import nearest_units as nearest_units
    from clew.steps.rankings import units_near as units_near
    from clew.steps.relevance import Coverage as Coverage
    from clew.steps.relevance import Relevance as Relevance
    from clew.steps.scores import LEXICAL as LEXICAL
    from clew.steps.scores import Query as Query
    from clew.steps.scores import beside_hybrid as beside_hybrid
    from clew.steps.scores import chunk_lengths as chunk_lengths
    from clew.steps.scores import chunk_titles as chunk_titles
    from clew.steps.scores import cosines_of as cosines_of
    from clew.steps.scores import dense_scores as dense_scores
    from clew.steps.scores import hybrid_scores as hybrid_scores
    from clew.steps.scores import lexical_scores as lexical_scores
    from clew.steps.scores import n_chunks as n_chunks
    from clew.steps.scores import read_query as read_query
    from clew.steps.scores import term_chunks as term_chunks
    from clew.steps.scores import term_rows as term_rows

# A method loads the steps that it takes; scipy comes with some of these.
_NAMES = {
    "steps.evidence": (
        "UnreadStep apparatus_behind chunk_step entity_step hits nearest_chunks ranked"
        " read_steps subchunk_step term_step triple_step unit_step"
    ).split(),
    "steps.linking": (
        "Linked longest name_spans named_entities query_names reply_to same_names similar_entities"
    ).split(),
    "steps.mentions": (
        "MENTIONED MENTIONS TITLED chunk_entities entity_chunks entity_units titled_chunks"
    ).split(),
    "steps.names": ["NAMES", "name_links"],
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
