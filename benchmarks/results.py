"""Measure the methods and keep the numbers of the documentation: `make results DATA="DIR..."`.

    python -m benchmarks.results [DATASET...] [--indexes FOLDER] [--runs FOLDER] [--limit N]
                                 [--answers LLM] [--answered N] [--only PART,...]

`examples` is always measured; every further DATASET is a folder that `clew eval` takes. One with
`triples.jsonl` is measured with these triples too, one with `peers.jsonl` beside the systems that
are recorded there. Indexes and runs are kept in their folders, so that a second run goes on where
the first one ended, and asks nothing twice. Retrieval runs with the default models: no LLM, no key,
zero tokens; `--answers local:FILE.gguf` also answers, by a small LLM.

Every table between marks in docs/results/*.md and README.md, and every marked number in their
prose, is written anew and compared with what stood there: ok, near or off (see `marks`). Scores
repeat to the digit; seconds depend on the machine.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click

import clew
from benchmarks import papers, tables
from benchmarks.ablations import ABLATIONS, SENSITIVITY
from benchmarks.figures import draw_ablations, draw_ranking, draw_sensitivity
from benchmarks.marks import Compared, Table, fill
from clew.cli.progress import show_count
from clew.evaluate import Dataset, Report, Scoring, Setting, load
from clew.extras.evaluate.measure import Protocol, measure
from clew.extras.evaluate.published import add_published, read_published
from clew.extras.evaluate.summary import Estimate

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
PAGES = (*sorted(RESULTS.glob("*.md")), ROOT / "README.md")
FIGURES = RESULTS / "figures"

METHODS = ("dense", "bm25", "hybrid", "pagerank", "clue", "ket", "bubble", "agrag", "auto", "walk")
# As their papers have them.
PRINTED = (
    *("clue_paper", "ket_rag_p", "agrag_paper"),
    *("hipporag", "hipporag2", "linearrag", "e2graphrag", "raptor_extractive", "lightrag"),
)
# What KET-RAG's paper compares with, on the questions that it was measured on.
COMPARED = {
    "musique_ketrag500": (
        "text_rag",
        "knng_rag",
        "kg_rag",
        "hybrid_rag",
        "keyword_rag",
        "skeleton_rag",
        "ket_rag_u",
    )
}
TRIPLES, PEERS = "triples.jsonl", "peers.jsonl"
COOCCURRENCE, RECORDED = "co-occurrence", "recorded"
# Only the passages around these questions have recorded triples, or lists of other systems.
SPLITS = {"2wiki_rkendev500": "test"}
ABLATED = ("musique_train100", "2wiki_rkendev500")
# A small LLM on a processor reads some 30 tokens a second, so contexts and answers are short.
SHORT = Scoring(context_tokens=300, answer_tokens=48)
ANSWERED = {"hotpotqa_train100": COOCCURRENCE, "musique_train100": RECORDED}  # by which triples
N_ANSWERED = 50  # their first questions
N_PRINTED = 100  # the first questions, for papers' tables
HELD_OUT = ("2wiki_rkendev500", "musique_ketrag500")  # which no default was chosen on
PARTS = ("retrieval", "ablations", "sensitivity", "answers", "peers", "papers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is to be measured, and where indexes and runs are kept."""

    indexes: Path
    runs: Path
    limit: int | None
    answers: str | None  # the spec of an LLM
    answered: int | None  # questions, at most, that it answers
    parts: frozenset[str]


def main() -> None:
    """Measure every dataset, and keep the pages after each."""
    options, folders = _options()
    before = {page: page.read_text(encoding="utf-8") for page in PAGES}
    reports: dict[str, Report] = {}
    compared: list[Compared] = []
    cells: papers.Cells = {}
    for folder in (ROOT / "examples", *folders):
        reports |= measured(folder, options)
        cells |= measure_papers(folder, options)
        compared = keep(before, page_tables(reports) | papers.page_tables(cells))
        draw(reports)
    say(compared)


def _options() -> tuple[Options, list[Path]]:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", type=Path, nargs="*")
    parser.add_argument("--indexes", type=Path, default=ROOT / "results.clew")
    parser.add_argument("--runs", type=Path, default=ROOT / "results.runs")
    parser.add_argument("--limit", type=int, help="ask only the first N questions")
    parser.add_argument("--answers", metavar="LLM", help="also answer, by this LLM")
    parser.add_argument("--answered", type=int, help="questions that it answers, at most")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, such as retrieval,peers")
    given = parser.parse_args()
    parts = frozenset(given.only.split(","))
    if parts - set(PARTS):
        parser.error(f"--only takes parts of {', '.join(PARTS)}")
    options = Options(
        indexes=given.indexes,
        runs=given.runs,
        limit=given.limit,
        answers=given.answers,
        answered=given.answered,
        parts=parts,
    )
    return options, given.datasets


def measured(folder: Path, options: Options) -> dict[str, Report]:
    """Return the reports of a dataset, named "DATASET, TRIPLES, PART"."""
    dataset = load(folder, limit=options.limit)
    reports: dict[str, Report] = {}
    for triples in (COOCCURRENCE, *([RECORDED] if (folder / TRIPLES).exists() else [])):
        suffix = "" if triples == COOCCURRENCE else f".{triples}"
        with clew.open(options.indexes / f"{dataset.name}{suffix}") as index:
            build(index, dataset, folder / TRIPLES if triples == RECORDED else None)
            for part, asked, protocol in asks(folder, dataset, triples, options):
                name = f"{dataset.name}, {triples}, {part}"
                click.echo(f"{name}: {len(asked.questions)} questions", err=True)
                with show_count("asking") as progress:
                    reports[name] = measure(
                        index,
                        asked,
                        protocol,
                        folder=options.runs / name.replace(", ", "."),
                        on_progress=progress,
                    )
    if (folder / PEERS).exists() and "peers" in options.parts:
        reports |= _beside_peers(folder, reports, options)
    return reports


def measure_papers(folder: Path, options: Options) -> papers.Cells:
    """Return what the rows of papers' tables give on a dataset, with an LLM's triples if it has."""
    if "papers" not in options.parts or folder.name not in papers.MEASURED:
        return {}
    recorded = folder / TRIPLES if (folder / TRIPLES).exists() else None
    limit = min(N_PRINTED, options.limit or N_PRINTED)
    corpus = None
    if recorded and folder.name in SPLITS:  # a paper has triples of all passages
        corpus = _write_extracted(folder, options.indexes / f"{folder.name}.extracted")
    dataset = replace(
        load(folder, corpus=corpus, split=SPLITS.get(folder.name), limit=limit), name=folder.name
    )
    return papers.measure(dataset, options.indexes / "papers", recorded)


def _write_extracted(folder: Path, place: Path) -> Path:
    """Write the passages that have recorded triples to a folder, and return it."""
    lines = (folder / TRIPLES).read_bytes().splitlines()
    extracted = {json.loads(line)["passage_id"] for line in lines}
    lines = (folder / "corpus.jsonl").read_bytes().splitlines(keepends=True)
    place.mkdir(parents=True, exist_ok=True)
    kept = (line for line in lines if json.loads(line)["id"] in extracted)
    (place / "corpus.jsonl").write_bytes(b"".join(kept))
    return place


def build(index: clew.Index, dataset: Dataset, recorded: Path | None) -> None:
    """Bring the index of a corpus up to date, with co-occurrence or recorded triples."""
    index.add(dataset.corpus, triples=None if recorded else "cooccurrence")
    if recorded and not len(index.snapshot().layer("triple")):
        index.import_triples(recorded)


def asks(
    folder: Path, dataset: Dataset, triples: str, options: Options
) -> Iterator[tuple[str, Dataset, Protocol]]:
    """Yield what is asked of one index: the part, its questions, its protocol."""
    split = SPLITS.get(dataset.name) if triples == RECORDED else None
    chosen = load(folder, split=split, limit=options.limit) if split else dataset
    if "retrieval" in options.parts:
        labels = (*METHODS, *PRINTED, *COMPARED.get(dataset.name, ()))
        yield "retrieval", chosen, Protocol(settings=tuple(map(Setting, labels)))
    if triples == RECORDED and dataset.name in ABLATED:
        if "ablations" in options.parts:
            settings = (setting for named in ABLATIONS.values() for _, setting in named)
            yield "ablations", chosen, Protocol(settings=tuple(settings))
        if "sensitivity" in options.parts:
            settings = (setting for figure in SENSITIVITY.values() for setting in figure)
            yield "sensitivity", chosen, Protocol(settings=tuple(settings))
    if options.answers and "answers" in options.parts and triples == ANSWERED.get(dataset.name):
        settings = tuple(map(Setting, (*METHODS, "zero_shot")))
        protocol = Protocol(
            settings=settings, scoring=SHORT, answers=True, answer_llm=options.answers
        )
        yield (
            "answers",
            load(folder, limit=min(N_ANSWERED, options.answered or N_ANSWERED)),
            protocol,
        )


def _beside_peers(
    folder: Path, reports: Mapping[str, Report], options: Options
) -> dict[str, Report]:
    """Return the report over the questions that other systems were recorded on, with these."""
    split = SPLITS.get(folder.name)
    name = f"{folder.name}, {RECORDED if (folder / TRIPLES).exists() else COOCCURRENCE}"
    ours = reports.get(f"{name}, retrieval")
    if ours is None:
        return {}
    asked = load(folder, split=split, limit=options.limit)
    peers = read_published([folder / PEERS], asked, ours.scoring.ks)
    return {f"{name}, peers": add_published(_only(ours, METHODS), peers)}


def _only(report: Report, labels: Sequence[str]) -> Report:
    """Return the report of some of its settings."""
    return replace(
        report,
        settings=tuple(s for s in report.settings if s.label in labels),
        rows=tuple(row for row in report.rows if row.label in labels),
    )


def page_tables(reports: Mapping[str, Report]) -> dict[str, Table]:
    """Return every table that these reports give, by the name of its mark."""
    found: dict[str, Table] = {}
    for name, report in reports.items():
        part = name.rsplit(", ", 1)[-1]
        if part == "retrieval":
            found[name] = tables.quality(report, _changed_by_triples(name, reports))
            if COOCCURRENCE in name and (by_type := tables.by_type(report, METHODS)):
                found[f"{name}, by type"] = by_type
        if part == "peers":
            labels = {setting.label for setting in report.settings}
            found[name] = tables.quality(report, labels - set(METHODS))
        if part == "answers":
            found[name] = tables.answers(report)
    retrieval = _of_part(reports, "retrieval")
    ablated = {name.split(",")[0]: each for name, each in _of_part(reports, "ablations").items()}
    for paper, named in ABLATIONS.items() if len(ablated) == len(ABLATED) else ():
        labels = [(ablation, setting.label) for ablation, setting in named]
        found[f"ablations, {paper}"] = tables.ablations(labels, ablated)
    varied = {name.split(",")[0]: each for name, each in _of_part(reports, "sensitivity").items()}
    if len(varied) == len(ABLATED):
        found["sensitivity"] = tables.sensitivity(_figures(), varied)
    for metric in ("recall@5", "evidence"):
        found[metric] = tables.matrix(retrieval, METHODS, metric)
    held_out = {
        name: retrieval[f"{name}, {COOCCURRENCE}"]
        for name in HELD_OUT
        if f"{name}, {COOCCURRENCE}" in retrieval
    }
    if len(held_out) == len(HELD_OUT):
        found["ranking"] = tables.ranking(held_out, (*METHODS, *PRINTED))
    found["cost of indexing"] = tables.index_costs(retrieval)
    return found


def _changed_by_triples(name: str, reports: Mapping[str, Report]) -> set[str]:
    """Return the labels of a report, less those that score the same with co-occurrence triples.

    These have their row in the table of that report, which is on the same page.
    """
    report = reports[name]
    other = reports.get(name.replace(RECORDED, COOCCURRENCE)) if RECORDED in name else None
    same: dict[str, Mapping[str, Estimate]] = {}
    if other is not None and other.dataset.n_questions == report.dataset.n_questions:
        same = {each.label: each.estimates for each in other.summaries}
    return {each.label for each in report.summaries if same.get(each.label) != each.estimates}


def _of_part(reports: Mapping[str, Report], part: str) -> dict[str, Report]:
    """Return the reports of one part, by dataset and triples."""
    ending = f", {part}"
    return {n.removesuffix(ending): each for n, each in reports.items() if n.endswith(ending)}


def _figures() -> dict[str, list[tuple[str, str]]]:
    """Return each sensitivity figure's values and the labels of their settings."""
    return {
        figure: [(str(list(s.parameters.values())[-1]), s.label) for s in settings]
        for figure, settings in SENSITIVITY.items()
    }


def keep(before: Mapping[Path, str], found: Mapping[str, Table]) -> list[Compared]:
    """Fill the pages with these tables; return how the numbers compare with those of before."""
    compared: list[Compared] = []
    for page, text in before.items():
        filled, _ = fill(page.read_text(encoding="utf-8"), found)
        page.write_text(filled, encoding="utf-8")
        compared += fill(text, found)[1]
    return compared


def say(compared: Sequence[Compared]) -> None:
    """Print a line for each number, and how many are what."""
    for place, was, now, verdict in compared:
        click.echo(f"{verdict:4}  {place}: {now}{'' if was in ('', now) else f', was {was}'}")
    counts = Counter(each.verdict for each in compared)
    click.echo(
        ", ".join(f"{counts[verdict]} {verdict}" for verdict in ("ok", "near", "off", "new"))
    )


def draw(reports: Mapping[str, Report]) -> None:
    """Draw ablations, sensitivity and the ranking, where their data sets were measured."""
    FIGURES.mkdir(exist_ok=True)
    ablated = _recalls(reports, "ablations")
    groups = {
        f"{paper}, {dataset}": [(name, of[setting.label]) for name, setting in named]
        for paper, named in ABLATIONS.items()
        for dataset, of in ablated.items()
    }
    if len(ablated) == len(ABLATED):
        draw_ablations(groups, "recall@5", FIGURES / "ablations.svg")
    varied = _recalls(reports, "sensitivity")
    curves = {
        figure: {
            dataset: [(list(s.parameters.values())[-1], of[s.label]) for s in settings]
            for dataset, of in varied.items()
        }
        for figure, settings in SENSITIVITY.items()
    }
    if len(varied) == len(ABLATED):
        draw_sensitivity(curves, "recall@5", FIGURES / "sensitivity.svg")
    first = _of_part(reports, "retrieval").get(f"{HELD_OUT[0]}, {COOCCURRENCE}")
    if first is not None:
        draw_ranking(first, (*METHODS, *PRINTED), FIGURES / "ranking.svg")


def _recalls(reports: Mapping[str, Report], part: str) -> dict[str, dict[str, Estimate]]:
    """Return recall@5 by dataset and setting, of the reports of one part."""
    return {
        name.split(",")[0]: {s.label: s.estimates["recall@5"] for s in report.summaries}
        for name, report in _of_part(reports, part).items()
    }


if __name__ == "__main__":
    main()
