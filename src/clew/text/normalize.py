"""Make spellings of one thing equal: keys of entities and labels, and plain whitespace."""

import re
import unicodedata

from clew.text.unseen import drop_unseen

_POSSESSIVE = re.compile(r"['’]s?$")
_NO_KEY = re.compile(r"[^0-9a-z]+")  # of ASCII, case folded
_SHORT = 20  # characters of what the next two match
_INITIALS = re.compile(r"(?:[^\W\d_]\.){2,}[^\W\d_]?|[^\W\d_](?:\.[^\W\d_])+")  # "i.b.m."
_SIGNED = re.compile(r"[a-z](?:#|\+\+)")  # languages that a sign tells apart
_SPACES = re.compile(r"\s+")
_MARKS_AT_MOST = 30  # upon one letter
_JOINER = "\u034f"  # says nothing; marks are not sorted across it
_JOINT = re.compile(r"(?<=[^\W_])[-_/‐‑]+(?=[^\W_])")  # between letters: "co-author", "not_spam"
_OUTER = " .,:;!?\"'`*“”‘’„«»()[]{}<>"  # what people and models put around a label
_LONG_RUN = re.compile(rf"[^\w\s]{{{_MARKS_AT_MOST + 1},}}")  # no mark is a word character


def nfkc(text: str) -> str:
    """Return the compatibility form of a text, in linear time.

    Marks upon one letter are sorted, which takes the square of their number: where there are
    more than 30 a joiner stands between, as in the stream-safe form of UAX #15.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _LONG_RUN.sub(_compose_run, text))


def _compose_run(run: re.Match[str]) -> str:
    composed, marks = [], 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks > _MARKS_AT_MOST:
            composed.append(_JOINER)
            marks = 1
        composed.append(character)
    return "".join(composed)


def entity_key(name: str) -> str:
    """Return the form under which spellings of an entity's name are one.

    NFKC, casefold, no trailing possessive, letters and digits of any script only, single
    spaces. An empty key means that nothing nameable was left.

    >>> entity_key("Shackleton’s")
    'shackleton'
    >>> entity_key("Pourquoi-Pas?"), entity_key("I.B.M."), entity_key("C#"), entity_key("C++")
    ('pourquoi pas', 'ibm', 'c#', 'c++')
    """
    folded = nfkc(drop_unseen(name)).casefold()
    if len(folded) <= _SHORT and (short := _SIGNED.fullmatch(folded)):
        return short[0]
    if len(folded) <= _SHORT and _INITIALS.fullmatch(folded):
        folded = folded.replace(".", "")
    # Once more: case folding takes some letters apart, as in "ΐ" and "ß" with an accent.
    folded = _POSSESSIVE.sub("", nfkc(folded).strip())
    if folded.isascii():
        kept = _NO_KEY.sub(" ", folded)
    else:
        kept = "".join(c if _is_name_character(c) else " " for c in folded)
    return " ".join(kept.split())


def _is_name_character(character: str) -> bool:
    # Marks (M) carry vowels in Devanagari, Thai, Arabic and others: part of a letter.
    return character.isalnum() or unicodedata.category(character).startswith("M")


def label_key(label: str) -> str:
    """Return the form in which labels are compared.

    NFKC, casefold, joints and white space as single spaces, no quotes or stops around it. Other
    signs stay, so that "C++" and "C#" are two labels, and "+1" and "-1".

    >>> label_key('"Machine-Learning".')
    'machine learning'
    """
    folded = nfkc(label).casefold()
    spaced = collapse(_JOINT.sub(" ", nfkc(folded)))
    return spaced.strip(_OUTER) or spaced


def title_head(title: str, text: str, section: str = "") -> str:
    """Return the line above a chunk as models read it: its title and section.

    Nothing where there is neither, or where the text is in no section and begins with the title.
    """
    title = collapse(title)
    if section:
        return f"{title} > {section}\n" if title else f"{section}\n"
    return f"{title}\n" if title and not text.startswith(title) else ""


def collapse(text: str) -> str:
    """Return `text` with every run of white space as one space, none at the ends."""
    return _SPACES.sub(" ", text).strip()
