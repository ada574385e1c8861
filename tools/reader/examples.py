"""Build training examples for the reader: a question, a bridge, and a window of one passage.

    python tools/reader/examples.py SOURCE... --into FILE [--window 440]

A SOURCE is a file of questions over passages, JSON Lines or .xz of it, a question and a passage a
line: "src", "group", "q", "title", "ctx", "ans", "start" (of the answer in "ctx", -1 without),
"sup" (whether the passage supports the answer), "prevs" and "linked" (statements that may be read
before it; the latter name what it is about), "holds" and "supp" (ranges of statements). "quota" and
"repeat" below say how many examples of each "src" are taken.

Passages are cut into statements as Clew cuts them. Each line of the result has what the reader is
shown, and what is true of it: whether each statement holds the answer, whether it supports it
(null: unknown), whether the passage has the answer at all, and where it stands. The first line has
the SHA-256 of the sources. The same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.text.statements import find_statements

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Row = dict[str, Any]

BRIDGE = 200  # characters of the statement before it
CHAINS = {"2wiki_train", "hotpot_train", "generated_chain", "composed"}
GENERATED = ("generated_chain", "composed")
# Questions at most of each source that is not about chains; every chain is taken.
QUOTA = {
    "squad2": 7000,
    "shift_new_wiki": 2500,
    "nq": 2000,
    "selqa": 1200,
    "tatqa": 338,
    "policyqa": 500,
    "covidqa": 900,
    "qamr": 300,
    "qed": 335,
    "fairytale": 300,
    "manual": 3000,
}
ABSENT = 0.5  # of the questions that a passage answers are asked over another passage as well
HELD = 60  # groups of a source of chains that the dev figure and the blend are measured on
LIKE = 60  # passages among which the one most like the question is taken for such a passage


def main() -> None:
    """Write the examples."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--window", type=int, default=440, help="characters read of a passage")
    parser.add_argument("--share", type=float, default=1.0, help="of the quotas below")
    parser.add_argument("--chains", type=int, default=1000, help="generated questions of each kind")
    parser.add_argument("--repeat", type=int, default=2, help="times that a chain is read")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    rows = [row for path in options.sources for row in read_rows(path)]
    rows = draw_generated(rows, options.chains, rng)
    held = hold_out(rows)
    built = list(build_chains(rows, held, rng, options))
    built += build_single(rows, rng, options)
    rng.shuffle(built)
    sums = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in options.sources}
    with options.into.open("w", encoding="utf-8") as file:
        for row in [{"sources": sums, "seed": options.seed}, *built]:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    counts = {s: sum(r["src"] == s for r in built) for s in sorted({r["src"] for r in built})}
    print(len(built), counts)


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a source."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def draw_generated(rows: Sequence[Row], most: int, rng: random.Random) -> list[Row]:
    """Return the rows, with at most so many questions of each generated kind."""
    kept = [row for row in rows if row["src"] not in GENERATED]
    for src in GENERATED:
        mine = [row for row in rows if row["src"] == src]
        asked = sorted({row["q"] for row in mine})
        drawn = set(rng.sample(asked, min(most, len(asked))))
        kept += [row for row in mine if row["q"] in drawn]
    return kept


def hold_out(rows: Sequence[Row]) -> set[str]:
    """Return the groups of chains on which nothing is trained: the first ones by their hash."""
    groups = sorted(
        {r["group"] for r in rows if r["src"] == "2wiki_train"},
        key=lambda name: hashlib.sha256(name.encode()).digest(),
    )
    return set(groups[:HELD])


def build_chains(
    rows: Sequence[Row], held: set[str], rng: random.Random, options: argparse.Namespace
) -> Iterator[Row]:
    """Yield examples of several steps: each passage behind no bridge, a right one, a wrong one."""
    for row in rows:
        if row["src"] not in CHAINS:
            continue
        right, others = row.get("linked") or [], row.get("prevs") or []
        is_held = row["group"] in held
        bridges = ["", *right] if row["ans"] else [rng.choice(["", *right, *others])]
        if row["ans"] or row["sup"]:
            bridges = [b for b in bridges for _ in range(1 if is_held else options.repeat)]
            if others:
                bridges.append(rng.choice(others))
        for bridge in bridges:
            yield make_example(row, bridge, rng, options.window) | {"held": is_held}


def build_single(rows: Sequence[Row], rng: random.Random, options: argparse.Namespace) -> list[Row]:
    """Return examples of one step, and their questions over passages without the answer."""
    built = []
    for src, most in QUOTA.items():
        mine = [row for row in rows if row["src"] == src]
        passages = sorted({(r["title"], r["ctx"], r["group"]) for r in mine})
        about: dict[str, list[tuple[str, str, str]]] = {}
        for passage in passages:
            about.setdefault(passage[2], []).append(passage)
        for row in rng.sample(mine, min(int(most * options.share), len(mine))):
            built.append(make_example(row, "", rng, options.window))
            if row["ans"] and rng.random() < ABSENT:
                near = about[row["group"]]
                pool = near if len(near) > 1 and rng.random() < 0.6 else passages
                pool = rng.sample(pool, min(LIKE, len(pool)))
                if other := most_alike(row, pool):
                    absent = {"title": other[0], "ctx": other[1], "ans": "", "start": -1}
                    absent |= {"sup": False, "holds": None, "supp": None}
                    built.append(make_example(row | absent, "", rng, options.window))
    return [row | {"held": False} for row in built]


def most_alike(row: Row, pool: Sequence[tuple[str, str, str]]) -> tuple[str, str, str] | None:
    """Return the passage with most words of the question and without its answer."""
    words = set(re.findall(r"\w{3,}", row["q"].lower()))
    pool = [p for p in pool if row["ans"].lower() not in p[1].lower()]
    return max(
        pool, key=lambda p: len(words & set(re.findall(r"\w{3,}", p[1].lower()))), default=None
    )


def make_example(row: Row, bridge: str, rng: random.Random, window: int) -> Row:
    """Return what the reader is shown of a row, and what is true of it."""
    text = row["ctx"]
    statements = find_statements(text, headings=())
    own = [s for s in statements if not s.is_context] or statements
    spans = [(s.start, s.end) for s in own]
    above = [text[slice(*s.above)].strip()[:80] if s.above else "" for s in own]
    answer = (row["start"], row["start"] + len(row["ans"])) if row["ans"] else None
    holding = row.get("holds") or ([answer] if answer else [])
    holds = [any(a < e and s < b for a, b in holding) for s, e in spans]
    supports = find_supports(row, spans, holds)
    first, last = cut_window(spans, holds, rng, window)
    begin = spans[first][0] if spans else 0
    return {
        "src": row["src"],
        "group": row["group"],
        "q": row["q"],
        "bridge": bridge[:BRIDGE],
        "title": row["title"] or "",
        "statements": [text[a:b] for a, b in spans[first:last]],
        "above": above[first:last],
        "holds": [int(h) for h in holds[first:last]],
        "supports": supports[first:last] if supports else None,
        "answer": row["ans"] if begin >= 0 and any(holds[first:last]) else "",
    }


def find_supports(
    row: Row, spans: Sequence[tuple[int, int]], holds: Sequence[bool]
) -> list[int] | None:
    """Return which statements support the answer, None where that is not known."""
    if row.get("supp"):
        return [int(any(a < e and s < b for a, b in row["supp"])) for s, e in spans]
    if not row["sup"]:
        return [0] * len(spans)
    return [1 if h else -1 for h in holds]  # others may: not learned from


def cut_window(
    spans: Sequence[tuple[int, int]], holds: Sequence[bool], rng: random.Random, window: int
) -> tuple[int, int]:
    """Return the range of statements that are read: about one that holds the answer, or any."""
    if not spans or spans[-1][1] - spans[0][0] <= window:
        return 0, len(spans)
    middle = holds.index(True) if True in holds else rng.randrange(len(spans))
    first, last = middle, middle + 1
    while True:
        room = [
            (first - 1, last) if grow < 0 else (first, last + 1)
            for grow in rng.sample((-1, 1), 2)
            if (first > 0 if grow < 0 else last < len(spans))
        ]
        room = [(a, b) for a, b in room if spans[b - 1][1] - spans[a][0] <= window]
        if not room:
            return first, last
        first, last = room[0]


if __name__ == "__main__":
    main()
