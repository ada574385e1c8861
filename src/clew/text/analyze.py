"""The lexical analyser for search terms, co-occurrence and keywords.

Words of at least two characters or digit strings, folded (see `clew.text.normalize`), without
possessive endings, elided articles ("l'architecte") and English stop words, but with "IT", "US" and
"WHO". As plain text has no italics and no dashes, underscores around a word mean emphasis, and two
hyphens part words. Of names with signs "U.S." is one word, "C#", "C++" and "AT&T" others. Numbers
stay: years matter in questions that need several texts. A date gives its day, month and year as
words, however it is written: "05.03.26" is "5", "march", "2026". Scripts without spaces give
overlapping pairs of ideographs or kana, the usual terms for them, or triples of letters, since two
letters of Thai stand in most texts. Korean words lose particles. Soft hyphens, zero-width
characters and colour codes part no word (see `clew.text.unseen`).
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import merge
from operator import itemgetter

from clew.base.runtime.lazy import compile_re
from clew.text import unseen
from clew.text.dates import FoundDate, find_days
from clew.text.normalize import fold

VERSION = "6"

# Accents, vowel signs and points are parts of words, although \w leaves them out: combining
# accents, Hebrew, Arabic, the scripts of India and Ceylon, Thai, Lao, Tibetan, Myanmar, Khmer.
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0900-\u0963\u0971-\u0df3\u0e31-\u0e3a"
    "\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u0f8d-\u0fbc\u102b-\u103e\u1056-\u109d"
    "\u17b4-\u17d3"
)
_WORD = compile_re(
    r"[A-Za-z]{2,}(?=[ ,])"  # as most words are; the last part would match the same, but later
    r"|[^\W\d_](?:(?:\.[^\W\d_])+(?!\w)\.?|(?:#|\+\+)(?!\w))"
    r"|[A-Z]{1,3}&[A-Z]{1,3}(?!\w)"
    rf"|\w[\w{MARKS}]*(?:['’-][\w{MARKS}]+)*['’]?"
)
_ELIDED = compile_re(
    r"(?:[cdjlmnst]|(?:jus|lors|puis|quoi)?qu|dell|all|nell|sull|dall|un)['’]"
    "(?=[aeiouhyàâäæáéèêëíìîïóòôöœúùûü])",
    re.IGNORECASE,
)
_ACRONYMS = frozenset({"IT", "US", "U.S.", "U.S", "WHO"})
_LOWER_CASE_NEAR = 40  # characters on both sides; without lower case there all is in capitals
_POSSESSIVE = compile_re(r"['’]s?$")
# What follows a Korean noun of two syllables or more: particles, forms of the verbs 하다 and 되다.
_PARTICLES = compile_re(
    r"(?<=[\uac00-\ud7a3]{2})(?:[은는이가을를의에와과도만로]|에서|에게|에는|에서는|에도|으로|으로는|로는|까지|부터"
    r"|보다|처럼|마다|이나|들|들[은이을의]|이?다|이고|이며|이?라는|인가요?|입니[다까]|이?었나요?|이?였[나다]요?"
    r"|(?:하|되)(?:[였었]?다|[였었]나요?|는|고|며|면서?|기|지|나요?)|[했됐](?:다|나요?|던|고|습니[다까])|[합됩]니[다까]|[한된]다?)$"
)
_EDGES = "_-"  # no part of a word at its ends; a hyphen can be there beside an unspaced script
UNSPACED = compile_re(f"[{unseen.UNSPACED}]+")
_FIRST_UNSPACED = unseen.UNSPACED[0]
IDEOGRAPHS = compile_re(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_CACHED = 64  # characters of a word whose terms are kept: the same words come again and again
_LETTERS = 3  # of a term in a script without spaces that has letters

STOP_WORDS = frozenset(
    """
    a about above across after again against all almost along already also although always am among
    an and another any anyone anything are around as at away back be became because become been
    before behind being below between both but by came can cannot could did do does doing done down
    during each eg either else enough etc even ever every everything few first for from further gave
    get gets give given go goes got had has have having he hence her here hers herself him himself
    his how however i ie if in indeed instead into is it its itself just last later least less made
    make many may me might mine more most much must my myself near neither never next no nobody none
    nor not nothing now of off often on once one only onto or other others otherwise our ours
    ourselves out over own per perhaps quite rather said same say see seem several shall she should
    since so some someone something still such than that the their theirs them themselves then there
    therefore these they this those though through thus to together too toward towards under until
    up upon us very via was we well were what whatever when where whether which while who whoever
    whole whom whose why will with within without would yet you your yours yourself yourselves
    """.split()
)


def terms(text: str) -> list[str]:
    """Return the terms of `text` in order, including repeats."""
    return [term for term, _, _ in term_spans(text)]


@lru_cache(maxsize=1 << 12)
def term_set(text: str) -> frozenset[str]:
    """Return the distinct terms of a sentence or a name, cached."""
    if find_days(text):
        return frozenset(terms(text))
    distinct: set[str] = set()
    for word in set(_WORD.findall(unseen.drop_unseen(text))):
        own = _word_set(word) if len(word) <= _CACHED else None
        if own is None:
            return frozenset(terms(text))
        distinct.update(own)
    return frozenset(distinct)


def term_spans(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield (term, start, end) for each term of `text`, in order."""
    seen, places = unseen.drop_and_place(text)
    dates = find_days(seen)
    found = _find_terms(seen, dates)
    if dates:
        found = merge((word for date in dates for word in date.words), found, key=itemgetter(1))
    for term, start, end in found:
        yield term, places[start], places[end - 1] + 1


def _find_terms(text: str, dates: Sequence[FoundDate]) -> Iterator[tuple[str, int, int]]:
    """Yield the terms of a text outside its dates."""
    rest = list(text) if dates else []
    for date in dates:
        rest[date.start : date.end] = " " * (date.end - date.start)
    for match in _WORD.finditer("".join(rest) or text):
        word, first = match.group(), match.start()
        for term, start, end in _usual_terms(word) if len(word) <= _CACHED else _word_terms(word):
            if term not in STOP_WORDS or is_acronym(text, first + start, first + end):
                yield term, first + start, first + end


@lru_cache(maxsize=1 << 14)
def _usual_terms(word: str) -> tuple[tuple[str, int, int], ...]:
    return tuple(_word_terms(word))


@lru_cache(maxsize=1 << 14)
def _word_set(word: str) -> frozenset[str] | None:
    """Return the distinct terms of a word, None if only its text tells whether it is an acronym."""
    usual = _usual_terms(word)
    stops = (word[start:end] for term, start, end in usual if term in STOP_WORDS)
    if any(_POSSESSIVE.sub("", stop) in _ACRONYMS for stop in stops):
        return None
    return frozenset(term for term, _, _ in usual) - STOP_WORDS


def _word_terms(word: str) -> Iterator[tuple[str, int, int]]:
    """Yield the terms of a word with their positions."""
    if word.isascii() or max(word) < _FIRST_UNSPACED:
        yield from _split_at_spaces(word, 0)
        return
    previous = 0
    for run in UNSPACED.finditer(word):
        yield from _split_at_spaces(word[previous : run.start()], previous)
        yield from _pairs(run.group(), run.start())
        previous = run.end()
    yield from _split_at_spaces(word[previous:], previous)


def is_acronym(text: str, start: int, end: int) -> bool:
    """Check whether a stop word is written as an acronym: "Who leads IT?"."""
    written = text[start:end]
    if written.islower() or _POSSESSIVE.sub("", written) not in _ACRONYMS:
        return False
    near = text[max(start - _LOWER_CASE_NEAR, 0) : end + _LOWER_CASE_NEAR]
    return any(map(str.islower, near))


def _split_at_spaces(word: str, start: int) -> Iterator[tuple[str, int, int]]:
    if not word.isalnum() and (elided := _ELIDED.match(word)):
        word, start = word[elided.end() :], start + elided.end()
    term = fold(word)
    if not term.isalnum():
        term = _POSSESSIVE.sub("", term).strip(_EDGES).replace(".", "")
    if not term.isascii():
        term = _PARTICLES.sub("", term)
    if len(term) > 1 or term.isdigit():
        yield term, start + len(word) - len(word.lstrip(_EDGES)), start + len(word)


def _pairs(run: str, start: int) -> Iterator[tuple[str, int, int]]:
    if len(run) == 1:
        yield fold(run), start, start + 1
    size = 2 if IDEOGRAPHS.match(run) else _LETTERS
    for i in range(max(1, len(run) - size + 1)) if len(run) > 1 else ():
        yield fold(run[i : i + size]), start + i, start + min(i + size, len(run))


def is_uncased(text: str) -> bool:
    """Check whether `text` has a script without capital letters, such as Han or Arabic."""
    return not text.isascii() and "Lo" in map(unicodedata.category, set(text))
