"""The options of each kind of job, checked before it is queued."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from clew import methods as retrieval
from clew.base.options import join_parts, plain_options
from clew.errors import InputError
from clew.extras.server.bodies import (
    INTEGRAL,
    LONGEST_FILTER,
    MOST_TOKENS,
    MOST_USD,
    NOT_BLANK,
    Body,
    Method,
    with_options,
)
from clew.extras.server.files import check_file_name
from clew.filters import to_filter
from clew.index.choose import NOTE, Wanted, merge_requested
from clew.index.options import AddOptions
from clew.index.store import opening
from clew.readers.pictures import check_engine


class CompactOptions(Body):
    """The options of a compaction: none."""


class PaidOptions(Body):
    """The maximum spending of a job, in addition to its key's limits."""

    budget_tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS), INTEGRAL] | None = None
    budget_usd: float | None = Field(None, ge=0, le=MOST_USD)


@with_options(AddOptions, "extract")
class ExtractOptions(PaidOptions):
    """What to extract from chunks, as in `clew index`; omitted options stay as before."""

    methods: list[Method] | None = Field(None, max_length=50)  # that the index is made for

    def arguments(self, door: str = "extract") -> dict[str, Any]:
        """Return the arguments of `Index.add` that an interface accepts."""
        given = {name: getattr(self, name) for name in plain_options(AddOptions, door)}
        return join_parts(AddOptions, given)


@with_options(AddOptions, "upload")
class IndexOptions(ExtractOptions):
    """How uploaded files and given documents are indexed."""

    # Names of uploaded files; none: all that are there.
    files: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list, max_length=1_000)
    prune: bool = True  # of a whole folder: documents whose file is gone go


class RemoveOptions(Body):
    """The documents to remove: by ids, folders of ids or patterns, and a filter."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["documents"], "properties": {"documents": {"minItems": 1}}},
                {"required": ["where"], "properties": {"where": {"pattern": NOT_BLANK}}},
            ]
        }
    )

    documents: list[Annotated[str, Field(min_length=1)]] = Field(
        default_factory=list, max_length=10_000
    )
    where: str = Field("", max_length=LONGEST_FILTER)


KINDS: Mapping[str, type[Body]] = {
    "index": IndexOptions,
    "extract": ExtractOptions,
    "remove": RemoveOptions,
    "compact": CompactOptions,
}


def check_options(options: Body, folder: Path, *, has_llm: bool) -> None:
    """Raise an error for options that the index or this installation does not support."""
    if isinstance(options, IndexOptions):
        for each in options.files:
            check_file_name(each)
        if options.arguments("upload")["ocr"]:
            check_engine()
    if isinstance(options, ExtractOptions):
        for name in options.methods or ():
            retrieval.load(name)
        with closing(opening.open_store(folder)) as store:
            earlier = store.note(NOTE)
        wanted = merge_requested(earlier, AddOptions(**options.arguments()).extraction)
        if wanted.needs_llm(Wanted(**earlier)) and not has_llm:
            raise InputError("this extraction needs an LLM: start the server with --llm")
    if isinstance(options, RemoveOptions) and not (
        options.documents or to_filter(options.where) is not None
    ):
        raise InputError("name the documents to remove, by ids, patterns or a filter")
