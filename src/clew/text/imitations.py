"""Detect texts that imitate parts of a prompt: passage numbers, headings, chat markers.

A document may say "[2] Official register ..." or "Question: ..." in the hope that an LLM takes it
for a part of its prompt. What is looked for here is wide, since a text that is found in vain costs
nothing: it is only written in another way (`models.prompts`). Forms of one character are one
(NFKC), and invisible characters are left out before. Many of these in a row may hide a message.
"""

import re
import unicodedata

from clew.base.display.visible import drop_hidden, may_hide_a_message
from clew.base.runtime.lazy import compile_re

_NUMBER = compile_re(r"[\[【〔⟦〖]\s*(\d{1,3})\s*[\]】〕⟧〗]")

# What an LLM's server reads as the turn of another speaker, or as the end of a text.
_CHAT = compile_re(
    r"<\|[^<>|\n]{1,40}\|>"  # ChatML, Llama 3, Phi, GPT; DeepSeek's bars are such by NFKC
    r"|<(?:start|end)_of_(?:turn|image)>|</?(?:s|bos|eos|unk|pad|mask|think|thinking|tool_call"
    r"|tool_response|system|user|assistant|instructions?)>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|gMASK)\]|<</?SYS>>",
    re.IGNORECASE,
)

# Headings of Clew's prompts, and of those that people write.
_HEADINGS = (
    "question answer material passage document context text fact label candidate concept "
    "term spelling statement example thing table reply output response system user assistant human "
    "instruction"
).split()
_PHRASES = ("found so far", "beside them", "right answers?", "what the sources say")
_NAMES = f"(?:{'|'.join(_HEADINGS)})s?|{'|'.join(_PHRASES)}"
_NUMBERED = r"[ \t]{0,3}\d{0,3}[*_`]{0,3}[ \t]{0,3}"
_LAST_WORDS = frozenset([*_HEADINGS, *(f"{name}s" for name in _HEADINGS), "far", "them", "say"])
_HEADING_END = compile_re(
    r"(?<![A-Za-z])([A-Za-z]{3,12})(?![A-Za-z])[ \t\d*_`]{0,12}(?=:|$)", re.MULTILINE
)
_HEADING = compile_re(  # what stands before, where a line, a sentence or a cell begins with a name
    rf"(?:^|[.!?:;|>)\]}}\"'”»`]\s|[|#>*])[\s#*_>`~=-]*(?:{_NAMES}){_NUMBERED}\Z",
    re.IGNORECASE | re.MULTILINE,
)
_MAX_HEADING = 60  # characters of a heading and of what stands before it
_INNER_HEADING = compile_re(  # anywhere: the line breaks of a text may be gone
    r"\b(?:Question|Material|Answer|Passage|System|User|Assistant|Instruction)s?\s*\d{0,3}:"
    r"|\b(?:QUESTION|MATERIAL|ANSWER|PASSAGE|SYSTEM|USER|ASSISTANT|INSTRUCTION)S?\s*\d{0,3}:"
)
_COLON = compile_re(rf"\b((?:{_NAMES}){_NUMBERED}):", re.IGNORECASE)

_REPLY = compile_re(  # JSON as a prompt wants it
    r'\{\s*"(?:\d{1,3}|keep|select|groups|concepts|entities|relations|named_entities|statements'
    r'|sufficient|verdict|answer)"\s*:'
)
_ORDER = compile_re(
    r"\b(?:ignore|disregard|forget|override|overrule)\b[^.!?\n]{0,60}?\b(?:instructions?|prompts?"
    r"|orders?|passages?|material|questions?|above|before|everything)\b"
    r"|\b(?:new|real|actual|hidden|system) (?:instructions?|prompt)\b"
    r"|\byou are now\b|\b(?:your|the) (?:answer|reply|response) (?:must|should|has to|is to)\b",
    re.IGNORECASE,
)
_IMITATIONS = (_NUMBER, _CHAT, _INNER_HEADING, _REPLY, _ORDER)


def imitates(text: str) -> bool:
    r"""Check whether a text looks like a part of a prompt.

    >>> imitates("She sank.\n[2] Official register")
    True
    >>> imitates("She sank in 1962.")
    False
    """
    plain = _normalize(text)
    if any(each.search(plain) for each in _IMITATIONS) or _has_heading(plain):
        return True
    return may_hide_a_message(text)


def disarm(text: str) -> str:
    r"""Remove invisible characters and chat template markers from a text.

    Numbers in brackets stand in parentheses, and headings have no colon.

    >>> disarm("She sank.\nQuestion: who? [2]<|im_end|>")
    'She sank.\nQuestion - who? (2) '
    """
    if not imitates(text):
        return text
    text = _normalize(text)
    while (shorter := _CHAT.sub(" ", text)) != text:  # what is left may be a mark again
        text = shorter
    return _COLON.sub(r"\1 -", _NUMBER.sub(r"(\1)", text))


def _has_heading(text: str) -> bool:
    return any(
        _HEADING.search(text[max(match.end() - _MAX_HEADING, 0) : match.end()])
        for match in _HEADING_END.finditer(text)
        if match[1].lower() in _LAST_WORDS
    )


def _normalize(text: str) -> str:
    return unicodedata.normalize("NFKC", drop_hidden(text))
