"""Proofs of answers, and the result of verifying them."""

from dataclasses import dataclass

from clew.base.display.shown import Shown
from clew.text.lines import file_place


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ProvedQuote(Shown):
    """A quote of an answer, its position, and the hash of its source text."""

    number: int  # as the answer cites it
    document_id: str
    title: str = ""
    source: str = ""
    section: str = ""
    page: int | None = None
    line: int | None = None
    start: int
    end: int
    quote: str
    link: str = ""  # the name for which the answer has it
    sha256: str  # of the document's text in UTF-8


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Proof(Shown):
    """An answer with everything needed to verify its quotes."""

    question: str
    text: str
    kind: str  # of the answer
    short: str = ""
    method: str = ""
    generation: int = 0  # of the index, when the proof was made; 0: not known
    quotes: tuple[ProvedQuote, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class VerifiedQuote(Shown):
    """The result of verifying a quote: whether it was found, and where."""

    number: int
    state: str  # "stands" where it stood, "moved", or "gone"
    quote: str
    document_id: str = ""
    source: str = ""
    start: int = 0
    end: int = 0
    section: str = ""
    page: int | None = None
    line: int | None = None
    is_changed: bool = False  # whether its document has another text than the proof's

    @property
    def place(self) -> str:
        """Return "file:line", as editors open it."""
        return file_place(self.source or self.document_id, self.line)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Verified(Shown):
    """The result of verifying a proof against the current documents."""

    question: str
    text: str
    short: str = ""
    quotes: tuple[VerifiedQuote, ...]
    unsupported: tuple[str, ...] = ()  # sentences of the answer that none of its quotes holds
    is_sound: bool  # every quote stands somewhere, and together they hold the answer
