"""Name themes by what tells them apart: names, titles, headings and noun phrases.

A candidate weighs the share of the theme's passages that have it, times the share of all passages
with it that belong to the theme. It has at least two words, if no document is called so: one word
is mostly a first name or a common word.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from clew.algo.links import neighbours
from clew.base.runtime.lazy import compile_re
from clew.index.snapshot import Snapshot
from clew.steps.mentions import entity_chunks
from clew.text.analyze import term_set, term_spans
from clew.text.forms import find_bases, is_verb_form
from clew.text.languages import JOINING
from clew.text.phrases import find_noun_phrases
from clew.text.sections import SEPARATOR

Rows = NDArray[np.integer]

_MOST = 3  # names of a theme
_PHRASES = 60  # the most frequent headings and phrases of a theme
_TELLING = 0.05  # weight of a name that tells a theme apart
_BESIDE = 0.35  # of the best name's weight: what weighs less is not named beside it
_FULLER = 0.5  # of a name's weight: a fuller form with as much replaces it
_FEW_DOCUMENTS = 10  # of which nothing stands in too many
_WORD = r"[^\W\d_]+(?:['’-][^\W\d_]+)*\.?"
_WORDS = compile_re(rf"{_WORD}(?: {_WORD}){{0,5}}")
_EDGES = compile_re(r"^[\W\d_]+|(?:\.[a-z]{1,4})+$|[\W\d_]+$")  # of "1. Orders", "faq.rst"


def name_theme(
    snapshot: Snapshot, chunks: Rows, near: Rows, entities: Sequence[int], terms: Sequence[int]
) -> str:
    """Return up to three names of a theme's chunks, the most telling first.

    Headings and phrases are read in the chunks `near` the middle. `entities` and `terms` are the
    most characteristic ones, whose single words are a last resort.
    """
    texts = snapshot.layer("entity").texts(entities)
    link, titles = entity_chunks(snapshot), snapshot.linked("entity", "document")
    titled = titles.counts_of(np.asarray(entities, dtype=np.intp))
    weights = {
        text: _weigh(snapshot, neighbours(link, row), chunks)
        for row, text, n_titles in zip(entities, texts, titled, strict=True)
        if _WORDS.fullmatch(text) and (" " in text or n_titles)
    }
    for text in _list_phrases(snapshot, near):
        weights.setdefault(text, _weigh(snapshot, _find_chunks(snapshot, text), chunks))
    names = _choose_apart(weights)
    if not names or weights[names[0]] < _TELLING:
        words = _spell_terms(snapshot, near, snapshot.layer("term").ids(terms))
        single = [word for word in (*texts, *words) if _may_be_noun(word)]
        names = [*dict.fromkeys([*single, *names, *words])][:_MOST]
    return ", ".join(names)


def _may_be_noun(word: str) -> bool:
    folded = word.casefold()
    return bool(_WORDS.fullmatch(word)) and not (folded in JOINING or is_verb_form(folded))


def _spell_terms(snapshot: Snapshot, chunks: Rows, terms: Sequence[str]) -> list[str]:
    """Return terms as some chunks mostly write them."""
    texts = snapshot.layer("chunk").texts(chunks.tolist())
    counts = Counter((term, text[a:b]) for text in texts for term, a, b in term_spans(text))
    spelled = dict(pair for pair, _ in reversed(counts.most_common()))
    return [spelled.get(term, term) for term in terms]


def _weigh(snapshot: Snapshot, having: Rows, chunks: Rows) -> float:
    """Return the weight of what some chunks have."""
    if not len(having) or stands_in_most(snapshot, having):
        return 0.0
    common = len(np.intersect1d(having, chunks))
    return common * common / (len(having) * len(chunks))


def stands_in_most(snapshot: Snapshot, chunks: Rows) -> bool:
    """Check whether chunks belong to over half of the documents, if these are not few.

    What they have in common, such as the head of every page, tells no theme from another.
    """
    n = len(snapshot.document_layer)
    documents = snapshot.layer("chunk").columns["document"][chunks]
    return n >= _FEW_DOCUMENTS and 2 * len(np.unique(documents)) > n


def _find_chunks(snapshot: Snapshot, text: str) -> Rows:
    """Return the chunks that have all words of a text."""
    link, rows = snapshot.linked("term", "chunk"), snapshot.layer("term").rows([*term_set(text)])
    known = [neighbours(link, row) for row in rows if row >= 0]
    return reduce(np.intersect1d, known) if known else np.zeros(0, dtype=np.int64)


def _list_phrases(snapshot: Snapshot, chunks: Rows) -> list[str]:
    """Return the most frequent titles, headings and noun phrases of some chunks."""
    spellings: dict[frozenset[str], Counter[str]] = {}
    for phrases in _read_phrases(snapshot, chunks):
        for words, phrase in {term_set(phrase): phrase for phrase in phrases}.items():
            spellings.setdefault(words, Counter())[phrase] += 1
    least = min(2, max(len(chunks) - 1, 1))
    found = [
        (-spelled.total(), min(spelled, key=lambda text: (-spelled[text], text)))
        for words, spelled in spellings.items()
        if words and spelled.total() >= least
    ]
    return [text for _, text in sorted(found)[:_PHRASES]]


def _read_phrases(snapshot: Snapshot, chunks: Rows) -> Iterator[list[str]]:
    """Yield the title, headings and noun phrases of each chunk."""
    layer = snapshot.layer("chunk")
    owners = snapshot.documents(layer.columns["document"][chunks].tolist())
    starts = layer.columns["start"][chunks].tolist()
    for owner, start, text in zip(owners, starts, layer.texts(chunks.tolist()), strict=True):
        title, *heads = (
            _EDGES.sub("", part)
            for part in (owner.title, *owner.section_at(start).split(SEPARATOR))
        )
        named = [title, *(head for head in heads if " " in head)]
        phrases = (
            phrase
            for phrase in find_noun_phrases(text)
            if not any(map(is_verb_form, phrase.lower().split()[1:]))
        )
        yield [*filter(_WORDS.fullmatch, named), *phrases]


def _choose_apart(weights: Mapping[str, float]) -> list[str]:
    """Return the best names, none of which contains all words of another."""
    order = sorted(weights, key=lambda text: (-weights[text], text))
    words = {text: find_bases(text) for text in order}
    chosen: list[str] = []
    for text in order:
        fuller = (t for t in order if words[text] < words[t])
        name = next((t for t in fuller if weights[t] >= _FULLER * weights[text]), text)
        apart = not any(words[name] <= words[t] or words[t] <= words[name] for t in chosen)
        if apart and (not chosen or weights[name] >= _BESIDE * weights[chosen[0]]):
            chosen.append(name)
    return chosen[:_MOST]
