"""Mail (.eml, .mbox): a message is a document, its subject the title.

The text is who wrote to whom and when, and behind it the plain text of the message, else that of
its HTML. Attachments are left out. The id of a message in a mailbox is its `Message-ID`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import EmailPolicy
from mailbox import mbox
from typing import Any

from clew.errors import UnreadableSource
from clew.limits import LimitMet, ReadingLimits
from clew.readers import html_page
from clew.readers.decode import replace_surrogates
from clew.readers.properties import properties
from clew.readers.titled import stem_title
from clew.readers.walk import File
from clew.types import Document, Skipped, Value

_SHOWN = ("From", "To", "Cc", "Date")
_KEPT = (*_SHOWN, "Message-ID", "In-Reply-To", "List-ID")  # as metadata, in lower case
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime")
_LONGEST = 16_000  # characters of a header that is read by its grammar
_OF_MIME = ("content-", "mime-")
_LONGEST_OF_MIME = 2_000  # they are read several times
# What the standard library lets through where a header or a part is not as it should be.
_DAMAGE = (ValueError, LookupError, AttributeError, TypeError, RecursionError)


class _Policy(EmailPolicy):
    """How headers are read: by their grammar, where that does not take the square of their length.

    Of a longer one of MIME the beginning counts, and any other is read as words.
    """

    def header_fetch_parse(self, name: str, value: str) -> Any:  # noqa: ANN401 -- as it says there
        read = super().header_fetch_parse
        if name.lower().startswith(_OF_MIME):
            is_long = len(value) > _LONGEST_OF_MIME
            return read(name, value[:_LONGEST_OF_MIME].rpartition(";")[0] if is_long else value)
        if len(value) <= _LONGEST:
            return read(name, value)
        return " ".join(str(read("Subject", part)) for part in _parts_of_header(value))


_POLICY = _Policy()


def _parts_of_header(value: str) -> Iterator[str]:
    """Yield a header in parts that are not too long, divided at white space where there is some."""
    start = 0
    while start < len(value):
        end = start + _LONGEST
        if end < len(value):
            end = max(value.rfind(" ", start + 1, end), value.rfind("\n", start + 1, end), 0) or end
        yield value[start:end]
        start = end


def read(file: File) -> Iterator[Document]:
    """Yield the one document of a message."""
    try:
        message = _message(file.path.read_bytes())
        if not message.keys():
            raise UnreadableSource(file.source, "is not a mail message: it has no headers")
        title, text, metadata = _parts(message, file.limits)
    except _DAMAGE:
        raise UnreadableSource(file.source, "is a broken mail message") from None
    if not text.strip():
        reason = "is encrypted" if message.get_content_type() in _ENCRYPTED else "holds no text"
        raise UnreadableSource(file.source, reason)
    title = title or stem_title(file)
    yield Document(id=file.id, text=text, title=title, source=file.source, metadata=metadata)


def read_mailbox(file: File) -> Iterator[Document | Skipped]:
    """Yield the document of each message of a mailbox."""
    with closing(mbox(file.path, create=False)) as messages:
        for number, key in enumerate(messages.keys(), 1):
            yield _in_mailbox(file, messages.get_bytes(key), number)


def _message(data: bytes) -> EmailMessage:
    return message_from_bytes(data, policy=_POLICY)  # type: ignore[arg-type]  # of its messages


def _in_mailbox(file: File, data: bytes, number: int) -> Document | Skipped:
    try:
        message = _message(data)
        title, text, metadata = _parts(message, file.limits)
        name = _header(message, "Message-ID").strip("<> ")
    except _DAMAGE:
        return Skipped(source=file.source, reason="is a broken mail message", line=number)
    except LimitMet as error:
        return Skipped(source=file.source, reason=str(error), line=number)
    if not text.strip():
        return Skipped(source=file.source, reason="is a message without text", line=number)
    return Document(
        id=name or f"{file.id}:{number}",
        text=text,
        title=title,
        source=f"{file.source}:{number}",
        metadata=metadata,
    )


def _parts(message: EmailMessage, limits: ReadingLimits) -> tuple[str, str, dict[str, Value]]:
    """Return the title, the text and the headers of a message; no text where its body has none."""
    shown = {name: value for name in _SHOWN if (value := _header(message, name))}
    body = _body(message, limits)
    head = "\n".join(f"{name}: {value}" for name, value in shown.items())
    text = f"{head}\n\n{body}".lstrip("\n") if body else ""
    kept = properties((name.lower(), _header(message, name)) for name in _KEPT)
    return _header(message, "Subject"), text, kept


def _header(message: EmailMessage, name: str) -> str:
    return replace_surrogates(" ".join(str(message.get(name, "")).split()))


def _body(message: EmailMessage, limits: ReadingLimits) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    content = str(part.get_content())
    if part.get_content_subtype() == "html":
        content = "\n\n".join(each.text for each in html_page.paragraphs(content, limits))
    return replace_surrogates(content.replace("\r\n", "\n").strip())
