"""Obsidian: the notes of a vault, with their links, tags, properties and aliases as triples.

A note is called by the name of its file, as links call it. `key:: [[Note]]` in a text, and a link
in a property, are relations called by the key; any other link "links to" its note. The description
of a link is its line. Notes are read as `clew index` reads them, and so are the other files.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from textwrap import shorten
from urllib.parse import unquote

from clew.base.types import Document, Skipped, Triple
from clew.extras.connect.imports.property_graph import words_of
from clew.readers.formats import read as read_files
from clew.readers.roots import Roots, show_name
from clew.readers.systems import System
from clew.readers.triples import Stated, explain_refusal, name_apart
from clew.readers.walk import File
from clew.text.lines import MARKDOWN
from clew.text.normalize import collapse

SYSTEM = "Obsidian"
_LINK = re.compile(r"(!?)\[\[([^\[\]|#^\n]*)(?:[#^][^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
PLAIN_LINK = re.compile(
    r"(!?)\[([^\]\n]{0,500})\]\(<?([^)\s>#]{1,500}\.md)(?:#[^)\s>]{0,500})?>?\)"
)
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]*`|%%.*?%%", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"(?<![^\s(])#([^\W\d_][\w/-]*|\d(?=[\w/-]*[^\W\d])[\w/-]*)")
_FIELD = re.compile(r"(?:^|[\[(])[ \t>*-]*([\w][\w -]{0,40}?)::[ \t]*")
_MARKS = re.compile(r"^[#>\s*+-]+(?:\[.\][ ])?|\*\*|__|==|^\d+\.[ ]")
_LINKS, _TAGGED = "links to", "has the tag"
_ATTACHMENTS = frozenset(
    "avif bmp gif jpeg jpg png svg webp 3gp flac m4a mp3 ogg wav mkv mov mp4 ogv webm pdf canvas "
    "base".split()
)
_MOST_ABOUT = 300  # characters of a line that are the description of its links

Fact = tuple[str, str, str]  # relation, object, description


def locate(path: Path) -> Path | None:
    """Return the vault: the folder that has Obsidian's settings."""
    return path if (path / ".obsidian").is_dir() else None


def read(place: File) -> System:
    """Return the files of a vault, and what its notes say of each other."""
    items = read_below(place)
    documents = [each for each in items if isinstance(each, Document)]
    return System(
        name=SYSTEM,
        documents=items,
        statements=_state(place, documents),
        in_place=place.source == place.path.as_posix(),  # and not unpacked
    )


def read_below(place: File) -> list[Document | Skipped]:
    """Return what files give, their sources as the caller calls the place, packed or not."""
    roots, folder = Roots({place.id: place.path.resolve()}), show_name(place.path.as_posix())
    items = read_files([place.path], roots=roots, limits=place.limits)
    return [replace(each, source=place.source + each.source.removeprefix(folder)) for each in items]


def _state(place: File, documents: Sequence[Document]) -> Iterator[Stated | Skipped]:
    notes = [
        each for each in documents if PurePosixPath(each.id).suffix.lower() in MARKDOWN.split()
    ]
    names = _name_notes(notes)
    paths = {
        each.id.removeprefix(f"{place.id}/").rpartition(".")[0].casefold(): each.id
        for each in notes
    }
    stems = {path.rpartition("/")[2]: own for path, own in reversed(paths.items())}
    for note in notes:
        for relation, target, about in dict.fromkeys(_facts(note)):
            path = target.strip("/ ").removesuffix(".md")
            own = paths.get(path.casefold()) or stems.get(path.casefold())
            name = (
                names[own]
                if own
                else collapse(path.rpartition("/")[2] if relation != _TAGGED else path)
            )
            if not name or name == names[note.id]:
                continue
            if reason := explain_refusal(name) or explain_refusal(names[note.id]):
                yield Skipped(source=note.source, reason=f"links to a name {reason}")
                continue
            triple = Triple(
                subject=names[note.id], relation=relation, object=name, description=about
            )
            yield Stated(triple=triple, document_id=note.id, line=1)


def _name_notes(notes: Sequence[Document]) -> dict[str, str]:
    """Return what notes are called, by the ids of their documents: two have two names."""
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    paths = {each.id: PurePosixPath(each.id) for each in notes}
    return {
        own: name_apart((path.stem, f"{path.stem} ({path.parent.name})"), taken, numbers)
        or path.stem
        for own, path in paths.items()
    }


def _facts(note: Document) -> Iterator[Fact]:
    """Yield what a note says of itself: the relation, its object, and the line that says it."""
    for key, value in note.metadata.items():
        texts = [str(each) for each in (value if isinstance(value, tuple) else (value,))]
        for text in texts:
            if key.casefold() in {"tags", "tag"}:
                yield from ((_TAGGED, each, "") for each in text.lstrip("#").split() if each)
            elif key.casefold() in {"aliases", "alias"}:
                yield "is also called", text, ""
            else:
                yield from ((words_of(key), target, "") for _, target in _links(text))
    for line in _CODE.sub("", note.text[note.body_start :]).splitlines():
        about = _plain(line)
        begins = [(match.end(), match[1]) for match in _FIELD.finditer(line)]
        for place, target in _links(line):
            key = next((name for end, name in reversed(begins) if end <= place), "")
            yield words_of(key) if key else _LINKS, target, about
        yield from ((_TAGGED, tag, about) for tag in _TAG.findall(_LINK.sub("", line)))


def _links(line: str) -> Iterator[tuple[int, str]]:
    """Yield the place and the target of each link to a note."""
    for pattern, group in ((_LINK, 2), (PLAIN_LINK, 3)):
        for match in pattern.finditer(line):
            target = unquote(match[group]) if pattern is PLAIN_LINK else match[group]
            is_note = PurePosixPath(target).suffix.lower().lstrip(".") not in _ATTACHMENTS
            if target.strip() and is_note and "://" not in target:
                yield match.start(), target.strip()


def _plain(line: str) -> str:
    """Return a line without the marks of Markdown, as a description."""
    line = _LINK.sub(lambda link: link[3] or link[2], line)
    return shorten(_MARKS.sub("", PLAIN_LINK.sub(r"\2", line)), _MOST_ABOUT, placeholder=" ...")
