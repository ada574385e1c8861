"""A small index with a graph by hand: what a tumour in a kidney lives on."""

from dataclasses import dataclass

from clew import steps
from clew.index.layers.statistical import StatisticalEntities, statistical_entities
from clew.methods.agrag.view import AgragView, build_graph, open_view
from clew.testing import models
from clew.text.keys import name_key
from tests.methods.bubble import comet

QUESTION = "Which kidney cancer lives on blood vessels, as tumors do?"

TEXTS = {
    "cancer": "Kidney cancer begins in the kidney. There blood vessels feed the kidney cancer.",
    "farm": "The farm sells apples. Apples keep in straw until spring.",
    "filter": "The kidney is a filter. Urine leaves the filter.",
    "surgery": "Surgery removes kidney cancer. It takes a steady hand.",
    "tumors": "Tumors grow in the kidney. Blood vessels feed the tumors.",
    "vessels": "Blood vessels carry oxygen. Oxygen is a gas.",
}
TRIPLES = {
    "cancer": [
        ("Kidney cancer", "begins in", "kidney"),
        ("blood vessels", "feed", "Kidney cancer"),
        ("kidney", "is home of", "Kidney cancer"),
    ],
    "farm": [("farm", "sells", "apples"), ("farm", "is run by", "Ole")],
    "filter": [("kidney", "is", "filter"), ("Urine", "leaves", "filter")],
    "surgery": [("Surgery", "removes", "Kidney cancer")],
    "tumors": [("Tumors", "grow in", "kidney"), ("blood vessels", "feed", "Tumors")],
    "vessels": [("blood vessels", "carry", "oxygen")],
}


def indexed(texts=TEXTS, triples=TRIPLES):
    """Give the snapshot of a new index of one chunk a document, with these triples."""
    return comet.indexed(texts, triples)


@dataclass(frozen=True)
class Look:
    """A view, and the statistical entities behind it, with nodes by name."""

    view: AgragView
    found: StatisticalEntities

    def node(self, name):
        """Return the node of an entity of either kind by its key, or of a chunk by its id."""
        graph, snapshot = self.view.graph, self.view.snapshot
        [entity] = snapshot.layer("entity").rows([name])
        if entity >= 0:
            return entity
        [chunk] = snapshot.layer("chunk").rows([name])
        if chunk >= 0:
            return graph.first_chunk + chunk
        return graph.n_entities + [name_key(term) for term in self.found.names].index(name)


def look(
    snapshot,
    question=QUESTION,
    *,
    costs="released",
    entities="statistical",
    verbatim=True,
    **counted,
):
    """Return what a method with these settings sees."""
    found = statistical_entities(snapshot, models().embedder, **counted)
    graph = build_graph(snapshot, found, entities=entities, verbatim=verbatim)
    asked = steps.read_query(models(), question)
    hybrid = steps.hybrid_scores(snapshot, asked)
    return Look(open_view(snapshot, asked, graph, found, costs, hybrid), found)
