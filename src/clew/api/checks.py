"""What callers may give to the functions of an index."""

from collections.abc import Mapping

from clew.answers.question import ClassifyOptions, ExportOptions, Question
from clew.base.options import options_of
from clew.base.runtime import arguments
from clew.base.runtime.arguments import Kind
from clew.base.types import Document, Evidence
from clew.index.recipe import Settings
from clew.limits import ReadingLimits
from clew.models import Models, loading

_OF_KINDS: Mapping[Kind, str] = {
    arguments.PATH: "folder home path",
    arguments.TEXT: "name into spec query patterns start rename type",
    arguments.TEXTS: "chunk_ids",
    arguments.TEXT_OR_TEXTS: "ids",
    arguments.TRUTH: "processes dry_run dated apart",
    arguments.whole_numbers(0): "generation level",
    arguments.whole_numbers(1): "n_shards answer_tokens chunks most",
    arguments.number(0): "every_s",
    arguments.MAPPING: "prices",
    arguments.FUNCTION: "on_progress on_chunks on_text on_citation",
}
# What `where` may be is said where it is read.
checked = arguments.check_values(
    {
        **{
            name: each.kind
            for value in (Question, ClassifyOptions, ExportOptions)
            for name, each in options_of(value).items()
        },
        **{name: kind for kind, names in _OF_KINDS.items() for name in names.split()},
        "source": Kind(
            lambda value: (
                isinstance(value, Document)
                or arguments.is_path(value)
                or arguments.are_several(value)
            ),
            "a path, a document, or a list of either",
        ),
        **dict.fromkeys(
            ("since", "until"),
            Kind(
                lambda value: arguments.is_path(value) or type(value) is int,
                "a generation, a date or a folder",
            ),
        ),
        "text": arguments.instance("a text", str, Question),
        "limits": arguments.instance("a ReadingLimits", ReadingLimits),
        "evidence": arguments.instance("the Evidence that a search gave", Evidence),
        "models": arguments.instance("a clew.Models", Models),
        "specs": arguments.instance("a clew.Specs", loading.Specs),
        "settings": arguments.instance("a clew.Settings", Settings),
        "llm": Kind(
            lambda value: hasattr(value, "complete") or hasattr(value, "ask"),
            "an LLM, such as load_llm gives",
        ),
    }
)
