"""Classify a text by the labels of similar indexed texts.

After AGRAG (arXiv:2511.05549, classification): the labels of what a method finds for the text are
candidates, and an LLM takes one of them. Here the names of the labels propose candidates too, as
far as they fit the labelled texts of the index; docs/results/engineering.md has the measurements.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from clew.algo.pool import take_fitting
from clew.algo.topk import DECIMALS, top_k
from clew.answers import pipeline
from clew.answers.context import build_context, format_context
from clew.answers.question import Question
from clew.api import Index
from clew.base.derived import Derived
from clew.base.display.shown import Shown
from clew.base.types import Document, Evidence, Usage
from clew.errors import InputError
from clew.index.snapshot import Snapshot
from clew.models import Embedder, Kind, Models, Prompt, Reply, gives_tokens
from clew.models.bound import bind_models
from clew.models.maxsim import best_matches, unit_rows
from clew.models.prompts import fill_prompt
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.models.run import start_question_run
from clew.steps import reply_to
from clew.text import tokens
from clew.text.normalize import collapse, label_key

CANDIDATES = 5
MAX_REPLY_TOKENS = 256
EXAMPLE_TOKENS = 60  # of the text that shows what a label means
_SAMPLE = 200  # labelled texts by which names are tried
_INSTEAD = ": the best candidate without it instead"
_ALONE = "zero_shot"  # the method with which an LLM reads the names of all labels, and no text


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Classified(Shown):
    """The label of a text, and what spoke for it."""

    text: str
    label: str  # as the first document that has it spells it
    out_of_set: bool  # the LLM said something that is no label of the index
    candidates: tuple[tuple[str, float], ...]  # labels with their scores, best first
    name_weight: float  # 0 to 1, of the labels' names in these scores; the rest is the hits'
    said: str = ""  # the LLM's reply
    notes: tuple[str, ...] = ()  # what went another way than asked
    evidence: Evidence
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The distinct labels of an index's documents; equal keys are one label."""

    names: tuple[str, ...]
    rows: Mapping[str, int]  # of the names, by their keys
    of_document: NDArray[np.int64]  # (n_documents,), -1 for one without a label

    def find(self, reply: str) -> int | None:
        """Return the label named in a reply, or None.

        A reply may have it alone on its last line, or behind a colon there.
        """
        line = reply.strip().rpartition("\n")[2]
        tried = map(label_key, (reply, line, line.rpartition(":")[2]))
        return next((self.rows[key] for key in tried if key in self.rows), None)


def read_labels(snapshot: Snapshot, column: str) -> Labels:
    """Return the labels in a metadata column of the documents, cached per snapshot.

    Raises InputError where no document has one.
    """
    return snapshot.get(_LABELS, column)


def document_label(document: Document, column: str) -> str:
    """Return a document's label in a metadata column, or ""."""
    value = document.metadata.get(column)
    if isinstance(value, bool):
        return str(value).lower()  # as JSON and tables have it
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, tuple):
        value = ", ".join(map(str, value))
    return "" if value is None else collapse(str(value))


def classify_question(
    question: Question, index: Index, column: str = "label", name_weight: float | None = None
) -> Classified:
    """Classify the text of a question by the hits of its method; the usage covers everything.

    Of a text that is too long for a question the beginning is read, which a note says. Raises
    InputError as `classify_text`, before anything is paid for.
    """
    read_labels(index.snapshot(question.where), column)
    whole = len(question.text)
    question = replace(question, text=pipeline.shorten_question(question.text))
    retrieved = pipeline.retrieve_evidence(question, index)
    run = start_question_run(question.budget, whole=retrieved.run)
    with run.meter.stage("classify"):
        classified = classify_text(
            question.text,
            retrieved.evidence,
            retrieved.snapshot,
            bind_models(retrieved.models, run),
            column=column,
            name_weight=name_weight,
            budget_tokens=retrieved.context_tokens,
        )
    usage, evidence = retrieved.evidence.usage + run.meter.usage, classified.evidence
    if (read := len(question.text)) < whole:
        note = f"the first {read:,} of the {whole:,} characters of the text were read"
        evidence = replace(evidence, notes=(*evidence.notes, note))
    return replace(classified, evidence=evidence, usage=usage)


def classify_text(
    text: str,
    evidence: Evidence,
    snapshot: Snapshot,
    models: Models,
    *,
    column: str = "label",
    name_weight: float | None = None,
    budget_tokens: int = 4_000,
) -> Classified:
    """Classify `text` by the `evidence` that a method found for it.

    With an LLM it chooses among the candidates, from at most `budget_tokens` tokens of examples,
    tables and text; without one, or when it gives no label, the first candidate is taken. The
    `name_weight` is measured on the labelled texts of the index where none is given. With the
    method `zero_shot` the LLM chooses among all labels, of which it reads the names alone. Raises
    InputError where no document of the index has a label.
    """
    if name_weight is not None and not 0 <= name_weight <= 1:
        raise InputError(f"the weight of names must be between 0 and 1, not {name_weight}")
    if budget_tokens < 1:
        raise InputError(f"a context budget must be at least 1 token, not {budget_tokens}")
    labels = read_labels(snapshot, column)
    candidates: list[tuple[int, float]] = []
    weight = name_weight or 0.0
    if evidence.method != _ALONE:
        rows = [row for row in dict.fromkeys(_hit_labels(labels, snapshot, evidence)) if row >= 0]
        names = snapshot.get(_LABEL_NAMES, column, models=models)
        if name_weight is None:
            weight = snapshot.get(_NAME_WEIGHT, column, models=models)
        fit = names.score_fit(_embed_texts(models.embedder, [text], "document")[0])
        candidates = _rank_labels(rows, fit, weight)
    classified = Classified(
        text=text,
        label=labels.names[_choose_first(candidates, labels, snapshot, models, text)],
        out_of_set=False,
        candidates=tuple((labels.names[row], score) for row, score in candidates),
        name_weight=weight,
        evidence=evidence,
    )
    if models.llm is None:
        return classified
    rows = [row for row, _ in candidates] or list(range(len(labels.names)))
    request, notes = _build_prompt(text, rows, labels, snapshot, evidence, budget_tokens)
    if request is None:
        return replace(classified, notes=notes)
    reply = reply_to(models.llm, request, part="answer")
    return _take_reply(replace(classified, notes=notes), reply, rows, labels)


def _take_reply(
    classified: Classified, reply: Reply, rows: Sequence[int], labels: Labels
) -> Classified:
    """Return the result with the label an LLM chose among `rows`, or with a note."""
    text, notes = reply.text.strip(), classified.notes
    if reply.error or not text:
        note = f"the LLM gave no label ({reply.error or 'an empty reply'}){_INSTEAD}"
        return replace(classified, notes=(*notes, note))
    row = labels.find(text)
    if row is None:
        note = f"the LLM named no label of the index{_INSTEAD}"
        return replace(classified, said=text, notes=(*notes, note), out_of_set=True)
    if row not in rows:
        notes = (*notes, "the LLM chose a label that was no candidate")
    return replace(classified, said=text, notes=notes, label=labels.names[row])


# -- labels and their names -----------------------------------------------------------------------


def _compute_labels(snapshot: Snapshot, column: str) -> Labels:
    of_document = np.full(len(snapshot.layer("document")), -1, dtype=np.int64)
    rows: dict[str, int] = {}
    names: dict[str, str] = {}  # by their keys
    for document, each in enumerate(snapshot.documents(range(len(of_document)))):
        if name := document_label(each, column):
            key = label_key(name)
            names.setdefault(key, name)
            of_document[document] = rows.setdefault(key, len(rows))
    if not names:
        raise InputError(
            f"no document of this index has a label in {column!r}: index texts with such a column, "
            f"as in JSON lines of 'text' and {column!r}, or name the column that has the labels"
        )
    return Labels(names=tuple(names.values()), rows=rows, of_document=of_document)


_LABELS = Derived("labels of documents", _compute_labels)


@dataclass(frozen=True, slots=True)
class _LabelNames:
    """The labels' names, embedded."""

    vectors: NDArray[np.float32]  # (m, d) unit rows: tokens, or whole names
    owners: NDArray[np.int64]  # (m,), the label of each
    n_labels: int

    def score_fit(self, text: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return (n_labels,) mean cosines of label names to a text's (t, d) vectors.

        Late interaction with the name as the query: for each of its tokens the best of the text's.
        """
        [best] = best_matches(self.vectors, [text])
        sums = np.bincount(self.owners, weights=best, minlength=self.n_labels)
        return sums / np.maximum(np.bincount(self.owners, minlength=self.n_labels), 1)


def _embed_names(snapshot: Snapshot, column: str, *, models: Models) -> _LabelNames:
    read = _embed_texts(models.embedder, read_labels(snapshot, column).names, "query")
    owners = np.repeat(np.arange(len(read)), [len(vectors) for vectors in read])
    return _LabelNames(np.concatenate(read), owners, len(read))


_LABEL_NAMES = Derived("vectors of labels", _embed_names)


def _estimate_name_weight(snapshot: Snapshot, column: str, *, models: Models) -> float:
    """Return the share of the most-frequent-label baseline's errors that label names avoid.

    1 for all texts right, 0 for no fewer errors (as Goodman and Kruskal's lambda). Up to
    `_SAMPLE` labelled texts of the index, evenly taken, are tried.
    """
    labels, names = read_labels(snapshot, column), snapshot.get(_LABEL_NAMES, column, models=models)
    labelled = np.flatnonzero(labels.of_document >= 0)
    some = labelled[:: -(-len(labelled) // _SAMPLE)]
    right = labels.of_document[some]
    fits = [names.score_fit(_stored_vectors(snapshot, int(document))) for document in some]
    by_name = np.argmax(np.round(fits, DECIMALS), axis=1)
    n_wrong = int(np.sum(by_name != right))
    n_at_most = len(right) - int(np.bincount(right).max())
    return max(1 - n_wrong / n_at_most, 0.0) if n_at_most else 0.0


_NAME_WEIGHT = Derived("the weight of label names", _estimate_name_weight)


def _embed_texts(embedder: Embedder, texts: Sequence[str], kind: Kind) -> list[NDArray[np.float32]]:
    """Return (t, d) unit vectors per text: one per token if the embedder has these, else one.

    A text is read whole, by windows where it is longer than what the model takes at once.
    """
    if gives_tokens(embedder):
        return [unit_rows(each.vectors) for each in embedder.embed_tokens(texts)]
    return [vector[None] for vector in embedder.embed(texts, kind=kind)]


def _stored_vectors(snapshot: Snapshot, document: int) -> NDArray[np.float32]:
    """Return a document's stored (t, d) vectors: token vectors, else chunk vectors."""
    layer = snapshot.layer("chunk")
    owners = layer.columns["document"]  # ascending
    rows = list(range(*np.searchsorted(owners, [document, document + 1]).tolist()))
    if snapshot.recipe.get("vectors") == "late":
        return np.concatenate(layer.token_vectors(rows))
    return np.asarray(layer.vectors[rows])


# -- candidates -----------------------------------------------------------------------------------


def _hit_labels(labels: Labels, snapshot: Snapshot, evidence: Evidence) -> list[int]:
    """Return the label of each hit's document, -1 if it has none or was deleted."""
    documents = snapshot.layer("document").rows([hit.document_id for hit in evidence.hits])
    return [int(labels.of_document[row]) if row >= 0 else -1 for row in documents]


def _rank_labels(
    rows: Sequence[int], fit: NDArray[np.float64], weight: float
) -> list[tuple[int, float]]:
    """Return the best labels with their scores: a weighted sum of two reciprocal ranks.

    One is that of the label's name, the other that of its first hit. Of equal scores the label
    that was found first comes first. Labels with a score of 0 are none.
    """
    n = len(fit)
    by_name = np.empty(n)
    by_name[top_k(fit, n)] = np.arange(1, n + 1)
    by_hit = np.full(n, np.inf)
    by_hit[list(rows)] = np.arange(1, len(rows) + 1)
    scores = weight / by_name + (1 - weight) / by_hit
    order = np.lexsort((by_name, by_hit, -np.round(scores, DECIMALS)))[:CANDIDATES]
    return [(int(row), float(scores[row])) for row in order if scores[row] > 0]


def _choose_first(
    candidates: Sequence[tuple[int, float]],
    labels: Labels,
    snapshot: Snapshot,
    models: Models,
    text: str,
) -> int:
    """Return the best candidate, or without one the label of the nearest labelled chunk."""
    if candidates:
        return candidates[0][0]
    [vector] = models.embedder.embed([text], kind="query")
    layer = snapshot.layer("chunk")
    labelled = labels.of_document[layer.columns["document"]]
    cosines = np.where(labelled >= 0, layer.vectors @ vector, -np.inf)
    return int(labelled[top_k(cosines, 1)[0]])


# -- the LLM --------------------------------------------------------------------------------------


def _build_prompt(
    text: str,
    rows: Sequence[int],
    labels: Labels,
    snapshot: Snapshot,
    evidence: Evidence,
    budget_tokens: int,
) -> tuple[Prompt | None, tuple[str, ...]]:
    """Return the prompt, or None if no label fits, and notes on omitted parts.

    The text takes half of the budget at most, the labels what it leaves, or half of that where
    there are tables, which take the rest.
    """
    cut = tokens.truncate(text, budget_tokens // 2)
    left = budget_tokens - tokens.count(cut)
    room = left // 2 if evidence.tables else left
    lines = _describe_labels(rows, labels, snapshot, evidence, room)
    fit = take_fitting(range(len(lines)), lambda i: tokens.count(lines[i]), room)
    left -= sum(tokens.count(lines[i]) for i in fit)
    notes = []
    if len(cut) < len(text):
        notes.append("the LLM was given only the beginning of the text")
    if len(fit) < len(lines):
        n_lost = len(lines) - len(fit)
        notes.append(f"{n_lost:,} of {len(lines):,} labels did not fit into the LLM's prompt")
    if not fit:
        return None, tuple(notes)
    facts = quote_lines([])
    if left:
        context = build_context(replace(evidence, hits=()), budget_tokens=left)
        facts = format_context(context, context.text.strip() or "(none)")
    request = fill_prompt(
        "classify",
        candidates=quote_lines([Excerpt("- ", lines[i].removeprefix("- ").strip()) for i in fit]),
        facts=facts,
        text=cut.strip(),
        max_tokens=MAX_REPLY_TOKENS,
    )
    return request, tuple(notes)


def _describe_labels(
    rows: Sequence[int], labels: Labels, snapshot: Snapshot, evidence: Evidence, room: int
) -> list[str]:
    """Return a line per label, with the beginning of its first hit or first text.

    Examples share what the labels themselves leave of `room` tokens.
    """
    heads = [f"- {labels.names[row]}" for row in rows]
    spare = room - sum(tokens.count(f"{head}: \n") for head in heads)
    size = 0 if evidence.method == _ALONE else min(spare // len(rows), EXAMPLE_TOKENS)
    if size < 1:
        return [f"{head}\n" for head in heads]
    of_hits: dict[int, str] = {}
    for row, hit in zip(_hit_labels(labels, snapshot, evidence), evidence.hits, strict=True):
        of_hits.setdefault(row, hit.text)
    examples = [of_hits.get(row) or _first_text(row, labels, snapshot) for row in rows]
    cut = [tokens.truncate(collapse(example), size) for example in examples]
    return [f"{head}: {example}\n" for head, example in zip(heads, cut, strict=True)]


def _first_text(label: int, labels: Labels, snapshot: Snapshot) -> str:
    layer = snapshot.layer("chunk")
    chunk = int(np.argmax(labels.of_document[layer.columns["document"]] == label))
    return layer.texts([chunk])[0]
