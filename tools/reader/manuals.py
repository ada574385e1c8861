"""Generate questions about manuals from their own statements, as a source of `examples.py`.

    python tools/reader/manuals.py FOLDER --into FILE [--seed 0]

FOLDER has a folder of files for each manual, in any format that Clew reads. A question is made of
an option or term with its definition ("What does --quiet do?", "Which option suppresses output?"),
and of statements of a few forms ("If the file is locked, the program waits.": "What happens if the
file is locked?"). Words are replaced by others of the same meaning, and some are left out, so that
the question does not have all words of the statement.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew import readers
from clew.text.statements import Statement, find_statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

BESIDE = 220  # characters before and behind a statement that are part of its passage
OMITTED = 0.15  # of the words of a question
REPLACED = 0.6  # of the words that have others of their meaning
KEPT = 3  # words at the beginning that are never left out
SAME = {
    "print": ("show", "display"),
    "display": ("show", "print"),
    "specify": ("set", "choose", "give"),
    "remove": ("delete", "drop"),
    "delete": ("remove",),
    "directory": ("folder",),
    "disable": ("switch off", "turn off"),
    "enable": ("switch on", "turn on", "activate"),
    "use": ("take", "employ"),
    "create": ("make",),
    "list": ("show", "enumerate"),
    "wait": ("pause",),
    "start": ("launch", "begin"),
    "stop": ("halt", "end"),
    "suppress": ("hide", "avoid"),
    "maximum": ("highest", "largest"),
    "minimum": ("lowest", "smallest"),
    "contains": ("has",),
    "fails": ("goes wrong",),
    "ignore": ("skip", "disregard"),
    "allow": ("permit", "let"),
    "allows": ("permits", "lets"),
    "default": ("standard",),
    "write": ("put", "save"),
    "read": ("load",),
    "change": ("alter", "modify"),
    "send": ("transmit",),
    "connect": ("link",),
}
FORMS = (
    (
        r"(?:If|When|Whenever) ([^,;]{12,110}), (?:then )?\w.{10,}",
        ("What happens if {0}?", "What happens when {0}?", "What is done if {0}?"),
    ),
    (
        r"(?:In order to|To) ([a-z][^,;]{8,90}), [a-z].{10,}",
        ("How do I {0}?", "How can one {0}?", "What must I do to {0}?"),
    ),
    (
        r"(?:The|This) ([a-z][\w -]{4,50}?) (?:is|are) (?:an?|the|used) .{12,}",
        ("What is the {0}?", "What is the {0} for?", "What does {0} mean?"),
    ),
    (
        r"([A-Z][\w-]+(?: [\w-]+)?) (?:is|are) (?:an?|the) .{12,}",
        ("What is {0}?", "What is meant by {0}?"),
    ),
    (
        r"(?:The|Its) default (?:value )?(?:is|for) .{2,}",
        (
            "What is the default of {above}?",
            "Which value has {above} if none is given?",
            "What is {above} by default?",
        ),
    ),
    (r"(.{12,90}?),? because .{10,}", ("Why {does} {0}?", "For what reason {0}?")),
    (
        r"You can ([a-z][^,;.]{8,80}?) (?:by|with|using) .{4,}",
        ("How can I {0}?", "How do you {0}?", "What is used to {0}?"),
    ),
    (
        r"(?:Note that )?([\w -]{4,60}?) (?:must|may|can|should) (?:not|only) .{8,}",
        ("What are the limits of {0}?", "What does one have to mind about {0}?"),
    ),
)
TERM = re.compile(r"(-{1,2}[\w-]+|[\w.-]{3,40})(?:[ =,\[<|(].*)?")
VERBS = set(
    "add allow append apply avoid break build change check clear close collect compare compile "
    "compress configure connect control convert copy count create cut define delete determine "
    "disable discard display do download drop dump edit enable encrypt exclude execute exit export "
    "extract fetch filter find follow force format generate get give handle hide ignore include "
    "insert install invert keep kill limit list load lock log mark match merge modify mount move "
    "omit open output overwrite parse pass perform play prevent print process produce quit read "
    "record redirect reload remove rename repeat replace report request require reset resolve "
    "restart restore restrict retry return reverse run save scan search select send set show skip "
    "sort specify split start stop store suppress switch sync tell test toggle treat truncate try "
    "turn unlock update upload use verify wait warn wrap write".split()
)
VERB = re.compile(r"(?:This option |It |Will )?([A-Z]?[a-z]+?)(s?) ([^.;:(]{8,90})")


def main() -> None:
    """Write the questions."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    rows = [row for folder in sorted(options.folder.iterdir()) for row in ask(folder, rng)]
    with options.into.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(len(rows))


def ask(folder: Path, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield questions about the files of a manual."""
    for document in readers.read([folder]):
        if not (text := getattr(document, "text", "")):
            continue
        statements = find_statements(text)
        asked = 0
        for place, each in enumerate(statements):
            said = " ".join(text[each.start : each.end].split())
            if each.is_context or not 30 < len(said) < 400 or asked >= 25:
                continue
            above = " ".join(text[slice(*each.above)].split()) if each.above else ""
            questions = list(of_term(above, said)) + list(of_form(above, said))
            if not questions or rng.random() < 0.3:
                continue
            asked += 1
            question = reword(rng.choice(questions), rng)
            yield make_row(folder.name, document.title or "", text, statements, place, question)


def of_term(above: str, said: str) -> Iterator[str]:
    """Yield questions about a term or option that a statement defines."""
    found = TERM.fullmatch(above)
    if found and re.search(r"^-|[_.=]|[a-z][A-Z]", found[1]):
        term = found[1]
        yield from (
            f"What does {term} do?",
            f"What is {term} for?",
            f"What is the meaning of {term}?",
        )
    verb = VERB.match(said)
    base = verb[1].lower() if verb else ""
    if base in VERBS and len(verb[3].split()) > 2:
        rest = verb[3].strip()
        yield from (
            f"How do I {base} {rest}?",
            f"Which option {base}s {rest}?",
            f"Which setting is there to {base} {rest}?",
        )


def of_form(above: str, said: str) -> Iterator[str]:
    """Yield questions that a statement of one of the forms answers."""
    for pattern, wordings in FORMS:
        if not (found := re.fullmatch(pattern, said)):
            continue
        given = [
            group[0].lower() + group[1:] if group[1:2].islower() else group
            for group in found.groups()
        ]
        for wording in wordings:
            if "{above}" in wording and not 2 < len(above) < 50:
                continue
            does = "is it that" if "{does}" in wording else ""
            yield wording.format(*given, above=above.lstrip("#*- "), does=does)


def reword(question: str, rng: random.Random) -> str:
    """Return a question with some words replaced, and some left out."""
    words = []
    for number, word in enumerate(question.split()):
        bare = word.lower().strip("?,.")
        if bare in SAME and rng.random() < REPLACED:
            words.append(word.lower().replace(bare, rng.choice(SAME[bare])))
        elif number <= KEPT or word.endswith("?") or rng.random() >= OMITTED:
            words.append(word)
    return " ".join(words)


def make_row(
    group: str, title: str, text: str, statements: Sequence[Statement], place: int, question: str
) -> dict[str, Any]:
    """Return a question over the passage about a statement, with what stands above it."""
    own = statements[place]
    first = last = place
    while first > 0 and own.start - statements[first - 1].start < BESIDE:
        first -= 1
    while last + 1 < len(statements) and statements[last + 1].end - own.end < BESIDE:
        last += 1
    begin, end = statements[first].start, statements[last].end
    lead = ""
    if own.above and own.above[1] <= begin:
        lead = f"{text[slice(*own.above)].strip()[:100]}\n"
    passage = lead + text[begin:end]
    start = len(lead) + own.start - begin
    held = (start, start + own.end - own.start)
    return {
        "src": "manual",
        "group": group,
        "q": question,
        "title": title[:80],
        "ctx": passage,
        "ans": "@sent",
        "start": held[0],
        "sup": True,
        "holds": [held],
        "supp": None,
    }


if __name__ == "__main__":
    main()
