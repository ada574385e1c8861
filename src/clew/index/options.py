"""The options for adding documents and for planning, each declared once.

The command line, the options of jobs, the client and the keywords of `Index.add` and `Index.plan`
are derived from the fields. A new option is a field here, and whatever uses it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

from clew.base.options import BUDGET, check_options, make_option, option, options_of
from clew.base.runtime import arguments
from clew.base.runtime.arguments import Kind
from clew.limits import LIMITS, ReadingLimits, parse_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from clew.models.budget import Budget
    from clew.progress import Progress
    from clew.readers.part import ShardPart
    from clew.readers.selection import Selection
    from clew.readers.walk import Columns
    from clew.stopping import Stop

CORE_SHARE = 0.8  # β in KET-RAG's paper
# Doors: the commands `index` and `plan`, the jobs `upload` and `extract`, a client that will `send`
_COMMANDS = "index plan"
_ANYTHING = Kind(lambda _: True, "anything")  # what is checked where it is parsed
_SCHEMA = Kind(lambda v: isinstance(v, str | PathLike | Mapping), "a file's name or a mapping")
_read = partial(option, heading="What is read")
_extracted = partial(option, heading="What is extracted")
_ASKED = "What the LLM is asked for"
_planned = partial(option, heading=_ASKED, doors="index plan upload extract")
_job = partial(_extracted, doors="index upload extract")
_paid = partial(option, heading="LLM and budget")
_column = partial(make_option, "", heading="Which rows and columns")


def _join_columns(**names: str) -> Columns:
    from clew.readers.walk import Columns

    return Columns(**{part.removesuffix("_column"): name for part, name in names.items()})


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ReadOptions:
    """Which files to read, and how."""

    exclude: Sequence[str] = _read(
        (),
        "Leave out files and folders by id, path or name, such as drafts or '*.log', unless they "
        "are named themselves.",
        "--exclude PATTERN...",
        "index plan upload send",
    )
    limits: ReadingLimits = option(
        LIMITS,
        "Change a limit per document, such as seconds=600.",
        "--limit NAME=NUMBER...",
        _COMMANDS,
        arguments.instance("a ReadingLimits", ReadingLimits),
        join=parse_limits,
        heading="What is read",
    )
    gitignore: bool = _read(
        True,
        "Leave out what `.gitignore` files name.",
        "--no-gitignore",
        "index plan send",
        off="Read what .gitignore files name, too.",
    )
    follow_links: bool = _read(
        False, "Follow links that lead out of a folder.", "--follow-links", "index plan send"
    )
    columns: Columns | None = option(
        None,
        "Which fields of tables and records have text, title and id.",
        "",
        "index plan upload",
        arguments.instance_of("clew.readers.walk:Columns", "a clew.readers.Columns"),
        join=_join_columns,
        parts={
            "text_column": _column(
                "Text column. [default: text, content, body ...]", "--text-column NAME"
            ),
            "title_column": _column(
                "Title column. [default: title, name, heading]", "--title-column NAME"
            ),
            "id_column": _column("Id column. [default: id, _id]", "--id-column NAME"),
        },
    )
    suffix: str = _read(
        "",
        "Format of standard input, such as .md. [default: detected]",
        "--suffix .SUFFIX",
        _COMMANDS,
    )
    web: bool = _read(
        False,
        "Fetch sources that are addresses, where they changed since the last run; a web address is "
        "one page.",
        "--web",
        _COMMANDS,
    )
    sql: str = option(
        "",
        "Query whose rows are read of a database.",
        "--sql QUERY",
        _COMMANDS,
        heading="Which rows and columns",
    )
    ocr: bool = _read(
        False, "Read pictures and scanned pages by OCR.", "--ocr", "index plan upload"
    )
    describe_figures: bool = option(
        False,
        "Let the LLM, if it reads pictures, describe figures once; descriptions become text.",
        "--describe-figures",
        "index plan upload",
        heading=_ASKED,
    )
    budget: Budget | None = option(None, "What models may take.", kind=BUDGET)

    def __post_init__(self) -> None:
        check_options(self)
        if self.suffix:  # "MD" is ".md"
            object.__setattr__(self, "suffix", f".{self.suffix.lower().removeprefix('.')}")

    def select_files(self, changed: Iterable[str | Path] | None = None) -> Selection:
        """Return the selection of files in folders."""
        from clew.readers.selection import Selection

        return Selection(
            self.exclude, gitignore=self.gitignore, follow_links=self.follow_links, changed=changed
        )


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class TripleOptions:
    """The entities among which an LLM extracts triples; None keeps the last setting."""

    entities: str | None = _planned(
        None,
        "Entities that the LLM relates: those it names, or statistical ones. [default: llm]",
        "--entities llm|statistical",
    )
    entity_threshold: float | None = _planned(
        None,
        "Rate above which an n-gram is a statistical entity. [default: 0.5]",
        "--entity-threshold RATE",
    )
    entity_words: int | None = _planned(
        None, "Words of a statistical entity, at most. [default: 3]", "--entity-words N", least=1
    )
    gleanings: int | None = _planned(
        None, "Follow-up calls for what the LLM missed. [default: 0]", "--gleanings N"
    )
    schema: str | Path | Mapping[str, Any] | None = option(
        None,
        "TOML file whose table 'schema' has the LLM's types of entities and relations.",
        "--schema FILE",
        _COMMANDS,
        _SCHEMA,
        heading=_ASKED,
    )
    descriptions: str | None = _planned(
        None,
        "How long the LLM's descriptions are: eight words, or all that a text says. "
        "[default: short]",
        "--descriptions short|full",
    )

    @property
    def extraction(self) -> dict[str, Any]:
        """Return the fields of `clew.index.choose.Wanted` that are set, a schema as it is given."""
        given = {name: getattr(self, name, None) for name in EXTRACTION}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ExtractionOptions:
    """What to extract from which chunks; None keeps the last setting."""

    units: float | None = _job(
        None, "Share of the tokens that the LLM splits into units.", "--units SHARE"
    )
    value: str | None = _job(
        None, "How chunks are ranked for units. [default: bleu]", "--value bleu|cos|random"
    )
    triples: str | None = _job(
        None,
        "What extracts entities and triples. [default: none]",
        "--triples none|llm|cooccurrence",
    )
    core: float | None = _job(
        None,
        "Share of the chunks that the LLM reads for triples. [default: 1, all]",
        "--core SHARE",
    )
    core_by: str | None = _job(
        None, "How chunks are ranked for the core. [default: pagerank]", "--core-by pagerank|random"
    )


EXTRACTION = (*options_of(ExtractionOptions), *options_of(TripleOptions))


@dataclass(frozen=True, kw_only=True)
class AddOptions(TripleOptions, ExtractionOptions, ReadOptions):
    """The options of `Index.add`. Raises InputError for an invalid one."""

    name: str = _read(
        "",
        "What ids begin with in place of the folder's name; a known one means that it moved.",
        "--as NAME",
        "index",
    )
    prune: bool = _read(
        False, "Remove documents whose file is gone or is now left out.", "--prune", "index upload"
    )
    changed: Iterable[str | Path] | None = option(
        None,
        "Of folders, read these files and no others.",
        kind=Kind(arguments.are_several, "several paths"),
    )
    batch: bool = _paid(
        False,
        "Let the LLM reply within a day, at the price of batches; called again, collect its "
        "replies and go on.",
        "--batch",
        "index",
    )
    wait: bool = _paid(False, "Wait for the batches' replies.", "--wait", "index")
    again: bool = _job(
        False, "Ask again where a reply was of no use, and read unchanged files, too.", "--retry"
    )
    methods: Sequence[str] | None = _job(
        None,
        "Methods that every run prepares the index for from now on; an empty list takes the names "
        "back. [default: those that it was asked by]",
        "--for METHOD,...",
    )
    part: str | ShardPart | None = option(
        None,
        'Only documents of one shard of several, such as "3/16" (`clew.shards.shard_of`); an index '
        "remembers which part it is.",
        kind=_ANYTHING,
    )
    workers: int | str = option(
        1,
        "Processes that make rows and vectors, 0 for one on each core, or the address of a Ray "
        'cluster, "ray:HOST:PORT". The index is the same to the byte; LLMs and paid embedders are '
        "asked by this process.",
        kind=_ANYTHING,
    )
    on_progress: Callable[[int], None] | None = option(
        None, "Called with the documents done and known, after each batch.", kind=arguments.FUNCTION
    )
    stop: Stop | None = option(
        None,
        "Another thread may ask it to stop: what is whole then is committed, nothing is extracted "
        "or removed, and the same call goes on later.",
        kind=arguments.instance_of("clew.stopping:Stop", "a clew.stopping.Stop"),
    )
    progress: Progress | None = option(
        None,
        "Written while it runs, for another thread to read.",
        kind=arguments.instance_of("clew.progress:Progress", "a clew.progress.Progress"),
    )


@dataclass(frozen=True, kw_only=True)
class PlanOptions(TripleOptions, ReadOptions):
    """The options of `Index.plan`. Raises InputError for an invalid one."""

    batch: bool = _paid(False, "Take the price of batches.", "--batch", "plan")
    core: float = _extracted(
        CORE_SHARE, "Also plan for this share of the chunks.", "--core SHARE", "plan body"
    )
