"""Named entity recognition by spaCy, alone or combined with another tagger.

spaCy gives types (PERSON, ORG, GPE, ...) and misses titles of works; the rules of
`clew.models.rules` find those and give no types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from clew.base.runtime.lazy import needs
from clew.base.types import Mention
from clew.errors import InputError
from clew.models import Tagger

if TYPE_CHECKING:
    from spacy.language import Language

DEFAULT_PIPELINE = "en_core_web_sm"  # spaCy's own small one of English
GENERIC_LABEL = "NAME"  # of a tagger that sees a name and not what it names

# OntoNotes' types without its numbers: no MONEY, PERCENT, QUANTITY, ORDINAL, CARDINAL, TIME.
LABELS = frozenset(
    """DATE EVENT FAC GPE LANGUAGE LAW LOC NORP ORG PERSON PRODUCT WORK_OF_ART""".split()
)
_NOT_NEEDED = (
    *("tagger", "parser", "senter", "sentencizer", "morphologizer", "attribute_ruler"),
    *("lemmatizer", "trainable_lemmatizer", "textcat", "textcat_multilabel", "spancat"),
)


@dataclass(frozen=True)
class SpacyTagger:
    """Tags the mentions found by a spaCy pipeline, of the types in LABELS."""

    pipeline: str = DEFAULT_PIPELINE  # an installed package, or a folder

    @property
    def name(self) -> str:
        meta = self._pipeline.meta
        return f"spacy:{meta['lang']}_{meta['name']}-{meta['version']}"

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        mentions = []
        for doc in self._pipeline.pipe(texts):
            spans = {(e.start_char, e.end_char): e.label_ for e in doc.ents if e.label_ in LABELS}
            mentions.append([Mention(*span, label) for span, label in sorted(spans.items())])
        return mentions

    @cached_property
    def _pipeline(self) -> Language:
        nlp = _load_pipeline(self.pipeline)
        for pipe in nlp.pipe_names:  # token vectors that only the excluded pipes would have read
            if getattr(nlp.get_pipe(pipe), "listening_components", None) == []:
                nlp.disable_pipe(pipe)
        return nlp


def _load_pipeline(name: str) -> Language:
    """Load a spaCy pipeline from a package or folder, without what a tagger does not need.

    Raises MissingExtra where spaCy is not installed, InputError where there is no such pipeline,
    or it finds no entities.
    """
    with needs("spacy", "spacy", "a spaCy pipeline"):
        import spacy
    try:
        nlp = spacy.load(name, exclude=_NOT_NEEDED)
    except OSError as error:
        raise InputError(
            f"spaCy has no pipeline {name!r}. Hint: python -m spacy download {name}, or name one"
            f" that is installed, or its folder, as --tagger spacy:NAME"
        ) from error
    if "ner" not in nlp.pipe_names:
        raise InputError(f"the spaCy pipeline {name!r} has no 'ner': name another")
    return nlp


@dataclass(frozen=True)
class UnitedTagger:
    """Tags the mentions found by either of two taggers.

    A span that both find keeps the first tagger's label, unless that is NAME. Spans that overlap
    and differ are both kept: "Bank of England" and "England" are two mentions.
    """

    first: Tagger
    second: Tagger

    @property
    def name(self) -> str:
        return f"{self.first.name}+{self.second.name}"

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        united = []
        for first, second in zip(self.first.tag(texts), self.second.tag(texts), strict=True):
            labels = {(mention.start, mention.end): mention.label for mention in second}
            for mention in first:
                span = (mention.start, mention.end)
                if span not in labels or mention.label != GENERIC_LABEL:
                    labels[span] = mention.label
            united.append([Mention(*span, label) for span, label in sorted(labels.items())])
        return united
