"""The ablations and sensitivity figures of the four papers, as settings of the methods here.

They are at the papers' settings, orders of chunks and pools of keywords, from which our defaults
depart.
What needs an LLM on the way is left out: Clue-RAG's share of units (α), BubbleRAG's relaxation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clew.base.types import Scalar
from clew.evaluate import Setting, grid

Named = Sequence[tuple[str, Setting]]  # what the paper calls it, and what it is here


def _clue(**changed: Scalar) -> Setting:
    """Return Clue-RAG in the paper's setting, with something changed."""
    return Setting("clue_paper", changed)


def _bubble(changed: Mapping[str, Scalar] | None = None) -> Setting:
    """Return BubbleRAG in the paper's order of chunks, with something changed."""
    return Setting("bubble", {"order": "graph", **(changed or {})})


def _agrag(changed: Mapping[str, Scalar] | None = None) -> Setting:
    """Return AGRAG in the paper's order of chunks, with something changed."""
    return Setting("agrag", {"order": "graph", **(changed or {})})


ABLATIONS: Mapping[str, Named] = {
    "Clue-RAG": (
        ("full", _clue()),
        ("w/o K-A", _clue(unit_anchoring=False)),
        ("w/o S-A", _clue(entity_anchoring=False)),
        ("w/o Q-U", _clue(query_updating=False)),
        ("w/o K-A, Q-U", _clue(unit_anchoring=False, query_updating=False)),
        ("w/o S-A, Q-U", _clue(entity_anchoring=False, query_updating=False)),
        ("Clew's defaults", Setting("clue")),
    ),
    "KET-RAG": (
        ("full (KET-RAG-P)", Setting("ket_rag_p")),
        ("KET-RAG-U", Setting("ket_rag_u")),
        ("Skeleton-RAG", Setting("skeleton_rag")),
        ("Keyword-RAG", Setting("keyword_rag")),
        ("Hybrid-RAG", Setting("hybrid_rag")),
        ("KG-RAG", Setting("kg_rag")),
        ("KNNG-RAG", Setting("knng_rag")),
        ("Text-RAG", Setting("text_rag")),
    ),
    "BubbleRAG": (
        ("full", _bubble()),
        ("w/o specialisation", _bubble({"specialise": False})),
        ("w/o ranking", _bubble({"ranking": False})),
        ("w/o expansion", _bubble({"depth": 0})),
        ("entities only", _bubble({"entities_only": True})),
    ),
    "AGRAG": (
        ("full", _agrag()),
        ("HR only", _agrag({"subgraph": False})),
        ("no HR", _agrag({"hybrid": False})),
        ("no MCMI (tree only)", _agrag({"rounds": 0})),
        ("no filter", _agrag({"filter": False})),
        ("extracted entities", _agrag({"entities": "extracted"})),
        ("stops by Eq. 15", _agrag({"rule": "eq15"})),
        ("stops by the mean", _agrag({"rule": "mean"})),
        ("as printed", Setting("agrag_paper")),
    ),
}

SENSITIVITY: Mapping[str, Sequence[Setting]] = {
    "Clue-RAG, D": grid("clue_paper", {"depth": [1, 2, 3, 4]}),
    "Clue-RAG, K": grid("clue_paper", {"k": [1, 2, 3, 5, 10]}),
    "Clue-RAG, M": grid("clue_paper", {"width": [1, 3, 5, 10, 20]}),
    "KET-RAG, θ": grid("ket_rag_p", {"graph_share": [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]}),
    "KET-RAG, β": grid("ket_rag_p", {"core_share": [0.2, 0.4, 0.6, 0.8, 1.0]}),
    "KET-RAG, K": grid("ket_rag_p", {"k": [2, 4, 10]}),
    "BubbleRAG, B": grid("bubble", {"order": ["graph"], "found": [5, 10, 20, 50]}),
    "BubbleRAG, d": grid("bubble", {"order": ["graph"], "depth": [2, 4, 6, 8]}),
    "BubbleRAG, α": grid("bubble", {"order": ["graph"], "alpha": [0.1, 1.0, 2.0, 5.0]}),
    "AGRAG, rounds": grid("agrag", {"order": ["graph"], "rounds": [0, 5, 10, 20]}),
}
