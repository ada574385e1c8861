"""Find the line of a file that a character of a document is on.

That is so of files that are read as they stand, whatever newlines, byte order mark or front matter
they have, and of records that have a line each. What was extracted from a page, a book or a mail
has no lines.
"""

from functools import lru_cache
from pathlib import PurePosixPath

from clew.base.runtime.lazy import compile_re

TEXTS = ".txt .text .rst .org .adoc .asciidoc .tex .log .yaml .yml .toml .ini .cfg .conf"
CODE = (
    ".bash .c .cc .clj .cpp .cs .css .dart .el .erl .ex .exs .f90 .go .gradle .h .hpp .hs .java "
    ".jl .js .jsx .kt .lisp .lua .m .ml .php .pl .proto .ps1 .py .pyi .r .rb .rs .scala .scss .sh "
    ".sql .swift .tcl .tf .ts .tsx .vim .vue .zig"
)
MARKDOWN = ".md .markdown"
# Of one suffix the text of a document is the file as it stands; of another a record is a line.
_WHOLE = frozenset(f"{TEXTS} {CODE} {MARKDOWN} .json".split())
_BY_LINE = frozenset(".csv .jsonl .ndjson .tsv".split())
_RECORD = compile_re(r"(.+):(\d+)")
_SUBJECT = compile_re(r"\.(?:csv|jsonl|ndjson|nt|tsv|ttl)(?:\.gz)?#")  # of a graph's file
_BLANK = compile_re(r"\s*")
_PACKED = ".gz"
_CACHED_FILES = 1_024  # whose names stay in memory
_WHOLE_FILE = -1  # a line that is found in the text


def line_at(text: str, place: int, *, id_: str, source: str) -> int | None:
    r"""Return the line of the file, from 1, of a character in a document, or None.

    Of a range that begins with white space it is that of its first word. A document is the file
    that its source names where its id ends alike.

    >>> line_at("Fram\r\n\r\nShe sailed.", 8, id_="polar/fram.txt", source="polar/fram.txt")
    3
    """
    line = _record_line(id_, source)
    if line != _WHOLE_FILE:
        return line
    if "\r" in text and "\n" not in text:
        return None
    blank = _BLANK.match(text, place)
    return text.count("\n", 0, blank.end() if blank else place) + 1


@lru_cache(_CACHED_FILES)
def _record_line(id_: str, source: str) -> int | None:
    """Return the line of a record, `_WHOLE_FILE` for a whole file, None if there are no lines."""
    record = _RECORD.fullmatch(source)
    if record and _suffix(record[1]) in _BY_LINE:
        return int(record[2])
    names = {PurePosixPath(each).name for each in (id_, source)}
    if "://" in source or len(names) > 1 or _suffix(source) not in {"", *_WHOLE}:
        return None
    return _WHOLE_FILE if source and not _SUBJECT.search(source) else None


def file_place(source: str, line: int | None) -> str:
    """Return a location as editors and terminals open it: `fram.md:12`.

    >>> file_place("notes.md", 7), file_place("data.csv:7", 7), file_place("mail.mbox:7", None)
    ('notes.md:7', 'data.csv:7', 'mail.mbox, record 7')
    """
    if line is not None:
        return source if source.endswith(f":{line}") else f"{source}:{line}"
    record = _RECORD.fullmatch(source)
    return f"{record[1]}, record {record[2]}" if record and "://" not in source else source


def _suffix(name: str) -> str:
    """Return a file's suffix in lower case, ignoring a compression suffix."""
    path = PurePosixPath(name)
    packed = path.suffix.lower() == _PACKED
    return PurePosixPath(path.stem if packed else path.name).suffix.lower()
