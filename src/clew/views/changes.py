"""Diff between two states of an index, or between two indexes."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from clew.answers.differences import find_difference
from clew.base.reports import Changes, DocumentChange, EntityChange, ValueChange
from clew.base.types import LABELS, Step
from clew.text.analyze import term_set
from clew.text.keys import name_key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from clew.base.reports import IndexState
    from clew.base.types import Document
    from clew.index.snapshot import Snapshot
    from clew.index.snapshot.layers import StoredSentence

_TRIED = 8  # sentences that came, most like one that went, which may say another value
_LOOKED_AT = 2000  # places of a sentence's terms, so that common ones cost no square
_DATE = LABELS[3]


@dataclass(frozen=True, slots=True)
class _Sentence:
    document: Document
    start: int
    end: int
    keys: tuple[str, ...]  # of the entities that it mentions
    names: tuple[str, ...]  # these as it writes them
    text: str = field(init=False)  # white space collapsed

    def __post_init__(self) -> None:
        text = " ".join(self.document.text[self.start : self.end].split())
        object.__setattr__(self, "text", text)

    def as_step(self) -> Step:
        document, start, end = self.document, self.start, self.end
        return Step(
            layer="sentence",
            id=f"{document.id}:{start}-{end}",
            text=self.text,
            document_id=document.id,
            start=start,
            end=end,
            source=document.source,
            section=document.section_at(start),
            page=document.pages_of(start, end)[0],
            line=document.line_at(start),
        )


class ComparedState(NamedTuple):
    """One side of a diff."""

    state: IndexState
    snapshot: Snapshot | None  # None: it has no document
    rows: Sequence[int]  # of the documents that the other side may not have as they are


def compare_states(
    before: ComparedState, after: ComparedState, renamed: Mapping[str, str], most: int | None
) -> Changes:
    """Return the diff between two states, in time linear in the compared documents.

    `renamed` maps present ids to former ones. Each list has at most `most` entries.
    """
    old, new = _read_documents(before), _read_documents(after)
    unlike = [i for i in old if i in new and old[i][1].text != new[i][1].text]
    gone = [i for i in old if i not in new]
    come = [i for i in new if i not in old]
    went = _read_sentences(before.snapshot, [old[i] for i in (*gone, *unlike)])
    came = _read_sentences(after.snapshot, [new[i] for i in (*come, *unlike)])
    documents = [
        *(DocumentChange(i, new[i][1].title, "came", n_came=len(came[i])) for i in come),
        *(DocumentChange(i, old[i][1].title, "went", n_went=len(went[i])) for i in gone),
        *(_compare_document(new[i][1], went[i], came[i]) for i in unlike),
        *(DocumentChange(i, "", "renamed", former_id=was) for i, was in renamed.items()),
    ]
    gone_sentences, new_sentences = _drop_common(went.values(), came.values())
    documents.sort(key=lambda each: each.id)
    values = list(_find_values(gone_sentences, new_sentences))
    entities = _list_entities(gone_sentences, new_sentences, before.snapshot, after.snapshot)
    return Changes(
        before=before.state,
        after=after.state,
        documents=tuple(documents[:most]),
        values=tuple(values[:most]),
        entities=tuple(entities[:most]),
        n_documents=len(documents),
        n_values=len(values),
        n_entities=len(entities),
    )


def _read_documents(side: ComparedState) -> dict[str, tuple[int, Document]]:
    """Return the compared documents and their rows, by id."""
    documents = [] if side.snapshot is None else side.snapshot.documents(side.rows)
    return {each.id: (row, each) for row, each in zip(side.rows, documents, strict=True)}


def _read_sentences(
    snapshot: Snapshot | None, documents: Sequence[tuple[int, Document]]
) -> dict[str, list[_Sentence]]:
    """Return the distinct sentences of some documents, by document id."""
    if snapshot is None or snapshot.cutter is None or not documents:
        return {}
    owners = snapshot.layer("chunk").columns["document"]
    sentences = {}
    for row, document in documents:
        first, last = np.searchsorted(owners, [row, row + 1]).tolist()
        of_chunks = snapshot.cutter.sentences(range(first, last))
        by_start = {each.start: each for some in of_chunks for each in some}
        sentences[document.id] = [_read_one(document, each) for each in by_start.values()]
    return sentences


def _read_one(document: Document, sentence: StoredSentence) -> _Sentence:
    text = document.text[sentence.start : sentence.end]
    names = [text[m.start : m.end] for m in sentence.mentions if m.label != _DATE]
    keys = tuple(map(name_key, names))
    return _Sentence(document, sentence.start, sentence.end, keys, tuple(names))


def _compare_document(
    document: Document, went: Sequence[_Sentence], came: Sequence[_Sentence]
) -> DocumentChange:
    gone, new = _drop_common([went], [came])
    return DocumentChange(
        document.id,
        document.title,
        "changed",
        n_came=len(new),
        n_went=len(gone),
        came=tuple(each.as_step() for each in new),
        went=tuple(each.as_step() for each in gone),
    )


def _drop_common(
    went: Collection[Sequence[_Sentence]], came: Collection[Sequence[_Sentence]]
) -> tuple[list[_Sentence], list[_Sentence]]:
    """Drop the sentences common to both sides."""
    old = {each.text for some in went for each in some}
    new = {each.text for some in came for each in some}
    return (
        [each for some in went for each in some if each.text not in new],
        [each for some in came for each in some if each.text not in old],
    )


def _find_values(went: Sequence[_Sentence], came: Sequence[_Sentence]) -> Iterator[ValueChange]:
    """Yield pairs of a removed and an added sentence that differ in a value only."""
    holders: dict[str, list[int]] = defaultdict(list)
    terms = [term_set(each.text) for each in came]
    for place, some in enumerate(terms):
        for term in some:
            holders[term].append(place)
    free = set(range(len(came)))
    for each in went:
        shared = Counter(_find_holders(each, holders))
        own = each.document.id
        tried = heapq.nsmallest(
            _TRIED,
            free.intersection(shared),
            key=lambda place: (came[place].document.id != own, -shared[place], place),
        )
        for place in tried:
            other = came[place]
            values = find_difference(
                "", (each.document.title, each.text), (other.document.title, other.text)
            )
            if values is not None:
                free.remove(place)
                yield ValueChange(each.as_step(), other.as_step(), *values)
                break


def _find_holders(sentence: _Sentence, holders: Mapping[str, Sequence[int]]) -> Iterator[int]:
    """Return the positions of sentences that share a term with one, by its rarest terms."""
    ordered = sorted((len(holders.get(term, ())), term) for term in term_set(sentence.text))
    return islice(chain.from_iterable(holders.get(term, ()) for _, term in ordered), _LOOKED_AT)


def _list_entities(
    went: Sequence[_Sentence],
    came: Sequence[_Sentence],
    before: Snapshot | None,
    after: Snapshot | None,
) -> list[EntityChange]:
    """Return the entities in changed sentences, those in most of them first."""
    names: dict[str, str] = {}
    counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    documents: dict[str, dict[str, None]] = defaultdict(dict)
    for some, count in zip((came, went), counts, strict=True):
        for each in some:
            for key, name in dict(zip(each.keys, each.names, strict=True)).items():
                names.setdefault(key, name)
                count[key] += 1
                documents[key][each.document.id] = None
    keys = list(names)
    had, has = _are_entities(before, keys), _are_entities(after, keys)
    changes = [
        EntityChange(
            id=key,
            name=names[key],
            change="came" if key not in had else "changed" if key in has else "went",
            n_came=counts[0][key],
            n_went=counts[1][key],
            documents=tuple(sorted(documents[key])),
        )
        for key in keys
        if key in had or key in has
    ]
    return sorted(changes, key=lambda each: (-each.n_came - each.n_went, each.id))


def _are_entities(snapshot: Snapshot | None, keys: Sequence[str]) -> set[str]:
    """Return which keys are entities of a state."""
    rows = [-1] * len(keys) if snapshot is None else snapshot.layer("entity").rows(keys)
    return {key for key, row in zip(keys, rows, strict=True) if row >= 0}
