"""The class `Index`: open, add, search, ask, show, remove.

The command line and the server call these same functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew import methods as retrieval
from clew import plugins
from clew.answers.askable import Askable
from clew.answers.method import CONTEXT_TOKENS, MAX_ANSWER_TOKENS
from clew.answers.question import ExportOptions, Question
from clew.api.adding import Adding
from clew.api.opened import checked
from clew.api.upkeep import Upkeep
from clew.base.runtime.threads import awaitable
from clew.base.types import Answer, Evidence
from clew.filters import to_filter
from clew.index.recipe import Settings
from clew.index.snapshot import Snapshot
from clew.index.store import opening
from clew.models import loading
from clew.text.questions import asks_to_compare, find_summed_up, is_about_whole

if TYPE_CHECKING:
    from clew.answers.answer import OnCitation
    from clew.base.reports import Changes, Exported, Theme
    from clew.filters import Filter
    from clew.methods import Method
    from clew.models import LLM, Models
    from clew.models.budget import Budget
    from clew.models.prices import Price
    from clew.text.pieces import OnPiece


_OF_GRAPHS = "auto"  # the default method where an index has an imported graph
_OF_WHOLE = "themes"  # and for a question about all documents


@checked
def open_index(
    folder: str | Path,
    *,
    models: Models | None = None,
    specs: loading.Specs | None = None,
    settings: Settings | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Index:
    """Open the index in `folder`, which the first `add` creates.

        with clew.open("my.clew", specs=clew.Specs(llm="ollama:qwen3")) as index: ...

    Args:
        folder: A folder, or the address `postgresql://[USER@]HOST[:PORT]/DATABASE/INDEX`. A new
            index there needs a place for its arrays behind that: `?objects=s3://BUCKET/PREFIX`,
            or a folder.
        models: The models themselves, in place of those that `specs` name.
        specs: The models by name; by default those that the index was built with, else the
            defaults, which need no key and no download.
        settings: How a new index is built.
        prices: Dollars per million tokens, of prompts and of completions, by the LLM's name.

    Every reply of the LLM is recorded in the folder, and none is paid for twice.
    """
    return Index(opening.folder_of(folder), models, specs, settings, prices)


class Index(Adding, Upkeep, Askable):
    """An index in a folder. Nothing is loaded before it is needed.

    Any number of threads may read it, and one of them at a time writes: others that want to wait.
    What reads sees one generation, the newest when it began. Models, generations and what is
    computed from them are made once for all threads. After a fork the child opens all anew.

    `len(index)` is how many documents it has, and `id in index` says whether one is there. What
    may take long has an awaitable of its name behind an a, such as `asearch`. To cancel that ends
    the waiting; what was begun goes on in its thread, and a write is made whole.
    """

    opening = "open"

    def choose_method(self, question: str) -> str:
        """Return the default method for a question."""
        if is_about_whole(question):
            return _OF_WHOLE
        if self._store is None and not self._exists():
            return retrieval.DEFAULT
        if asks_to_compare(question) or find_summed_up(question):
            from clew.steps.comparing import is_about_documents  # which few questions need

            if is_about_documents(self.snapshot(), question):
                return _OF_WHOLE
        if self.snapshot().are_texts().all():
            return retrieval.DEFAULT
        return _OF_GRAPHS

    def snapshot_for(self, question: Question, method: Method, models: Models) -> Snapshot:  # noqa: ARG002 -- shards need them
        """Return the newest generation, restricted to the documents a question is asked of."""
        snapshot = self.snapshot(question.where)
        return snapshot.exactly() if question.exact else snapshot

    @checked
    def hop(
        self, start: str, *, query: str = "", chunks: int = 5, where: str | Filter | None = None
    ) -> Evidence:
        """Return the passages that share entities with a passage, document or entity, and why.

            index.hop("Colin Archer", query="Who sailed the ship?").paths

        An agent that walks by itself asks this at every stop; no LLM is called. A passage is of
        another document, and shares the entity that its path names.

        Args:
            start: The id of a chunk or of a document, or an entity's name.
            query: What is looked for: passages like it come first.
            chunks: How many passages, at most.
            where: A filter of the documents that are seen.

        Raises:
            InputError: Nothing has that id or name, or the filter cannot be met.
        """
        from clew.answers.hop import hop_on

        return hop_on(start, self.snapshot(where), self.models, query, chunks)

    @checked
    def answer(  # noqa: PLR0913 -- one argument for each option
        self,
        evidence: Evidence,
        *,
        context_tokens: int = CONTEXT_TOKENS,
        answer_tokens: int = MAX_ANSWER_TOKENS,
        llm: LLM | None = None,
        budget: Budget | None = None,
        min_support: float = 0.0,
        style: str = "prose",
        on_text: OnPiece | None = None,
        on_citation: OnCitation | None = None,
    ) -> Answer:
        """Answer from the `evidence` of a `search`; the usage excludes the search.

            index.answer(index.search("Who built the Fram?"), llm=clew.load_llm("openai:gpt-5"))

        The context has `context_tokens` at most, an LLM's reply `answer_tokens`. An `llm` writes in
        place of the index's, and `budget` is what it may take. All else is as of `ask`, but nothing
        is refused by default.
        """
        from clew.answers.pipeline import Listeners, answer_from

        question = Question(
            text=evidence.query,
            context_tokens=context_tokens,
            min_support=min_support,
            style=style,
            budget=budget,
        )
        return answer_from(
            evidence,
            self.snapshot(evidence.where),
            self.models if llm is None else replace(self.models, llm=llm),
            question,
            Listeners(on_text=on_text, on_citation=on_citation),
            answer_tokens,
        )

    @checked
    def show(self, name: str | None = None) -> dict[str, Any]:
        """Describe the index, a row by its id, or an entity by its name, as plain values.

        Raises InputError where nothing has that id or name.
        """
        from clew.views.describe import describe_index, describe_row

        if name is None:
            return describe_index(
                self.folder, self.shown, self._open_store(), self.snapshot(), self.spent()
            )
        return describe_row(self.snapshot(), name)

    @checked
    def changes(
        self,
        since: int | str | Path | None = None,
        until: int | str | None = None,
        *,
        dated: bool = False,
        where: str | Filter | None = None,
        most: int | None = None,
    ) -> Changes:
        """Return the differences between two states of the index: documents, entities and values.

            for each in index.changes("2026-11-01").values:
                print(each.was, each.now, each.after.place)

        Args:
            since: A generation, or a date: what the index held before it. Or the folder of another
                index, such as a restored backup. By default what it held before the last write.
            until: A generation, or a date: what it held at its end. By default what it holds now.
            dated: Dates are those by which documents hold (`valid on`), and not those of writes.
            where: A filter of the documents that are compared.
            most: How many documents, values and entities are listed, at most.

        Raises:
            InputError: There is no such generation, or what it replaced is erased since.
        """
        from clew.api.states import find_changes

        condition = to_filter(where)
        return find_changes(self, since, until, dated=dated, where=condition, most=most)

    @checked
    def themes(
        self, level: int = 0, *, where: str | Filter | None = None, most: int | None = None
    ) -> tuple[Theme, ...]:
        """Return the themes of a level, the largest first.

            for theme in index.themes():
                print(theme.name, theme.n_documents, theme.sentences[0].text)

        Level 0 has the widest; a further level has their parts, and those that have none. With a
        filter they are those of the documents that fulfil it, at most `most` of them. The first
        call after a write brings them up to date. Raises InputError for a level below 0.
        """
        from clew.steps.theme_descriptions import list_themes

        return list_themes(self.snapshot(where), level, most)

    @checked
    def export(
        self,
        path: str | Path,
        *,
        where: str | Filter | None = None,
        raw: bool = False,
        types: Sequence[str] = (),
    ) -> Exported:
        """Write the graph of the index to a file, replacing an existing one.

        With a filter it is the graph of the documents that fulfil it, and with `types` it has only
        entities of these types. Invisible characters are escaped in GraphML and tables, and a cell
        that a spreadsheet would take for a formula has an apostrophe before it; `raw` leaves both
        out.
        The suffix says the format: .graphml, .jsonl, .tsv or .parquet, which `import_graph` reads,
        or .json, .cypher or .zip. Without triples, GraphML and JSON have the names that stand in
        one sentence. Raises InputError if the file cannot be written, or if its format needs
        triples and the index has none.
        """
        ExportOptions(raw=raw, types=types)
        export = plugins.load("exporters", "graph", "'export'")
        target = export.target(path, raw=raw)
        snapshot = self.snapshot(where)
        export.check_triples(snapshot, target)
        graph = export.index_graph(snapshot)
        exported: Exported = target.write(export.keep_types(graph, types) if types else graph)
        return exported

    aadd = awaitable(Adding.add)
    aextract_triples = awaitable(Adding.extract_triples)
    aimport_triples = awaitable(Adding.import_triples)
    aimport_graph = awaitable(Adding.import_graph)
    aremove = awaitable(Adding.remove)
    acompact = awaitable(Upkeep.compact)
    aplan = awaitable(Adding.plan)
    aanswer = awaitable(answer)
    aexport = awaitable(export)
    achanges = awaitable(changes)
    athemes = awaitable(themes)
    abackup = awaitable(Upkeep.backup)
