"""Numbered items, such as clauses, steps and figures, in questions and texts."""

import re

from clew.base.runtime.lazy import compile_re

_NOUNS = (
    "clause|section|step|article|item|point|paragraph|rule|annex|chapter|instruction|stage"
    "|schritt|punkt|abschnitt|absatz|artikel|ziffer|klausel|étape|paragraphe|alinéa"
    "|paso|artículo|cláusula|apartado|punto"
)
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_NAMED = compile_re(
    rf"(?:\b(?:{_NOUNS})|§)\s*(?:(?:no|nr|number)\.?\s*)?(\d+(?:\.\d+)*)\b", re.IGNORECASE
)
_ORDINAL = compile_re(rf"\b({'|'.join(_ORDINALS)}) (?:{_NOUNS})\b", re.IGNORECASE)
_FIGURE = compile_re(
    r"(?:\b(?:figures?|figuras?|figs?\.?|abbildung(?:en)?|abb\.|рис(?:унок|\.))|[図图圖])"
    r"\s*((?:[a-z][.-])?\d+(?:[.-]\d+)*)",
    re.IGNORECASE,
)


def find_figure_numbers(text: str) -> frozenset[str]:
    """Return the numbers of the figures that a text names.

    >>> sorted(find_figure_numbers("See Fig. 2 and Figure 3.1."))
    ['2', '3.1']
    """
    return frozenset(_FIGURE.findall(text))


def find_item_number(question: str) -> str:
    """Return the number of the clause, step or section that a question names, or "".

    >>> find_item_number("What does clause 7.2 say?"), find_item_number("What is the third step?")
    ('7.2', '3')
    """
    if any(map(str.isdecimal, question)) and (named := _NAMED.search(question)):
        return named[1]
    ordinal = _ORDINAL.search(question)
    return str(_ORDINALS.index(ordinal[1].lower()) + 1) if ordinal else ""


def has_item_number(text: str, number: str) -> bool:
    """Check whether a text begins with the number, possibly after "Clause", "Step", ....

    >>> has_item_number("7.2 Notice is given.", "7.2"), has_item_number("7.21 Rent", "7.2")
    (True, False)
    """
    own = rf"{re.escape(number)}(?!\d|\.\d)"
    start = rf"[\W_]*(?:{own}(?:[.):]|\s|$)|(?:{_NOUNS})\s+{own}\s*(?:[.):–—-]|\n|$))"
    return re.match(start, text, re.IGNORECASE) is not None
