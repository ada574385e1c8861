"""The sentences of passages, and how models read them beside a question."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from clew import steps
from clew.algo.fusion import min_max
from clew.algo.links import neighbours
from clew.algo.maxsim import best_matches
from clew.base.runtime.lazy import compile_re
from clew.base.types import Mention, Passage
from clew.index.snapshot import Snapshot
from clew.models import Models, gives_tokens, is_paid
from clew.models.maxsim import unit_rows
from clew.steps.entity_types import find_types_in
from clew.text.analyze import term_set, term_spans
from clew.text.languages import find_language
from clew.text.patterns import format_range
from clew.text.phrases import Span
from clew.text.questions import QUESTION_MARKS, has_question_word, question_kind, refers_back
from clew.text.sentences import sentence_spans
from clew.text.tables import columns_of, find_tables

_NEAR = 0.6  # the weight of a sentence's nearness beside words, where there are no token vectors
_MOST_SENTENCES = 3  # of a quote
_MARKUP = " *_\n"  # what may stand between a question in bold and its answer
_TERM_LENGTH = 80  # characters at most
_HEADING = compile_re(r"#{2,6} +(\S[^\n]*)\s*")  # of Markdown; one mark may be of a comment
_TERM = compile_re(r"(?:[a-z$]|-\S|[A-Z][A-Z\d_]|\w+_)[^\n]*[^\s.!?:;,|]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that may be quoted, behind the one that its first word refers to, if near."""

    place: int  # of its passage, from 0
    start: int  # in the passage's text
    own: int  # where itself starts, with the term that it defines
    end: int
    text: str
    title: str
    is_first: bool
    parts: tuple[str, ...]  # its sentences, itself the last
    columns: str = ""  # of a row of a table, their names
    is_header: bool = False  # it is a row that names the columns
    heading: str = ""  # that stands above it in its passage
    mentions: tuple[Mention, ...] | None = None  # in its text, where the index has them

    @property
    def said(self) -> str:
        """Its own words."""
        return self.text[self.own - self.start :]

    @property
    def head(self) -> str:
        """What stands above it: the title of its passage, a heading, the names of its columns."""
        return f"{self.title}\n{self.heading}\n{self.columns}"


def find_sentences(passages: Sequence[Passage], snapshot: Snapshot | None) -> list[Sentence]:
    """Return the sentences of passages, one after the other.

    Those of a passage that is a whole chunk of the `snapshot` are as the index cut them, unless
    it has rows of a table or parts of a longer sentence: these depend on what stands before them.
    """
    stored = _read_stored(passages, snapshot)
    places = enumerate(zip(passages, stored, strict=True))
    return [s for place, (each, known) in places for s in _find_in_passage(each, place, known)]


def _read_stored(
    passages: Sequence[Passage], snapshot: Snapshot | None
) -> Sequence[Mapping[Span, tuple[Mention, ...]]]:
    """Return the sentences that the index has of each passage, by where they stand in it."""
    stored: list[dict[Span, tuple[Mention, ...]]] = [{} for _ in passages]
    if snapshot is None or snapshot.cutter is None:
        return stored
    whole = [
        i for i, p in enumerate(passages) if p.chunk_id.endswith(format_range("", p.start, p.end))
    ]
    rows = snapshot.layer("chunk").rows([passages[i].chunk_id for i in whole])
    known = {i: row for i, row in zip(whole, rows, strict=True) if row >= 0}
    read = snapshot.cutter.sentences(list(known.values()))
    for i, sentences in zip(known, read, strict=True):
        begin, text = passages[i].start, passages[i].text
        spans = {(s.start - begin, s.end - begin): s.mentions for s in sentences}
        if "|" not in text and not _is_cut_inside(text, list(spans)):
            stored[i] = spans
    return stored


def _is_cut_inside(text: str, spans: Sequence[Span]) -> bool:
    """Say whether a part of a sentence is stored, which was too long to be one row.

    It ends inside a line, without a mark.
    """
    return any(
        text[end - 1].isalnum() and "\n" not in text[end:start]
        for (_, end), (start, _) in pairwise(spans)
    )


def _find_in_passage(
    passage: Passage, place: int, stored: Mapping[Span, tuple[Mention, ...]]
) -> list[Sentence]:
    text, rows = passage.text, _find_rows(passage)
    sentences: list[Sentence] = []
    back: list[Span] = []  # the last sentence that names what it is about, and those after it
    term: Span | None = None  # the sentence before, if that is a term
    for start, end, heading in _split_passage(text, [*stored] or sentence_spans(text)):
        defines = term is not None and not text[term[1] : start].strip(_MARKUP)
        is_below = bool(sentences) and heading == sentences[-1].heading
        refers = is_below and (defines or (refers_back(text[start:end]) and start not in rows))
        back = [*back, (start, end)] if refers else [(start, end)]
        spans = back if refers and len(back) <= _MOST_SENTENCES else [(start, end)]
        own = term[0] if term and defines and len(spans) > 1 else start
        if own < start and _asks(sentences[-1].said):
            sentences.pop()  # a question is quoted with its answer
        is_above = _is_term(text, start, end) or _is_question_line(text, start, end)
        term = (start, end) if is_above else None
        begin = spans[0][0]
        parts = tuple(text[a:b] for a, b in spans)
        head = passage.title, not sentences, parts
        mentions = stored.get((start, end)) if begin == start else None
        columns = rows.get(start)
        above = columns or "", columns == "", heading
        sentences.append(Sentence(place, begin, own, end, text[begin:end], *head, *above, mentions))
    return sentences


def _split_passage(text: str, spans: Sequence[Span]) -> list[tuple[int, int, str]]:
    """Return its sentences, each with the heading above it in the passage.

    Headings are none, unless there is nothing else.
    """
    parts, heading = [], ""
    for start, end in spans:
        line = None if text[:start].rstrip(" ")[-1:].strip() else _HEADING.match(text, start, end)
        if line is not None:
            heading = line[1].rstrip()
        begin = start if line is None else line.end()
        if begin < end:
            parts.append((begin, end, heading))
    return parts or [(start, end, "") for start, end in spans]


def _is_term(text: str, start: int, end: int) -> bool:
    """Say whether a sentence is a term above its definition, as in a manual: "max_idle (100s)".

    It is a paragraph of a few words without an end, and begins like no heading.
    """
    is_apart = not text[:start].strip(" ") or text[:start].rstrip(" ").endswith("\n\n")
    is_apart = is_apart and text[end:].lstrip(" ").startswith("\n\n")
    return is_apart and end - start <= _TERM_LENGTH and bool(_TERM.fullmatch(text, start, end))


def _is_question_line(text: str, start: int, end: int) -> bool:
    """Say whether a sentence is a question on lines of its own, as above its answer in an FAQ.

    In a record it may stand before the next field: "question: Is it free?; answer: Yes."
    """
    before, behind = text[:start].rstrip(" "), text[end:].lstrip(" *_")
    return _asks(text[start:end]) and before[-1:] in {"", "\n"} and behind[:1] in {"\n", ";"}


def _asks(sentence: str) -> bool:
    return sentence.rstrip(_MARKUP).endswith(QUESTION_MARKS)


def _find_rows(passage: Passage) -> dict[int, str]:
    """Return of each row of a table, by its first character, its columns' names, "" of a header.

    Those of a table that begins above the passage are in its section.
    """
    names: dict[int, str] = {}
    for table in find_tables(passage.text):
        above = "" if passage.text[: table.start].strip() else columns_of(passage.section)
        n_head = 0 if above else table.n_head
        starts = [start for start, _ in table.rows]
        names |= dict.fromkeys(starts[:n_head], "")
        names |= dict.fromkeys(starts[n_head:], above or table.columns or " ")
    return names


@dataclass(frozen=True, slots=True)
class ReadSentences:
    """The models' readings of n sentences and a question of m tokens."""

    own: NDArray[np.float64]  # (n, m) 0 to 1, how well each sentence meets each token
    matches: NDArray[np.float64]  # (n, m), with those before it that are quoted with it
    weights: NDArray[np.float64]  # (m,), their sum is 1
    spans: Sequence[Span]  # of the tokens, in the question
    in_question: Sequence[Mention]
    mentions: Sequence[Sequence[Mention]]  # of each sentence
    types: Mapping[str, str]  # of names in them, by keys, where the question asks for one


def read_sentences(
    question: str,
    sentences: Sequence[Sentence],
    passages: Sequence[Passage],
    models: Models,
    snapshot: Snapshot | None,
) -> ReadSentences:
    """Read the sentences: by the embedder's tokens where it gives such, else by words."""
    is_read = gives_tokens(models.embedder) or (
        snapshot is not None
        and not is_paid(models.embedder)
        and _tells_nearness(question, passages)
    )
    query = (
        steps.read_query(models, question)
        if is_read
        else steps.Query(question, np.zeros(0, dtype=np.float32), None)
    )
    coverage = None if snapshot is None else steps.Coverage(snapshot, query)
    parts = list(dict.fromkeys(part for s in sentences for part in s.parts))
    if query.tokens is None:
        words = list(term_spans(question))
        spans = [(a, b) for _, a, b in words]
        terms_of = {part: term_set(part) for part in parts}
        of_part = {p: np.array([term in terms_of[p] for term, _, _ in words], float) for p in parts}
        nearness = _stored_nearness(snapshot, query, passages)
        for part in of_part.keys() & nearness.keys():
            of_part[part] = (1 - _NEAR) * of_part[part] + _NEAR * nearness[part]
        weights = coverage.weights if coverage else np.ones(len(words))
    else:
        spans = [(int(a), int(b)) for a, b in query.tokens.spans]
        stored = _stored_matches(snapshot, coverage, passages)
        of_part = stored | _embedded_matches(query, [p for p in parts if p not in stored], models)
        weights = coverage.weights if coverage and coverage.is_late else np.ones(len(spans))
    own = np.array([of_part[s.parts[-1]] for s in sentences])
    matches = np.array([_match_parts([of_part[p] for p in s.parts]) for s in sentences])
    in_question, mentions = _tag_sentences(question, sentences, models, snapshot)
    texts = zip((s.text for s in sentences), mentions, strict=True)
    asks = question_kind(question) in {"person", "place"}
    return ReadSentences(
        own=np.maximum(own, 0).astype(np.float64),
        matches=np.maximum(matches, 0).astype(np.float64),
        weights=weights / max(float(weights.sum()), 1e-9),
        spans=spans,
        in_question=in_question,
        mentions=mentions,
        types=find_types_in(texts, snapshot) if asks else {},
    )


def _tag_sentences(
    question: str, sentences: Sequence[Sentence], models: Models, snapshot: Snapshot | None
) -> tuple[Sequence[Mention], list[Sequence[Mention]]]:
    """Return the mentions in a question, and in each sentence: the index's by the same tagger."""
    is_same = snapshot is not None and snapshot.recipe.get("tagger") == models.tagger.name
    stored = [s.mentions if is_same else None for s in sentences]
    new = [s.text for s, known in zip(sentences, stored, strict=True) if known is None]
    in_question, *tagged = models.tagger.tag([question, *new])
    rest = iter(tagged)
    return in_question, [next(rest) if known is None else known for known in stored]


def _match_parts(matches: Sequence[NDArray[np.floating]]) -> NDArray[np.floating]:
    """Return the (m,) best matches of the parts of a sentence, most of which have one."""
    return np.asarray(matches[0] if len(matches) == 1 else np.max(matches, axis=0))


def _tells_nearness(question: str, passages: Sequence[Passage]) -> bool:
    """Say whether nearness tells more than words: unless English is asked of English."""
    is_english = find_language(" ".join(p.text for p in passages)) in {"English", None}
    return not (is_english and has_question_word(question))


def _stored_nearness(
    snapshot: Snapshot | None, query: steps.Query, passages: Sequence[Passage]
) -> dict[str, float]:
    """Return the nearness to the question of the sentences that the index has, by their texts.

    0 of the farthest, 1 of the nearest.
    """
    if snapshot is None or not len(query.vector):
        return {}
    rows = _stored_sentences(snapshot, passages)
    cosines = steps.cosines_of(snapshot, "unit", query, np.array(rows, dtype=np.intp))
    return dict(zip(snapshot.layer("unit").texts(rows), min_max(cosines).tolist(), strict=True))


def _stored_sentences(snapshot: Snapshot, passages: Sequence[Passage]) -> list[int]:
    """Return the rows of the units of passages."""
    chunks = snapshot.layer("chunk").rows([passage.chunk_id for passage in passages])
    link = snapshot.linked("chunk", "unit")
    return [unit for row in chunks if row >= 0 for unit in neighbours(link, row).tolist()]


def _stored_matches(
    snapshot: Snapshot | None, coverage: steps.Coverage | None, passages: Sequence[Passage]
) -> dict[str, NDArray[np.floating]]:
    """Return the matches of the sentences whose token vectors the index stores, by their texts."""
    if snapshot is None or coverage is None or not coverage.is_late:
        return {}
    rows = _stored_sentences(snapshot, passages)
    return dict(zip(snapshot.layer("unit").texts(rows), coverage.of("unit", rows), strict=True))


def _embedded_matches(
    query: steps.Query, texts: Sequence[str], models: Models
) -> dict[str, NDArray[np.floating]]:
    """Return the matches of other sentences, which the embedder reads now."""
    if not texts or query.tokens is None or not gives_tokens(models.embedder):
        return {}
    read = [unit_rows(each.vectors) for each in models.embedder.embed_tokens(texts)]
    return dict(zip(texts, best_matches(unit_rows(query.tokens.vectors), read), strict=True))
