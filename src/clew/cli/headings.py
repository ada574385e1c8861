"""The options of a command under headings, where it has many."""

from __future__ import annotations

from collections.abc import Mapping

import click

from clew.asking.question import OPTIONS

# By the names of the options' values. A command has the headings that it has options for.
HEADINGS: Mapping[str, str] = {
    "Where the index is": "folder into store shards part home",
    "What is read": "exclude limits gitignore text_column title_column id_column suffix web name "
    "prune watch file label",
    "How it is cut and embedded": "chunk_size chunk_overlap subchunk_depth vector_bits unit_bits "
    "token_bits embedder tagger",
    "What is extracted": "units value triples core core_by entities entity_threshold entity_words "
    "again methods probe",
    "Which questions": "split limit sample seed corpus",
    "How it is searched": "query method names chunks given grids reranker filters name_weight",
    "How it is answered": "context_tokens anyway history answers answer_llm answer_tokens",
    "How it is scored": "ks judge judged peers metrics",
    "LLM and budget": "llm priced budget_tokens budget_usd",
    "Address": "host port hosts proxies root_path",
    "Work at one time": "workers threads stop_jobs",
    "Output": "raw rows runs reports plot as_json log_format quiet verbose log",
}
_LAST = "Output"
_OF_STAGES = {"search": "How it is searched", "answer": "How it is answered"}
HEADING_OF = {
    **{name: _OF_STAGES[option.stage] for name, option in OPTIONS.items()},
    **{name: heading for heading, names in HEADINGS.items() for name in names.split()},
}  # by the name of an option's value; those of a question are in `Question`


class GroupedCommand(click.Command):
    """A command that shows its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in HEADINGS}
        for param in self.get_params(ctx):  # that of the help is click's own, and the last
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections[HEADING_OF.get(str(param.name), _LAST)].append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
