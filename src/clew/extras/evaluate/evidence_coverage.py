"""Evidence coverage: the share of a full answer's evidence that a context covers.

Some datasets, such as GraphRAG-Bench (Xiang et al. 2025, arXiv:2506.05690), give evidence as
statements in other words than the source's, not as ids of documents. Whether a passage says one is
looked up by words, with no LLM: a passage covers a statement where it has at least three in four of
the statement's terms. Terms are those of `clew.text.analyze`, each cut after six characters, so
that "appointed" and "appointment" are one.

The measure is lexical and errs both ways. On GraphRAG-Bench's novels, a third of the statements are
covered by no chunk of the right novel: they sum up a page, or a pronoun stands for their subject.
That third is lost to every method alike, so scores are compared with each other and with this
ceiling, not with 1. Chunks of other novels cover next to nothing. Of what counts as covered by
chunks about the question, about one in seven is not said there: the right names meet, and something
else is said of them.
"""

from collections.abc import Sequence
from functools import lru_cache
from sys import intern

from clew.base.types import Context
from clew.errors import InputError
from clew.extras.evaluate.metrics import distinct
from clew.text.analyze import terms

_SHARE = 0.75  # of a statement's terms; below it most of what is found is not said
_STEM = 6  # characters


def evidence_coverage(evidence: Sequence[str], passages: Sequence[str]) -> float:
    """Return the share of the `evidence` statements that a single passage covers.

    Passages are not put together: a context that is long enough has the words of any statement
    somewhere. Neither order nor repeats matter. A statement without a term, such as "It was so.",
    is never covered. Raises InputError without evidence.
    """
    if isinstance(evidence, str) or not evidence:
        raise InputError(f"evidence must be a list with at least one text, but is {evidence!r}")
    if isinstance(passages, str):
        raise InputError(f"passages must be a list of texts, but are one text: {passages[:40]!r}")
    statements = [_stems(statement) for statement in distinct(evidence)]
    stem_sets = [_stems(passage) for passage in distinct(passages)]
    n_covered = sum(
        bool(wanted) and any(len(wanted & stems) >= _SHARE * len(wanted) for stems in stem_sets)
        for wanted in statements
    )
    return n_covered / len(statements)


def passages_of(context: Context) -> tuple[str, ...]:
    """Return the texts that may cover a statement: titled passages, and table rows."""
    rows = (" ".join(row) for table in context.tables for row in table.rows)
    return *rows, *(f"{passage.title}\n{passage.text}" for passage in context.passages)


@lru_cache(maxsize=1 << 14)  # a chunk is found by many methods and for many questions
def _stems(text: str) -> frozenset[str]:
    return frozenset(intern(term[:_STEM]) for term in terms(text))
