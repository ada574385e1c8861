"""Determine what a question asks for, by its words: a number, date, place, person, name."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import exp

from clew.base.runtime.lazy import compile_re
from clew.text.analyze import MARKS, STOP_WORDS
from clew.text.languages import ASKING, JOINING, REFERRING, Kind
from clew.text.normalize import fold, nfkc
from clew.text.phrases import Span

# The word behind "which" or "what" says what is asked for; two words may stand between: "which
# small harbour town".
_THING = r"(?:what|which) (?:\w+ ){{0,2}}?(?:{})s?\b"
_AMOUNT = r"what (?:(?:is|was) (?:the )?(?:\w+ )?)?(?:{})\b"
_KINDS: tuple[tuple[Kind, str], ...] = (
    (
        "number",
        r"how (?:many|much|old|long|tall|high|far|large|big|deep|fast|often)\b|"
        + _AMOUNT.format("number|population|percent|percentage|amount|height|length"),
    ),
    ("date", r"when\b|" + _THING.format("year|date|day|month|decade|century|centurie|season")),
    (
        "place",
        r"where\b|"
        + _THING.format(
            "city|citie|country|countrie|state|county|countie|town|village|place|province|region"
            "|district|borough|island|continent|nation|location|municipality|river|lake|area"
            "|territory|capital|harbour|port"
        ),
    ),
    (
        "person",
        r"who(?:se|m)?\b|"
        + _THING.format(
            "person|man|woman|actor|actress|author|director|singer|writer|artist|composer|player"
            "|president|king|queen|captain|scientist|explorer"
        ),
    ),
)
_ASKED = tuple((kind, compile_re(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
# What tells two things apart that a question compares: when something was, or how much it is.
_COMPARED: Mapping[Kind, str] = {
    "date": "first last later latest earlier earliest sooner before after older oldest elder eldest"
    " younger youngest newer newest recent recently outlived",
    "number": "more most fewer fewest larger largest bigger biggest smaller smallest higher highest"
    " taller tallest longer longest shorter shortest greater greatest farther further",
}
_COMPARING = {
    kind: compile_re(rf"\b(?:{'|'.join(words.split())})\b", re.IGNORECASE)
    for kind, words in _COMPARED.items()
}
_NONE = frozenset[str]()
_ENGLISH = STOP_WORDS - JOINING  # of which a question in another language has none
_WORD = compile_re(rf"\w[\w{MARKS}]*")
_ASKING = r"\b(?:who(?:se|m)?|when|where|what|which|how)\b"
_SENTENCE = compile_re(r"(?:[^.?!]|[.?!](?!\s|$))+[.?!]*")
# Where the asking word stands in its sentence, the surest first; elsewhere it may be a relative.
_PLACES = tuple(
    compile_re(pattern, re.IGNORECASE)
    for pattern in (
        rf"\W*(?:(?:and|but|in|on|at|by|to|for|from|of|with|during|under|into|near) )?({_ASKING})",
        rf".*({_ASKING})(?: \w+){{0,3}}\W*$",
        r".*?\b(what|how (?:many|much|old|long))\b",
        rf".*?({_ASKING})",
    )
)
_WORDS_NEAR = 2  # so many words on, nearness falls to 1 / e

_NUMBER = compile_re(
    r"\b(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty"
    r"|forty|fifty|hundred|thousand|million|billion|dozen)\b"
    # In scripts with no space between a number and what is counted.
    r"|(?<![A-Za-z\d_.,])\d[\d,.]*(?=[^\W\dA-Za-z_])|[一二三四五六七八九十百千万億亿]+(?=[个個人年月日本冊台枚回歳座条])",
    re.IGNORECASE,
)
_BEHIND_PREPOSITION = compile_re(r"\b(?:in|at|of|near|from|to|on|into|outside) (?:the )?[A-Z]")
_OR = compile_re(r"\bor\b")
QUESTION_MARKS = ("?", "？", "؟", "\u037e")  # the last is the Greek one
_MARKS = "？。、¿¡?!.,;:\"'()[]“”‘’«»"
_ONLY_ASKING = frozenset(
    "a all an and any are at by can compare could describe did do does each every explain find for"
    " from give had has have how i in is list many me much my name of on or show tell that the"
    " there to us was we were what when where which who whom whose why will with would".split()
)
_YES_NO = compile_re(
    r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b", re.IGNORECASE
)
# What asks for all that is said of something.
_OPEN = compile_re(
    r"\bwhat(?:['’]s| is| was| has)? (?:new|changed|changes|different|happened|happens)\b"
    r"|\b(?:mean|stand for)\W*$",
    re.IGNORECASE,
)
# Words that stand for what a sentence before named.
_PRONOUN = compile_re(
    r"\W*(?:He|She|It|They|His|Her|Its|Their|This|These|Those"
    r"|The [a-z]+ (?:is|are|was|were|has|had))\b"
)

_REMARK = (
    r"(?:(?:many )?thanks?(?: you)?(?: (?:so|very) much| a lot)?|ok(?:ay)?|great|perfect|cool|nice"
    r"|fine|good|well done|i see|got it|understood|hello|hi|hey|good (?:morning|evening|day)"
    r"|goodbye|bye|cheers|yes|no|danke(?: schön| sehr)?|hallo|tschüss|merci(?: beaucoup)?|bonjour"
    r"|gracias|hola|grazie|ciao|obrigad[oa])\b"
)
_ONLY_REMARK = compile_re(rf"\W*(?:{_REMARK}\W*)+", re.IGNORECASE)
_THEN_ASKS = compile_re(rf"\W*(?!(?:yes|no)\b){_REMARK}\s*[,.;:!–—-]+\s*(?=\w)", re.IGNORECASE)


def is_remark(text: str) -> bool:
    """Check whether a text asks nothing: it greets, thanks or agrees.

    >>> is_remark("Thanks a lot!"), is_remark("OK, and the Maud?")
    (True, False)
    """
    return _ONLY_REMARK.fullmatch(text) is not None


def strip_remark(question: str) -> str:
    """Return a question without the remark before it.

    >>> strip_remark("Thanks, and the Maud?")
    'and the Maud?'
    """
    return _THEN_ASKS.sub("", question, count=1)


def find_question_word(question: str) -> int:
    """Return the position of the question word in the last sentence that has one.

    One that opens the sentence, or stands near its end, comes before one in the middle, which may
    refer to a noun: "which city" in "The man who built her was born in which city?".
    """
    sentences = [m.span() for m in _SENTENCE.finditer(question)]
    for start, end in reversed(sentences):
        for place in _PLACES:
            if match := place.match(question, start, end):
                return match.start(1)
    _, (start, _) = find_foreign_asking(question) or ("name", (0, 0))
    return start


def score_nearness(question: str, spans: Sequence[Span]) -> list[float]:
    """Return the nearness of each span to the question word, 1 if adjacent.

    What a question asks for stands beside that word; what it knows about it, further off.
    """
    asking = find_question_word(question)
    between = (question[min(start, asking) : max(start, asking)] for start, _ in spans)
    return [exp(-len(words.split()) / _WORDS_NEAR) for words in between]


def question_kind(question: str) -> Kind:
    """Return the type of answer that a question asks for, "name" if unclear."""
    asking = find_question_word(question)
    kinds = (kind for kind, words in _ASKED if words.match(question, asking))
    return next(kinds, None) or (find_foreign_asking(question) or ("name",))[0]


def find_foreign_asking(question: str) -> tuple[Kind, Span] | None:
    """Return the answer type of a non-English question, and the words that show it.

    In the Latin script it takes a mark: "dove migration" is no Italian question.
    """
    if has_question_word(question) or (question.isascii() and "?" not in question):
        return None
    matches = ((kind, words.search(question)) for kind, words in ASKING.items())
    return next(((kind, match.span()) for kind, match in matches if match), None)


def is_foreign_question(question: str) -> bool:
    """Check whether a question is not in English, as far as its words show.

    In ASCII it takes a mark: "dove migration" is no Italian question.
    """
    is_english = has_question_word(question) or (question.isascii() and "?" not in question)
    return not (is_english or _ENGLISH.intersection(_fold_words(question)))


def find_joining(question: str) -> frozenset[str]:
    """Return the function words of a non-English question.

    They are in lower case, and without accents as well.
    """
    if not is_foreign_question(question):
        return _NONE
    words = JOINING.intersection(_fold_words(question))
    return words.union(map(fold, words))


def _fold_words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(nfkc(text))]


def has_question_word(question: str) -> bool:
    """Check whether a text has a question word, which keywords and titles lack."""
    return re.search(_ASKING, question, re.IGNORECASE) is not None


def find_kind_noun(question: str) -> Span | None:
    """Return the position of the noun for the type of answer, if any.

    >>> question = "In which small town was she built?"
    >>> question[slice(*find_kind_noun(question))]
    'town'
    """
    asking = find_question_word(question)
    matches = (words.match(question, asking) for _, words in _ASKED)
    match = next(filter(None, matches), None)
    if match is None or match[0].casefold().startswith(("how", "when", "where", "who")):
        return None
    return match.end() - len(match[0].split()[-1]), match.end()


def names_alternatives(question: str, names: Sequence[Span]) -> bool:
    """Check whether "or" is between two of a question's names, given in order."""
    return any(_OR.search(question[a[1] : b[0]]) for a, b in pairwise(names))


def comparison_kind(question: str) -> Kind | None:
    """Return the kind of value by which things are compared, or None.

    >>> comparison_kind("Who died later, Ada Lund or Bo Tarn?")
    'date'
    """
    return next((kind for kind, words in _COMPARING.items() if words.search(question)), None)


def is_yes_no(question: str) -> bool:
    """Check for a yes/no question: it begins with an auxiliary verb.

    >>> is_yes_no("Was A built first?"), is_yes_no("Was A or B built first?")
    (True, False)
    """
    is_choice = _OR.search(question) and comparison_kind(question)
    return bool(_YES_NO.match(question)) and not is_choice


def find_content_words(question: str) -> list[str]:
    """Return the content words of a question, as written.

    >>> find_content_words("Who leads IT?"), find_content_words("What changed in v2.10?")
    (['leads', 'IT'], ['v2.10'])
    """
    words = [word.strip(_MARKS) for word in _OPEN.sub(" ", question).split()]
    asking = _ONLY_ASKING | find_joining(question)
    return [
        word
        for word in words
        if word and (word.casefold() not in asking or (word.isupper() and len(word) > 1))
    ]


def find_numbers(text: str) -> list[str]:
    """Return the numbers in a text, in digits or words."""
    return _NUMBER.findall(text)


def follows_preposition(text: str) -> bool:
    """Check whether a name follows a preposition, as places do."""
    return bool(_BEHIND_PREPOSITION.search(text))


def refers_back(sentence: str) -> bool:
    """Check whether a sentence begins with a reference to an earlier one, such as "It"."""
    return bool(_PRONOUN.match(sentence) or REFERRING.match(sentence))


# -- questions about the whole ---------------------------------------------------------------------

_THEME_WORDS = (
    "theme|topic|subject|idea|point|argument|message|concern|issue|takeaway|finding|conclusion"
    "|trend|question|problem|motif|strand|area"
)
_MAIN = (
    "main|major|key|central|overall|common|recurring|general|principal|dominant|important|broad"
    "|chief|essential|overarching|core|biggest|different"
)
_TEXTS = (
    r"documents?|files?|texts?|articles?|books?|papers?|reports?|notes?|manuals?|corpus|collection"
    r"|index|archive|data ?sets?|library|folder|materials?|sources?|contents?|pages?|novels?"
    r"|stories|everything|guides?"
)
_ALL_TEXTS = (
    r"(?:(?:all|both|each)(?: of)? )?(?:(?:these|those|the|this|my|our) )?(?:whole |entire |two )?"
    rf"(?:\w+ )?(?:{_TEXTS}|(?:all of )?(?:it|them|this))\b"
)
_SUM_UP = "summari[sz]e|sum up|recap|outline|(?:summary|overview|gist|synopsis|outline) of"
_WHOLE = compile_re(
    rf"\b(?:{_MAIN}) (?:\w+ )?(?:{_THEME_WORDS})s?\b"
    r"|\b(?:what|which)(?: \w+)? (?:themes|topics|subjects)\b"
    r"|^\W*(?:please |can you |could you )?(?:summari[sz]e|sum up)\b"
    rf"|^\W*(?:please |can you )?(?:{_SUM_UP}|(?:a |an |the )?(?:summary|overview))\W*$"
    r"|\bin a nutshell\b"
    r"|hauptthem|wichtigsten themen|worum geht es|fasse? .*zusammen|thèmes principaux"
    r"|principaux thèmes|de quoi parle|temas principales|de qué trata|temi principali"
    r"|главн\w+ тем|о чём эти|主题是什么|主要主题|主なテーマ|何について",
    re.IGNORECASE,
)
# A question without one of these words is about no texts.
_SOME_TEXT = compile_re(rf"\b(?:(?:{_TEXTS}|it|them|this)\b|they|both)", re.IGNORECASE)
_ABOUT_TEXTS = compile_re(
    rf"\b(?:{_SUM_UP}) {_ALL_TEXTS}\W*$"
    rf"|\bwhat (?:do|does) {_ALL_TEXTS} (?:say|tell)\b"
    rf"|\b(?:what|which)(?: \w+)? (?:is|are|do|does) {_ALL_TEXTS} (?:all |mainly |mostly )?"
    r"(?:about|cover|contain|discuss|deal with|talk about|tell)\W*$"
    rf"|\bcompare what (?:they|{_ALL_TEXTS}|both)",
    re.IGNORECASE,
)
_TOGETHER = compile_re(
    r"^\W*(?:please |can you |could you )?(?:compare|contrast)\b"
    r"|\bdifferences? between\b|\bhow (?:do|does|did) .+ differ\b"
    r"|\bwhat (?:do|does) .+ and .+ (?:say|tell|write)\b"
    r"|^\W*vergleiche?\b|\bunterschied\w* zwischen\b|\bdifférences? entre\b|\bdiferencias? entre\b",
    re.IGNORECASE,
)
_PART = r"documents?|files?|articles?|pages?|sections?|chapters?|parts?|paragraphs?|notes?|manuals?"
_SUMMED_UP = tuple(
    compile_re(rf"\W*(?:please |can you |could you |bitte )?{pattern}\W*", re.IGNORECASE)
    for pattern in (
        r"(?:summari[sz]e|sum up|outline|recap|résume[rz]?|resume) (.+?)",
        r"(?:give (?:me )?)?(?:(?:an?|the) )?(?:\w+ )?(?:summary|overview|gist) of (.+?)",
        r"what (?:is|does) (.+?) (?:about|say|cover|contain|deal with|talk about)",
        r"fasse? (.+?) zusammen",
        r"(?:(?:eine )?zusammenfassung von|worum geht es in|de quoi parle|de qué trata) (.+?)",
    )
)
_BEFORE_NAME = compile_re(
    rf"(?:the|this|that|my|our|der|die|das|dem|le|la|les|el|los) |(?:{_PART}|kapitel|abschnitt"
    r"|dokumente?|datei|chapitre|capítulo|sección) (?=\S)|[\"'“”‘’«»„`]",
    re.IGNORECASE,
)
_OF_WHOLE = compile_re(
    rf"(?:{_THEME_WORDS}|{_MAIN}|{_TEXTS}|{_SUM_UP}|summary|overview|compare|contrast|both|say|says"
    r"|about|tell|give|please|whole|entire|cover|contain|discuss|talk|deal|all|two|list|describe"
    r"|differ|nutshell|together|briefly|short)s?",
    re.IGNORECASE,
)


def is_about_whole(question: str) -> bool:
    """Check whether a question is about all documents together.

    >>> is_about_whole("What are the main themes?"), is_about_whole("Who built the Fram?")
    (True, False)
    """
    is_of_texts = _SOME_TEXT.search(question) and _ABOUT_TEXTS.search(question)
    return bool(is_of_texts or _WHOLE.search(question))


def find_summed_up(question: str) -> str:
    """Return the name of what a question asks to sum up, "" if it asks for something else.

    >>> find_summed_up("Summarise the document fram.md"), find_summed_up("Who built the Fram?")
    ('fram.md', '')
    """
    matches = (pattern.fullmatch(question) for pattern in _SUMMED_UP)
    match = next(filter(None, matches), None)
    name = match[1].strip() if match else ""
    while name and (before := _BEFORE_NAME.match(name)):
        name = name[before.end() :]
    return name.rstrip("\"'“”‘’«»„`")


def asks_to_compare(question: str) -> bool:
    """Check whether a question asks for the differences between things it names.

    >>> asks_to_compare("Compare the Fram and the Belgica"), asks_to_compare("Which is older?")
    (True, False)
    """
    return bool(_TOGETHER.search(question))


def find_topic(question: str, names: Iterable[str] = ()) -> str:
    """Return the words of a global question that restrict it to a topic.

    Those of the `names` that it compares are none.

    >>> find_topic("Compare what both documents say about sled dogs")
    'sled dogs'
    """
    no_topic = {fold(match[0]) for name in names for match in _WORD.finditer(name)} | STOP_WORDS
    words = (match[0] for match in _WORD.finditer(question))
    topic = (w for w in words if fold(w) not in no_topic and not _OF_WHOLE.fullmatch(w))
    return " ".join(topic)
