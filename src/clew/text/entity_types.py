"""Infer the type of an entity from its name or its context, where that is certain.

Nothing is said of a name in most places: a type is a vote that `clew.steps.entity_types` counts.
"""

from functools import cache, lru_cache

from clew.base.runtime.lazy import compile_re
from clew.text.analyze import terms
from clew.text.forms import find_base

TYPE_OF_LABEL = {  # by OntoNotes' labels, and the rules' own where these are sure
    "PERSON": "person",
    "ORG": "organization",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "WORK_OF_ART": "work",
    "LAW": "work",
    "EVENT": "event",
    "PRODUCT": "product",
    "DATE": "date",
    "LANGUAGE": "concept",
}
# Nouns of which a name is one: "X is an explorer", "the explorer X", "X, a city in".
_NOUNS = {
    "person": """
        actor actress adventurer admiral archaeologist archbishop architect artist astronaut
        astronomer athlete attorney author aviator banker baseballer biologist bishop boxer botanist
        broadcaster brother businessman businesswoman captain cartoonist chancellor chemist
        chef choreographer coach comedian commander composer congressman conductor cricketer critic
        cyclist dancer daughter diplomat director dramatist driver drummer economist editor emperor
        empress engineer entertainer entrepreneur essayist explorer father filmmaker footballer
        geographer geologist golfer governor guitarist historian husband illustrator inventor
        journalist judge jurist king lawyer lieutenant lyricist man mathematician meteorologist
        missionary monk mother musician naturalist navigator novelist nun nurse officer painter
        pastor philanthropist philosopher photographer physician physicist pianist pilot playwright
        player poet politician pope presenter president priest prince princess producer professor
        psychologist queen rapper sailor scholar scientist screenwriter sculptor senator sergeant
        singer sister skater skier soldier son songwriter surgeon swimmer theologian violinist
        widow wife woman wrestler writer zoologist""",
    "place": """
        airport archipelago arena bay borough bridge canal canyon cape castle cathedral city
        commune continent country county desert district fjord forest glacier gulf hamlet harbour
        harbor hill island islet lake mountain municipality neighborhood neighbourhood ocean palace
        parish peak peninsula plateau province region river sea settlement stadium strait suburb
        territory town township valley village volcano""",
    "organization": """
        agency airline association bank band brewery charity club college company corporation
        federation firm institute institution manufacturer ministry museum navy organisation
        organization orchestra party publisher regiment retailer school society team union
        university""",
    "work": """
        album ballet book comic documentary drama episode film magazine manga movie musical
        newspaper novel novella opera painting play poem sequel series show single sitcom song
        soundtrack symphony thriller""",
    "event": """
        battle championship disaster earthquake election expedition festival hurricane massacre
        olympics rebellion revolution siege tournament war""",
    "product": """
        aircraft airliner airplane airship automobile barque car cruiser destroyer helicopter
        icebreaker locomotive missile motorcycle processor rocket schooner ship software steamship
        submarine vessel yacht""",
}
_TYPE_OF_NOUN = {noun: type_ for type_, nouns in _NOUNS.items() for noun in nouns.split()}
# A name is of a type where its last word, or its first, is one of these.
_LAST = {
    "organization": """
        academy airlines airways association bank club college committee company corp corporation
        council fc federation gmbh inc institute league llc ltd museum orchestra party pictures
        records school society studios team university""",
    "place": """
        airport avenue bay beach county desert glacier harbor harbour hills island islands lake
        mountains ocean peninsula river road sea strait street valley""",
    "event": "championships election expedition festival olympics revolution war wars",
}
_FIRST = {
    "place": "cape lake mount mt isle gulf strait",
    "event": "battle siege",
    "person": "mr mrs ms dr sir dame professor reverend lieutenant senator emperor tsar pope",
}
_TYPE_OF_LAST = {word: type_ for type_, words in _LAST.items() for word in words.split()}
_TYPE_OF_FIRST = {word: type_ for type_, words in _FIRST.items() for word in words.split()}
_PLACES = frozenset(
    name.strip()
    for name in """afghanistan, africa, alabama, alaska, albania, algeria, andorra, angola,
    antarctica, arctic, argentina, arizona, arkansas, armenia, asia, australia, austria,
    azerbaijan, bahrain, bangladesh, barbados, belarus, belgium, belize, benin, bhutan, bolivia,
    botswana, brazil, brunei, bulgaria, burundi, california, cambodia, cameroon, canada, chile,
    china, colombia, colorado, connecticut, croatia, cuba, cyprus, czech republic, delaware,
    denmark, ecuador, egypt, england, estonia, ethiopia, europe, fiji, finland, florida, france,
    gabon, gambia, germany, ghana, great britain, greece, greenland, guatemala, guinea, haiti,
    hawaii, honduras, hungary, iceland, idaho, illinois, india, indiana, indonesia, iowa, iran,
    iraq, ireland, israel, italy, jamaica, japan, kansas, kazakhstan, kentucky, kenya, kuwait,
    laos, latvia, lebanon, liberia, libya, liechtenstein, lithuania, louisiana, luxembourg,
    madagascar, maine, malawi, malaysia, maldives, mali, malta, maryland, massachusetts, mexico,
    michigan, minnesota, missouri, moldova, monaco, mongolia, montana, montenegro, morocco,
    mozambique, myanmar, namibia, nebraska, nepal, netherlands, nevada, new hampshire, new jersey,
    new mexico, new zealand, nicaragua, niger, nigeria, north america, north carolina,
    north dakota, north korea, northern ireland, norway, ohio, oklahoma, oman, oregon, pakistan,
    panama, paraguay, pennsylvania, peru, philippines, poland, portugal, qatar, rhode island,
    romania, russia, rwanda, saudi arabia, scotland, senegal, serbia, singapore, slovakia,
    slovenia, somalia, south africa, south america, south carolina, south dakota, south korea,
    soviet union, spain, sri lanka, sudan, sweden, switzerland, syria, taiwan, tanzania,
    tennessee, texas, thailand, tunisia, uganda, ukraine, united kingdom, united states, uruguay,
    usa, utah, uzbekistan, venezuela, vermont, vietnam, wales, west virginia, wisconsin, wyoming,
    yemen, zambia, zimbabwe""".split(",")
)
_JOINING = frozenset("in on for from with at to and by".split())
_NUMBER = compile_re(r"[\d.,]+")
_CODE = compile_re(r"(?=.*\d)(?=.*[a-z])[a-z0-9]+|v\d+(?:[ .]\d+)+")  # of a key, one word
_ORDINAL = compile_re(r"\d+(?:st|nd|rd|th|s)")
_IS = compile_re(
    r"(?:\s*\([^()]*\))?,?\s+(?:is|was|are|were)\s+(?:also |now |once )?"
    r"(?:an?|the|one of the)\s+([^.;:(]{2,90})"
)
_APPOSITION = compile_re(r",\s+an?\s+([^.;:(,]{2,60})[.,;]")
_RUN_END = compile_re(
    r"\b(?:of|in|from|for|who|whom|whose|that|which|with|by|at|on|and|or|to|as|near|where|when"
    r"|than|about|between)\b|,"
)
_WORD_BEHIND = compile_re(r"(?:['’]s)? ([a-z]+)")
_START = compile_re(r"\W*(?:(?:The|A|An) )?\W*")
_MAX_DISTANCE = 40  # characters before a name in which a word stands that says its type
_NOUN_BEFORE = compile_re(r"\b([a-z]+) (?:of )?[\"“‘']?$")
_OF_BEFORE = compile_re(r"\b(?:city|town|village|island|county|municipality|port|river) of $")
_KIN_BEFORE = compile_re(
    r"\b(?:(?:son|daughter|wife|husband|brother|sister|widow) of|(?:directed|written|painted|played"
    r"|portrayed) by|married|(?:Mr|Mrs|Ms|Dr)\.?|Sir|Captain|Professor|Lieutenant|Admiral) $"
)
_BORN = compile_re(
    r"\s*\((?:[^()]*\b(?:born|née|b\.)"
    r"|[^()]{0,40}\b(?:\d\d? [A-Z][a-z]+|[A-Z][a-z]+\.? \d\d?),? \d{4}\s*[–-])"
    r"|, who\b|\s+(?:was|were) born\b|\s+(?:died|married)\b"
)
_BORN_AT = compile_re(r",? born (?:in|on|at)\b")


@lru_cache(maxsize=1 << 14)
def type_of_name(key: str) -> str:
    """Return the type that an entity's key implies by itself, or "".

    >>> type_of_name("oslo university"), type_of_name("cape lund"), type_of_name("e101")
    ('organization', 'place', 'code')
    """
    words = key.split()
    if _NUMBER.fullmatch(key):
        return "number"
    if _CODE.fullmatch(key) and not _ORDINAL.fullmatch(key):
        return "code"
    if key in _PLACES:
        return "place"
    if len(words) < 2 or is_joined(key):
        return ""
    head = words[: words.index("of", 1)] if "of" in words[1:-1] else words  # "Gulf of Bothnia"
    return _TYPE_OF_LAST.get(head[-1]) or _TYPE_OF_FIRST.get(head[0], "")


def is_joined(key: str) -> bool:
    """Check whether a key may be two names, or a name and its place."""
    return not _JOINING.isdisjoint(key.split())


def type_in_title(title: str) -> str:
    """Return the type in the parentheses after a title: "Fram (ship)"."""
    if not title.endswith(")"):
        return ""
    return _type_of_run(title[title.rfind("(") + 1 : -1])


def type_in_text(text: str, start: int, end: int) -> str:
    """Return the type that a sentence gives a name in it, or "".

    >>> type_in_text("Bo Dahl, a Norwegian explorer, met the engineer Ada Lund.", 0, 7)
    'person'
    """
    if (match := _WORD_BEHIND.match(text, end)) and _find_noun_type(match[1]):
        return ""  # "the Pink Floyd guitarist"
    is_first = bool(_START.fullmatch(text, 0, start))
    near = max(start - _MAX_DISTANCE, 0), start
    if _KIN_BEFORE.search(text, *near) or _BORN.match(text, end):
        return "person"
    if is_first and _BORN_AT.match(text, end):
        return "person"
    if _OF_BEFORE.search(text, *near):
        return "place"
    match = _NOUN_BEFORE.search(text, *near)
    if match and not match[0].rstrip("\"“‘'").endswith("of "):
        type_ = _TYPE_OF_NOUN.get(match[1], "")
        if type_:
            return type_
    match = _APPOSITION.match(text, end)
    if match is None and is_first:
        match = _IS.match(text, end)
    return _type_of_run(match[1]) if match else ""


@cache
def _find_noun_type(word: str) -> str:
    return _TYPE_OF_NOUN.get(word) or _TYPE_OF_NOUN.get(find_base(word), "")


def _type_of_run(run: str) -> str:
    """Return the type of the last noun of a phrase: "American drama film directed by"."""
    head = run[: match.start()] if (match := _RUN_END.search(run)) else run
    words = terms(head)
    while words and words[-1].endswith(("ed", "ing", "born", "written", "set", "built")):
        words.pop()
    return _find_noun_type(words[-1]) if words else ""
