"""Read email (.eml, .mbox): a message is a document titled by its subject.

The text is that of the message, all its parts and the messages in it in their order, then who wrote
to whom and when. What it quotes of earlier messages at its end stands below a heading, without the
marks, and behind the text itself. Of alternatives it is the plain text, or that of the HTML where
the plain one is short beside it and tells at most where to look. Attachments and parts that are
encrypted are named in a note on the file. The id of a message in a mailbox is its `Message-ID`.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.policy import Compat32
from itertools import starmap
from mailbox import mbox
from pathlib import Path

from clew.base.types import Document, Skipped, Value
from clew.errors import UnreadableSource
from clew.limits import LimitMet
from clew.readers import html_page
from clew.readers.decode import decode_part, find_stated, replace_surrogates
from clew.readers.properties import properties
from clew.readers.titled import MarkedParagraph, make_document
from clew.readers.walk import File
from clew.text.apparatus import QUOTED
from clew.text.normalize import collapse
from clew.text.quantities import format_count

_SHOWN = ("From", "To", "Cc", "Date")
_KEPT = (*_SHOWN, "Message-ID", "In-Reply-To", "List-ID")  # as metadata, in lower case
_TEXTS = frozenset("text/plain text/html text/enriched text/richtext text/markdown".split())
_NOT_SHOWN = frozenset(("text/calendar", "text/x-amp-html"))  # alternatives for programs
_SIGNATURES = frozenset(
    "application/pgp-signature application/pkcs7-signature application/x-pkcs7-signature".split()
)
_LONGEST_STUB, _TIMES_STUB = 500, 3  # characters of a plain text that is none beside the HTML
_MOST_NAMED = 10  # attachments
_ENRICHED = re.compile(r"<<|</?[a-zA-Z][\w-]{0,60}>")
_HISTORY = re.compile(  # of earlier messages, to the end: who wrote, and what
    r"^(?P<by>(?:[^>\n].*\n)?[^>\n].*(?::|-{3})[ \t]*\n)\n?"
    r"(?P<quoted>(?>(?:>.*(?:\n|\Z)|[ \t]*\n)+))\Z"
    r"|^(?:-{3,}[^-\n]+-{3,}|_{10,})[ \t]*\n\s*(?P<head>[^\s:][^:\n]{0,20}:.+)\n(?P<rest>[\s\S]+)",
    re.MULTILINE,
)
_DEEPEST = 6  # messages that quote each other
_QUOTE_MARK = re.compile(r"^> ?", re.MULTILINE)
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime")
_LONGEST_LINE = 16_000  # characters of a line of a header whose encoded words are read
_OF_MIME = ("content-", "mime-")
_LONGEST_OF_MIME = 2_000  # they are read several times
# What the standard library lets through where a header or a part is not as it should be.
_DAMAGE = (ValueError, LookupError, AttributeError, TypeError, RecursionError)


class _Policy(Compat32):
    """An email policy that truncates long headers, whose parsing takes quadratic time."""

    def header_fetch_parse(self, name: str, value: str) -> str:
        is_long = name.lower().startswith(_OF_MIME) and len(value) > _LONGEST_OF_MIME
        return value[:_LONGEST_OF_MIME].rpartition(";")[0] if is_long else value


_POLICY = _Policy()


def _decode_words(value: str) -> str:
    """Return a header on one line, with encoded words and non-ASCII bytes decoded."""
    if not value.isascii():
        value = _decode(value.encode("utf-8", "surrogateescape"), "")
    if "=?" in value and max(map(len, value.splitlines())) <= _LONGEST_LINE:
        with suppress(HeaderParseError):
            value = "".join(starmap(_decode, decode_header(value)))
    return replace_surrogates(" ".join(value.split()))


def _decode(words: bytes | str, charset: str | None) -> str:
    if isinstance(words, str):
        return words
    if charset is None:  # what stands between encoded words
        return words.decode("raw-unicode-escape", "replace")
    return decode_part(words, File(path=Path(), id="", source=""), charset)


def read(file: File) -> Iterator[Document]:
    """Yield a message as one document."""
    try:
        message = _message(file.path.read_bytes())
        if not message.keys():
            raise UnreadableSource(file.source, "is not a mail message: it has no headers")
        title, paragraphs, metadata = _parts(message, file)
    except _DAMAGE:
        raise UnreadableSource(file.source, "is a broken mail message") from None
    if not paragraphs and message.get_content_type() in _ENCRYPTED:
        raise UnreadableSource(file.source, "is encrypted")
    yield replace(make_document(file, paragraphs, title, metadata), body_start=0)


def read_mailbox(file: File) -> Iterator[Document | Skipped]:
    """Yield the document of each message of a mailbox."""
    with closing(mbox(file.path, create=False)) as messages:
        for number, key in enumerate(messages.keys(), 1):
            yield _in_mailbox(file, messages.get_bytes(key), number)


def _message(data: bytes) -> Message:
    return message_from_bytes(data, policy=_POLICY)


def _in_mailbox(file: File, data: bytes, number: int) -> Document | Skipped:
    try:
        message = _message(data)
        title, paragraphs, metadata = _parts(message, file)
        name = _header(message, "Message-ID").strip("<> ")
    except _DAMAGE:
        return Skipped(source=file.source, reason="is a broken mail message", line=number)
    except LimitMet as error:
        return Skipped(source=file.source, reason=str(error), line=number)
    if not paragraphs:
        return Skipped(source=file.source, reason="is a message without text", line=number)
    document = make_document(file, paragraphs, title or " ", metadata)
    id_, source = name or f"{file.id}:{number}", f"{file.source}:{number}"
    return replace(document, id=id_, title=title, source=source, body_start=0)


def _parts(message: Message, file: File) -> tuple[str, list[MarkedParagraph], dict[str, Value]]:
    """Return the title, paragraphs and headers of a message; without text, no paragraphs."""
    unread: list[str] = []  # names of attachments
    body = _read_part(message, file, unread)
    if unread:
        shown = ", ".join(unread[:_MOST_NAMED])
        more = f" and {len(unread) - _MOST_NAMED:,} more" if len(unread) > _MOST_NAMED else ""
        file.partly.append(f"{format_count(len(unread), 'attachment')} not read: {shown}{more}")
    said, *history = _split_quotations(body)
    about = MarkedParagraph(_head(message, _SHOWN))
    paragraphs = [each for each in (said, about, *history) if each.text] if body else []
    headers = properties((name.lower(), _header(message, name)) for name in _KEPT)
    return _header(message, "Subject"), paragraphs, headers


def _split_quotations(text: str, level: int = 1) -> Iterator[MarkedParagraph]:
    """Yield a text without its trailing quotations, then each quotation below a heading."""
    found = _HISTORY.search(text) if level <= _DEEPEST else None
    kind = QUOTED if level > 1 else ""
    yield MarkedParagraph((text[: found.start()] if found else text).strip(), 0, kind)
    if found is not None:
        yield MarkedParagraph(collapse(found["by"] or found["head"]), level, QUOTED)
        quoted = _QUOTE_MARK.sub("", found["quoted"]) if found["by"] else found["rest"]
        yield from _split_quotations(quoted, level + 1)


def _head(message: Message, names: Sequence[str]) -> str:
    shown = ((name, _header(message, name)) for name in dict.fromkeys(names))
    return "\n".join(f"{name}: {value}" for name, value in shown if value)


def _header(message: Message, name: str) -> str:
    return _decode_words(str(message.get(name, "")))


def _read_part(part: Message, file: File, unread: list[str]) -> str:
    """Return the text of a message part and its nested parts, in order.

    Names of what is not read are added to `unread`.
    """
    kind, below = part.get_content_type(), part.get_payload() if part.is_multipart() else ()
    inside = [each for each in below if isinstance(each, Message)]
    if kind == "message/rfc822" and inside:
        text = _read_part(inside[0], file, unread)
        return f"{_head(inside[0], ('Subject', *_SHOWN))}\n\n{text}".strip()
    if kind == "message/delivery-status":
        return "\n\n".join(_head(each, each.keys()) for each in inside)
    if kind == "multipart/alternative" and inside:
        return _read_alternatives(inside, file, unread)
    if inside:
        if kind == "multipart/related":  # what is behind the first belongs to its page
            inside, rest = inside[:1], inside[1:]
            unread += [_name_part(each) for each in rest]
        return "\n\n".join(filter(None, [_read_part(each, file, unread) for each in inside]))
    is_broken = kind.startswith("multipart/")  # without a boundary, it is all one text
    if not is_broken and (kind not in _TEXTS or part.get_content_disposition() == "attachment"):
        if kind not in _SIGNATURES:
            unread.append(_name_part(part))
        return ""
    data = part.get_payload(decode=True)
    data = data if isinstance(data, bytes) else b""
    charset = part.get_content_charset() or find_stated(data, html_page.STATED)
    text = decode_part(data, file, charset)
    if kind == "text/html":
        text = "\n\n".join(each.text for each in html_page.paragraphs(text, file))
    elif kind in ("text/enriched", "text/richtext"):
        text = _ENRICHED.sub(lambda match: "<" if match[0] == "<<" else "", text)
    return text.replace("\r\n", "\n").strip()


def _read_alternatives(parts: Sequence[Message], file: File, unread: list[str]) -> str:
    """Return the plain-text alternative, unless it is only a stub for another one."""
    plain = other = ""
    for each in parts:
        kind = each.get_content_type()
        if kind not in _NOT_SHOWN:
            text = _read_part(each, file, unread)
            plain = plain or (text if kind == "text/plain" else "")
            other = (text if kind != "text/plain" else "") or other
    is_stub = len(plain) <= _LONGEST_STUB and len(other) > _TIMES_STUB * len(plain)
    return other if is_stub else plain


def _name_part(part: Message) -> str:
    return _decode_words(part.get_filename() or "") or part.get_content_type()
