"""Interpret questions about all items: count, list, sum, mean, extreme, groups.

Known by its words, English ones. What they are about is left to who knows the tables and texts.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from clew.base.runtime.lazy import compile_re
from clew.text.forms import find_base
from clew.text.normalize import fold
from clew.text.questions import is_about_whole

Operation = Literal["count", "list", "sum", "mean", "median", "most", "least"]

# Adjectives of what can be more or less, with words that name such a column.
_MORE = {
    "high": "height elevation altitude", "larg": "size area population capacity",
    "bigg": "size area population capacity", "great": "", "long": "length distance duration",
    "tall": "height", "deep": "depth", "fast": "speed", "heavi": "weight mass", "wid": "width beam",
    "new": "year date built founded opened", "lat": "year date built founded opened",
    "recent": "year date", "expensive": "price cost fare", "costli": "price cost fare",
    "hot": "temperature", "warm": "temperature", "busi": "", "rich": "", "strong": "",
}  # fmt: skip
_LESS = {
    "low": "", "small": "size area population capacity", "short": "length distance duration height",
    "few": "", "slow": "speed", "light": "weight mass", "narrow": "width beam",
    "cheap": "price cost fare", "earli": "year date built founded opened", "shallow": "depth",
    "cold": "temperature", "young": "age", "old": "year date built founded opened age",
}  # fmt: skip
HINTS = {stem: tuple(words.split()) for stem, words in (_MORE | _LESS).items()}
_STEMS = "|".join(sorted(HINTS, key=len, reverse=True))
_MOST = (
    rf"(?:(?P<stem>{_STEMS})e?st|(?P<word>most|least|fewest|maximum|minimum|max|min|recent)"
    r"|(?P<end>first|last)(?=\W*$))"
)
_SUPERLATIVE = compile_re(rf"\b{_MOST}\b(?! (?:of|all) (?:the|these)\b)", re.IGNORECASE)
_DOWN = frozenset(("first", "least", "fewest", "minimum", "min", *_LESS))

_NUMBER = (
    r"(?P<{0}>[12]\d{{3}}-\d\d(?:-\d\d)?|(?:\d{{1,2}} )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct"
    r"|nov|dec)[a-z]* (?:\d{{1,2}}, )?[12]\d{{3}}|[$€£]?\d[\d,]*(?:\.\d+)?)"
    r"(?: (?P<{0}x>thousand|million|billion))?"
)
_LOW = "less|fewer|lower|smaller|shorter|slower|lighter|narrower|cheaper|earlier|older|younger"
_HIGH = (
    "more|greater|higher|larger|bigger|longer|taller|deeper|faster|heavier|wider|newer|later"
    "|more recent"
)
_SIGNS: tuple[tuple[str, str], ...] = (
    (">=", r"at least|no (?:less|fewer) than|not (?:less|fewer) than|minimum of|since"),
    ("<=", r"at most|no more than|not more than|maximum of|up to|until"),
    (">", rf"(?P<high>{_HIGH})(?: \w+)? than|over|above|exceeding|exceeds?|beyond|after"),
    ("<", rf"(?P<low>{_LOW})(?: \w+)? than|under|below|before"),
    ("=", r"exactly|equal to|equals"),
)
_COMPARED = tuple(
    (
        sign,
        compile_re(rf"\b(?:{words})(?: the year)? {_NUMBER.format('a')}(?![\w-])", re.IGNORECASE),
    )
    for sign, words in _SIGNS
)
_BETWEEN = compile_re(
    rf"\b(?:between|from) {_NUMBER.format('a')} (?:and|to) {_NUMBER.format('b')}(?!\w)",
    re.IGNORECASE,
)
_OR_MORE = compile_re(
    rf"(?<![\w,-]){_NUMBER.format('a')}(?: (?P<noun>[a-z]+))? or (?P<more>more|less|fewer|above"
    r"|older|later|earlier)\b",
    re.IGNORECASE,
)
_ON_DATE = compile_re(
    rf"\b(?:in|of|for|during|on) (?:the year )?(?=[12]\d{{3}}\b|\d{{1,2}} [a-z]|[a-z]{{3}})"
    rf"{_NUMBER.format('a')}(?![\w,.-]\w)",
    re.IGNORECASE,
)
_TIME = compile_re(
    r"(?:in|of|for|during|on|before|after|since|until|between|from"
    r"|(?:earlier|older|later|newer) than)\b",
    re.IGNORECASE,
)

_HOW_MANY = compile_re(
    r"\bhow many (?:different |distinct |of (?:the |these |all )?|unique |other )*"
    r"|\bnumber of (?:different |distinct |unique )*|^\W*count (?:all |the )*",
    re.IGNORECASE,
)
_LISTING = compile_re(
    r"^\W*(?:please |can you |could you )?(?:list|enumerate|name|show|find|give|tell)(?: me)?"
    r" (?:all(?: of)? |every |the names of |each )?(?:the |these )?(?=\w)",
    re.IGNORECASE,
)
_WHICH = compile_re(
    r"\b(?:which|what) (?!is\b|was\b)(?:are (?:all )?(?:the )?)?(?:of the )?(?=\w)", re.IGNORECASE
)
_WHO = compile_re(r"^\W*who\b", re.IGNORECASE)
_SUM = compile_re(
    r"\b(?:(?:in )?total|sum|altogether|combined|taken together|added up|how much"
    r"|in all(?=\W*$))\b",
    re.IGNORECASE,
)
_MEAN = compile_re(r"\b(?:average|mean|median)(?: of| number of)?\b", re.IGNORECASE)
_WHAT_IS = compile_re(r"\b(?:what(?:['’]s)?|how) ", re.IGNORECASE)
_VERB = r"(?:was|is|has|does|its)\b"
_PLURAL = compile_re(
    rf"(?:(?!{_VERB})\w+ ){{0,2}}?(?!{_VERB})\w+(?<!s)(?:s|men|people|children)\b(?!['’])",
    re.IGNORECASE,
)
_ADJECTIVE = compile_re(r" (?P<stem>expensive|recent|cheap)\b", re.IGNORECASE)
_ASKING = {
    "mean": _MEAN,
    "most": _SUPERLATIVE,
    "sum": _SUM,
    "how many": _HOW_MANY,
    "list": _LISTING,
    "which": _WHICH,
    "who": _WHO,
}
_MEASURED = ("mean", "sum")
_GROUP = compile_re(
    r"\b(?:per|(?:grouped |broken down )?by|(?:for|in|of|from|with|to) (?:each|every)|each|every)"
    r" (?:of the )?(?=\w)",
    re.IGNORECASE,
)
_TOP = compile_re(
    r"\b(?:the |top |which |what )(?P<n>\d{1,2}|two|three|four|five|six|seven|eight|nine|ten)\b",
    re.IGNORECASE,
)
_PLURALS = {
    "men": "man", "women": "woman", "people": "person", "persons": "person", "children": "child",
    "mice": "mouse", "buses": "bus", "feet": "foot", "lives": "life", "wives": "wife",
}  # fmt: skip
_TEN = "one two three four five six seven eight nine ten".split()
_TIMES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
_TOKEN = compile_re(r"\w+(?:[.,'’/+&-]\w+)*|[^\W\d]\.")


class Token(NamedTuple):
    """A word of a question: text[start:end], folded, and its stem."""

    start: int
    end: int
    text: str
    key: str
    base: str


class QuestionBound(NamedTuple):
    """A bound in a question: "more than 20"; "between" has two."""

    start: int  # of its words in the question
    end: int
    bounds: tuple[tuple[str, float, bool], ...]  # the sign, the number, whether that is a date
    hints: tuple[str, ...] = ()  # words that may name what is bounded
    is_time: bool = False  # by its words: "before", "in", not "over"


class CountQuestion(NamedTuple):
    """A question about all items of a kind. Positions are characters of its text."""

    text: str
    operation: Operation
    tokens: tuple[Token, ...]
    noun: int  # where what is counted or listed begins; -1: nothing says it
    measure: int  # behind the words that ask for a sum, a mean or an extreme
    taken: tuple[tuple[int, int], ...]  # the words that say the operation
    stem: str = ""  # of the adjective of an extreme: "long"
    hints: tuple[str, ...] = ()  # words that may name its column
    most_is_count: bool = False  # "most" and "fewest", not "highest"
    groups: tuple[int, ...] = ()  # where words that may name a group begin
    comparisons: tuple[QuestionBound, ...] = ()
    top: int = 1


def read_tokens(text: str) -> list[Token]:
    """Return the words of a text."""
    return [
        Token(m.start(), m.end(), m[0], key := fold(m[0]), find_token_base(key))
        for m in _TOKEN.finditer(text)
    ]


@lru_cache(maxsize=1 << 12)
def find_token_base(key: str) -> str:
    """Return the stem of a word: the same for "ferries" and "ferry", "men" and "man"."""
    key = key.removesuffix("'s").removesuffix("’s")
    return _PLURALS.get(key) or find_base(key)


# Words that say nothing about which of all are meant, but for what is counted.
FILLERS = frozenset(
    find_token_base(word)
    for word in """
    register list record live locate call belong entry row item
    total overall altogether all every each different distinct unique value together
    please number exist appear occur name person one any combine contain include
    amount sum give have be do come there hold own show place make receive issue
    """.split()
)
# Fillers in "kinds of" and "in the table".
GENERAL = frozenset(
    map(find_token_base, "kind type sort table data dataset file document index line sheet".split())
)
PAYING = frozenset(map(find_token_base, "spend spent pay paid cost owe charge bill".split()))
ROWS = frozenset(map(find_token_base, "row entry record item line person".split()))
# Verbs, and words that name what stands in such a column.
_SAID_BY = """
    speak: language; work: department employer company team office hours; live: city town;
    earn: salary wage income pay; pay: salary wage price fee; cost: price fare cost fee;
    weigh: weight mass; carry: capacity load passengers cars; write: author writer; born: birthday;
    direct: director; lead: leader head; come: country origin; buy: quantity amount;
    order: quantity amount; sell: quantity amount; join: started hired since;
    start: start started begin; teach: teacher; die: death died; sit: seats
"""
SAID_BY = {
    find_token_base(verb.strip()): frozenset(map(find_token_base, words.split()))
    for verb, words in (each.split(":") for each in _SAID_BY.split(";"))
}


def read_count_question(text: str) -> CountQuestion | None:
    """Return the interpretation of a counting or listing question, or None.

    >>> read_count_question("How many ferries carry more than 200 cars?").operation
    'count'
    >>> read_count_question("Who built the Fram?") is None
    True
    """
    comparisons = tuple(_find_comparisons(text))
    bounded = [(each.start, each.end) for each in comparisons]
    words = {name: _search(pattern, text, bounded) for name, pattern in _ASKING.items()}
    groups = [m for m in _GROUP.finditer(text) if not _is_inside(m.start(), bounded)]
    operation = _choose_operation(text, words, is_bounded=bool(bounded), has_groups=bool(groups))
    if operation is None:
        return None
    begins = (words["how many"], words["which"], words["list"])
    extreme = words["most"] if operation == "most" else None
    measure = words[operation] if operation in _MEASURED else None
    question = CountQuestion(
        text=text,
        operation="median" if measure and "median" in measure[0].casefold() else operation,
        tokens=tuple(read_tokens(text)),
        noun=next((match.end() for match in begins if match), -1),
        measure=measure.end() if measure else -1,
        taken=(
            *(m.span() for name, m in words.items() if m and _says(operation, name)),
            *bounded,
            *(m.span() for m in groups),
        ),
        groups=tuple(m.end() for m in groups),
        comparisons=comparisons,
    )
    return question if extreme is None else _read_extreme(question, extreme)


def _says(operation: Operation, name: str) -> bool:
    """Check whether words name the operation: in "the mean of the total", "total" is a column."""
    return name not in {"mean", "sum", "most"} or operation == name


def _search(
    pattern: re.Pattern[str], text: str, taken: Sequence[tuple[int, int]]
) -> re.Match[str] | None:
    matches = (match for match in pattern.finditer(text) if not _is_inside(match.start(), taken))
    return next(matches, None)


def _choose_operation(
    text: str, words: Mapping[str, re.Match[str] | None], *, is_bounded: bool, has_groups: bool
) -> Operation | None:
    """Return the operation that a question asks for, or None.

    "Which" asks for several by a noun in the plural, or by a bound: "which ferry is longer than".
    """
    which, who = words["which"], words["who"]
    asks = which or who or words["list"] or has_groups or _WHAT_IS.search(text)
    if words["mean"]:
        return "mean"
    if words["most"] and asks:
        return "most"
    if words["how many"]:
        return "count"
    if words["sum"]:
        return "sum"
    several = which is not None and _PLURAL.match(text, which.end())
    return "list" if words["list"] or several or (is_bounded and (which or who)) else None


def _read_extreme(question: CountQuestion, match: re.Match[str]) -> CountQuestion:
    """Return a question for an extreme with its direction and number of results."""
    text, end = question.text, match.end()
    stem, word = (match["stem"] or "").casefold(), (match["word"] or match["end"] or "").casefold()
    is_least = (stem or word) in _DOWN
    if behind := _ADJECTIVE.match(text, end) if word in {"most", "least"} else None:
        stem, end = behind["stem"].casefold(), behind.end()
        is_least ^= stem in _LESS
    top = _TOP.search(text)
    more = [m.span(name) for m, name in ((behind, 0), (top, "n")) if m]
    n = top["n"].casefold() if top else "1"
    return question._replace(
        operation="least" if is_least else "most",
        measure=end,
        taken=(*question.taken, *more),
        stem=stem,
        hints=(*HINTS.get(stem, ()), *(("born",) if stem in {"old", "young"} else ())),
        most_is_count=not stem and word in {"most", "least", "fewest"},
        top=_TEN.index(n) + 1 if n.isalpha() else max(int(n), 1),
    )


def may_count(text: str) -> bool:
    """Check whether a question may be about all countable items."""
    return not is_about_whole(text) and read_count_question(text) is not None


def _is_inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(a <= place < b for a, b in spans)


def _find_comparisons(text: str) -> list[QuestionBound]:
    if not any(map(str.isdecimal, text)):
        return []
    built: list[QuestionBound] = []
    taken: list[tuple[int, int]] = []

    def add(match: re.Match[str], *bounds: tuple[str, str], hints: tuple[str, ...] = ()) -> None:
        if not _is_inside(match.start(), taken) and not _is_inside(match.end() - 1, taken):
            taken.append(match.span())
            read = tuple((sign, *_read_bound(match, name)) for sign, name in bounds)
            is_time = bool(_TIME.match(match[0])) and all(bound[2] for bound in read)
            built.append(QuestionBound(*match.span(), read, hints, is_time))

    for match in _BETWEEN.finditer(text):
        add(match, (">=", "a"), ("<=", "b"))
    for match in _OR_MORE.finditer(text):
        is_low = match["more"].casefold() in {"less", "fewer", "older", "earlier"}
        hints = HINTS["old"] if match["more"].casefold() == "older" else ()
        add(match, ("<=" if is_low else ">=", "a"), hints=hints)
    for sign, pattern in _COMPARED:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            word = (groups.get("high") or groups.get("low") or "").casefold().split()
            stem = re.sub(r"(?:er|r)$", "", word[-1]) if word else ""
            add(match, (sign, "a"), hints=HINTS.get(stem, ()))
    for match in _ON_DATE.finditer(text):
        add(match, ("=", "a"))
    return sorted(built, key=lambda each: each.start)


def _read_bound(match: re.Match[str], name: str) -> tuple[float, bool]:
    """Return a number, and whether it is a date, as a lone year is."""
    from clew.text.amounts import read_date_number

    text = match[name]
    date = read_date_number(text) if "," not in text or text[-5:].strip().isdigit() else None
    times = _TIMES.get((match[f"{name}x"] or "").casefold(), 1.0)
    if date is not None and times == 1:
        return date, True
    return float(re.sub(r"[^\d.]", "", text)) * times, False
