"""What callers may give to the functions of an index."""

from collections.abc import Mapping

from clew.answers.question import KINDS, Question
from clew.base.runtime import arguments
from clew.base.runtime.arguments import Kind
from clew.base.types import Document, Evidence
from clew.index.recipe import Settings
from clew.limits import ReadingLimits
from clew.models import Models, loading
from clew.progress import Progress
from clew.readers import Columns
from clew.stopping import Stop

_OF_KINDS: Mapping[Kind, str] = {
    arguments.PATH: "folder home path",
    arguments.TEXT: "name into spec label query patterns suffix sql start rename type",
    arguments.TEXTS: "methods chunk_ids exclude types",
    arguments.TEXT_OR_TEXTS: "ids",
    arguments.TRUTH: "processes gitignore follow_links web ocr prune again dry_run raw dated apart",
    arguments.whole_numbers(0): "probe generation level",
    arguments.whole_numbers(1): "n_shards answer_tokens chunks most",
    arguments.number(0): "every_s name_weight",
    arguments.number(0, 1): "core",
    arguments.MAPPING: "prices",
    arguments.FUNCTION: "on_progress on_chunks on_text on_citation",
}
# What `where` may be is said where it is read.
checked = arguments.check_values(
    {
        **KINDS,
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
        "changed": Kind(arguments.are_several, "several paths"),
        "text": arguments.instance("a text", str, Question),
        "limits": arguments.instance("a ReadingLimits", ReadingLimits),
        "columns": arguments.instance("a clew.readers.Columns", Columns),
        "stop": arguments.instance("a clew.stopping.Stop", Stop),
        "progress": arguments.instance("a clew.progress.Progress", Progress),
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
