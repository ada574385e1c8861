"""What a sentence says strictly: its numbers, its names, and what it denies.

Models of meaning take 14 for 21, Antwerp for Rotterdam, and "with" for "without"; so these are
compared as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations

from clew.base.runtime.lazy import compile_re
from clew.text.analyze import term_set, terms
from clew.text.dates import YEAR, find_days
from clew.text.forms import find_base
from clew.text.languages import JOINING, capitalizes_nouns
from clew.text.names import name_spans
from clew.text.normalize import fold

_CLOCK = compile_re(r"\b(\d{1,2})(?:[:.](\d\d))? ?([ap])\.?m\b", re.IGNORECASE)
_DIGITS = compile_re(r"\d+(?:[.,:]\d+)*")
_THOUSANDS = compile_re(r"[.,](?=\d{3}(?!\d))")
_ITEM = compile_re(r"^\W*(?:\d{1,2}[.)]\s)?\W*(?:[^\n:]{1,40}:(?=[\s*]))?")  # "2. **Notice:** ..."
_WORD = compile_re(r"[^\W\d_]+")
_COUNTED = {
    word: str(number)
    for words in (
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen",
        "zwei drei vier funf sechs sieben acht neun zehn - zwolf",
        "deux trois quatre cinq six sept huit neuf dix onze douze",
        "dos tres cuatro cinco seis siete ocho nueve diez - doce",
        "due tre quattro cinque - sette otto nove dieci undici dodici",
    )
    for number, word in enumerate(words.split(), 2)
} | {word: f"{n}0" for n, word in enumerate("twenty thirty forty fifty sixty".split(), 2)}
_HALF = compile_re(r"\b(?:half|halbe?n?|moitié|demi|mitad|metà)\b")
_CODE = compile_re(r"`[^`\s]+`|\b(?=\w*\d)(?=\w*[A-Z])\w+\b")
_BEGINS_NAME = compile_re(r"\W*[^\W\d_]+ [A-ZÀ-Þ]")
_YEAR = compile_re(rf"\b{YEAR}\b")
_IN_YEARS, _YEARS = "year", frozenset("year jahr jahre jahren ans annee annees anos anni".split())
_AMOUNT = compile_re(r"([$€£¥]?) ?\b(\d+(?:[.,]\d+)*|[^\W\d_]+)(?=[ -]?(%|€|[^\W\d_]{2,})?)")
_ADDS = compile_re(
    r"\b(?:totals?|totalled|sum|together|altogether|in all|combined|overall|insgesamt|zusammen)\b",
    re.IGNORECASE,
)
_COMPARES = compile_re(
    r"\b(?:difference|than|left|remain\w*|(?:rose|fell|grew) by|unterschied|mehr|weniger)\b",
    re.IGNORECASE,
)
_STEM, _ENDING = 4, 2  # characters that forms of a name share, and that may differ at their ends

_CLAUSE = compile_re(r"[,;:.()–—](?:\s|$)|\b(?:but|while|although|aber|mais|pero|ma)\b")
_DENIAL = compile_re(
    r"\b(?:(?:not|\w+n['’]t|no|never|neither|nor|cannot|none|nobody|nothing|unable"
    r"|turn(?:s|ed)? down|(?:avoid|lack|fail)(?:s|ed)?"
    r"|leav(?:es?|ing)(?= .{1,30}\b(?:aside|out|off)\b)"
    r"|nicht|kein\w*|nie|niemals|weder|pas|jamais|aucune?|ni|nunca|jam[aá]s|non|mai)"
    r"|(?P<few>(?:without|except|instead of|rather than|ohne|sans|faute|sin|senza)(?:\W+\w+){0,4})"
    r"|(?P<whole>(?:reject|declin|refus|forbid|prohibit|exclud|abolish|withdr|cancel|den[iy])\w*"
    r"|banned|dropped|ruled out|impossible"
    r"|verboten|untersagt|ausgeschlossen|abgelehnt|abgeschafft"
    r"|(?:interdi|exclu|prohib|prohíb|rechaz|rejet|vieta|esclus|respint)\w*))\b",
    re.IGNORECASE,
)
# What may be meant as a condition or a comparison, and so be said with a denial or without one.
_UNCLEAR = compile_re(
    r"\bnot? (?:(?:later|more|less|fewer|earlier|longer|sooner) than|only|just)\b"
    r"|\b(?:not|no|never|cannot|nobody)\b[^,;:]*\b(?:until|unless|without|before|than|else)\b"
    r"|\b(?:only|unless|at (?:least|most)|need(?:s|ed)? to|nur|erst|seulement|s[oó]lo|soltanto)\b",
    re.IGNORECASE,
)
_ASIDE = compile_re(  # denied of whom, when or of what else something is said
    r"\b(?:who|whose|which|that|if|when|where)(?: \w+){0,3} (?:not|no|never|cannot|\w+n['’]t)\b"
    r"|\b(?:instead of|rather than)\b",
    re.IGNORECASE,
)
_LIGHT = frozenset("take use make do go need get have be".split())  # verbs of many senses
_SOURCES = compile_re(
    r"\b(?:documents?|passages?|sources?|materials?|context|texts?|excerpts?|dokumenten?|quellen?"
    r"|textes?|documentos?|fuentes?|documenti|fonti)\b",
    re.IGNORECASE,
)


def _compute_numbers(claim: str, said: str) -> Iterator[str]:
    """Yield the numbers of a sentence that are a sum or difference of two that are `said`.

    Those of years between two years count, and of amounts of one unit where the sentence says that
    it adds or compares.

    >>> list(_compute_numbers("He died after 46 years.", "Born in 1868, he died in 1914."))
    ['46']
    """
    amounts = [*_find_amounts(said), *((_IN_YEARS, year) for year in _YEAR.findall(said))]
    for unit, number in _find_amounts(claim):
        pairs = list(permutations((float(each) for own, each in amounts if own == unit), 2))
        found = {a + b for a, b in pairs if _ADDS.search(claim)}
        if unit == _IN_YEARS or _COMPARES.search(claim):
            found |= {a - b for a, b in pairs}
        if float(number) in found:
            yield number


def _find_amounts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the unit of each amount, and its number as `read_numbers` writes it."""
    for sign, said, behind in _AMOUNT.findall(text):
        unit = sign or find_base(fold(behind))
        yield from ((_IN_YEARS if unit in _YEARS else unit, each) for each in read_numbers(said))


def find_missing(claim: str, said: str, whole: str) -> set[str]:
    """Return the numbers of a sentence that what is `said` lacks, and names the `whole` lacks.

    >>> sorted(find_missing("Ms Okafor paid 14 euros.", "Ms Aldous paid 12 euros.", "Ms Aldous"))
    ['14', 'okafor']
    """
    numbers = read_numbers(claim[_find_start(claim) :]) - read_numbers(said)
    numbers = numbers - {term for term in term_set(said) if term.isalpha()}  # months alone
    if _HALF.search(said):
        numbers = numbers - {"50", "30"}  # per cent, minutes
    numbers = numbers and numbers - set(_compute_numbers(claim, said))
    have = term_set(whole)
    names = read_names(claim) - have
    return {*numbers, *(n for n in names if not any(_are_forms(n, each) for each in have))}


@lru_cache(maxsize=1 << 11)
def read_numbers(text: str) -> frozenset[str]:
    """Return the numbers of a text in one form, with the days, months and years of its dates.

    >>> sorted(read_numbers("fifteen men, 4,300 pounds, 0.30 euros, 18:00 or 6 pm"))
    ['0.3', '15', '18', '4300']
    """
    found: set[str] = set()
    text = _CLOCK.sub(lambda m: f"{int(m[1]) % 12 + 12 * (m[3] in 'pP')}:{m[2] or '00'}", text)
    for date in find_days(text):
        found.update(term for term, _, _ in date.words)
        text = text[: date.start] + " " * (date.end - date.start) + text[date.end :]
    for digits in _DIGITS.findall(text):
        whole, *parts = re.split("[.,:]", _THOUSANDS.sub("", digits))
        found.add(
            ".".join([whole.lstrip("0") or "0", *filter(None, (p.rstrip("0") for p in parts))])
        )
    return frozenset(found | {_COUNTED[w] for w in map(fold, _WORD.findall(text)) if w in _COUNTED})


@lru_cache(maxsize=1 << 11)
def read_names(claim: str) -> frozenset[str]:
    """Return the words of the names and codes in a sentence, folded.

    Of a word that has its capital because a sentence begins nobody knows, and German nouns have
    one, too: there only words beside one another are names.

    >>> sorted(read_names("Receipts of E24 go to Ms Okafor in Lyon."))
    ['e24', 'lyon', 'okafor']
    """
    text = claim[_find_start(claim) :]
    if not _BEGINS_NAME.match(text):
        text = _WORD.sub(lambda match: match[0].lower(), text, count=1)
    names = [text[a:b] for a, b in name_spans(text)]
    if capitalizes_nouns(text):
        names = [name for name in names if " " in name and name.istitle()]
    names += _CODE.findall(claim)
    return frozenset(term for name in names for term in terms(name) if term not in JOINING)


def _find_start(claim: str) -> int:
    """Return where a sentence begins behind the mark and the label of a list item."""
    return _ITEM.match(claim).end()  # type: ignore[union-attr]  # which matches everything


def _are_forms(one: str, other: str) -> bool:
    """Check whether two words are forms of one name: "Nansen" and "Nansens"."""
    least = max(_STEM, max(len(one), len(other)) - _ENDING)
    return one[:least] == other[:least] and min(len(one), len(other)) >= least


def is_about_sources(sentence: str) -> bool:
    """Check whether a sentence denies that the sources say something, which none of them does."""
    return bool(_SOURCES.search(sentence) and _DENIAL.search(sentence))


def contradicts(claim: str, best: str, text: str, whole: str) -> bool:
    """Check whether a sentence denies what a text says, or says what that denies.

    What may be meant as a condition counts as neither. `best` is the part of the text that says
    most of the sentence; what is denied elsewhere counts where the `whole` never says it plainly.

    >>> contradicts("It is washed with a brush.", *["Wash it without a brush."] * 3)
    True
    """
    if _UNCLEAR.search(claim) or _UNCLEAR.search(best):
        return False
    (said, denied), (plain, denied_there) = _read_words(claim), _read_words(text)
    if _DENIAL.search(claim):
        is_aside = _DENIAL.search(text) or _ASIDE.search(claim)
        return not is_aside and bool(denied & plain)
    of_best = _read_words(best)[1] - plain
    return bool(said & (of_best | (denied_there - _read_words(whole)[0])))


@lru_cache(maxsize=1 << 11)
def _read_words(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words that a text says plainly, and those of what it denies.

    A denial reaches to the end of its clause, the whole of which some words deny: "is forbidden".
    """
    plain, denied = "", ""
    for clause in _CLAUSE.split(text):
        match = _DENIAL.search(clause)
        start = len(clause) if match is None else 0 if match["whole"] else match.start()
        end = match.end() if match and match["few"] else len(clause)
        plain += f" {clause[:start]} {clause[end:]}"
        denied += f" {clause[start:end]}"
    return _find_bases(plain), _find_bases(denied) - _LIGHT


def _find_bases(text: str) -> frozenset[str]:
    return frozenset(find_base(t) for t in term_set(text) if not t.isdigit() and t not in JOINING)
