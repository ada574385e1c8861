"""What a block asks LLMs for, and what comes back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from clew.models import Prompt, Reply


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt and the reply that counts."""

    model: str
    prompt: Prompt
    reply: Reply


_heard: ContextVar[list[Exchange] | None] = ContextVar("heard", default=None)


@contextmanager
def transcribed() -> Iterator[list[Exchange]]:
    """Give a list to which every exchange of this thread is added while a block runs."""
    exchanges: list[Exchange] = []
    before = _heard.set(exchanges)
    try:
        yield exchanges
    finally:
        _heard.reset(before)


def note_exchanges(model: str, prompts: Sequence[Prompt], replies: Sequence[Reply]) -> None:
    """Add exchanges to the list of the block that listens, if one does."""
    heard = _heard.get()
    if heard is not None:
        heard.extend(Exchange(model, *each) for each in zip(prompts, replies, strict=True))
