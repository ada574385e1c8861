"""Expand kinship terms into several relations: a grandfather is the father of a parent.

What they mean is their definition in English. A graph has such a relation seldom, and those that
the word is made of nearly always.
"""

import re
from collections.abc import Collection, Sequence

_OF_SIDE = {"paternal": "father", "maternal": "mother"}
_UP = re.compile(r"((?:great-?)*)grand-?(father|mother|parent)s?")
_DOWN = re.compile(r"((?:great-?)*)grand-?(son|daughter|child)(?:s|ren)?")
_BY_MARRIAGE = re.compile(r"(\w+?)s?-in-law")
_STEP = {"father": ("mother", "spouse"), "mother": ("father", "spouse")}
_STEP_WORD = re.compile(r"step-?(father|mother)s?")
_SIBLING_TERMS = {
    **dict.fromkeys(("uncle", "aunt"), ("parent", "sibling")),
    **dict.fromkeys(("nephew", "niece"), ("sibling", "child")),
}


def expand_kinship(phrase: Sequence[str], words: Collection[str]) -> list[tuple[str, ...]]:
    """Split a phrase at kinship terms, and replace these by their relations.

    Those of `words`, as those of a graph's own relations, stay. Empty if there is no other.

    >>> expand_kinship(("paternal", "grandmother"), ())
    [('father',), ('mother',)]
    >>> expand_kinship(("film", "brother-in-law"), ())
    [('film',), ('spouse',), ('brother',)]
    """
    pieces: list[tuple[str, ...]] = []
    plain: list[str] = []
    is_kin = False
    side = ""
    for word in phrase:
        stands_for = () if word in words else _expand_word(word)
        if word in _OF_SIDE and word not in words:
            side = _OF_SIDE[word]
            continue
        if stands_for:
            is_kin = True
            first = side if side and stands_for[0] == "parent" else stands_for[0]
            pieces += [tuple(plain)] if plain else []
            pieces += [(each,) for each in (first, *stands_for[1:])]
            plain = []
        else:
            plain.append(word)
        side = ""
    pieces += [tuple(plain)] if plain else []
    return pieces if is_kin else []


def _expand_word(word: str) -> tuple[str, ...]:
    if up := _UP.fullmatch(word):
        return (*["parent"] * (1 + up[1].count("great")), up[2])
    if down := _DOWN.fullmatch(word):
        return (*["child"] * (1 + down[1].count("great")), down[2])
    if married := _BY_MARRIAGE.fullmatch(word):
        own_child = married[1] in {"son", "daughter"}
        return ("child", "spouse") if own_child else ("spouse", married[1])
    if step := _STEP_WORD.fullmatch(word):
        return _STEP[step[1]]
    return _SIBLING_TERMS.get(word.removesuffix("s"), ())
