"""Match inflected English words: "leads" and "led", "owns" and "owned"."""

from functools import lru_cache

from clew.base.runtime.lazy import compile_re
from clew.text.analyze import term_set

_IRREGULAR = (
    "become became, begin began begun, bind bound, break broke broken, bring brought,"
    " build built, buy bought, catch caught, choose chose chosen, come came, deal dealt,"
    " draw drew drawn, drive drove driven, die died, eat ate eaten, fall fell fallen, feed fed,"
    " fight fought, find found, fly flew flown, forbid forbade forbidden, freeze froze frozen,"
    " get got gotten, give gave given, go went gone, grow grew grown, hang hung, hear heard,"
    " hide hid hidden, hold held, keep kept, know knew known, lay laid, lead led, leave left,"
    " lend lent, light lit, lose lost, make made, mean meant, meet met, pay paid,"
    " ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen,"
    " seek sought, sell sold, send sent, shake shook shaken, shine shone, shoot shot,"
    " sing sang sung, sink sank sunk, sit sat, sleep slept, speak spoke spoken, spend spent,"
    " stand stood, steal stole stolen, strike struck, swim swam swum, take took taken,"
    " teach taught, tell told, think thought, throw threw thrown, tie tied,"
    " understand understood, use used using, wear wore worn, win won, wind wound,"
    " withdraw withdrew withdrawn, write wrote written"
)
_VERBS = {
    form: words[0]
    for words in (each.split() for each in _IRREGULAR.split(","))
    for form in words[1:]
}
_INFLECTED = compile_re(
    r"(?<=[a-z]{3})(?:ing|(?<!e)ed|(?<=ch|sh|ss)es|(?<=[xz])es)$|(?<=[a-z]{2})(?<!s)s$"
)
_DOUBLED = compile_re(r"(?<=[a-z]{2})([bdgmnprt])\1$")
_VOWEL = compile_re("[aeiouy]")


@lru_cache(maxsize=1 << 14)
def find_base(term: str) -> str:
    """Return the common stem of a lower-case term's inflected forms; it may be no word.

    >>> find_base("led"), find_base("owned"), find_base("studies"), find_base("managing")
    ('lead', 'own', 'study', 'manag')
    """
    if not (term.isascii() and term.isalpha()):
        return term
    base = _VERBS.get(term, term)
    if len(base) > 4 and base.endswith(("ies", "ied")):
        return f"{base[:-3]}y"
    cut = _INFLECTED.sub("", base)
    if not _VOWEL.search(cut):
        return base
    if base.endswith(("ing", "ed")):
        cut = _DOUBLED.sub(r"\1", cut)
    return cut.removesuffix("e") if len(cut) > 3 else cut


def is_verb_form(term: str) -> bool:
    """Check whether a lower-case term is certainly an inflected verb.

    >>> is_verb_form("flew"), is_verb_form("named"), is_verb_form("ship")
    (True, True, False)
    """
    return term in _VERBS or (term.endswith("ed") and find_base(term) != term)


@lru_cache(maxsize=1 << 10)
def list_forms(term: str) -> tuple[str, ...]:
    """Return the possible inflected forms of a lower-case term, some of them no words.

    >>> [form for form in list_forms("ferries") if form in {"ferry", "ferries"}]
    ['ferries', 'ferry']
    """
    base = find_base(term)
    if not (term.isascii() and term.isalpha()):
        return (term,)
    stems = (term, base, f"{base}e") if len(base) > 2 else (term, base)
    ends = ("", "s", "es", "d", "ed", "ing")
    forms = [stem + end for stem in stems for end in ends]
    forms += [base + base[-1] + end for end in ("ed", "ing")]
    if base.endswith("y"):
        forms += [f"{base[:-1]}ies", f"{base[:-1]}ied"]
    forms += [form for form in _VERBS if find_base(form) == base]
    return tuple(dict.fromkeys(forms))


@lru_cache(maxsize=1 << 12)
def find_bases(text: str) -> frozenset[str]:
    """Return the distinct stems of a text's terms, cached for the last texts."""
    return frozenset(map(find_base, term_set(text)))
