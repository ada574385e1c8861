"""A reasoning subgraph made by hand: two trees, what grew around them, and every kind of edge."""

from clew.base.types import Edge, Evidence, EvidenceGraph, Fact, Growth, Step, Subgraph

ARCHER, LARVIK = "polar/archer.md:0-80", "polar/larvik.md:0-60"
BUILT, DREW = "colin archer|built|fram", "colin archer|drew|fram"
BORN, LEFT = "colin archer|was born in|larvik", "belgica|left|antwerp"


def _node(name, score, layer="entity"):
    return Step(layer=layer, id=name.lower(), text=name, reason=f"holds {score}", score=score)


def _chunk(name, text, score):
    document, end = name.split(":0-")
    where = {"document_id": document, "end": int(end)}
    return Step(layer="chunk", id=name, text=text, reason="on the tree", score=score, **where)


def _fact(name, *chunks, candidate=1, depth=0):
    ends = dict(zip(("subject", "relation", "object"), name.split("|"), strict=True))
    said = name.replace("|", " ")
    return Fact(id=name, text=said, chunk_ids=chunks, candidate=candidate, depth=depth, **ends)


NODES = (
    _node("Colin Archer", 0.3),
    _node("Fram", 0.25),
    _chunk(ARCHER, "Archer, who was born in Larvik, built the Fram.", 0.2),
    _node("Archer", 0.15),
    _node("Belgica", 0.125),
    _node("Antwerp", 0.1),
    _node("Larvik", 0.05),
    _node("polar ship", 0.025, "statistical"),
    _chunk(LARVIK, "Larvik built many a polar ship.", 0.0125),
)
TREE = (
    Edge(a="colin archer", b="fram", kind="fact", cost=0.2, facts=(BUILT, DREW)),
    Edge(a="archer", b="colin archer", kind="synonym", cost=0.125),
    Edge(a="archer", b=ARCHER, kind="contains", cost=0.5),
    Edge(a="belgica", b="antwerp", kind="fact", cost=0.25, facts=(LEFT,)),
)
SUBGRAPH = Subgraph(
    terminals=tuple(node for node in NODES if node.id in ("fram", "belgica", "antwerp")),
    tree=TREE,
    growth=(
        Growth(node="larvik", to=ARCHER, cost=0.4, score=0.05, ratio=0.125, limit=0.04412),
        Growth(node="polar ship", to=ARCHER, cost=0.5, score=0.025, ratio=0.05, limit=0.04412),
        Growth(node=LARVIK, to="larvik", cost=0.25, score=0.0125, ratio=1234.0, limit=0.04412),
    ),
    nodes=NODES,
    edges=(
        *TREE,
        Edge(a="colin archer", b="larvik", kind="fact", cost=0.75, facts=(BORN,)),
        Edge(a="larvik", b=ARCHER, kind="contains", cost=0.4),
        Edge(a="polar ship", b=ARCHER, kind="contains", cost=0.5),
        Edge(a="larvik", b=LARVIK, kind="contains", cost=0.25),
        Edge(a="polar ship", b=LARVIK, kind="contains", cost=0.25),
    ),
    components=(
        ("colin archer", "fram", ARCHER, "archer", "larvik", "polar ship", LARVIK),
        ("belgica", "antwerp"),
    ),
)
EVIDENCE = Evidence(
    query="Where was the builder of the Fram born?",
    method="by hand",
    graph=EvidenceGraph(
        subgraph=SUBGRAPH,
        entities=tuple(node for node in NODES if node.layer != "chunk"),
        facts=(
            _fact(BUILT, ARCHER),
            _fact(DREW, ARCHER, LARVIK),
            _fact(LEFT, candidate=2),
            _fact(BORN, ARCHER, depth=1),
        ),
    ),
)
