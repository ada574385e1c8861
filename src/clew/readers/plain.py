"""Read plain text, markup and source code as a whole file, and subtitles as speech.

The title is what the markup says it is, else the file name. Chunks of LaTeX begin behind its
preamble, those of source code behind its licence. Headings are those of the markup, and what source
code defines.
"""

import re
from collections.abc import Iterator, Sequence
from html import unescape

from clew.base.types import Document, Heading
from clew.errors import UnreadableSource
from clew.readers.chats import join_turns
from clew.readers.code import definitions, find_code
from clew.readers.decode import text_of
from clew.readers.degenerate import is_minified
from clew.readers.markup import headings, without_commands
from clew.readers.titled import make_document, stem_title, without_title
from clew.readers.walk import File
from clew.text.lines import CODE
from clew.text.normalize import collapse

_SOURCES = frozenset(CODE.split())
_MAY_BE_MINIFIED = frozenset((".js", ".css", ".ts", ".jsx", ".tsx"))
_TITLES = {
    ".org": re.compile(r"^#\+title:[ \t]*(.+)$", re.MULTILINE | re.IGNORECASE),
    ".adoc": re.compile(r"^=[ \t]+(.+)$", re.MULTILINE),
    ".asciidoc": re.compile(r"^=[ \t]+(.+)$", re.MULTILINE),
    ".tex": re.compile(
        r"^[^%\n]*?\\title\s*+(?:\[[^\]]{0,300}\]\s*+)?\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}",
        re.MULTILINE,
    ),
}
# Of Python and Emacs in the first two lines, of CSS, and of LaTeX.
_STATED = re.compile(
    rb"\A(?:[^\n]*\n)?[^\n]{0,200}?coding[:=][ \t]*([-\w.]+)|\A@charset \"([-\w.]+)\""
    rb"|\\usepackage\[([-\w]+)\]\{inputenc\}"
)
# What leads from node to node of a GNU Info file; newlines stay, so that lines keep their numbers.
_INFO_LINKS = re.compile(r"^(?:\x1f|File: .*Node: |\* (?:Menu:|[^\n]*::)).*", re.MULTILINE)
_PREAMBLE = re.compile(r"^[^%\n]*?\\begin\{document\}[ \t]*", re.MULTILINE)
_TIMES = re.compile(r"(?:\d+:)?\d+:\d+[.,]\d+[ \t]+-->")
_SECONDS = re.compile(r"[.,]")
_SPEAKER = re.compile(r"<v(?:\.[^\s>]*)?\s+([^<>]+)>")
_MARKS = re.compile(r"</?[^<>]*>|\{\\[^{}]*\}")
_BLANK = re.compile(r"(?:(?<![ \t])[ \t]*+\n){2,}")


def read(file: File) -> Iterator[Document]:
    """Yield a text file as one document."""
    text = text_of(file, _STATED)
    suffix = file.path.suffix.lower()
    text = _INFO_LINKS.sub("", text) if suffix == ".info" else text
    if suffix in _MAY_BE_MINIFIED and is_minified(text):
        raise UnreadableSource(file.source, "is minified code; index what it was made of")
    titles = headings(text, suffix)
    title = _title(text, suffix, titles) or stem_title(file)
    preamble = _PREAMBLE.search(text) if suffix == ".tex" else None
    start = preamble.end() if preamble else find_code(text) if suffix in _SOURCES else 0
    yield Document(
        id=file.id,
        text=text,
        title=title,
        source=file.source,
        body_start=start if text[start:].strip() else 0,
        headings=tuple(without_title(titles, title) or definitions(text, suffix)),
    )


def _title(text: str, suffix: str, titles: Sequence[Heading]) -> str:
    if suffix == ".rst":
        return titles[0].title if titles else ""
    pattern = _TITLES.get(suffix)
    stated = pattern.search(text) if pattern else None
    if stated is None:
        return ""
    return collapse(without_commands(stated[1]) if suffix == ".tex" else stated[1])


def read_subtitles(file: File) -> Iterator[Document]:
    """Yield a subtitle file as one document; each speaker's turn is a paragraph."""
    blocks = _BLANK.split(text_of(file).replace("\r\n", "\n").replace("\r", "\n"))
    cues = []
    for block in blocks:  # one without times, such as a header or a comment, says nothing
        lines = [line.strip() for line in block.strip().split("\n")]
        place = next((n for n, line in enumerate(lines) if _TIMES.match(line)), len(lines))
        said = " ".join(lines[place + 1 :])
        speaker = _SPEAKER.match(said)
        words = " ".join(unescape(_MARKS.sub("", said)).split())
        if words:
            name = unescape(speaker[1]).strip() if speaker else ""
            cues.append((_SECONDS.split(lines[place])[0], name, words))
    turns = list(join_turns(cues)) if any(name for _, name, _ in cues) else []
    yield make_document(file, turns or ["\n".join(words for _, _, words in cues)], "")
