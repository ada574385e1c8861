"""Add to examples those that a context without the answer would give the reader.

    python tools/reader/rivals.py SOURCE... --examples FILE --into FILE [--seed 0]

The SOURCES are those of `examples.py`, and FILE is what that made of them. A context of a question
has the statements that hold its answer, those that lead to it, others of its passages, the
statements of all passages most like it by Clew's embedder, and some that answer another question
like it. In `ABSENT` of the contexts the passages with the answer are left out: what is left is
about the question, and nothing answers it. Of each context of a question of several steps one
passage without the answer is read behind the right statement or none, and of half of those that
have it one with the answer; one of eight of these is read behind a wrong statement as well.

The result has `TAKEN` of them, marked "own", beside the examples of FILE, of which half of those of
one step are left out. The same sources give the same bytes. The vectors are kept as FILE.npz.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.models.minilm import MiniLM
from clew.text.statements import find_statements
from examples import BRIDGE, CHAINS, draw_generated, hold_out, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Row = dict[str, Any]
    Floats = NDArray[np.float32]
    Labels = tuple[int | None, int | None]

# Questions at most of each source that is not about chains.
QUOTA = {
    "squad2": 8000,
    "shift_new_wiki": 4000,
    "nq": 2655,
    "selqa": 2375,
    "tatqa": 338,
    "policyqa": 400,
    "covidqa": 1240,
    "qamr": 500,
    "qed": 335,
    "fairytale": 1000,
    "manual": 1800,
}
# Contexts of each question of a source, those without the answer among them.
TIMES = {"2wiki_train": 12, "hotpot_train": 12, "generated_chain": 3, "composed": 4}
ABSENT = 0.4
TAKEN, BEHIND = 12_000, 0.75  # examples; the share that is read behind a right statement
HALVED = {"squad2", "shift_new_wiki", "nq", "selqa", "covidqa", "qamr", "fairytale", "qed"}
FEWEST, MOST = 5, 10  # statements of a context
NEAR = 48  # statements of all passages among which those of a context are
NOISE, OWN = 0.06, 0.08  # of the cosines; what those of the question's passages have more
ALIKE, RIVALS = 30, 3  # questions alike; statements that answer one of them, in a context


@dataclass(frozen=True)
class Pool:
    """The statements of all passages."""

    titles: list[str]
    texts: list[str]
    above: list[str]
    passages: list[int]
    spans: list[tuple[int, int]]
    of_passage: dict[tuple[str, str], list[int]]
    lowered: list[str]


def main() -> None:
    """Write the contexts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    contexts = build_contexts(options)
    rng = random.Random(0)
    pairs = [pair for row in contexts for pair in make_pairs(row, rng)]
    rng.shuffle(pairs)
    first, *lines = options.examples.read_text(encoding="utf-8").splitlines()
    kept = [line for line in lines if is_kept(json.loads(line), rng)]
    own = [json.dumps(row, ensure_ascii=False) for row in pairs[:TAKEN]]
    options.into.write_text("\n".join([first, *kept, *own]) + "\n", encoding="utf-8")
    print(len(kept), "of", len(lines), "examples, and", len(own), "of", len(pairs), "own")


def is_kept(row: Row, rng: random.Random) -> bool:
    """Return whether an example stays: half of those of one step do."""
    return row["held"] or row["src"] not in HALVED or rng.random() < 0.5


def build_contexts(options: argparse.Namespace) -> list[Row]:
    """Return the contexts of all questions, in an order drawn at random."""
    rng = random.Random(options.seed)
    rows = draw_generated([r for p in options.sources for r in read_rows(p)], 5000, rng)
    held = hold_out(rows)
    pool = read_pool(rows)
    asked = draw_questions(rows, rng)
    statements, questions = embed(pool, [q for _, q in asked], options.into.with_suffix(".npz"))
    labelled = [find_labels(own, pool) for own in asked.values()]
    near = find_near(questions, statements, NEAR)
    alike = find_near(questions, questions, ALIKE)
    built = []
    for number, (own, cosines, others) in enumerate(zip(asked.values(), near, alike, strict=True)):
        is_held = own[0]["group"] in held
        labels, gone = labelled[number]
        mine = sorted(labels)
        cosines |= dict(zip(mine, (statements[mine] @ questions[number]).tolist(), strict=True))
        rivals = {i for n in others for i, (holds, _) in labelled[n][0].items() if holds == 1}
        rivals -= set(labels)
        cosines |= {i: float(statements[i] @ questions[number]) for i in sorted(rivals)}
        for absent in plan(own, rng, is_held=is_held):
            drawn = rng.sample(sorted(rivals), min(rng.randint(0, RIVALS), len(rivals)))
            raised = dict.fromkeys(drawn, 0.5) | dict.fromkeys(mine, OWN)
            likeness = {i: each + raised.get(i, 0.0) for i, each in cosines.items()}
            made = make_context(own, pool, likeness, labels, gone if absent else set(), rng)
            built += [row | {"held": is_held} for row in made]
    rng.shuffle(built)
    return built


def make_pairs(row: Row, rng: random.Random) -> Iterator[Row]:
    """Yield the examples of a context: a bridge and a passage each."""
    if row["held"] or row["src"] not in CHAINS:
        return
    passages = row["passages"]
    stated = [s for p in passages for s in p["statements"]]
    leads = [s[0] for s in stated if s[3] == 1 and s[2] == 0]
    bridge = rng.choice(leads) if leads and rng.random() < BEHIND else ""
    gold = [p for p in passages if any(s[2] == 1 for s in p["statements"])]
    rest = [p for p in passages if p not in gold]
    if gold and rng.random() < 0.5:
        yield from make_pair(row, rng.choice(gold), bridge)
    for passage in rng.sample(rest, min(1, len(rest))):
        yield from make_pair(row, passage, bridge)
    if gold and rest and rng.random() < 0.4:
        wrong = rng.choice(rest)["statements"][0][0]
        if rng.random() < 0.3:
            yield from make_pair(row, rng.choice(gold), wrong)


def make_pair(row: Row, passage: Row, bridge: str) -> Iterator[Row]:
    """Yield an example as of `examples.py`, if the passage has statements to read."""
    read = [s for s in passage["statements"] if s[2] is not None and s[0] != bridge][:3]
    if not read:
        return
    texts, above, holds, leads = map(list, zip(*read, strict=True))
    yield {
        "src": row["src"],
        "group": row["group"],
        "q": row["q"],
        "bridge": bridge[:BRIDGE],
        "title": passage["title"],
        "statements": texts,
        "above": above,
        "holds": holds,
        "supports": [-1 if each is None else each for each in leads],
        "answer": row["answer"] if any(holds) else "",
        "held": False,
        "own": True,
    }


def read_pool(rows: Sequence[Row]) -> Pool:
    """Return the statements of all passages."""
    pool = Pool([], [], [], [], [], {}, [])
    for row in rows:
        key = (row["title"] or "", row["ctx"])
        if key in pool.of_passage:
            continue
        text, pool.of_passage[key] = row["ctx"], []
        statements = find_statements(text, headings=())
        for each in [s for s in statements if not s.is_context] or statements:
            pool.of_passage[key].append(len(pool.texts))
            pool.titles.append(key[0])
            pool.texts.append(text[each.start : each.end])
            above = text[slice(*each.above)].strip() if each.above else ""
            pool.above.append(above.rpartition("\n")[2][:80])
            pool.passages.append(len(pool.of_passage) - 1)
            pool.spans.append((each.start, each.end))
            pool.lowered.append(pool.texts[-1].lower())
    return pool


def draw_questions(rows: Sequence[Row], rng: random.Random) -> dict[tuple[str, str], list[Row]]:
    """Return the rows of each question that is used, by source and question."""
    asked: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        asked.setdefault((row["src"], row["q"]), []).append(row)
    used = [key for key in asked if key[0] in CHAINS]
    for src, most in QUOTA.items():
        mine = [key for key in asked if key[0] == src]
        used += rng.sample(mine, min(most, len(mine)))
    return {key: asked[key] for key in used}


def embed(pool: Pool, questions: Sequence[str], path: Path) -> tuple[Floats, Floats]:
    """Return the vectors of statements below their titles and of questions, kept in a file."""
    texts = [f"{t}. {s}" if t else s for t, s in zip(pool.titles, pool.texts, strict=True)]
    digest = hashlib.sha256("\0".join([*texts, *questions]).encode()).hexdigest()
    if path.exists():
        kept = np.load(path)
        if kept["digest"] == digest:
            return kept["statements"], kept["questions"]
    model = MiniLM(threads=1)
    found = [model.embed([t[:300] for t in each], kind="passage") for each in (texts, questions)]
    statements, asked = (each.astype(np.float32) for each in found)
    np.savez(path, digest=digest, statements=statements, questions=asked)
    return statements, asked


def find_near(questions: Floats, others: Floats, most: int) -> Iterator[dict[int, float]]:
    """Yield the rows of the vectors most like each question, with their cosines."""
    for at in range(0, len(questions), 128):
        for row in questions[at : at + 128] @ others.T:
            best = np.sort(np.argpartition(-row, most)[:most])
            yield dict(zip(best.tolist(), row[best].tolist(), strict=True))


def plan(own: Sequence[Row], rng: random.Random, *, is_held: bool) -> list[bool]:
    """Return for each context of a question whether the answer is left out."""
    if not any(row["ans"] for row in own):
        return [True]
    if is_held:
        return [False, False, True, True]
    return [rng.random() < ABSENT for _ in range(TIMES.get(own[0]["src"], 1))]


def make_context(
    own: Sequence[Row],
    pool: Pool,
    likeness: Mapping[int, float],
    labels: Mapping[int, Labels],
    gone: set[int],
    rng: random.Random,
) -> Iterator[Row]:
    """Yield a context without the passages that are `gone`, unless nothing is left for it."""
    answers = {r["ans"].lower() for r in own if r["ans"] and not r["ans"].startswith("@")}
    named = [re.compile(rf"(?<!\w){re.escape(a)}(?!\w)") for a in answers]

    def is_told(i: int) -> bool:
        return any(n.search(pool.lowered[i]) for n in named)

    rows = sorted(likeness)
    if gone:
        rows = [i for i in rows if pool.passages[i] not in gone and not is_told(i)]
    scores = {i: likeness[i] + rng.gauss(0, NOISE) for i in rows}
    for i in rows:
        holds, leads = labels.get(i, (0, 0))
        if holds == 1 or (leads == 1 and rng.random() < 0.9):
            scores[i] += 9.0
    size = rng.randint(FEWEST, MOST)
    chosen = sorted(sorted(scores, key=lambda i: (-scores[i], i))[:size])
    passages: dict[int, Row] = {}
    for i in chosen:
        holds, leads = labels.get(i, (0, 0))
        if not holds and is_told(i):
            holds, leads = None, None
        passage = passages.setdefault(pool.passages[i], {"title": pool.titles[i], "statements": []})
        passage["statements"].append([pool.texts[i], pool.above[i], holds, leads])
    if len(chosen) < 3:
        return
    listed = list(passages.values())
    rng.shuffle(listed)
    has = any(s[2] for p in listed for s in p["statements"])
    answer = next((r["ans"] for r in own if r["ans"]), "") if has else ""
    yield {k: own[0][k] for k in ("src", "group", "q")} | {
        "passages": listed,
        "has": has,
        "answer": answer,
    }


def find_labels(own: Sequence[Row], pool: Pool) -> tuple[dict[int, Labels], set[int]]:
    """Return (holds, leads) of the statements of a question's passages, and those that answer."""
    labels: dict[int, Labels] = {}
    gone = set()
    linked = {text for row in own for text in row.get("linked") or []}
    is_chain = own[0]["src"] in CHAINS
    for row in own:
        rows = pool.of_passage[row["title"] or "", row["ctx"]]
        answer = [(row["start"], row["start"] + len(row["ans"]))] if row["ans"] else []
        holding = (row.get("holds") or answer) if row["ans"] else []
        for i in rows:
            s, e = pool.spans[i]
            holds = int(any(a < e and s < b for a, b in holding))
            leads: int | None = int(any(a < e and s < b for a, b in row.get("supp") or []))
            if not row.get("supp") and row["sup"]:
                leads = 1 if holds else None
            if is_chain and pool.texts[i] in linked:
                leads = 1
            before = labels.get(i, (0, 0))
            labels[i] = (holds or before[0], 1 if 1 in {leads, before[1]} else leads)
        if holding:
            gone.add(pool.passages[rows[0]])
    return labels, gone


if __name__ == "__main__":
    main()
