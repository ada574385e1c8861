"""Evidence by hand, and models that need no download."""

from dataclasses import dataclass, field

import numpy as np

from clew.answers.answer import write_answer
from clew.answers.context import build_context
from clew.base.types import Evidence, Hit, Path, Step, Table
from clew.models import Models, Reply
from clew.models.rules import RuleTagger
from clew.testing import ScriptedLLM


def hit(document_id, text, *, title="", start=0):
    """Return a hit of a document that holds `text` at `start`."""
    end = start + len(text)
    return Hit(
        chunk_id=f"{document_id}:{start}-{end}", score=1.0, document_id=document_id, title=title,
        source=f"{document_id}.txt", start=start, end=end, text=text,
    )  # fmt: skip


def table(*rows, name="Entities"):
    return Table(name=name, columns=("entity", "description"), rows=rows)


def evidence(*hits, method="dense", paths=(), notes=(), tables=()):
    return Evidence(
        query="?", method=method, hits=hits, paths=paths, notes=notes, tables=tuple(tables)
    )


def unit(of, text):
    """Return the step of a path that stands where `text` does in a hit."""
    start = of.start + of.text.index(text)
    return Step(
        layer="unit",
        id=f"{of.document_id}:{start}-{start + len(text)}",
        text=text,
        document_id=of.document_id,
        start=start,
        end=start + len(text),
    )


def path(*steps):
    return Path((Step(layer="query", id="", text="?"), *steps), 1.0)


@dataclass
class WordReranker:
    """Scores a text by how many of the query's words stand in it, and keeps what it was asked."""

    name: str = "words"
    asked: list[str] = field(default_factory=list)

    def score(self, query, texts):
        self.asked += texts
        wanted = set(query.lower().strip("?").split())
        return np.array([float(len(wanted & set(t.lower().strip(".").split()))) for t in texts])


class Unused:
    """A model that no answer may ask."""

    name = "unused"
    dimension = 0


def models(*, llm=None, reranker=None):
    return Models(
        embedder=Unused(), tagger=RuleTagger(), reranker=reranker or WordReranker(), llm=llm
    )


def says(text, **fields):
    return models(llm=ScriptedLLM(Reply(text=text, **fields)))


def answer(question, evidence, models, *, budget_tokens=4_000, style="short", **options):
    context = build_context(evidence, budget_tokens=budget_tokens)
    return write_answer(question, context, evidence, models, style=style, **options)
