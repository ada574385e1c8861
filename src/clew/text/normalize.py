"""Normalize spellings: keys of entities and labels, and white space.

Accents go, so that "Lodz" finds Łódź; both spellings as terms would double the postings.
"""

import re
import unicodedata
from functools import cache

from clew.base.runtime.lazy import compile_re
from clew.text.unseen import drop_unseen

_POSSESSIVE = compile_re(r"['’]s?$")
_NO_KEY = compile_re(r"[^0-9a-z]+")  # of ASCII, case folded
_MAX_RUN = 20  # characters of what the next two match
_INITIALS = compile_re(r"(?:[^\W\d_]\.){2,}[^\W\d_]?|[^\W\d_](?:\.[^\W\d_])+")  # "i.b.m."
_ARTICLE = compile_re(r"^l['’](?=[aeiouhy])")  # of French and Italian names, folded
_SIGNED = compile_re(r"[a-z](?:#|\+\+)")  # languages that a sign tells apart
_SPACES = compile_re(r"\s+")
_MARKS_AT_MOST = 30  # upon one letter
_JOINER = "\u034f"  # says nothing; marks are not sorted across it
_JOINT = compile_re(r"(?<=[^\W_])[-_/‐‑]+(?=[^\W_])")  # between letters: "co-author", "not_spam"
_OUTER = " .,:;!?\"'`*“”‘’„«»()[]{}<>"  # what people and models put around a label
_LONG_RUN = compile_re(rf"[^\w\s]{{{_MARKS_AT_MOST + 1},}}")  # no mark is a word character


def nfkc(text: str) -> str:
    """Return the NFKC form of a text in linear time.

    Marks upon one letter are sorted, which takes the square of their number: where there are
    more than 30 a joiner stands between, as in the stream-safe form of UAX #15.
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _LONG_RUN.sub(_compose_run, text))


def fold(text: str) -> str:
    """Fold `text` for comparison: NFKC, casefold, no accents or invisible characters.

    Accents are left out where people type without them: in the Latin and the Greek script, of "ё",
    upon stressed vowels; so are the vowel points of Arabic and Hebrew. "й" is a letter by itself.

    >>> fold("José"), fold("Łódź"), fold("Søren"), fold("Straße"), fold("Чай")
    ('jose', 'lodz', 'soren', 'strasse', 'чай')
    """
    if text.isalnum() and text.isascii():
        return text.lower()
    folded = nfkc(drop_unseen(text)).casefold()
    # Once more: case folding takes some letters apart, as in "ΐ" and "ß" with an accent.
    return folded if folded.isascii() else nfkc(folded).translate(_list_plain_letters())


@cache
def _list_plain_letters() -> dict[int, str]:
    """Return a table that maps accented letters to plain ones, and marks to nothing."""
    marks = (
        *range(0x300, 0x370),
        *(*range(0x591, 0x5BE), 0x5BF, 0x5C1, 0x5C2, 0x5C4, 0x5C5, 0x5C7),  # Hebrew
        *(0x640, *range(0x64B, 0x653), 0x670),  # Arabic
    )
    plain = dict.fromkeys(marks, "")
    for point in (*range(0xC0, 0x250), *range(0x370, 0x400), *range(0x1E00, 0x2000)):
        parts = unicodedata.normalize("NFD", chr(point))
        if len(parts) > 1:
            plain[point] = "".join(c for c in parts if not unicodedata.combining(c))
    others = "æ ae œ oe ø o ł l đ d ð d þ th ħ h ı i ŋ n ŧ t ё е أ ا إ ا آ ا ى ي ة ه".split()
    return plain | {ord(a): b for a, b in zip(others[::2], others[1::2], strict=True)}


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
    """Return the normalized form that identifies an entity.

    Folded, no trailing possessive, letters and digits of any script only, single spaces. An empty
    key means that nothing nameable was left.

    >>> entity_key("Shackleton’s"), entity_key("José Núñez"), entity_key("l’Italie")
    ('shackleton', 'jose nunez', 'italie')
    >>> entity_key("Pourquoi-Pas?"), entity_key("I.B.M."), entity_key("C#"), entity_key("C++")
    ('pourquoi pas', 'ibm', 'c#', 'c++')
    """
    folded = fold(name)
    if len(folded) <= _MAX_RUN and (short := _SIGNED.fullmatch(folded)):
        return short[0]
    if len(folded) <= _MAX_RUN and _INITIALS.fullmatch(folded):
        folded = folded.replace(".", "")
    folded = _ARTICLE.sub("", _POSSESSIVE.sub("", folded.strip()))
    if folded.isascii():
        words = _NO_KEY.sub(" ", folded)
    else:
        words = "".join(c if _is_name_character(c) else " " for c in folded)
    return " ".join(words.split())


def _is_name_character(character: str) -> bool:
    # Marks (M) carry vowels in Devanagari, Thai, Arabic and others: part of a letter.
    return character.isalnum() or unicodedata.category(character).startswith("M")


def label_key(label: str) -> str:
    """Return the normalized form for comparing labels.

    NFKC, casefold, joints and white space as single spaces, no quotes or stops around it. Other
    signs stay, so that "C++" and "C#" are two labels, and "+1" and "-1".

    >>> label_key('"Machine-Learning".')
    'machine learning'
    """
    folded = nfkc(label).casefold()
    spaced = collapse(_JOINT.sub(" ", nfkc(folded)))
    return spaced.strip(_OUTER) or spaced


def title_head(title: str, text: str, section: str = "") -> str:
    """Return the line above a chunk for models: its title and section.

    Nothing where there is neither, or where the text is in no section and begins with the title.
    """
    title = collapse(title)
    if section:
        return f"{title} > {section}\n" if title else f"{section}\n"
    return f"{title}\n" if title and not text.startswith(title) else ""


def collapse(text: str) -> str:
    """Collapse white space in `text` to single spaces, and strip it."""
    return _SPACES.sub(" ", text).strip()
