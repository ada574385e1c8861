"""Generate questions of two steps from passages with titles, as sources of `examples.py`.

    python tools/reader/chains.py SOURCE... --into FILE [--without FILE] [--seed 0]

A statement of passage A that names the title of passage B is a bridge: what B is to A is read from
the words before it ("directed by B"), or from what B's first statement says that B is. A property
of B (when it was born, where it lies) is read from a statement of B by a pattern. Asked is for the
property of what the bridge names, in one of several wordings. The same question is asked over A,
and over passages that have the same property of something else, behind the right bridge and behind
others: what the reader must learn to tell apart. --without is a file of titles that no B has.

Two questions of one step make one of two, too, where the second has the answer of the first, which
is a name: its place is taken by the first, put as a phrase by `benchmarks/quotes.py`.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.text.statements import find_statements
from examples import hold_out, read_rows

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import quotes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Row = dict[str, Any]

SINGLE = {"squad2", "shift_new_wiki", "nq", "selqa", "qed"}
PER_NAME = 25  # questions at most in which one name is replaced
BROKEN = re.compile(r"the (?:is|was|are|were|do|does|did|the|that|has|had|in|on|at|of|type)\b")
NAME = r"[A-Z][\w.'’-]*(?: (?:of |de |van |von |the )?[A-Z][\w.'’-]*)*"
DAY = r"(?:\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4})"
# What stands before the title of B in a statement of A, and what B is to A.
RELATIONS = (
    (
        r"directed by[^.]{0,30}$",
        (
            "the director of {a}",
            "the person who directed {a}",
            "the filmmaker behind {a}",
            "the director of film {a}",
        ),
    ),
    (
        r"(?:written|scripted|authored) (?:and directed )?by[^.]{0,30}$",
        ("the writer of {a}", "the author of {a}", "the person who wrote {a}"),
    ),
    (r"produced by[^.]{0,30}$", ("the producer of {a}", "the person who produced {a}")),
    (
        r"(?:composed|music) by[^.]{0,30}$",
        ("the composer of {a}", "the person who composed {a}", "whoever wrote the music of {a}"),
    ),
    (
        r"(?:starring|stars|stars?red)[^.]{0,40}$",
        ("a star of {a}", "the actor in {a}", "the one who played in {a}"),
    ),
    (
        r"(?:song|single|album|track|EP)[^.]{0,40} by[^.]{0,40}$",
        (
            "the performer of {a}",
            "the artist behind {a}",
            "the one who recorded {a}",
            "the performer of song {a}",
        ),
    ),
    (
        r"(?:son|daughter|child) of[^.]{0,30}$",
        ("the parent of {a}", "the father or mother of {a}", "{a}'s parent"),
    ),
    (r"(?:father|mother|parent) of[^.]{0,30}$", ("the child of {a}",)),
    (
        r"(?:married|wife of|husband of|spouse of|widow of|consort of)[^.]{0,30}$",
        ("the spouse of {a}", "the person {a} was married to", "{a}'s husband or wife"),
    ),
    (
        r"(?:brother|sister|sibling) of[^.]{0,30}$",
        ("the sibling of {a}", "{a}'s brother or sister"),
    ),
    (
        r"(?:founded|established|created) by[^.]{0,30}$",
        ("the founder of {a}", "whoever founded {a}", "the creator of {a}"),
    ),
    (
        r"(?:published|released|distributed) by[^.]{0,30}$",
        ("the publisher of {a}", "the company that released {a}"),
    ),
    (
        r"(?:born|birthplace)[^.]{0,40}\bin$",
        ("the birthplace of {a}", "the place where {a} was born", "the town {a} was born in"),
    ),
    (r"(?:died|buried)[^.]{0,40}\bin$", ("the place where {a} died", "the place of death of {a}")),
    (
        r"(?:located|situated|lies|village|town|city|station|school|river)[^.]{0,60}\b(?:in|of|at|on|near)$",
        ("the place where {a} is", "the area in which {a} lies", "the location of {a}"),
    ),
    (
        r"(?:studied|educated|graduated|attended|professor)[^.]{0,40}$",
        ("the school that {a} attended", "the place where {a} studied"),
    ),
    (
        r"(?:based on|adapted from|adaptation of)[^.]{0,40}$",
        ("the work that {a} is based on", "what {a} was adapted from"),
    ),
    (
        r"(?:played for|plays for|signed (?:with|for)|member of|joined)[^.]{0,30}$",
        ("the team or group that {a} belonged to", "what {a} was a member of"),
    ),
    (
        r"(?:succeeded|replaced|followed)(?: by)?[^.]{0,20}$",
        ("the one in whose place or after whom {a} came",),
    ),
)
# A pattern of a statement of B whose group is the answer, and the questions that it answers.
PROPERTIES = (
    (
        rf"\( ?(?:[^()]{{0,60}}?)(?:born |b\. ?)?({DAY})",
        (
            "When was {b} born?",
            "What is the date of birth of {b}?",
            "What is {b}'s birthday?",
            "On what day was {b} born?",
        ),
    ),
    (
        rf"\([^()]*?\d{{4}} ?[–—-] ?({DAY})",
        ("When did {b} die?", "What is the date of death of {b}?", "On which day did {b} die?"),
    ),
    (
        rf"\bborn (?:[^.;()]{{0,40}} )?in ((?:the )?{NAME}(?:, {NAME})*)",
        (
            "Where was {b} born?",
            "What is the place of birth of {b}?",
            "In which town was {b} born?",
            "Where was the place of birth of {b}?",
        ),
    ),
    (
        rf"\bdied (?:[^.;()]{{0,40}} )?(?:in|at) ((?:the )?{NAME}(?:, {NAME})*)",
        (
            "Where did {b} die?",
            "What is the place of death of {b}?",
            "In which place did {b} die?",
            "Where was the place of death of {b}?",
        ),
    ),
    (
        r"\b(?:is|was) (?:a|an) ([A-Z][a-z]+(?:-[A-Z][a-z]+)?)(?= [a-z])",
        (
            "What nationality is {b}?",
            "Which country is {b} from?",
            "What is the nationality of {b}?",
        ),
    ),
    (
        r"\bpopulation (?:of|was|is)(?: about| approximately)? ([\d,.]+)",
        (
            "How many people live in {b}?",
            "What is the population of {b}?",
            "How many inhabitants does {b} have?",
        ),
    ),
    (
        (
            r"\b(?:studied|educated|graduated|enrolled)[^.;]{0,40}? (?:at|from|in) "
            rf"((?:the )?{NAME})"
        ),
        ("Where did {b} study?", "Which school did {b} attend?", "Where did {b} graduate from?"),
    ),
    (
        rf"\b(?:awarded|won|received) (?:the |an? )?({NAME} (?:Award|Prize|Medal|Order)\w*)",
        (
            "Which award did {b} win?",
            "What prize was given to {b}?",
            "What is the award that {b} received?",
        ),
    ),
    (
        (
            r"\b(?:founded|established|opened|built|incorporated|formed)[^.;]{0,40}? in "
            r"((?:[A-Z][a-z]+ )?\d{4})"
        ),
        (
            "When was {b} founded?",
            "In what year was {b} established?",
            "How old is {b}: when did it begin?",
        ),
    ),
    (
        (
            r"\b(?:located|situated|lies|based|headquartered) (?:in|on|at|near) "
            rf"((?:the )?{NAME}(?:, {NAME})*)"
        ),
        ("Where is {b}?", "In which place is {b} located?", "What is the location of {b}?"),
    ),
    (
        rf"\b(?:married|husband|wife|spouse)(?: to| of| was| is)? ({NAME})",
        ("Who is the spouse of {b}?", "Who was {b} married to?", "Who is {b}'s husband or wife?"),
    ),
    (
        rf"\b(?:son|daughter) of (?:[a-z, ]{{0,30}})({NAME})",
        ("Who is the father of {b}?", "Who is {b}'s parent?", "Whose child is {b}?"),
    ),
    (rf"\bdirected by ({NAME})", ("Who directed {b}?", "Who is the director of {b}?")),
    (rf"\b(?:written|composed) by ({NAME})", ("Who wrote {b}?", "Who is the writer of {b}?")),
    (
        rf"\b(?:buried|interred)[^.;]{{0,20}} (?:in|at) ((?:the )?{NAME})",
        ("Where is {b} buried?", "What is the burial place of {b}?"),
    ),
    (
        r"\b(?:cause of|died (?:of|from)|killed (?:in|by)) ((?:an? )?[a-z]+(?: [a-z]+){0,2})",
        ("What did {b} die of?", "How did {b} die?", "What was the cause of death of {b}?"),
    ),
    (
        rf"\b(?:plays|played|appeared) (?:for|with) ((?:the )?{NAME})",
        ("Which team did {b} play for?", "What club is {b} known from?"),
    ),
    (
        r"\b(?:works|worked|employed|served) (?:at|for|as) ((?:the |an? )?\w+(?: \w+){0,3})",
        ("Where did {b} work?", "What did {b} work as?", "Who employed {b}?"),
    ),
)
KIND = re.compile(
    r"\b(?:is|was|are|were) (?:an?|the|one of the) ((?:[\w-]+ ){0,4}[\w-]+?)"
    r"(?= (?:who|composed|written|directed|founded|based|produced|located|originating|that|which"
    r"|from|of|in|and|for|at|by|on|born|directed|best|known)\b|[,.(;])"
)
LINKED = (
    "the {k} named in connection with {a}",
    "the {k} connected with {a}",
    "the {k} that {a} has to do with",
)


@dataclass(frozen=True)
class Page:
    """A passage with its statements."""

    title: str
    text: str
    spans: Sequence[tuple[int, int]]
    group: str

    @property
    def name(self) -> str:
        """Return the title without what tells it from alike ones."""
        return re.sub(r" \([^()]*\)$", "", self.title)


@dataclass(frozen=True)
class Fact:
    """A property of a page: the place of its statement, its answer, and what it answers."""

    page: Page
    pattern: int
    place: int
    start: int
    answer: str


def main() -> None:
    """Write the questions."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--without", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=5000, help="questions")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    rows = [row for path in options.sources for row in read_rows(path)]
    without = (
        set(options.without.read_text(encoding="utf-8").splitlines()) if options.without else set()
    )
    pages = read_pages(rows)
    facts = [fact for page in pages for fact in find_facts(page)]
    links = [link for link in find_links(pages) if link[2].title not in without]
    built = list(ask(links, facts, rng))
    composed = list(compose(rows, without, rng))
    built = sample(built, options.most, rng) + sample(composed, options.most, rng)
    with options.into.open("w", encoding="utf-8") as file:
        for row in (row for each in built for row in each):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(
        len(pages),
        "pages",
        len(facts),
        "facts",
        len(links),
        "links",
        len(built),
        "questions",
        len(composed),
        "composed",
    )


def sample(built: list[list[Row]], most: int, rng: random.Random) -> list[list[Row]]:
    """Return at most so many questions, drawn at random."""
    return rng.sample(built, min(most, len(built)))


def compose(rows: Sequence[Row], without: set[str], rng: random.Random) -> Iterator[list[Row]]:
    """Yield the rows of questions that are put together from two of one step."""
    single = [r for r in rows if r["src"] in SINGLE and r["title"] not in without]
    answering: dict[str, list[Row]] = {}
    for row in single:
        name = row["ans"]
        if row["start"] >= 0 and re.fullmatch(NAME, name) and len(name) > 4:
            answering.setdefault(name, []).append(row)
    beside: dict[str, list[Row]] = {}
    for row in single:
        beside.setdefault(row["group"], []).append(row)
    used: dict[str, int] = {}
    for second in rng.sample(single, len(single)):
        words = re.findall(r"[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*)*", second["q"].split(" ", 1)[-1])
        name = next((w for w in words if w in answering), None)
        if not name or not second["ans"] or name in second["ans"] or used.get(name, 0) >= PER_NAME:
            continue
        firsts = [f for f in answering[name] if f["ctx"] != second["ctx"]]
        first = rng.choice(firsts) if firsts else None
        phrase = quotes.as_phrase(first["q"].strip()) if first else ""
        if not phrase or BROKEN.match(phrase) or len(phrase) > 110 or second["ans"] in first["q"]:
            continue
        used[name] = used.get(name, 0) + 1
        question = second["q"].replace(name, phrase, 1)
        yield list(make_composed(question, first, second, beside[second["group"]], rng))


def make_composed(
    question: str, first: Row, second: Row, near: Sequence[Row], rng: random.Random
) -> Iterator[Row]:
    """Yield the rows of a question of two steps."""
    at, end = first["start"], first["start"] + len(first["ans"])
    spans = [(s.start, s.end) for s in find_statements(first["ctx"], headings=())]
    held = next(((a, b) for a, b in spans if a < end and at < b), (at, end))
    bridge = first["ctx"][slice(*held)]
    base = {"src": "composed", "group": second["group"], "q": question, "prevs": [], "linked": []}
    none = {"ans": "", "start": -1, "holds": None, "supp": None, "sup": False}
    others = [r for r in near if second["ans"].lower() not in r["ctx"].lower()]
    wrong = rng.choice(near)["ctx"].split(". ")[0]
    known = {k: second[k] for k in ("title", "ctx", "ans", "start")}
    yield (
        base
        | known
        | {"sup": True, "holds": None, "supp": None, "linked": [bridge], "prevs": [wrong]}
    )
    yield base | none | {"title": first["title"], "ctx": first["ctx"], "sup": True, "supp": [held]}
    for other in rng.sample(others, min(2, len(others))):
        yield base | none | {"title": other["title"], "ctx": other["ctx"], "linked": [bridge]}


def read_pages(rows: Sequence[Row]) -> list[Page]:
    """Return the passages with titles, without those of held-out groups."""
    held = hold_out(rows)
    found = {}
    for row in rows:
        if row["title"] and row["group"] not in held and (row["title"], row["ctx"]) not in found:
            statements = [s for s in find_statements(row["ctx"], headings=()) if not s.is_context]
            spans = [(s.start, s.end) for s in statements]
            found[row["title"], row["ctx"]] = Page(row["title"], row["ctx"], spans, row["group"])
    return [page for page in found.values() if page.spans]


def find_facts(page: Page) -> Iterator[Fact]:
    """Yield the properties of a page, of each pattern the first."""
    for number, (pattern, _) in enumerate(PROPERTIES):
        for place, (a, b) in enumerate(page.spans[:6]):
            if (number in {0, 1, 4} and place) or not (m := re.search(pattern, page.text[a:b])):
                continue
            yield Fact(page, number, place, a + m.start(1), m[1])
            break


def find_links(pages: Sequence[Page]) -> Iterator[tuple[Page, tuple[int, int], Page, int]]:
    """Yield each page with a statement that names another page, that, and where it does."""
    named: dict[str, Page] = {}
    for page in pages:
        if len(page.name) > 3 and page.name[0].isupper():
            named.setdefault(page.name, page)
    for page in pages:
        for a, b in page.spans[:5]:
            for m in re.finditer(r"(?=\b([A-Z][\w.'’-]*(?: [\w.'’&-]+){0,5}))", page.text[a:b]):
                words = m[1].split(" ")
                names = (" ".join(words[:n]).rstrip(".,") for n in range(len(words), 0, -1))
                other = next((named[n] for n in names if n in named), None)
                if other and other.name not in page.name and page.name not in other.name:
                    yield page, (a, b), other, a + m.start()


def ask(
    links: Sequence[tuple[Page, tuple[int, int], Page, int]],
    facts: Sequence[Fact],
    rng: random.Random,
) -> Iterator[list[Row]]:
    """Yield the rows of each question."""
    of_page: dict[str, list[Fact]] = {}
    alike: dict[int, list[Fact]] = {}
    for fact in facts:
        of_page.setdefault(fact.page.title, []).append(fact)
        alike.setdefault(fact.pattern, []).append(fact)
    bridges_to: dict[str, list[str]] = {}
    for page, (a, b), other, _ in links:
        bridges_to.setdefault(other.title, []).append(page.text[a:b])
    seen = set()
    for page, (a, b), other, at in links:
        if (phrases := find_phrases(page, (a, b), other, at)) is None:
            continue
        for fact in of_page.get(other.title, []):
            if (page.title, other.title, fact.pattern) in seen:
                continue
            seen.add((page.title, other.title, fact.pattern))
            phrase = rng.choice(phrases).format(a=page.name, k=find_kind(other))
            question = rng.choice(PROPERTIES[fact.pattern][1]).format(b=phrase)
            bridge = page.text[a:b]
            yield list(make_rows(question, bridge, page, fact, alike, bridges_to, rng))


def find_phrases(page: Page, span: tuple[int, int], other: Page, at: int) -> tuple[str, ...] | None:
    """Return the phrases for what another page is to a page, by the words before its name."""
    before = page.text[span[0] : at].rstrip(" \"“‘'")
    for pattern, phrases in RELATIONS:
        if re.search(pattern, before):
            return phrases
    return LINKED if find_kind(other) else None


def find_kind(page: Page) -> str:
    """Return what the first statement says that a page is about, "" where it does not."""
    found = KIND.search(page.text[slice(*page.spans[0])])
    return found[1] if found else ""


def make_rows(  # noqa: PLR0917 -- all that a question is made of
    question: str,
    bridge: str,
    page: Page,
    fact: Fact,
    alike: dict[int, list[Fact]],
    bridges_to: dict[str, list[str]],
    rng: random.Random,
) -> Iterator[Row]:
    """Yield a question over the page with the answer, over the first page, and over others."""
    spans = fact.page.spans
    held = spans[fact.place]
    first = page.spans[[bridge in page.text[a:b] for a, b in page.spans].index(True)]
    base = {"src": "generated_chain", "group": page.group, "q": question, "prevs": [], "linked": []}
    none = {"ans": "", "start": -1, "holds": None, "supp": None, "sup": False}
    yield base | {
        "title": fact.page.title,
        "ctx": fact.page.text,
        "ans": fact.answer,
        "start": fact.start,
        "sup": True,
        "holds": [held],
        "supp": [held],
        "linked": [bridge],
        "prevs": [rng.choice(rng.choice(list(bridges_to.values())))],
    }
    yield base | none | {"title": page.title, "ctx": page.text, "sup": True, "supp": [first]}
    others = [f for f in alike[fact.pattern] if f.page.title not in {fact.page.title, page.title}]
    for other in rng.sample(others, min(3, len(others))):
        wrong = bridges_to.get(other.page.title, [])
        shown = rng.choice([bridge, bridge, *wrong[:2]])
        row = {"title": other.page.title, "ctx": other.page.text, "linked": [shown]}
        yield base | none | row | {"only": shown}


if __name__ == "__main__":
    main()
