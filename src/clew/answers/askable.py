"""The interface for asking questions, implemented by an index and by shards."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from clew.answers.question import MAX_QUOTES, MIN_SUPPORT, Question, as_question
from clew.base.runtime import arguments
from clew.base.runtime.threads import awaitable
from clew.base.types import Answer, Evidence, Exchange, Scalar
from clew.index.snapshot import Snapshot
from clew.methods import Method
from clew.models import Models
from clew.text.pieces import OnPiece

if TYPE_CHECKING:
    from clew.answers.answer import OnCitation
    from clew.filters import Filter
    from clew.models.budget import Budget

_TEXT = arguments.instance("a text", str, Question)
_checked = arguments.check_values(
    {
        "query": _TEXT,
        "question": _TEXT,
        **dict.fromkeys(("on_evidence", "on_text", "on_citation"), arguments.FUNCTION),
    }
)


class Askable:
    """Base class of `Index` and `Shards`: subclasses provide the snapshot for a question."""

    opening: ClassVar[str]  # what the usage calls the time until there is a snapshot

    @property
    @abstractmethod
    def models(self) -> Models: ...

    @property
    @abstractmethod
    def generation(self) -> int: ...

    @abstractmethod
    def choose_method(self, question: str) -> str:
        """Return the default method for a question."""

    @abstractmethod
    def snapshot_for(self, question: Question, method: Method, models: Models) -> Snapshot:
        """Return the snapshot to search for a question."""

    def note_missing(self, evidence: Evidence, snapshot: Snapshot) -> Evidence:  # noqa: ARG002 -- of shards
        """Return the evidence, with a note where shards are missing from the snapshot."""
        return evidence

    @_checked
    def search(
        self,
        query: str | Question,
        *,
        method: str | Method | None = None,
        context_tokens: int | None = None,
        where: str | Filter | None = None,
        history: Sequence[Exchange] = (),
        budget: Budget | None = None,
        exact: bool = False,
        **parameters: Scalar,
    ) -> Evidence:
        """Return the chunks that a method finds for a query, and why.

            index.search("Who built the Fram?", chunks=3).hits

        Args:
            query: A text, or a `Question` with all its options.
            method: A name, or a method with its parameters, such as `Walk(chunks=5)`. By default
                `walk`, or `auto` where the index has an imported graph.
            context_tokens: What a method fills that fills a context by itself, unless its own
                parameter is given.
            where: A filter, such as "date >= 2024": only documents that fulfil it are seen, as if
                the index held no others.
            history: The conversation so far. A query that leans on it is read as one that stands
                by itself, by the LLM or by rules; then the evidence's `query` is what was searched
                for, and a note says so.
            budget: What models may take. Where it leaves no room for an LLM's step, or nothing
                comes from the LLM, the step's alternative without one is taken.
            exact: Compare with every row, also in an index of more than 10,000 units or 30,000
                chunks, entities or triples, where a few of the nearest are missed otherwise.
            **parameters: Those of the method that is named, such as `chunks=5`.

        Returns:
            Hits, best first. The evidence's `support` and a hit's `relevance` are probabilities,
            which mean the same for all methods.

        Raises:
            InputError: The query or the index is empty, or an option or the filter cannot be met.
            UnknownMethod: There is no method of that name.
            MissingLayer: The index lacks what the method reads.
        """
        from clew.answers.pipeline import retrieve_evidence

        question = as_question(
            query,
            method=method,
            parameters=parameters,
            context_tokens=context_tokens,
            where=where,
            history=history,
            budget=budget,
            exact=exact,
        )
        return retrieve_evidence(question, self).evidence

    @_checked
    def ask(  # noqa: PLR0913 -- one argument for each option
        self,
        question: str | Question,
        *,
        method: str | Method | None = None,
        context_tokens: int | None = None,
        where: str | Filter | None = None,
        history: Sequence[Exchange] = (),
        budget: Budget | None = None,
        min_support: float = MIN_SUPPORT,
        quotes: int = MAX_QUOTES,
        style: str = "prose",
        verify: str = "meaning",
        exact: bool = False,
        on_evidence: Callable[[Evidence], None] | None = None,
        on_text: OnPiece | None = None,
        on_citation: OnCitation | None = None,
        **parameters: Scalar,
    ) -> Answer:
        """Answer a question from what a method finds, with citations.

            index.ask("Who built the Fram?").text

        Args:
            question: A text, or a `Question` with all its options.
            method: As of `search`, and so are the next four.
            where: Which documents are seen.
            history: The conversation so far.
            budget: What models may take; without room for an LLM the answer is of quotes.
            exact: Compare with all rows.
            context_tokens: Tokens of the context at most; by default those that the method was
                told to fill, else 4,000.
            min_support: A probability. Where the evidence's support is below it, the answer is of
                the kind "refused", with what is nearest in its context; an LLM is told the
                support, and may refuse by itself. 0 refuses nothing.
            quotes: Sentences that an answer without an LLM quotes, at most.
            style: How an LLM writes: "prose" in Markdown, or a "short" line.
            verify: "llm" has the LLM list the sentences that no source says, too, by one call.
            on_evidence: Called with the evidence once it is judged. What it raises ends the
                question before an answer is paid for.
            on_text: Called with the text, piece by piece as an LLM writes prose, any other in one
                piece, nothing of a refusal. The pieces since the last None are the text; None says
                that those before it do not count, as when a reply broke off.
            on_citation: Called with a citation of an LLM's answer behind the text that it
                supports; those before a None do not count either.
            **parameters: Those of the method that is named.

        Returns:
            The answer, in an LLM's words or in quotes, with the evidence. Its
            `question` is the one that was asked.

        Raises:
            InputError: As of `search`; so are the others. What a listener raises is raised here,
                once a reply that is paid for is recorded.
        """
        from clew.answers.pipeline import Listeners, answer_question

        question = as_question(
            question,
            method=method,
            parameters=parameters,
            context_tokens=context_tokens,
            where=where,
            history=history,
            budget=budget,
            min_support=min_support,
            quotes=quotes,
            style=style,
            verify=verify,
            exact=exact,
        )
        listeners = Listeners(on_evidence=on_evidence, on_text=on_text, on_citation=on_citation)
        return answer_question(question, self, listeners)

    asearch = awaitable(search)
    aask = awaitable(ask)
