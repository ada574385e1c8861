"""Convert the statements of a knowledge graph file to a graph, and its subjects to rows.

Triples are columns of numbers from the moment they are read, so that a million of them take little
room. No model reads the chunks: a chunk's vector is the mean of its triples'.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.base.types import ENTITY_TYPES, GRAPH, IMPORTED, KINDS, Described, Extraction, Triple
from clew.index.layers.chunks import (
    Chunks,
    Columns,
    chunk_columns,
    count_columns,
    sentence_columns,
    subchunk_columns,
    text_key,
)
from clew.index.layers.extractions import Unnamed, text_columns, validity_columns
from clew.index.layers.numbers import Numbers, number_values
from clew.index.layers.subjects import COLUMNS, OTHER, Subject, SubjectGraph, line_windows
from clew.index.layers.vectors import embed_names, name_columns
from clew.index.snapshot.batch import Batch
from clew.models import Embedder
from clew.readers.triples import parse_validity
from clew.text.chunking import Chunking, Window
from clew.text.keys import name_key
from clew.text.normalize import collapse

Ints = NDArray[np.int32]

_TINY = 1e-6  # the length of a sum of vectors that has no direction


# -- what a file states ---------------------------------------------------------------------------


class Statements:
    """The triples and descriptions of a file, with the documents that they name."""

    def __init__(self) -> None:
        self._names, self._relations, self._about = (Numbers(collapse) for _ in range(3))
        self._documents, self._keys, self._times = Numbers(), Numbers(), Numbers()
        self._key_of = array("i")  # the key of each name
        self._columns = {name: array("i") for name in (*COLUMNS, "document")}
        self._described: list[tuple[int, int, Described]] = []  # behind document and key

    def __len__(self) -> int:
        return len(self._described) + len(self._columns["subject"])

    def add(self, triple: Triple, document_id: str) -> bool:
        """Add a triple, or return False if both its ends are the same entity."""
        subject, target = self._name(triple.subject), self._name(triple.object)
        if self._key_of[subject] == self._key_of[target]:
            return False
        columns = self._columns
        columns["subject"].append(subject)
        columns["relation"].append(self._relations[triple.relation])
        columns["object"].append(target)
        columns["description"].append(self._about[triple.description])
        columns["strength"].append(triple.strength)
        columns["validity"].append(self._times["; ".join(map(str, triple.validity))])
        columns["document"].append(self._documents[document_id])
        return True

    def describe(self, described: Described, document_id: str) -> None:
        """Add a document's name, type and description of an entity."""
        key = self._key_of[self._name(described.name)]
        self._described.append((self._documents[document_id], key, described))

    def _name(self, text: str) -> int:
        number = self._names[text]
        if number == len(self._key_of):
            self._key_of.append(self._keys[name_key(text)])
        return number

    def documents(self) -> dict[str, int]:
        """Return the number of triples of each named document; an empty id means none."""
        numbers = np.asarray(self._columns["document"])
        counts = np.bincount(numbers, minlength=len(self._documents))
        return dict(zip(self._documents, counts.tolist(), strict=True))

    def iterate_documents(self, ids: Sequence[str]) -> Iterator[tuple[str, Extraction]]:
        """Yield each named document with its statements, in file order."""
        names, relations, descriptions = map(list, (self._names, self._relations, self._about))
        times = list(map(parse_validity, self._times))
        owners = np.asarray(self._columns["document"])
        order = np.argsort(owners, kind="stable")
        begins = np.searchsorted(owners[order], np.arange(len(self._documents) + 1))
        columns = [self._columns[name] for name in COLUMNS]
        entities: dict[int, list[Described]] = {}
        for owner, _, described in self._described:
            entities.setdefault(owner, []).append(described)
        for document_id in ids:
            number = self._documents[document_id]
            triples = []
            for row in order[begins[number] : begins[number + 1]].tolist():
                subject, relation, target, about, strength, time = (c[row] for c in columns)
                triples.append(
                    Triple(
                        subject=names[subject],
                        relation=relations[relation],
                        object=names[target],
                        description=descriptions[about],
                        strength=strength,
                        validity=times[time] or (),
                    )
                )
            own = tuple(entities.get(number, ()))
            yield document_id, Extraction(entities=own, triples=tuple(triples))

    def to_graph(self, without: Sequence[str] = ()) -> SubjectGraph:
        """Return the distinct triples and descriptions, except those of documents in `without`."""
        left = {self._documents[document_id] for document_id in without}
        stays = np.flatnonzero(~np.isin(np.asarray(self._columns["document"]), list(left)))
        columns = {name: np.asarray(self._columns[name])[stays] for name in COLUMNS}
        keys, key_of = list(self._keys), np.asarray(self._key_of, dtype=np.int32)
        relations = list(self._relations)
        relation_keys = np.asarray([text_key(name_key(r)) for r in relations], dtype=np.uint64)
        owner = key_of[columns["subject"]]
        ends = [owner, relation_keys[columns["relation"]], key_of[columns["object"]]]
        about = (columns[name] for name in ("description", "strength", "validity"))
        rows = _first_occurrences([*ends, *about])
        described: dict[int, list[Described]] = {}
        for number, key, each in self._described:
            if number not in left:
                described.setdefault(key, []).append(each)
        subjects = sorted({*owner.tolist(), *described}, key=keys.__getitem__)
        place = np.zeros(len(keys), dtype=np.int64)
        place[subjects] = np.arange(len(subjects))
        rows = rows[np.argsort(place[owner[rows]], kind="stable")]
        return SubjectGraph(
            names=list(self._names),
            keys=keys,
            key_of=key_of,
            relations=relations,
            relation_keys=relation_keys,
            descriptions=list(self._about),
            times=list(self._times),
            columns={name: column[rows] for name, column in columns.items()},
            owners=subjects,
            begins=np.searchsorted(place[owner[rows]], np.arange(len(subjects) + 1)),
            described={key: _merge_described(several) for key, several in described.items()},
        )


def _first_occurrences(columns: Sequence[NDArray[np.generic]]) -> NDArray[np.intp]:
    """Return the first index of each distinct row of (n,) columns, ascending."""
    order = np.lexsort(columns)
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    return np.sort(order[is_new])


def _merge_described(several: Sequence[Described]) -> Described:
    """Merge several descriptions of one entity."""
    texts = dict.fromkeys(collapse(each.description) for each in several)
    return Described(
        name=collapse(several[0].name),
        type=next((each.type for each in several if each.type != OTHER), OTHER),
        description=" ".join(filter(None, texts)),
    )


# -- rows -----------------------------------------------------------------------------------------


def build_imported_batch(
    graph: SubjectGraph,
    subjects: Sequence[Subject],
    chunking: Chunking,
    embedder: Embedder,
    unnamed: Unnamed,
    *,
    late: bool,
) -> Batch:
    """Return the rows of some subjects of `graph`: documents and extractions.

    A chunk is not halved: where others are, it is its own only sub-chunk. `late` says that chunks
    have token vectors; these have none of them.
    """
    cut, chunk = _cut_subjects(subjects, chunking)
    rows = np.concatenate([np.arange(s.rows.start, s.rows.stop) for s in subjects])
    triples = {name: column[rows] for name, column in graph.columns.items()}
    ends = [graph.key_of[triples[end]] for end in ("subject", "object")]
    described = _describe_chunks(graph, subjects, cut, triples, chunk)
    keys = described.entity[number_values(described.entity)[0]]
    numbers = np.zeros(len(graph.keys), dtype=np.int32)
    numbers[keys] = np.arange(len(keys))
    counted, terms = count_columns(cut)
    parts = zip(*(triples[name].tolist() for name in COLUMNS[:3]), strict=True)
    statements = [f"{graph.names[s]} {graph.relations[r]} {graph.names[o]}" for s, r, o in parts]
    vectors = embedder.embed(statements, kind="document")
    chunk_vectors = _chunk_vectors(cut, chunk, vectors, embedder)
    columns: Columns = {
        "document.title_entity": numbers[[subject.key for subject in subjects]],
        **chunk_columns(cut),
        "chunk.vectors": chunk_vectors,
        **sentence_columns(cut),
        "sentence.vectors": np.zeros((0, embedder.dimension), dtype=np.float32),
        **counted,
        "extraction.chunk": np.arange(len(cut.windows), dtype=np.int32),
        "extraction.kind": np.full(len(cut.windows), KINDS.index(GRAPH), dtype=np.uint8),
        "extraction.source": np.full(len(cut.windows), IMPORTED, dtype=np.uint8),
        **_triple_columns(graph, triples),
        "triple.extraction": chunk,
        "triple.subject": numbers[ends[0]],
        "triple.object": numbers[ends[1]],
        "triple.vectors": vectors,
        **described.columns(),
        "description.entity": numbers[described.entity],
        "profile.vectors": embedder.embed(described.profiles(), kind="document"),
    }
    if cut.parts is not None:
        columns |= {**subchunk_columns(cut), "subchunk.vectors": chunk_vectors}
    if late:
        columns["chunk.n_stored"] = np.zeros(len(cut.windows), dtype=np.int32)
        columns["token.vectors"] = np.zeros((0, embedder.dimension), dtype=np.int8)
    entities = [graph.keys[key] for key in keys.tolist()]
    new = unnamed(entities)
    columns |= name_columns(new, embed_names([entities[i] for i in new], embedder))
    return Batch(documents=cut.documents, entities=entities, terms=terms, columns=columns)


def _cut_subjects(subjects: Sequence[Subject], chunking: Chunking) -> tuple[Chunks, Ints]:
    """Return the chunks of subjects, and the chunk of each of their triples."""
    owners: list[int] = []
    windows: list[Window] = []
    chunk: list[int] = []
    for place, subject in enumerate(subjects):
        subject_windows, of_line = line_windows(subject.document.text.split("\n"), chunking.size)
        of_triple = of_line[len(of_line) - len(subject.rows) :]
        chunk += [len(windows) + window for window in of_triple]
        owners += [place] * len(subject_windows)
        windows += subject_windows
    parts = [[(w.start, w.end)] for w in windows] if chunking.subchunk_depth else None
    documents = [subject.document for subject in subjects]
    return Chunks(documents, owners, windows, parts), np.asarray(chunk, dtype=np.int32)


def _chunk_vectors(
    cut: Chunks, chunk: Ints, vectors: NDArray[np.float32], embedder: Embedder
) -> NDArray[np.float32]:
    """Return the unit mean of each chunk's triple vectors, or its own vector without triples."""
    sums = np.zeros((len(cut.windows), embedder.dimension), dtype=np.float32)
    with_triples, begins = np.unique(chunk, return_index=True)
    if len(begins):
        sums[with_triples] = np.add.reduceat(vectors, begins, axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    bare = np.flatnonzero(lengths < _TINY)
    texts = cut.texts()
    sums[bare] = embedder.embed([texts[row] for row in bare], kind="document")
    lengths[bare] = 1.0
    return np.asarray(sums / lengths, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _ImportedDescriptions:
    """The distinct entities of chunks: the subject first, then the ends of its triples."""

    chunk: NDArray[np.integer]
    entity: NDArray[np.integer]  # places in the graph's `keys`
    names: Sequence[str]
    about: Sequence[Described | None]

    def columns(self) -> Columns:
        texts = [each.description if each else "" for each in self.about]
        types = [ENTITY_TYPES.index(each.type) if each else 0 for each in self.about]
        return {
            "description.extraction": self.chunk.astype(np.int32),
            "description.type": np.asarray(types, dtype=np.uint8),
            **text_columns("description", "name", self.names),
            **text_columns("description", "text", texts),
            "profile.description": np.flatnonzero(list(map(len, texts))).astype(np.int32),
        }

    def profiles(self) -> list[str]:
        """Return the embedded text of each description that has a text."""
        pairs = zip(self.names, self.about, strict=True)
        return [f"{name}: {each.description}" for name, each in pairs if each and each.description]


def _describe_chunks(
    graph: SubjectGraph,
    subjects: Sequence[Subject],
    cut: Chunks,
    triples: Mapping[str, Ints],
    chunk: Ints,
) -> _ImportedDescriptions:
    """Return the entities of each chunk; a subject is described in its first chunk."""
    n = len(subjects)
    first = np.searchsorted(np.asarray(cut.owners), np.arange(n))
    ends = np.stack([triples["subject"], triples["object"]], axis=1).ravel()
    chunks = np.concatenate([first, np.repeat(chunk, 2)])
    entities = np.concatenate([[subject.key for subject in subjects], graph.key_of[ends]])
    order = np.argsort(chunks, kind="stable")
    rows = order[_first_occurrences([chunks[order], entities[order]])]
    names = graph.names
    return _ImportedDescriptions(
        chunk=chunks[rows],
        entity=entities[rows],
        names=[subjects[r].document.title if r < n else names[ends[r - n]] for r in rows.tolist()],
        about=[subjects[r].described if r < n else None for r in rows.tolist()],
    )


def _triple_columns(graph: SubjectGraph, triples: Mapping[str, Ints]) -> Columns:
    relations = [graph.relations[i] for i in triples["relation"].tolist()]
    descriptions = [graph.descriptions[i] for i in triples["description"].tolist()]
    return {
        "triple.relation_key": graph.relation_keys[triples["relation"]],
        "triple.strength": triples["strength"].astype(np.uint8),
        **text_columns("triple", "relation", relations),
        **text_columns("triple", "description", descriptions),
        **validity_columns([parse_validity(graph.times[i]) or () for i in triples["validity"]]),
    }
