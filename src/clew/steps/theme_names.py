"""Name themes by what tells them apart: names, titles, headings and noun phrases.

A candidate weighs the share of the theme's passages that have it, times the share of all passages
with it that belong to the theme. Names and phrases have at least two words: one alone is mostly a
first name or a common word. Documents, places and the like may be called by one word.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import neighbours
from clew.base.runtime.lazy import compile_re
from clew.index.snapshot import Snapshot
from clew.steps.entity_types import find_types
from clew.steps.mentions import entity_chunks
from clew.text.analyze import term_set
from clew.text.forms import is_verb_form
from clew.text.languages import JOINING
from clew.text.phrases import find_noun_phrases
from clew.text.sections import SEPARATOR, sections_at

Rows = NDArray[np.integer]

_MOST = 3  # names of a theme
_LONGEST = 6  # words of a heading that may name a theme
_PHRASES = 60  # the most frequent headings and phrases of a theme
_TELLING = 0.05  # weight of a name that tells a theme apart
_BESIDE = 0.35  # of the best name's weight: what weighs less is not named beside it
_FULLER = 0.5  # of a name's weight: a fuller form with as much replaces it
_FEW_DOCUMENTS = 10  # of which nothing stands in too many
_WORD = r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?"
_WORDS = compile_re(rf"{_WORD}(?: {_WORD})*")
_EDGES = compile_re(r"^[\W\d_]+|(?:\.[a-z]{1,4})+$|[\W\d_]+$")  # of "1. Orders", "faq.rst"
_THINGS = frozenset(["place", "organization", "work", "event", "product"])


def name_theme(
    snapshot: Snapshot, chunks: Rows, near: Rows, entities: Sequence[int], terms: Sequence[int]
) -> str:
    """Return up to three names of a theme's chunks, the most telling first.

    Headings and phrases are read in the chunks `near` the middle, which are ascending. `entities`
    and `terms` are the most characteristic ones, whose single words are a last resort.
    """
    texts, words = snapshot.layer("entity").texts(entities), snapshot.layer("term").ids(terms)
    types, link = find_types(snapshot, entities), entity_chunks(snapshot)
    titled = snapshot.linked("entity", "document").counts_of(np.asarray(entities, dtype=np.intp))
    weights = {
        text: _weigh(snapshot, neighbours(link, row), chunks)
        for row, text, type_, n in zip(entities, texts, types, titled, strict=True)
        if _WORDS.fullmatch(text) and (" " in text or n or type_ in _THINGS)
    }
    for text in _list_phrases(snapshot, near):
        weights.setdefault(text, _weigh(snapshot, _find_chunks(snapshot, text), chunks))
    names = _choose_apart(weights)
    if not names or weights[names[0]] < _TELLING:
        single = [word for word in (*texts, *words) if _is_noun(word)]
        names = [*dict.fromkeys([*single, *names, *words])][:_MOST]
    return ", ".join(names)


def _is_noun(word: str) -> bool:
    """Check whether a word may be a noun: no number, joining word or surely a verb."""
    folded = word.casefold()
    return bool(_WORDS.fullmatch(word)) and not (folded in JOINING or is_verb_form(folded))


def _weigh(snapshot: Snapshot, having: Rows, chunks: Rows) -> float:
    """Return the weight of what some chunks have; 0 if it stands in most documents."""
    n = len(snapshot.document_layer)
    documents = snapshot.layer("chunk").columns["document"][having]
    if not len(having) or (n >= _FEW_DOCUMENTS and 2 * len(np.unique(documents)) > n):
        return 0.0
    common = len(np.intersect1d(having, chunks))
    return common * common / (len(having) * len(chunks))


def _find_chunks(snapshot: Snapshot, text: str) -> Rows:
    """Return the chunks that have all words of a text."""
    link, rows = snapshot.linked("term", "chunk"), snapshot.layer("term").rows([*term_set(text)])
    if not rows or min(rows) < 0:
        return np.zeros(0, dtype=np.int64)
    found: Rows = reduce(np.intersect1d, (neighbours(link, row) for row in rows))
    return found


def _list_phrases(snapshot: Snapshot, chunks: Rows) -> list[str]:
    """Return the most frequent titles, headings and noun phrases of some chunks."""
    counts: Counter[frozenset[str]] = Counter()
    spellings: dict[frozenset[str], Counter[str]] = {}
    for phrases in _read_phrases(snapshot, chunks):
        found = {term_set(phrase): phrase for phrase in phrases}
        counts.update(found.keys())
        for words, phrase in found.items():
            spellings.setdefault(words, Counter())[phrase] += 1
    least = min(2, max(len(chunks) - 1, 1))
    order = sorted(counts, key=lambda words: (-counts[words], sorted(words)))[:_PHRASES]
    return [
        min(spellings[words], key=lambda text: (-spellings[words][text], text))
        for words in order
        if words and counts[words] >= least
    ]


def _read_phrases(snapshot: Snapshot, chunks: Rows) -> Iterator[list[str]]:
    """Yield the title, headings and noun phrases of each chunk."""
    layer = snapshot.layer("chunk")
    owners, starts = (layer.columns[name][chunks].tolist() for name in ("document", "start"))
    texts = iter(layer.texts(chunks.tolist()))
    for owner, group in groupby(zip(owners, starts, strict=True), key=lambda pair: pair[0]):
        [document] = snapshot.documents([owner])
        places = [start for _, start in group]
        for section in sections_at(document.headings, places, document.title):
            heads = [_EDGES.sub("", part) for part in (document.title, *section.split(SEPARATOR))]
            yield [
                *(h for i, h in enumerate(heads) if _is_heading(h) and (" " in h or not i)),
                *find_noun_phrases(next(texts)),
            ]


def _is_heading(text: str) -> bool:
    return bool(_WORDS.fullmatch(text)) and text.count(" ") < _LONGEST


def _choose_apart(weights: Mapping[str, float]) -> list[str]:
    """Return the best names, none of which contains all words of another."""
    order = sorted(weights, key=lambda text: (-weights[text], text))
    words = {text: term_set(text) for text in order}
    chosen: list[str] = []
    for text in order:
        fuller = (t for t in order if words[text] < words[t])
        name = next((t for t in fuller if weights[t] >= _FULLER * weights[text]), text)
        if chosen and weights[name] < _BESIDE * weights[chosen[0]]:
            continue
        if not any(words[name] <= words[t] or words[t] <= words[name] for t in chosen):
            chosen.append(name)
    return chosen[:_MOST]
