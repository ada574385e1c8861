"""The values that pass between stages. Ids are strings here and row numbers in arrays.

documents -> layers and links -> Snapshot -> method -> Evidence -> Context -> Answer
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from clew.base.display.shown import Shown, paragraph, table
from clew.text.apparatus import apparatus_kind, kind_in_heading
from clew.text.dates import format_day
from clew.text.lines import file_place, line_at
from clew.text.normalize import title_head
from clew.text.numbered import find_figure_numbers
from clew.text.sections import SEPARATOR, format_head, page_at, page_range, section_at, sections_at
from clew.text.tables import names_of_columns

Scalar = str | int | float | bool | None
Value = Scalar | tuple[Scalar, ...]  # of metadata; a date is its ISO 8601 text
OCR = "ocr"  # the field of metadata with the hash of a file that was read by OCR
PARTLY = "partly"  # the field of metadata that says what of a document was seen and not read
_LABEL, _MOST_FIGURES = 20, 3  # characters of a caption that hold its number; figures of a quote


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Heading(Shown):
    """A heading of a document; its section ends at the next heading of its level or above."""

    start: int  # the character of the document's text at which it begins
    level: int  # from 1, the widest
    title: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Apparatus(Shown):
    """A range of a document that is navigation or boilerplate, such as a table of contents."""

    start: int
    end: int
    kind: str  # one of `clew.text.apparatus.KINDS`


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Figure(Shown):
    """A picture in a document, and the range of the text that is about it."""

    start: int
    end: int
    caption: str  # or its alternative text; "" without either
    address: str  # the hash of its bytes, which an index keeps once
    page: int | None = None  # from 1; None: the document has no pages


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Document(Shown):
    """A source text. Every character range anywhere in Clew counts characters of `text`."""

    id: str  # stable: the path below the folder that was indexed, or the record's own id
    text: str  # the whole decoded file, or what a reader extracted from it
    title: str = ""
    source: str = ""  # where it came from, for people: a path, or path:line
    body_start: int = 0  # chunks begin here: behind front matter and the title line
    metadata: Mapping[str, Value] = field(default_factory=dict)
    headings: tuple[Heading, ...] = ()  # in the order of their places
    pages: tuple[int, ...] = ()  # the character at which each page begins; none: it has no pages
    apparatus: tuple[Apparatus, ...] = ()  # where its markup says so; see `apparatus_at`
    figures: tuple[Figure, ...] = ()  # in the order of their places
    # The bytes of figures by address: of a document of an index they are read when they are wanted.
    pictures: Mapping[str, bytes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def partly(self) -> tuple[str, ...]:
        """Return notes on the parts of the file that were not read, or not reliably."""
        notes = self.metadata.get(PARTLY) or ()
        return tuple(map(str, notes)) if isinstance(notes, tuple) else (str(notes),)

    def section_at(self, place: int) -> str:
        """Return the section of a character as its headings, outermost first, or ""."""
        return section_at(self.headings, place, self.title)

    def sections_of(self, starts: Sequence[int]) -> list[str]:
        """Return the section of each chunk, given its first character, as models read it.

        Where that stands in a table, below the header, the names of its columns end it.
        """
        sections = sections_at(self.headings, starts, self.title)
        columns = names_of_columns(self.text, starts)
        pairs = zip(sections, columns, strict=True)
        return [SEPARATOR.join(filter(None, pair)) for pair in pairs]

    def pages_of(self, start: int, end: int) -> tuple[int | None, int | None]:
        """Return the first and last page of a range, from 1, or None without pages."""
        return page_at(self.pages, start), page_at(self.pages, max(end - 1, start))

    def line_at(self, place: int) -> int | None:
        """Return the line of a character in its file, from 1, or None if unknown."""
        if self.pages:
            return None
        return line_at(self.text, place, id_=self.id, source=self.source)

    def figures_at(self, start: int, end: int, chunk: tuple[int, int]) -> tuple[Figure, ...]:
        """Return up to three figures of a quote: what it overlaps or names, else its chunk's."""
        if not self.figures:
            return ()
        numbers = find_figure_numbers(self.text[start:end])
        away = {each: max(each.start - end, start - each.end, 0) for each in self.figures}
        sure = [
            each
            for each in self.figures
            if not away[each] or numbers & find_figure_numbers(each.caption[:_LABEL])
        ]
        near = [each for each in away if each.start < chunk[1] and chunk[0] < each.end]
        return tuple(sorted(sure or near, key=away.__getitem__))[:_MOST_FIGURES]

    def apparatus_at(self, start: int, end: int) -> str:
        """Return the kind of boilerplate that a range is, by its markup or lines, or ""."""
        overlaps = [min(end, each.end) - max(start, each.start) for each in self.apparatus]
        if overlaps and 2 * max(overlaps) >= end - start:
            kind = self.apparatus[overlaps.index(max(overlaps))].kind
            return kind_in_heading(self.section_at(start)) or kind
        return apparatus_kind(self.text[start:end], self.section_at(start))


def title_heads(
    documents: Sequence[Document], places: Sequence[int], texts: Sequence[str]
) -> list[str]:
    """Return the `title_head` of each text, from its document and first character.

    Those of a document that stand together take time linear in its text.
    """
    heads: list[str] = []
    for _, group in groupby(range(len(documents)), lambda i: id(documents[i])):
        rows = list(group)
        document = documents[rows[0]]
        sections = document.sections_of([places[i] for i in rows])
        heads += [
            title_head(document.title, texts[i], section)
            for i, section in zip(rows, sections, strict=True)
        ]
    return heads


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Skipped(Shown):
    """An input that yielded no document, and the reason."""

    source: str
    reason: str
    line: int | None = None
    unread: str = ""  # the suffix that no reader takes, of a file that was not named itself

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}, line {self.line}"
        return f"{place}: {self.reason}"


# A mention's label is stored as its place here. The first four are the rules' own (a capitalised
# span, a quoted one, a term of a script without capitals, a date); the others are OntoNotes'.
LABELS = (
    "NAME", "TITLE", "TERM", "DATE", "EVENT", "FAC", "GPE", "LANGUAGE", "LAW", "LOC", "NORP",
    "ORG", "PERSON", "PRODUCT", "WORK_OF_ART",
)  # fmt: skip
DATE, TERM = LABELS.index("DATE"), LABELS.index("TERM")


class Mention(NamedTuple):
    """An occurrence of an entity: text[start:end], with one of `LABELS`."""

    start: int
    end: int
    label: str


class Validity(NamedTuple):
    """When a text says that a triple holds: numbers of `text.dates.read_day`, 0 for unsaid."""

    valid_from: int = 0
    valid_to: int = 0
    stated_on: int = 0

    def __str__(self) -> str:
        """Return the time in words: "from 2019 until 2023", "as of 2024-05"."""
        days = {"from": self.valid_from, "until": self.valid_to, "as of": self.stated_on}
        return " ".join(f"{word} {format_day(day)}" for word, day in days.items() if day)


class Triple(NamedTuple):
    """A statement about two entities, as it was extracted from one text."""

    subject: str
    relation: str
    object: str
    description: str = ""  # a sentence that says it, where the extractor gives one
    strength: int = 1  # 1 to 10, the extractor's own
    validity: tuple[Validity, ...] = ()  # the times at which it holds, where the text says so


# What an extraction may say an entity is, without a schema. It is stored as its place here; types
# of a user's schema come behind these, as the recipe lists them.
ENTITY_TYPES = (
    "other", "person", "organization", "place", "work", "event", "product", "date", "concept",
)  # fmt: skip


KNOWN_TYPES = (*ENTITY_TYPES, "number", "code")  # of an entity; a vocabulary may have others


class Described(NamedTuple):
    """An entity with the description found in one text."""

    name: str
    type: str = "other"  # one of `ENTITY_TYPES`, or of a user's schema
    description: str = ""


class Extraction(NamedTuple):
    """What was extracted from one text. An end of a triple need not be among the entities."""

    entities: tuple[Described, ...] = ()
    triples: tuple[Triple, ...] = ()


@dataclass(frozen=True, slots=True)
class VocabularyEntry:
    """A manual edit of an entity, by its key; false if empty."""

    target: str = ""  # the key of the entity that it stands for
    name: str = ""  # as it is to be shown
    type: str = ""  # one of `KNOWN_TYPES`, or a word of one's own
    apart: bool = False  # never merged by rules, nor proposed for it
    listed: bool = False  # by a list, which replaces it, and not by an edit

    def __bool__(self) -> bool:
        return bool(self.target or self.name or self.type or self.apart)


# What can be extracted from a chunk beyond its own sentences, and by what. Both are stored as
# their places here. A chunk's newest extraction of a kind counts.
UNITS, GRAPH = "units", "graph"
IMPORTED_MARK = "graph:"  # before the hash of a document that is made of triples
KINDS = (UNITS, GRAPH)
# A "recorded" one is from a file, and an "imported" chunk is triples; nothing makes "parse" now.
SOURCES = ("none", "llm", "fallback", "parse", "cooccurrence", "recorded", "imported")
LLM_MADE, FALLBACK = SOURCES.index("llm"), SOURCES.index("fallback")
IMPORTED = SOURCES.index("imported")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Usage(Shown):
    """The cost of a run. Seconds are wall time per stage."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0  # None: the price of a model is not known
    recorded_calls: int = 0  # replies that a ledger gave, which cost nothing
    embedding_tokens: int = 0  # that an endpoint billed for vectors
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    @property
    def total_seconds(self) -> float:
        return sum(self.seconds.values())

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of two costs."""
        has_price = self.cost_usd is not None and other.cost_usd is not None
        seconds = dict(self.seconds)
        for stage, value in other.seconds.items():
            seconds[stage] = seconds.get(stage, 0.0) + value
        return Usage(
            llm_calls=self.llm_calls + other.llm_calls,
            recorded_calls=self.recorded_calls + other.recorded_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=(self.cost_usd or 0) + (other.cost_usd or 0) if has_price else None,
            embedding_tokens=self.embedding_tokens + other.embedding_tokens,
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Hit(Shown):
    """A chunk, or part of one, found by a method; higher scores are better."""

    chunk_id: str
    score: float
    document_id: str
    title: str
    source: str
    start: int
    end: int
    text: str
    channel: str = ""  # which part of the method found it, where it has several
    also: tuple[str, ...] = ()  # ids of other chunks that say the same, and stand behind it
    # How probably the answer needs this chunk, 0 to 1: of all methods alike. None: not known.
    relevance: float | None = None
    section: str = ""  # the headings above it, the widest first, with " > " between them
    page: int | None = None  # on which it begins, from 1; None: the document has no pages
    last_page: int | None = None  # on which it ends
    apparatus: str = ""  # "contents", "index" or "bibliography", behind the text itself
    line: int | None = None  # of the file, from 1, on which it begins; None: the file has none
    metadata: Mapping[str, Value] = field(default_factory=dict, hash=False)  # the document's

    @property
    def place(self) -> str:
        """Return "file:line", as editors open it."""
        return file_place(self.source or self.document_id, self.line)

    @property
    def head(self) -> str:
        """Return title, section and pages."""
        return format_head(self.title, self.section, self.page, self.last_page)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Step(Shown):
    """A step of a path: its row, and why the method took it."""

    layer: str  # "query", or one of the index: "entity", "triple", "term", "unit", "chunk", ...
    id: str
    text: str
    reason: str = ""
    score: float | None = None
    document_id: str = ""  # where the text stands; empty for the query
    start: int = 0
    end: int = 0
    source: str = ""
    section: str = ""
    page: int | None = None
    line: int | None = None  # of the file, from 1, on which it begins; None: the file has none

    @property
    def place(self) -> str:
        """Return "file:line", or else the page or section."""
        if not self.document_id:
            return ""
        place = file_place(self.source or self.document_id, self.line)
        inside = "" if self.line else page_range(self.page, self.page) or self.section
        return f"{place}, {inside}" if inside else place


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Path(Shown):
    """A path from the query to a chunk."""

    steps: tuple[Step, ...]
    score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Table(Shown):
    """A table found by a method: entities or relations, one per row."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ConceptAnchors(Shown):
    """Anchors: graph rows that stand for one concept of a query."""

    concept: str
    kind: str = "explicit"  # or "latent": the query needs it and does not say it
    weight: float  # those of all groups add up to 1
    anchors: tuple[Step, ...]  # entities and triples, nearest first; the reason names the words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Candidate(Shown):
    """A candidate subgraph that connects anchors of some groups."""

    rank: int  # from 1; those that were chosen come first
    chosen: bool
    kind: str  # "inter" or "intra" groups, "single" for one anchor, "fallback" for no connection
    score: float
    cost: float  # the mean over its entities and triples, 0 to 1 and more
    missing: float  # the weight of the groups that it misses
    covers: tuple[str, ...]  # concepts
    misses: tuple[str, ...]
    entities: tuple[str, ...]  # ids
    triples: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Expansion(Shown):
    """A triple that was added to a chosen candidate, and why."""

    candidate: int  # its rank
    depth: int  # from 1
    triple: str  # id
    reason: str
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Fact(Shown):
    """A triple as evidence."""

    id: str
    subject: str  # ids of entities
    relation: str
    object: str
    text: str  # in words
    chunk_ids: tuple[str, ...]  # where it stands
    candidate: int  # the rank of the first candidate, or component of a subgraph, that has it
    depth: int = 0  # of the expansion or growth that brought it; 0: the candidate or tree had it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Edge(Shown):
    """An edge between two nodes of a subgraph."""

    a: str  # ids of nodes
    b: str  # the chunk, of a "contains" edge
    kind: str  # "fact", "contains" or "synonym"
    cost: float
    facts: tuple[str, ...] = ()  # ids of the triples between the two


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Growth(Shown):
    """A node that was added to a subgraph, and why."""

    node: str  # id
    to: str  # id of the node that it was joined to
    cost: float  # of the edge between the two
    score: float  # its influence
    ratio: float  # of the two, as the rule has it
    limit: float | None  # what the ratio was compared with; None: any would have done


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Subgraph(Shown):
    """A tree that connects terminals, and the nodes added around it.

    Nodes are entities, statistical entities and chunks.
    """

    terminals: tuple[Step, ...]  # the ends of the facts that were kept
    tree: tuple[Edge, ...]
    growth: tuple[Growth, ...]  # in the order in which nodes joined
    nodes: tuple[Step, ...]  # all of them, those of most influence first; it is their score
    edges: tuple[Edge, ...]  # all between the nodes, the tree's among them
    components: tuple[tuple[str, ...], ...]  # the nodes of each, the one of most influence first


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GraphAnswer(Shown):
    """An entity of the graph that may be the answer, and a path to it."""

    id: str  # of the entity
    text: str  # its name
    score: float  # 0 to 1, higher ones come first
    start: str  # id of the entity that the question names
    relations: tuple[str, ...]  # on the way; those against their direction end in "of"
    facts: tuple[str, ...]  # ids of the facts on the way, from the start on
    is_asked: bool = False  # they have all relations of the question, and no other


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class EvidenceGraph(Shown):
    """The subgraph that a method found, and how."""

    groups: tuple[ConceptAnchors, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    expansions: tuple[Expansion, ...] = ()
    subgraph: Subgraph | None = None
    entities: tuple[Step, ...] = ()  # in the order in which they were found
    facts: tuple[Fact, ...] = ()  # the same
    answers: tuple[GraphAnswer, ...] = ()  # best first, where the method ranks some


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class DirectAnswer(Shown):
    """An answer that an LLM gave during retrieval, with the sentence that proves it."""

    text: str
    chunk_id: str
    quote: str  # stands in the chunk


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CountedItem(Shown):
    """A counted or listed item, with the place that proves it."""

    label: str
    document_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CountResult(Shown):
    """The answer to a counting or listing question: a total and its items."""

    text: str  # the total, the list, or groups and their numbers
    kind: str  # "count", "list" or "amount", which is a sum, a mean, an extreme, or of groups
    note: str  # how it was computed, and from how many rows
    items: tuple[CountedItem, ...]


class Limits(NamedTuple):
    """The parameters that limit how much a method returns; empty if none does."""

    chunks: str = ""  # how many chunks
    tokens: str = ""  # how many tokens a context that it fills itself


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Evidence(Shown):
    """The evidence found by a method: ranked chunks, and the paths that explain them."""

    query: str
    method: str
    where: str = ""  # the filter that every document behind it fulfils
    tables: tuple[Table, ...] = ()  # stand before the hits in a context
    hits: tuple[Hit, ...] = ()
    paths: tuple[Path, ...] = ()
    seeds: tuple[Step, ...] = ()  # rows that the query was linked to
    graph: EvidenceGraph | None = None
    answer: DirectAnswer | None = None
    counted: CountResult | None = None  # where the query asks for all of something
    notes: tuple[str, ...] = ()  # what went another way than asked, such as a fallback
    support: float | None = None  # how probably the hits answer the query; None: not known
    whole: bool = False  # the query is about all documents, and themes answer it
    partial: bool = False  # some shards did not reply
    missing: tuple[str, ...] = ()  # the names of these
    prompt: str = "short_answer"  # by which an LLM is asked for a short answer
    usage: Usage = field(default_factory=Usage)

    def _repr_html_(self) -> str:
        """Show the hits in a notebook."""
        support = "" if self.support is None else f", support {self.support:.2f}"
        rows = [
            (n, each.title, each.place, each.relevance, each.text)
            for n, each in enumerate(self.hits, 1)
        ]
        hits = table(("", "title", "where", "relevance", "text"), rows)
        notes = "".join(map(paragraph, self.notes))
        return (
            paragraph(self.query, strong=True) + paragraph(f"{self.method}{support}") + hits + notes
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exchange(Shown):
    """An earlier question with its answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Passage(Shown):
    """A numbered passage of a context."""

    number: int  # from 1, as cited in the answer
    chunk_id: str
    document_id: str
    title: str
    source: str
    start: int
    end: int
    text: str
    section: str = ""
    page: int | None = None
    last_page: int | None = None
    line: int | None = None

    @property
    def head(self) -> str:
        """Return title, section and pages, as printed above the passage in a context."""
        return format_head(self.title, self.section, self.page, self.last_page)


class _Later:
    """A field that may be set to a function, called on first access."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, value: object, kind: type) -> Any:  # noqa: ANN401 -- as the field says
        if value is None:
            raise AttributeError(self._name)  # so the field has no default
        result = vars(value)[self._name]
        if callable(result):
            result = vars(value)[self._name] = result()
        return result

    def __set__(self, value: object, given: object) -> None:
        vars(value)[self._name] = given


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Context(Shown):
    """The evidence for an answer: passages that together fit a token budget."""

    passages: tuple[Passage, ...]
    text: str
    n_tokens: int = _Later()  # type: ignore[assignment]  # to load the counter takes 0.1 s
    budget_tokens: int
    tables: tuple[Table, ...] = ()  # of the evidence's, the rows that fit


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Citation(Shown):
    """A character range of a source that supports the answer."""

    number: int  # of the passage in the context; quotes have theirs in the order of these
    chunk_id: str
    document_id: str
    source: str
    start: int
    end: int
    quote: str
    path: int | None = None  # place in the evidence's paths of the one that ends in the passage
    section: str = ""  # the headings above it, the widest first, with " > " between them
    page: int | None = None  # on which it begins, from 1; None: the document has no pages
    last_page: int | None = None  # on which it ends
    # Where its number stands in the answer's text: behind what it supports.
    at: tuple[int, ...] = ()
    line: int | None = None  # of the file, from 1, on which it begins; None: the file has none
    before: str = ""  # what it stands below: a table's header, a list's lead-in, a question
    link: str = ""  # the name for which it stands behind the quote that says the answer
    partly: tuple[str, ...] = ()  # notes on what of its document was not read
    figures: tuple[Figure, ...] = ()  # that its passage holds, or that it names

    @property
    def place(self) -> str:
        """Return "file:line", as editors open it."""
        return file_place(self.source or self.document_id, self.line)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class AnswerSpan(Shown):
    """A range of a document that contains or supports a short answer."""

    citation: int  # the place of its quote among the answer's citations, from 0
    document_id: str
    start: int
    end: int
    text: str  # what stands there


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ShortAnswer(Shown):
    """A short answer: a range of a document, or a count."""

    text: str
    kind: str  # "span", "named" by a graph, "list", "count" or "amount"
    probability: float  # that it is right
    spans: tuple[AnswerSpan, ...]  # the range itself; of what was counted, that of each item
    note: str = ""  # what it does not prove


UNSURE = "Not sure: this may not answer the question."  # the first line of such an answer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Answer(Shown):
    """An answer with its citations and evidence."""

    question: str
    text: str
    # "generated" by an LLM, "named" by a graph, "themes", "counted", "quoted", "partial" where only
    # a first step is known, "refused", or "none".
    kind: str
    citations: tuple[Citation, ...]
    context: Context
    evidence: Evidence
    # Sentences of an LLM that no source says. Where they are all of its answer, the kind is not
    # "generated": quotes take its place.
    unsupported: tuple[str, ...] = ()
    short: ShortAnswer | None = None  # of a quoted or counted answer, where likely enough
    is_unsure: bool = False  # the quotes are less likely than not to answer
    usage: Usage = field(default_factory=Usage)

    def _repr_html_(self) -> str:
        """Show the answer and its citations in a notebook."""
        rows = [(f"[{each.number}]", each.place, each.quote) for each in self.citations]
        cited = table(("", "where", "quote"), rows) if rows else ""
        head = paragraph(self.question, strong=True) + paragraph(
            self.text or "Nothing in the index answers this."
        )
        if self.short is not None:
            head += paragraph(f"{self.short.text} {self.short.note}".rstrip(), strong=True)
        missing = "".join(paragraph(f"No source says: {each}") for each in self.unsupported)
        return missing + head + paragraph(f"{self.kind}, by {self.evidence.method}") + cited
