"""Choose the reader of each file by its format."""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from textwrap import shorten
from time import time

from clew import plugins
from clew.base.types import PARTLY, Document, Skipped
from clew.errors import InputError, MissingExtra, UnreadableSource
from clew.limits import LIMITS, LimitMet, ReadingLimits
from clew.progress import Progress
from clew.readers import decode, inputs, packed
from clew.readers.apart import Apart
from clew.readers.degenerate import explain_degenerate
from clew.readers.inputs import Page, Remote, StandardInput
from clew.readers.part import ShardPart
from clew.readers.pictures import HINT, PICTURES, check_engine
from clew.readers.remote import check_allowed, fetch_files
from clew.readers.roots import Roots
from clew.readers.selection import Selection
from clew.readers.titled import is_plain_name, stem_title
from clew.readers.unchanged import UnchangedFiles
from clew.readers.walk import Columns, File, files, os_reason
from clew.text import lines

_log = logging.getLogger(__name__)

FindKnown = Callable[[str], Document | None]  # what an index has of an id, if OCR read it
Reader = Callable[[File], Iterator[Document | Skipped]]

_PAGES = (".html", ".htm", ".xhtml")
# Of each suffix the module of `clew.readers` and its function, loaded when such a file comes. What
# has no colon is the name of a reader that `clew.extras.files` registers.
READERS = {
    **dict.fromkeys(lines.TEXTS.split(), "plain:read"),
    **dict.fromkeys(lines.CODE.split(), "plain:read"),
    **dict.fromkeys(lines.MARKDOWN.split(), "markdown:read"),
    **dict.fromkeys(_PAGES, "html_page:read"),
    ".xml": "xml_page:read",
    **dict.fromkeys((*(f".{section}" for section in range(1, 9)), ".man", ".mdoc"), "manual:read"),
    **dict.fromkeys((".jsonl", ".ndjson"), "json_records:read_lines"),
    ".json": "json_records:read_list",
    ".ipynb": "json_records:read_notebook",
    **dict.fromkeys((".csv", ".tsv"), "table:read"),
    ".parquet": "table:read_parquet",
    **dict.fromkeys((".srt", ".vtt"), "plain:read_subtitles"),
    **dict.fromkeys((".ics", ".vcf"), "calendar"),
    ".eml": "message",
    ".mbox": "mailbox",
    ".pdf": "pdf",
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), "word"),
    **dict.fromkeys((".pptx", ".pptm", ".ppsx", ".ppsm", ".potx"), "slides"),
    **dict.fromkeys((".odt", ".odp", ".ott", ".otp"), "open_document"),
    ".rtf": "rtf",
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xlsb", ".xls", ".ods", ".ots"), "sheet"),
    ".epub": "book",
    **dict.fromkeys(PICTURES, "picture"),
}
_PACKED = frozenset(PICTURES) | frozenset(
    ".docm .docx .dotm .dotx .epub .odp .ods .odt .otp .ots .ott .parquet .pdf .potx .ppsm .ppsx "
    ".pptm .pptx .rtf .xls .xlsb .xlsm .xlsx .xltx".split()
)
_PARSED = frozenset(".eml .htm .html .ipynb .markdown .mbox .md .xhtml .xml".split())
_STREAMED = frozenset(".csv .jsonl .mbox .ndjson .parquet .tsv".split())  # record by record
# Of records, each a document with an id of its own: the name of the file does not tell which.
_RECORDS = frozenset(".csv .ics .json .jsonl .mbox .ndjson .parquet .tsv .vcf".split())
_SMALL = 1 << 18  # bytes: less is read in this process, which takes less time than to start one
_BARE = "without suffix"
# Texts that are made for programs: of any other unknown suffix a text is read as such.
_FOR_PROGRAMS = frozenset(
    ".asc .cer .crt .csr .dtd .eps .gz .key .lock .map .p7s .pem .po .pot .ps .sig .svg .tar"
    " .xsl".split()
)
_MOST_NOTES, _LONGEST_NOTE = 20, 300  # of a document, and characters of one


def read(  # noqa: PLR0913 -- one argument for each option
    paths: Iterable[str | Path],
    roots: Roots | None = None,
    selection: Selection | None = None,
    columns: Columns | None = None,
    *,
    web: bool = False,
    ocr: bool = False,
    find_known: FindKnown | None = None,
    stdin: StandardInput | None = None,
    progress: Progress | None = None,
    times: bool = False,
    limits: ReadingLimits = LIMITS,
    part: ShardPart | None = None,
    sql: str = "",
    unchanged: UnchangedFiles | None = None,
) -> Iterator[Document | Skipped]:
    """Yield the documents of files and folders, and the reasons for skipped files.

    The id of a document is `<folder name>/<path below it>` for a file in a named folder, the file
    name for a named file, and for a record its own `id` or `_id`, else `<file id>:<line>`. Where
    `roots` are given they say what folders and files are called (`Roots`), and get those that are
    new. Of folders the files that the `selection` takes are read, of tables and records the
    `columns` that are named. Where an id comes twice the first document keeps it. Records are read
    as the caller iterates.

    A file:// address is a path, `-` is standard input, which `stdin` may name, and a web address is
    fetched where `web` allows it. So is what another address leads to (`readers.remote`); of a
    database what the query `sql` gives. What is `unchanged` since the run before is not read.
    With a `progress` all files are looked for before the first is read, so that their size is
    known. With `times` the time at which a file was written last is the `modified` of a document
    that is the whole file and says nothing of that itself.

    With `ocr` pictures and scanned pages are read by OCR, and without it where that has read what
    `find_known` gives: such a document stands for its file as long as that is the same to the byte.

    What meets one of the `limits` is skipped, and files that can hold no document of the `part` are
    left unread. Formats that other packages parse are read in a process of its own, which is ended
    with the iteration.

    Raises InputError at once if a path does not exist, MissingExtra if there is no OCR, and later
    when it comes to a named file whose format needs a package that is not installed.
    """
    if ocr:
        check_engine()
    if isinstance(paths, str | Path):
        raise InputError(f"read() needs a list of paths. Hint: read([{str(paths)!r}])")
    places = [inputs.locate_input(path) for path in paths]
    for each in places:
        if isinstance(each, Path) and not os.path.lexists(each):
            raise InputError(f"there is no file or folder {str(each)!r}")
        if isinstance(each, Page) and not web:
            raise InputError(f"{each.address!r} is only fetched with --web, or web=True in Python")
        if isinstance(each, Remote):
            check_allowed(each, web=web, sql=sql)
    unchanged = unchanged or UnchangedFiles()
    sources = [stdin or each if isinstance(each, StandardInput) else each for each in places]
    progress = progress or Progress()
    fill = partial(replace, columns=columns or Columns(), limits=limits, ocr=ocr)

    def count(members: Iterable[File]) -> None:
        filled = map(fill, members)
        progress.settle(unchanged.kept)
        progress.total = sum(file.size for file in filled if _find_unread(file) is None)

    all_files = _files(
        sources, roots, selection, count, limits, part=part, unchanged=unchanged, sql=sql
    )
    read_in = (
        _add_indexed(fill(each), find_known) if isinstance(each, File) else each
        for each in all_files
    )
    return _distinct(read_in, progress, unchanged, times=times)


def _files(
    places: Sequence[Path | Page | Remote | StandardInput],
    roots: Roots | None,
    selection: Selection | None,
    count: Callable[[Iterable[File]], None],
    limits: ReadingLimits,
    *,
    part: ShardPart | None,
    unchanged: UnchangedFiles,
    sql: str,
) -> Iterator[File | Skipped]:
    """Yield the files to read; fetched or received ones are deleted after their turn.

    Those of this machine are told to `count` before the first of them.
    """
    members = list(files([each for each in places if isinstance(each, Path)], roots, selection))
    if part is not None:
        members = [e for e in members if isinstance(e, Skipped) or _may_be_in_part(part, e)]
    members = [
        packed.add_size(each) if isinstance(each, File) else each
        for each in members
        if isinstance(each, Skipped) or not unchanged.keep(each.place, each.id, each.fingerprint)
    ]
    count(each for each in members if isinstance(each, File))
    yield from members
    for each in places:
        if isinstance(each, Page):
            web = plugins.load("remote", "http", "a web page")
            with web.fetch_page(each, limits) as page:
                yield page
        elif isinstance(each, Remote):
            yield from fetch_files(
                each, selection or Selection(), unchanged, _is_readable, sql=sql, limits=limits
            )
        elif isinstance(each, StandardInput):
            with inputs.read_standard_input(each, limits=limits) as file:
                yield file


def _add_indexed(file: File, find_known: FindKnown | None) -> File:
    """Add to a file for OCR its indexed document, if that was read by OCR."""
    suffix = packed.plain_name(file.path).suffix.lower()
    if find_known is None or not (suffix in PICTURES or suffix == ".pdf"):
        return file
    known = find_known(file.id)
    return (
        file if known is None else replace(file, ocr=True, known=replace(known, source=file.source))
    )


def _may_be_in_part(part: ShardPart, file: File) -> bool:
    """Check whether a file may have a document of a shard, without opening it."""
    suffix = packed.plain_name(file.path).suffix.lower()
    of_package = suffix not in READERS and plugins.find("readers", suffix) is not None
    return suffix in _RECORDS or of_package or part.has(file.id)


def _is_readable(path: Path) -> bool:
    name = packed.plain_name(path)
    return _is_known(name) and name.suffix.lower() not in PICTURES


def _is_known(path: Path) -> bool:
    """Check whether the name of a file tells its reader."""
    suffix = path.suffix.lower()
    has_reader = suffix in READERS or plugins.find("readers", suffix) is not None
    return has_reader or not suffix or is_plain_name(path)


def _distinct(
    members: Iterable[File | Skipped], progress: Progress, unchanged: UnchangedFiles, *, times: bool
) -> Iterator[Document | Skipped]:
    first: dict[str, str] = {}  # the source of the document that has an id
    with closing(Apart()) as apart:
        for file in members:
            if isinstance(file, Skipped):
                yield file
                continue
            began, unread = time(), _find_unread(file)
            progress.open(file.source, file.size if unread is None else 0)
            ids, is_whole = list[str](), True
            for item in _read_file(file, apart) if unread is None else [unread]:
                if isinstance(item, Document) and file.place:
                    item = _add_metadata(item, file)  # noqa: PLW2901
                if isinstance(item, Skipped):
                    is_whole = False
                    yield item
                    continue
                ids.append(item.id)
                if other := unchanged.kept.get(item.id) or first.get(item.id):
                    is_whole = False
                    reason = f"has the id {item.id!r}, which {other} has already"
                    yield Skipped(source=file.source, reason=reason, line=_line(file, item))
                else:
                    is_whole &= not item.partly
                    first[item.id] = item.source
                    whole = item.source == file.source
                    progress.read(item.id, len(item.text), whole=whole)
                    yield _add_date(item, file) if times else item
            if ids and (file.place or (is_whole and not _reads_beside(file))):
                unchanged.note(file, ids, began)
            elif file.place:
                unchanged.fail(file.place, file.id)


def _reads_beside(file: File) -> bool:
    """Check whether other files may decide what is read of a file: pictures of a page."""
    if packed.plain_name(file.path).suffix.lower() not in _PAGES:
        return False
    with suppress(OSError):
        is_unclear = packed.is_packed(file.path)
        return is_unclear or b"<im" in file.path.read_bytes().replace(b"\0", b"").lower()
    return True


def _add_metadata(document: Document, file: File) -> Document:
    """Return a document with the id prefix and metadata of its source."""
    own = document.id if document.id.startswith(file.id) else f"{file.id}/{document.id}"
    return replace(document, id=own, metadata={**document.metadata, **file.metadata})


def _add_date(document: Document, file: File) -> Document:
    """Return a document with its file's date, if it is the whole file and has no date."""
    if not file.modified or document.source != file.source or "modified" in document.metadata:
        return document
    try:
        written = datetime.fromtimestamp(int(file.modified), UTC).isoformat()
    except (ValueError, OverflowError, OSError):  # an archive may say any time
        return document
    return replace(document, metadata={**document.metadata, "modified": written})


def _reader_of(path: Path) -> Reader:
    """Return the reader of an unpacked file; without a known suffix, plain text."""
    suffix = path.suffix.lower()
    brought: Reader | None = None if suffix in READERS else plugins.find("readers", suffix)
    if brought is not None:
        return brought
    module, _, name = READERS.get(suffix, READERS[".txt"]).partition(":")
    reader: Reader = (
        getattr(import_module(f"clew.readers.{module}"), name)
        if name
        else plugins.load("readers", module, f"reading {suffix} files")
    )
    return reader


def _find_unread(file: File) -> Skipped | None:
    """Return why an unsupported file is skipped, or None."""
    name = packed.plain_name(file.path)
    suffix = name.suffix.lower()
    if suffix in PICTURES and not file.ocr:
        reason = f"no reader for {suffix} files without OCR: {HINT}"
    else:
        try:
            _reader_of(name)
            if _is_known(name) or _is_text(file, suffix):
                return None
            suffix += packed.SUFFIX * packed.is_packed(file.path)
            reason = f"no reader for {suffix} files"
        except InputError as error:  # the package that should read it
            reason = str(error)
    return Skipped(source=file.source, reason=reason, unread="" if file.named else suffix)


def _is_text(file: File, suffix: str) -> bool:
    """Check whether a file of an unknown suffix is a text that people may have written."""
    if suffix in _FOR_PROGRAMS:
        return False
    try:
        decode.refuse_binary(file)
    except (UnreadableSource, OSError):
        return packed.is_packed(file.path)  # what it contains is judged when it is unpacked
    return True


def _read_file(file: File, apart: Apart) -> Iterator[Document | Skipped]:
    _log.debug("reading %s", file.source)
    try:
        with packed.unpack(file) as plain_file:
            yield from _read_plain(plain_file, apart)
    except UnreadableSource as error:
        yield Skipped(source=error.source, reason=error.reason, line=error.line)
    except MissingExtra as error:
        if file.named:
            raise
        yield Skipped(source=file.source, reason=str(error))
    except OSError as error:
        yield Skipped(source=file.source, reason=os_reason(error))


def _read_plain(file: File, apart: Apart) -> Iterator[Document | Skipped]:
    """Yield the documents of an unpacked file. Raises its reader's errors."""
    suffix = file.path.suffix.lower()
    if not (file.named or is_plain_name(file.path) or (suffix and _is_known(file.path))):
        try:
            _size(file, suffix)
            decode.refuse_binary(file)
        except UnreadableSource as error:  # in a folder, what is no text is not for any reader
            yield Skipped(source=file.source, reason=error.reason, unread=suffix or _BARE)
            return
    size = _size(file, suffix)
    is_apart = suffix in _PACKED or (suffix in _PARSED and size > _SMALL)
    yield from apart.read(file) if is_apart else items_of(file)


def _size(file: File, suffix: str) -> int:
    """Return the size of a file. Raises UnreadableSource if it is empty or too large."""
    size = file.path.stat().st_size
    if not size:
        raise UnreadableSource(file.source, "is empty")
    if suffix not in _STREAMED and size > file.limits.file_bytes:
        raise UnreadableSource(file.source, f"has {file.limits.more_than('file_bytes', 'bytes')}")
    return size


def items_of(file: File) -> Iterator[Document | Skipped]:
    """Yield the documents of a file within limits. Raises its reader's errors."""
    reader = _reader_of(file.path)
    n_items = 0
    try:
        for item in islice(reader(file), file.limits.records + 1):
            n_items += 1
            if n_items <= file.limits.records:
                yield _check_worth(file, item)
    except LimitMet as error:
        raise UnreadableSource(file.source, str(error)) from None
    if n_items > file.limits.records:
        raise UnreadableSource(file.source, f"holds {file.limits.more_than('records')}")
    if not n_items:
        raise UnreadableSource(file.source, "is empty: it holds no records")


def _check_worth(file: File, item: Document | Skipped) -> Document | Skipped:
    """Return a document with notes on unread parts, or why it is not worth indexing."""
    notes = [
        shorten(note, _LONGEST_NOTE, placeholder=" ...") for note in dict.fromkeys(file.partly)
    ]
    file.partly.clear()
    if isinstance(item, Skipped):
        return item
    for finish in file.after:
        item = finish(item)
    file.after.clear()
    if notes:
        shown = (*item.partly, *notes)[:_MOST_NOTES]
        item = replace(item, metadata={**item.metadata, PARTLY: shown})
    limits = file.limits
    if len(item.text) > limits.text_characters:
        reason = f"holds {limits.more_than('text_characters', 'characters of text')}"
    elif not (reason := explain_degenerate(item.text)):
        is_title = len(item.title) <= limits.title_characters
        return item if is_title else replace(item, title=stem_title(file))
    return Skipped(source=file.source, reason=reason, line=_line(file, item))


def _line(file: File, document: Document) -> int | None:
    is_record = document.source != file.source
    return int(document.source.rpartition(":")[2]) if is_record else None
