"""Triples from the dependency parse of a spaCy pipeline: no LLM, English.

`clauses` says which tokens stand in which relation. Here texts are parsed sentence by sentence,
tokens get their names, and pronouns what they stand for: the last subject of the text
that they fit, or what its title names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from clew.base.types import Extraction
from clew.extras.models.clauses import clauses, is_common, is_name
from clew.extras.models.coreference import Reading
from clew.extras.models.parentheses import PARENTHESIS, in_parentheses
from clew.extras.models.spacy import DEFAULT_PIPELINE, LABELS, load_pipeline
from clew.models.extractors.ends import End, Statement, extraction, split_sentences
from clew.text.names import quoted_spans
from clew.text.normalize import collapse

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc, Span, Token

_NEEDED = ("parser", "ner", "tagger")
_NAME_WORDS = 2  # that a person's name has, mostly at most
_NOT_NEEDED = ("lemmatizer", "trainable_lemmatizer", "textcat", "textcat_multilabel", "spancat")


@dataclass(frozen=True)
class DependencyTriples:
    """Extracts the clauses, appositions and possessives of a text as triples."""

    pipeline: str = DEFAULT_PIPELINE  # an installed package, or a folder

    @property
    def name(self) -> str:
        meta = self._pipeline.meta
        return f"dependency-1:{meta['lang']}_{meta['name']}-{meta['version']}"

    def extract(self, texts: Sequence[str]) -> list[Extraction]:
        """Return the triples of each text, which begins with its chunk's title."""
        parted = [(text, *split_sentences(text)) for text in texts]
        read = [(Reading(collapse(text), End(title)), pairs) for text, title, pairs in parted]
        docs = self._parse(
            (reading.topic.name, PARENTHESIS.sub("", sentence))
            for reading, sentences in read
            for sentence in sentences
        )
        return [
            extraction(_statements(reading, [(s, next(docs)) for s in sentences]))
            for reading, sentences in read
        ]

    def _parse(self, sentences: Iterable[tuple[str, str]]) -> Iterator[Doc]:
        """Yield the parse of each (title, sentence), with each name merged into one token."""
        nlp = self._pipeline
        docs = (
            _merge_spans(nlp.make_doc(text), _find_quotations(text, title))
            for title, text in sentences
        )
        for doc in nlp.pipe(docs):
            for token in doc:
                if " " in token.text:  # merged before a tagger saw it
                    token.pos_ = "PROPN"
            _merge_spans(doc, [span for entity in doc.ents if (span := _name_span(entity))])
            yield _merge_spans(doc, [span for token in doc if (span := _of_span(token))])

    @cached_property
    def _pipeline(self) -> Language:
        return load_pipeline(self.pipeline, exclude=_NOT_NEEDED, needed=_NEEDED)


def _find_quotations(text: str, title: str) -> list[tuple[int, int]]:
    """Return the ranges of quotations and of the title, which a parser may take for clauses.

    A title of three capitalised words or less is left to the pipeline, which then sees its type.
    """
    words = title.split()
    if len(words) <= _NAME_WORDS and all(word[0].isupper() for word in words):
        return list(quoted_spans(text))
    titles = re.finditer(rf"(?<!\w){re.escape(title)}(?!\w)", text)
    return [*quoted_spans(text), *(match.span() for match in titles)]


def _merge_spans(doc: Doc, spans: Iterable[tuple[int, int]]) -> Doc:
    """Merge each character range into one proper noun; of overlapping ones, the first or longer."""
    taken = 0
    with doc.retokenize() as retokenizer:
        for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            span = doc.char_span(start, end)
            if span is not None and start >= taken:
                taken = end
                retokenizer.merge(span, attrs={"POS": "PROPN"})
    return doc


def _name_span(entity: Span) -> tuple[int, int] | None:
    """Return an entity's range without article and possessive, with preceding proper nouns."""
    tokens = [token for token in entity if token.pos_ != "PUNCT" and token.tag_ != "POS"]
    while tokens and tokens[0].pos_ in {"DET", "ADP"}:
        tokens.pop(0)
    if not tokens or entity.label_ not in LABELS - {"NORP"}:
        return None
    first, doc = tokens[0].i, entity.doc
    while first and doc[first - 1].pos_ == "PROPN" and doc[first - 1].dep_ == "compound":
        first -= 1
    return doc[first].idx, tokens[-1].idx + len(tokens[-1])


def _of_span(token: Token) -> tuple[int, int] | None:
    """Return the range of a name with "of" in it: "Bishop of Rome", "Bay of the Seine"."""
    if token.text != "of" or not token.i or token.nbor(-1).pos_ != "PROPN":
        return None
    for name in token.children:
        between = token.doc[token.i + 1 : name.i].text
        if name.dep_ == "pobj" and is_name(name) and between in {"", "the"}:
            return token.nbor(-1).idx, name.idx + len(name)
    return None


def _statements(reading: Reading, sentences: Sequence[tuple[str, Doc]]) -> Iterator[Statement]:
    """Yield the statements of a text's sentences, each with its parse.

    A statement about two common nouns is left out: "ships need coal" is of nothing in particular.
    """
    for sentence, doc in sentences:
        ends = reading.ends(doc)
        names = {doc[i].text: end for i, end in ends.items() if is_name(doc[i])}
        yield from in_parentheses(sentence, names)
        for clause in clauses(doc):
            subject, relation, object_ = clause
            if subject.i not in ends or object_.i not in ends:
                continue
            if any(not is_common(t) or ends[t.i] == reading.topic for t in (subject, object_)):
                yield ends[subject.i], relation, ends[object_.i]
                reading.learn(clause, ends)
