"""No command prints a character that nobody sees, whatever documents, names and files hold."""

import json
import re

import click
import pytest

from clew.base.display.visible import has_hidden
from clew.testing import ScriptedLLM
from tests.cli.conftest import with_llm

# Escape sequences, zero width, bidi, a tag, a selector, a filler, a soft hyphen.
HIDDEN = "\x1b\x7f\x9b\u200b\u200d\u200e\u202e\u2066\ufeff\U000e0041\ufe0f\u3164\u00ad"
EVIL = f"Fr{HIDDEN}am"
ARCHER = "Colin\u200b Archer"
NAMED = f"evil\u200b\u202e\U000e0042{'x'}.md"
TEXT = f"""# {EVIL}

{ARCHER} built the {EVIL} for Nan{HIDDEN}sen. {ARCHER} was born in Lar\u200bvik.

## Sec\u202etion{HIDDEN}

Nan\u2060sen and {ARCHER} met in Os\U000e0041lo. [Tag\U000e0041] said: {HIDDEN}.
"""
OWN = re.compile(r"\x1b\[(0|1|2|36)m")  # what the command line itself sets
ASKED = f"Who built the Fr{HIDDEN}am?"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of documents, names and lists that are full of such characters."""
    place = tmp_path_factory.mktemp("evil")
    notes = place / f"no{chr(0x200B)}tes"
    notes.mkdir()
    (notes / NAMED).write_text(TEXT, encoding="utf-8")
    (notes / f"bad{chr(0x202E)}.pdf").write_bytes(b"no pdf")
    line = {"title": EVIL, "text": f"The {EVIL} sank.", "kind": EVIL}
    labels = [f"sh\u200bips{HIDDEN}", "dogs"]
    lines = [{**line, "id": f"r{HIDDEN}{n}", "label": each} for n, each in enumerate(labels)]
    records = "".join(f"{json.dumps(line)}\n" for line in lines)
    (notes / f"rec{chr(0x200B)}.jsonl").write_text(records, encoding="utf-8")
    rows = [
        [f"A{HIDDEN}rk", f"was{HIDDEN} built by", f"No{HIDDEN}ah"],
        ["A rk", "is near", "Ararat"],
    ]
    table = "".join("\t".join(row) + "\n" for row in rows)
    (place / "gr\u200baph.tsv").write_text(f"{table}on\u200be\tcell\n", encoding="utf-8")
    asked = {"id": f"q{HIDDEN}", "question": ASKED, "answers": [EVIL], "type": EVIL}
    data = place / "da\u200bta"
    data.mkdir()
    (data / "corpus.jsonl").write_text(records, encoding="utf-8")
    asked["supporting_ids"] = [f"r{HIDDEN}0"]
    (data / "questions.jsonl").write_text(json.dumps(asked), encoding="utf-8")
    (place / "un\u200bsaid.jsonl").write_text(
        '{"id": "no\\u200bne", "triples": [["a"]]}\n', "utf-8"
    )
    return place


@pytest.fixture
def indexed(clew, folder, tmp_path):
    """Return an index of them, and what making it printed."""
    place = tmp_path / "in\u200bdex.clew"
    made = clew(
        "index", folder / "no\u200btes", "--into", place, "--triples", "cooccurrence", "-vv"
    )
    assert made.exit_code == 3, made.output
    return place, made


def all_of(result):
    return OWN.sub("", result.stdout + result.stderr)


def check_visible(result, *, codes=(0,)):
    assert result.exit_code in codes, result.output
    shown = all_of(result)
    assert not has_hidden(shown), ascii(shown)
    return shown


def saying(text):
    """Return an opener of an index whose LLM says this and the characters."""
    return with_llm(ScriptedLLM(*[f"{text}{HIDDEN}"] * 9))


def commands(folder, place):
    """Return the commands that read, each with its exit statuses."""
    document = f"no\u200btes/{NAMED}"
    methods = ("walk", "dense", "bm25", "clue", "ket", "bubble", "agrag", "pagerank", "hybrid")
    yield from ((["search", ASKED, "--method", name], (0,)) for name in methods)
    yield from ((["ask", ASKED, "--anyway", "--method", name], (0,)) for name in methods)
    yield ["ask", f"What of Qu{HIDDEN}ux is Zy\u200bx?", "--threshold", "1"], (5,)
    yield ["show"], (0,)
    yield ["show", document], (0,)
    yield ["show", f"r{HIDDEN}0"], (0,)
    yield ["show", "Colin"], (0,)
    yield ["show", "--aliases"], (0,)
    yield ["show", f"no{HIDDEN}ne"], (1,)
    yield ["list"], (0,)
    yield ["list", "--where", f"kind = '{HIDDEN}'"], (0,)
    yield ["list", "--where", f"no{HIDDEN}field = 1"], (1,)
    yield ["search", ASKED, "--where", "ki\u200bnd ="], (1,)
    yield ["check"], (0,)
    yield ["remove", document, "--dry-run"], (0,)
    yield ["remove", f"no{HIDDEN}ne"], (1,)
    yield ["merge", "Colin", f"no{HIDDEN}ne"], (1,)
    yield ["export", folder / f"g{HIDDEN[3:]}.tsv"], (0,)
    yield ["export", folder / f"g{HIDDEN[3:]}.none"], (1,)
    yield ["import-triples", folder / "un\u200bsaid.jsonl"], (3,)
    yield ["search", ASKED, "--method", f"no{HIDDEN}ne"], (1, 2)
    yield ["search", ASKED, "--param", f"no{HIDDEN}ne=1"], (1, 2)
    yield ["list", "--sort", f"no{HIDDEN}ne"], (2,)


@pytest.mark.satellite
def test_no_command_prints_what_nobody_sees(clew, folder, indexed):
    place, made = indexed
    assert not has_hidden(all_of(made))
    escapes = 0
    for arguments, codes in commands(folder, place):
        shown = check_visible(clew(*arguments, "--index", place, "-vv", color=True), codes=codes)
        escapes += "<U+" in shown
    assert escapes >= 30
    place, _ = indexed
    shown = clew("search", "Archer", "--index", place, color=True).stdout
    assert click.style("Archer", bold=True) in shown


@pytest.mark.satellite
def test_nor_does_a_command_that_makes_or_measures(clew, folder, indexed, tmp_path):
    """Progress, summaries, logs, plans, imports, evaluations, settings, and what an LLM says."""
    place, _ = indexed
    graph = tmp_path / "g\u200braph.clew"
    check_visible(clew("import", folder / "gr\u200baph.tsv", "--into", graph, "-vv"), codes=(3,))
    check_visible(clew("ask", f"Who built the A{HIDDEN}rk?", "--index", graph))
    check_visible(clew("search", "Ark", "--index", graph, "--method", "paths"))
    check_visible(
        clew("ask", ASKED, "--index", place, "--anyway", obj=saying("ANSWER: Mal\u200blory"))
    )
    check_visible(clew("plan", folder / "no\u200btes", "--into", place))
    evaluated = ["eval", folder / "da\u200bta", "--methods", "bm25,dense"]
    check_visible(clew(*evaluated, "--runs", tmp_path / "ru\u200bns"))
    check_visible(clew("eval", "compare", tmp_path / "ru\u200bns"))
    check_visible(clew("search", ASKED, "--index", place, "-vv"))
    (tmp_path / "clew.toml").write_text(
        '[search]\nmethod = "no\u200bne"\n[list]\nsort = "x\u200by"\n', encoding="utf-8"
    )
    check_visible(clew("config"), codes=(0,))
    check_visible(clew("list", "--index", place), codes=(1, 2))


@pytest.mark.satellite
def test_json_and_files_have_escapes(clew, indexed, tmp_path):
    """JSON escapes by its own rules, and gives the characters back; GraphML and tables by ours."""
    place, _ = indexed
    result = clew("ask", ASKED, "--anyway", "--index", place, "--json")
    assert not re.search("[^\n -~]", result.stdout)
    assert HIDDEN[1] in json.loads(result.stdout)["question"]
    for name in ("g.graphml", "g.tsv", "g.json", "g.jsonl"):
        assert clew("export", name, "--index", place).exit_code == 0
        assert not has_hidden((tmp_path / name).read_text(encoding="utf-8"))
    assert clew("export", "raw.graphml", "--raw", "--index", place).exit_code == 0
    assert has_hidden((tmp_path / "raw.graphml").read_text(encoding="utf-8"))
