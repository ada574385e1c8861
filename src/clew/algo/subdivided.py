"""A graph in which every triple is a node of its own, joined to its subject and its object.

So an anchor may be an entity or a triple, triples between the same two entities stay apart, and a
mean over nodes is one over entities and triples (BubbleRAG, arXiv:2603.20309, Eq. 1).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Subdivided:
    """Nodes are numbers: entity e is e, triple t is n_entities + t."""

    n_entities: int
    subjects: NDArray[np.int32]  # (n_triples,) entities
    objects: NDArray[np.int32]
    begins: NDArray[np.int64]  # (n_entities + 1,) where the triples of each entity begin
    incident: NDArray[np.int32]  # the triples of entity after entity, ascending for each

    def triples_of(self, entity: int) -> NDArray[np.int32]:
        """Return the rows of the triples of an entity, ascending, each once."""
        return self.incident[self.begins[entity] : self.begins[entity + 1]]

    def ends_of(self, triple: int) -> tuple[int, ...]:
        """Return the entities that the triple in a row joins: two, or one for a loop."""
        subject, target = int(self.subjects[triple]), int(self.objects[triple])
        return (subject,) if subject == target else (subject, target)


def subdivide(
    n_entities: int, subjects: NDArray[np.int32], objects: NDArray[np.int32]
) -> Subdivided:
    """Return the graph of (n_triples,) subject and object entities. O(n log n)."""
    triples = np.arange(len(subjects), dtype=np.int32)
    two = subjects != objects
    ends = np.concatenate([subjects, objects[two]])
    owned = np.concatenate([triples, triples[two]])
    order = np.lexsort((owned, ends))
    begins = np.searchsorted(ends[order], np.arange(n_entities + 1))
    return Subdivided(n_entities, subjects, objects, begins, owned[order])
