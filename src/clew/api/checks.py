"""What callers may give to the functions of an index."""

from __future__ import annotations

from clew import loading
from clew.asking.question import KINDS, Question
from clew.index import Settings
from clew.limits import ReadingLimits
from clew.models import Models
from clew.progress import Progress
from clew.readers import Columns
from clew.runtime import arguments
from clew.runtime.arguments import Kind
from clew.stopping import Stop
from clew.types import Document, Evidence

# What `where` may be is said where it is read.
checked = arguments.check_values(
    {
        **KINDS,
        "folder": arguments.PATH,
        "home": arguments.PATH,
        "n_shards": arguments.whole_numbers(1),
        "processes": arguments.TRUTH,
        "path": arguments.PATH,
        "source": Kind(
            lambda value: (
                isinstance(value, Document)
                or arguments.is_path(value)
                or arguments.are_several(value)
            ),
            "a path, a document, or several, all paths or all documents",
        ),
        "name": arguments.TEXT,
        "into": arguments.TEXT,
        "spec": arguments.TEXT,
        "label": arguments.TEXT,
        "query": arguments.TEXT,
        "text": arguments.instance("a text", str, Question),
        "patterns": arguments.TEXT,
        "methods": arguments.TEXTS,
        "chunk_ids": arguments.TEXTS,
        "ids": arguments.TEXT_OR_TEXTS,
        "answer_tokens": arguments.whole_numbers(1),
        "probe": arguments.whole_numbers(0),
        "generation": arguments.whole_numbers(0),
        "every_s": arguments.number(0),
        "core": arguments.number(0, 1),
        "name_weight": arguments.number(0),
        "exclude": arguments.TEXTS,
        "limits": arguments.instance("a ReadingLimits", ReadingLimits),
        "suffix": arguments.TEXT,
        "changed": Kind(arguments.are_several, "several paths"),
        "columns": arguments.instance("a clew.readers.Columns", Columns),
        "gitignore": arguments.TRUTH,
        "web": arguments.TRUTH,
        "prune": arguments.TRUTH,
        "again": arguments.TRUTH,
        "dry_run": arguments.TRUTH,
        "raw": arguments.TRUTH,
        "on_progress": arguments.FUNCTION,
        "on_chunks": arguments.FUNCTION,
        "on_text": arguments.FUNCTION,
        "on_citation": arguments.FUNCTION,
        "stop": arguments.instance("a clew.stopping.Stop", Stop),
        "progress": arguments.instance("a clew.progress.Progress", Progress),
        "evidence": arguments.instance("the Evidence that a search gave", Evidence),
        "models": arguments.instance("a clew.Models", Models),
        "specs": arguments.instance("a clew.Specs", loading.Specs),
        "settings": arguments.instance("a clew.Settings", Settings),
        "prices": arguments.MAPPING,
        "llm": Kind(
            lambda value: hasattr(value, "complete") or hasattr(value, "ask"),
            "an LLM, such as load_llm gives",
        ),
    }
)
