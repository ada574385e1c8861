"""What a question asks for, by its words alone: a number, a date, a place, a person, a name."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["number", "date", "place", "person", "name"]

# The word behind "which" or "what" says what is asked for; one word may stand between: "which
# small town". Of two kinds the one whose words come first counts.
_THING = r"\b(?:what|which) (?:\w+ )?(?:{})s?\b"
_AMOUNT = r"\b(?:what|which) (?:is the |was the )?(?:{})\b"
_KINDS: tuple[tuple[Kind, str], ...] = (
    (
        "number",
        r"\bhow (?:many|much|old|long|tall|high|far|large|big|deep|fast|often)\b|"
        + _AMOUNT.format("number|population|percent|percentage|amount|height|length"),
    ),
    ("date", r"\bwhen\b|" + _THING.format("year|date|day|month|decade|century|centurie|season")),
    (
        "place",
        r"\bwhere\b|"
        + _THING.format(
            "city|citie|country|countrie|state|county|countie|town|village|place|province|region"
            "|district|borough|island|continent|nation|location|municipality|river|lake|area"
            "|territory|capital|harbour|port"
        ),
    ),
    (
        "person",
        r"\bwho(?:se|m)?\b|"
        + _THING.format(
            "person|man|woman|actor|actress|author|director|singer|writer|artist|composer|player"
            "|president|king|queen|captain|scientist|explorer"
        ),
    ),
)
_ASKED = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)

_NUMBER = re.compile(
    r"\b(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty"
    r"|forty|fifty|hundred|thousand|million|billion|dozen)\b",
    re.IGNORECASE,
)
_BEHIND_PREPOSITION = re.compile(r"\b(?:in|at|of|near|from|to|on|into|outside) (?:the )?[A-Z]")
_YES_NO = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b", re.IGNORECASE
)
# Words that stand for what a sentence before named.
_PRONOUN = re.compile(
    r"\W*(?:He|She|It|They|His|Her|Its|Their|This|These|Those"
    r"|The [a-z]+ (?:is|are|was|were|has|had))\b"
)


def kind_of(question: str) -> Kind:
    """Return what kind of thing the words of a question ask for; "name" where they do not say."""
    found = [(match.start(), kind) for kind, words in _ASKED if (match := words.search(question))]
    return min(found)[1] if found else "name"


def is_yes_no(question: str) -> bool:
    """Say whether a question can be answered by yes or no: it begins with a verb for that."""
    return bool(_YES_NO.match(question))


def numbers(text: str) -> list[str]:
    """Return the numbers of a text, in figures or in words."""
    return _NUMBER.findall(text)


def names_a_place(text: str) -> bool:
    """Say whether a name stands behind a preposition, as places do."""
    return bool(_BEHIND_PREPOSITION.search(text))


def refers_back(sentence: str) -> bool:
    """Say whether a sentence begins with a word for what one before it named."""
    return bool(_PRONOUN.match(sentence))
