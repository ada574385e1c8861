"""Find names, quotations and title cores in text by rules that read characters only.

A name is a run of capitalised words, with lower-case connectors allowed inside ("Battle of the
Bulge", "Erich von Drygalski"). Leading articles and pronouns are left off, so
that "The Fram" and "Fram" are one. The parts of a connected name are names too ("Ada of Huntingdon"
gives "Huntingdon"), and so is a name without its form of address ("Captain Scott" gives "Scott").
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import dropwhile, pairwise
from re import Pattern
from typing import NamedTuple

from clew.base.runtime.lazy import compile_re
from clew.text.analyze import MARKS, STOP_WORDS, UNSPACED, is_acronym, is_uncased, term_spans
from clew.text.dates import CALENDAR, YEAR
from clew.text.languages import JOINING, find_language
from clew.text.normalize import collapse
from clew.text.questions import find_joining
from clew.text.sections import SEPARATOR

Span = tuple[int, int]

# In "the 1920 Summer Olympics" the year is part of the name. At the start of a sentence it is not,
# nor behind these words, a month or a day.
_YEAR_BEFORE = compile_re(rf"(\w+),? ({YEAR}) $")
_WHEN = CALENDAR | frozenset(
    "in by since until till from before after around about during circa may march august".split()
)
_QUOTED = compile_re(
    r'"([^"\n]{2,80})"|“([^”\n]{2,80})”|«\s*([^»\n]{2,80}?)\s*»|„([^“”\n]{2,80})[“”]'
    r"|「([^」\n]{2,80})」|『([^』\n]{2,80})』|《([^》\n]{2,80})》"
)
# As most words are; the last part would match the same, but later.
_PLAIN, _CAPITAL = "[a-z]+(?=[ ,])", "[A-Z][a-z]+(?=[ ,])"
_OTHER = (
    r"(?:[A-Z]\.)+[A-Z](?![\w'’])"  # U.S.A, whose last dot may end a sentence
    r"|[A-Z]{1,3}&[A-Z]{1,3}\b|[A-Z](?:#|\+\+)(?!\w)|[A-Z]\w*[*$]\w+"  # AT&T, C#, C++, Wal*Mart
    r"|(?<![\w.])\.NET\b|[A-Z]\w*\.(?:NET|com|io|js|org)\b"
    r"|\bv?\d+(?:\.\d+)+\b|\b\d+(?:-\d+){2,}\b"  # v2.1, 12.4, 8812-00-7
    rf"|&|[^\W_](?:(?:['’/-]?[\w{MARKS}])*(?:['’/-]?[^\W_]|[{MARKS}]))?"
)
_WORD = compile_re(f"({_PLAIN})|({_CAPITAL})|{_OTHER}")
# Three plain words in a row, or more, are like one: no name goes on across them.
_WORD_OR_GAP = compile_re(f"([a-z]+(?:(?:[ ,]+[a-z]+){{2,}})?(?=[ ,]))|({_CAPITAL})|{_OTHER}")
_VERSION = compile_re(r"v\d+(?:\.\d+)+|(?!\d{4}-\d\d-\d\d$)\d+(?:-\d+){2,}")  # names by themselves
_NUMBER = compile_re(rf"(?!{YEAR}$)\d{{1,4}}(?:\.\d+)*")  # in a name, and no year
_ELIDED = compile_re(r"(?:[dl]|qu|dell|all|nell|sull|dall)['’](?=[^\W\d_a-z])")  # "d'Orsay"
_POSSESSIVE = compile_re(r"['’]s$")
_INITIAL = compile_re(r"(?:\w\.)*\w$")
_KANA = compile_re(r"[\u3041-\u30fa]")
_HAN_OR_KATAKANA = compile_re(r"[\u3005\u4e00-\u9fff\u30a1-\u30fa\u30fc]{2,}")
# The commonest characters that are words by themselves and join others in Chinese.
FUNCTION = (
    "的了是在和与與及或从從于於由为為以被把对對将將到不也就都这這那哪什么麼怎吗嗎呢啊吧其之而所且但可能会會"
    "要我你您他她它们們个個些一几幾谁誰多少有没沒"
)
_HAN_PAIR = compile_re(rf"(?:(?![{FUNCTION}])[\u4e00-\u9fff]){{2}}")
_PAIR = 2  # characters of a term that may be a part of words
_LOOSELY = compile_re(r" (?:an?|at|for|from|in|on|to|with) ")
_PARENTHESIS = compile_re(r"(?<!\s)\s*[(（][^()（）]*[)）]\s*$")

# Words that may stand between two capitalised words of one name. "Tight" ones bind always;
# across the others both sides are names of their own as well.
_TIGHT = frozenset(
    "of de la le les du des da das do dos del della di van von der den zu zum zur al el ibn bin "
    "bint af av ap upon".split()
)
_LOOSE = frozenset("the and & in on for to at with y e et und og och a an from".split())
_CONNECTORS = _TIGHT | _LOOSE
_PARTICLES = _TIGHT - STOP_WORDS  # those that may begin a name
_ADDRESS = frozenset(
    "mr mrs ms miss sir dame dr prof professor lord lady king queen prince princess emperor "
    "empress tsar czar pope saint st captain capt lieutenant lt colonel col general gen admiral "
    "commander major sergeant president senator governor rev reverend baron count duke duchess "
    "earl".split()
)
_ABBREVIATED = _ADDRESS | frozenset("jr sr mt ft hon vs no ed inc ltd co bros corp dept".split())
_LEADING = STOP_WORDS | {"mr", "mrs", "ms", "sir", "dame", "dr", "prof", "rev"}
# A number, an adverb or a negated adjective, such as a sentence may begin with.
_PLAIN_WORD = compile_re(
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)"
    r"(?:teen|ty)|twenty|forty|dozens|hundreds|thousands|millions|un\w+able|unable"
    r"|\w{3,}(?:ally|ously|fully|ently|antly|ately|edly|ingly)"
)
_LONGEST_WORD = 30  # characters, with a year behind it
_BREAK = 3  # characters before a word that tell whether a sentence begins
_LONGEST = 150  # characters of a title: a longer first line is a paragraph
_BEFORE = compile_re(r"\W*(?:The |A |An )?\W*")  # a name that a text begins with
_BEHIND = compile_re(r"\W{0,3}(?:[(,]|(?:is|was|are|were) )")
_STOPS = tuple(".!?;:,…。！？")


class _Word(NamedTuple):  # which is made in a third of the time of a dataclass
    start: int
    end: int
    lower: str
    capital: bool


def quoted_spans(text: str) -> Iterator[Span]:
    """Yield quotations of up to 80 characters, without quotation marks and end marks."""
    for match in _QUOTED.finditer(text):
        start, end = match.span(match.lastindex or 0)
        while end > start and text[end - 1] in ",.;:!? ":
            end -= 1
        if any(c.isalpha() for c in text[start:end]):
            yield start, end


def uncased_spans(text: str) -> Iterator[Span]:
    """Yield possible names in scripts without capital letters.

    Beside kana those are runs of Han characters and katakana, since endings and particles are in
    hiragana; without kana, pairs of Han characters none of which is a function word's. In other
    scripts without spaces nothing tells where words begin; in those with spaces each term is one.
    """
    if not is_uncased(text):
        return
    has_kana = _KANA.search(text) is not None
    if has_kana:
        yield from (match.span() for match in _HAN_OR_KATAKANA.finditer(text))
    for term, start, end in term_spans(text):
        if UNSPACED.match(term):
            if not has_kana and _HAN_PAIR.fullmatch(term):
                yield start, end
        elif is_uncased(text[start:end]):
            yield start, end


def is_long_term(term: str) -> bool:
    """Check whether a term in a script without spaces has three or more characters."""
    return len(term) > _PAIR and not term.isascii() and bool(UNSPACED.match(term))


def name_spans(text: str) -> Iterator[Span]:
    """Yield the capitalised names of `text`: each whole name, then its parts."""
    runs = list(_runs(text))
    leading = _find_leading(text, runs)
    for run in filter(None, map(_drop_calendar, runs)):
        if _is_plain(text, run[0]) and (len(run) == 1 or run[1].lower in _LOOSE):
            run = list(dropwhile(lambda word: word.lower in _LOOSE, run[1:]))  # noqa: PLW2901
        if not run:
            continue
        yield from _run_names(text, run, leading)
        year = _YEAR_BEFORE.search(text, max(run[0].start - _LONGEST_WORD, 0), run[0].start)
        if year and not (year[1].lower() in _WHEN or year[1].isdecimal()):
            yield year.start(2), _name_end(text, run[-1])


def _is_plain(text: str, word: _Word) -> bool:
    """Check whether a word is capitalized only at the start of a sentence: "Nine"."""
    before = text[max(0, word.start - _BREAK) : word.start]
    return bool(_PLAIN_WORD.fullmatch(word.lower)) and not before.rstrip(' "“(')[-1:].isalnum()


def _drop_calendar(run: list[_Word]) -> list[_Word]:
    """Return a run without months, weekdays and numbers attached to a name.

    Of "Melville Bay in August" that is "Melville Bay", of "Sunday" nothing. "Black Friday" stays.
    """
    are_times = [word.lower in CALENDAR or word.lower.isdecimal() for word in run]
    if not any(are_times):
        return run
    are_joining = [word.lower in _CONNECTORS for word in run]
    own = [i for i in range(len(run)) if not (are_times[i] or are_joining[i])]
    if not own:
        return []
    before = [i + 1 for i in range(own[0]) if are_joining[i] and any(are_times[:i])]
    behind = [i for i in range(own[-1], len(run)) if are_joining[i]]
    return run[max(before, default=0) : min(behind, default=len(run))]


def _find_leading(text: str, runs: Sequence[Sequence[_Word]]) -> AbstractSet[str]:
    """Return the words that cannot begin a name, also those of the text's language."""
    if not any(run[0].lower in JOINING and run[0].lower not in STOP_WORDS for run in runs):
        return _LEADING
    is_foreign = find_language(text) not in {None, "English"}
    return _LEADING | (JOINING if is_foreign else find_joining(text))


@lru_cache(maxsize=1 << 10)
def strip_title(title: str) -> str:
    """Return the core of a document's title: "Thing" for "The Thing (1982 film)".

    An answer gives the whole name, by `drop_qualifier`.
    """
    title = drop_qualifier(title)
    words = _strip_leading(_words(title))
    return title[words[0].start :] if words else title


def drop_qualifier(title: str) -> str:
    """Return a title without its final parenthesis: "The Thing" for "The Thing (1982 film)"."""
    return _PARENTHESIS.sub("", title) or title


def joins_names(name: str) -> bool:
    """Check whether a name may be two joined names, such as "Amundsen in Oslo"."""
    return _LOOSELY.search(name) is not None


def _words(text: str, pattern: Pattern[str] = _WORD) -> list[_Word]:
    words = []
    for match in pattern.finditer(text):
        word, (start, end) = match[0], match.span()
        if match.lastindex == 1:
            words.append(_Word(start, end, word, capital=False))
            continue
        if match.lastindex:
            words.append(_Word(start, end, word.lower(), capital=True))
            continue
        if word.isascii() and word.isalpha() and word.islower():
            words.append(_Word(start, end, word, capital=False))
            continue
        lower = word if is_acronym(text, start, end) else word.lower()
        capital = any(map(str.isupper, word)) or bool(_VERSION.fullmatch(word))
        words.append(_Word(start, end, lower, capital))
    return words


def _runs(text: str) -> Iterator[list[_Word]]:
    """Yield maximal runs of capitalised words with connectors between them."""
    run: list[_Word] = []
    pending: list[_Word] = []  # connectors that join only if a capitalised word follows
    particle: _Word | None = None  # a capitalised one just before, as in "La Paz"
    for word in _words(text, _WORD_OR_GAP):
        before = pending or run
        if not before or not _are_joined(text, before[-1], word):
            if run:
                yield run
            run, pending = [], []
        connector = word.lower in _CONNECTORS
        if connector and run:
            pending.append(word)
            if len(pending) > 2:  # "in the court of", "for and of the": no name goes on
                yield run
                run, pending = [], []
        elif (word.capital and not connector) or (
            run and _NUMBER.fullmatch(text, word.start, word.end)
        ):
            begins = not run and particle is not None and _are_joined(text, particle, word)
            run += [particle, word] if begins and particle is not None else [*pending, word]
            pending = []
        elif run:
            yield run
            run, pending = [], []
        particle = word if word.capital and word.lower in _PARTICLES else None
    if run:
        yield run


def _are_joined(text: str, last: _Word, word: _Word) -> bool:
    gap = text[last.end : word.start]
    if _POSSESSIVE.search(text[last.start : last.end]):
        return False
    if gap in (". ", "."):  # "J. R. Smith", "St. Louis", but not "in Paris. Berlin"
        bare = text[last.start : last.end]
        initial = bool(_INITIAL.match(bare)) and word.lower not in STOP_WORDS
        return initial or last.lower in _ABBREVIATED
    return gap in (" ", "\n", "\xa0", "-", "–") or gap == ""


def _run_names(text: str, run: list[_Word], leading: AbstractSet[str]) -> Iterator[Span]:
    whole = _strip_leading(run, leading)
    heads, inner = _find_parts(run) if len(run) > 1 else (set[int](), ())
    seen = set()
    is_addressed = len(whole) > 1 and whole[0].lower in _ADDRESS and whole[1].capital
    addressed = whole[1:] if is_addressed else []
    parts = (_drop_calendar(_strip_leading(each, leading)) for each in inner)
    for words in (whole, addressed, *parts):
        if not words or (words[0].lower in _CONNECTORS and words[0] is not run[0]):
            continue
        elided = _ELIDED.match(text, words[0].start)
        span = elided.end() if elided else words[0].start, _name_end(text, words[-1])
        is_head = len(words) == 1 and words[0].start in heads
        if span not in seen and not is_head and span[1] - span[0] > 1:
            seen.add(span)
            yield span


def _find_parts(run: list[_Word]) -> tuple[set[int], Sequence[list[_Word]]]:
    """Return the starts of single words before a connector, and possible names in a run.

    "Bay" of "Bay of Whales" is no name by itself.
    """
    parts: list[list[_Word]] = [[]]
    loose = []  # indices of parts that begin behind a loose connector
    heads = set()
    for word in run:
        if word.lower in _CONNECTORS:
            if len(parts[-1]) == 1 and word.lower in _TIGHT:
                heads.add(parts[-1][0].start)
            if parts[-1]:
                parts.append([])
            if word.lower in _LOOSE and word.lower != "the":
                loose.append(len(parts) - 1)
        else:
            parts[-1].append(word)
    edges = [0, *loose, len(parts)] if loose else []  # both sides of "Duke of York and Albany"
    groups = [[word for part in parts[a:b] for word in part] for a, b in pairwise(edges)]
    return heads, (*groups, *_find_ends(run, parts, edges), *parts)


def _find_ends(
    run: list[_Word], parts: list[list[_Word]], edges: list[int]
) -> Iterator[list[_Word]]:
    """Yield two-part names at the end of a run: "Bank of America" in "CEO of Bank of America"."""
    for a, b in pairwise(edges or [0, len(parts)]):
        for part in parts[a + 1 : b - 1]:
            if part and parts[b - 1]:
                yield run[run.index(part[0]) : run.index(parts[b - 1][-1]) + 1]


def _strip_leading(words: list[_Word], leading: AbstractSet[str] = _LEADING) -> list[_Word]:
    return list(dropwhile(lambda word: word.lower in leading, words))


def _name_end(text: str, word: _Word) -> int:
    possessive = _POSSESSIVE.search(text[word.start : word.end])
    return word.start + possessive.start() if possessive else word.end


def split_title(text: str) -> tuple[str, int]:
    """Return the name in a text's title, and the start of the text after the title.

    A first line that is long, that ends like a sentence, or that goes on in lower case on the
    next line is no title: the text then begins at 0. It may begin with what it is about, which
    is why it needed no title line: "Fram (1892) was a ship" is about Fram. Else the name is "".
    """
    line, newline, rest = text.partition("\n")
    title = collapse(line.lstrip("#").partition(SEPARATOR)[0])  # what is behind it is a section
    below = rest.lstrip()
    is_title = bool(title) and len(title) <= _LONGEST and not title.endswith(_STOPS)
    if is_title and below and not below[0].islower():
        return strip_title(title), len(line) + len(newline)
    lead = text[:_LONGEST]
    for start, end in name_spans(lead):
        if _BEFORE.fullmatch(lead[:start]) and _BEHIND.match(lead, end):
            return lead[start:end], 0
    return "", 0
