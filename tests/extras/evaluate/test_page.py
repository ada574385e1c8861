"""A report as a page: what it says, that it is safe, and that it needs nothing beside it."""

import re
import sys
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from selectolax.lexbor import LexborHTMLParser

import clew.extras.evaluate.figures
from clew.base.display.visible import visible
from clew.base.types import Usage
from clew.errors import InputError
from clew.evaluate import Setting, grid
from clew.extras.evaluate.figures.report_figures import pictures
from clew.extras.evaluate.page import check_page, format_section, to_markdown, write
from clew.extras.evaluate.published import add_published
from tests.extras.evaluate.reports import about, report, rows, simple

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
HOSTILE = [
    "<script>alert(1)</script>",
    "a|b",
    "`code` ``",
    "two\nlines\r\x1b[2J",
    "\u202eright to left",
    "שלום",
    "](http://example.org) [x]: y",
    "**bold** _this_ __that__ ~~no~~ $x$",
    '"><img src=x onerror=alert(1)>',
    "&lt;b&gt; &#60;",
    "1. one",
    "# head",
    "_hidden",
    "x" * 300,
    " ",
]
CSS = re.compile(r"url\((?!#)|@import|expression\(")


def tables(html):
    """Return the cells of each table of a page."""
    return [
        [[cell.text() for cell in row.css("th, td")] for row in table.css("tr")]
        for table in LexborHTMLParser(html).css("table")
    ]


def cells_of(html):
    return {cell for table in tables(html) for row in table for cell in row}


def to_html(shown, drawn=()):
    """Return the page as its Markdown renders."""
    return MARKDOWN.render(to_markdown(shown, drawn))


def test_every_number_of_the_headline_stands_in_the_tables():
    """Means, intervals, numbers of questions, differences, tests and costs, as in the JSON."""
    shown = simple("dense", "bm25", "clue")
    data = shown.to_json()
    for html in [to_html(shown)]:
        cells = cells_of(html)
        for found in data["methods"].values():
            metric = found["metrics"][data["headline"]]
            assert f"{metric['mean']:.3f}" in cells
            assert f"[{metric['low']:.3f}, {metric['high']:.3f}]" in cells
            assert f"over {metric['n']} questions" in html
            for test in found["against_first"].values():
                assert f"{test['difference']:+.3f}" in cells
                assert f"[{test['low']:.3f}, {test['high']:.3f}]" in cells
                assert f"{test['p_value']:.4f}" in cells
            assert f"{found['search']['p95_s']:.3f}" in cells


def test_a_difference_is_told_apart_in_words():
    """Not by colour: the cell says whether p is below .05, and which way."""
    scores = [{"recall@5": float(n % 10 == 0)} for n in range(40)]
    better = [{"recall@5": 1.0}] * 40
    labels = [Setting("dense"), Setting("clue"), Setting("same")]
    made = report(labels, [rows("dense", scores), rows("clue", better), rows("same", scores)])
    [test] = [table for table in tables(to_html(made)) if "p < .05" in table[0]]
    assert [row[-1] for row in test] == ["p < .05", "yes, higher", "no"]
    worse = report(labels[1::-1], [rows("clue", better), rows("dense", scores)])
    [test] = [table for table in tables(to_html(worse)) if "p < .05" in table[0]]
    assert test[1][-1] == "yes, lower"


def test_what_another_must_know_stands_at_the_beginning():
    """Counts, budgets, seed, models and versions; then what the means leave out."""
    made = simple("dense", models={"embedder": "minilm"}, versions={"clew": "0.1.0"})
    left = {"n_without_gold": 3, "left_out": {"not answerable": 5}}
    made = replace(made, dataset=about(4, format="musique", **left))
    for html in [to_html(made)]:
        text = LexborHTMLParser(html).text()
        assert "capitals: 4 questions over 7 documents, asked of 1 setting." in text
        assert "questions without supporting ids, not in the ranking: 3" in text
        assert "questions of the file that are left out, not answerable: 5" in text
        facts = {row[0]: row[1] for row in tables(html)[0]}
        assert facts["model, embedder"] == "minilm"
        assert facts["version, clew"] == "0.1.0"
        assert facts["format of the files"] == "musique"
        assert facts["tokens of a context, at most"] == "4,000"
        assert facts["digest of the questions"] == "0123456789abcdef"


def test_headings_are_in_the_order_of_reading():
    """What is measured, what was found, what it cost; a section without content is not there."""
    parsed = LexborHTMLParser(to_html(simple("dense", "clue")))
    heads = [head.text() for head in parsed.css("h2")]
    assert "; ".join(heads) == (
        "What was measured; Ranking; Contexts and answers; Against the first setting;"
        " By type of question; By number of hops; Cost of a question; Cost of indexing;"
        " How to read it"
    )
    text = to_markdown(simple("dense"))
    assert text.startswith("# Methods on capitals\n\n## What was measured\n")


def test_a_peer_and_what_all_failed_have_no_cost():
    """Its cells are "-", metrics it lacks too, figures leave it out, and a note says so."""
    peer = rows("LightRAG", [{"recall@5": 0.5}] * 4, usage=None, context_tokens=None)
    made = add_published(simple("dense", "clue"), {"LightRAG": peer})
    figures = pictures(made)
    html = to_html(made, figures)
    [spent] = [table for table in tables(html) if table[0][0] == "search, a question"]
    assert spent[-1] == ["LightRAG", *["-"] * 8]
    [ranking, *_] = [table for table in tables(html) if "recall@2" in table[0]]
    assert ranking[-1][:3] == ["LightRAG", "-", "0.500"]
    assert "no cost is known of: LightRAG" in html
    drawn = {picture.name: picture.svg for picture in figures}
    assert "LightRAG" in drawn["recall-5-bars"]
    assert "LightRAG" not in drawn["recall-5-context"]
    assert "LightRAG" not in drawn["recall-5-seconds"]
    zeros = [{"recall@5": 0.0}] * 3
    failed = [
        rows(label, zeros, usage=None, context_tokens=None, error="EndpointError: <b>no</b>")
        for label in ("one", "two")
    ]
    made = report([Setting("one"), Setting("two")], failed)
    for html in (to_html(made), to_html(made, pictures(made))):
        text = LexborHTMLParser(html).text()
        assert "one failed in 3 of 3 searches, scored 0; first: EndpointError: <b>no</b>" in text
        assert "no cost is known" not in text
    made = report([Setting("dense")], [rows("dense", [{}, {}])])
    assert "Ranking" not in to_markdown(made)
    assert "Cost of a question" in to_html(made, pictures(made))


def test_what_the_page_says_of_verdicts_and_costs():
    scores = [{"recall@5": 1.0, "judge": 1.0}, {"recall@5": 1.0}, {"recall@5": 0.5}]
    made = rows("clue", scores, judge_usage=Usage(seconds={"llm": 2.0}, llm_calls=1))
    made[1:] = [replace(row, unparsable=("judge",)) for row in made[1:]]
    for html in [to_html(report([Setting("clue")], [made]))]:
        assert "clue: replies of the judge that could not be read, judge: 2" in html
        assert "Means are over 1 question." in html
        [spent] = [table for table in tables(html) if table[0][0] == "judge, a question"]
        assert spent[1][1] == "2.000"
    made = simple("dense", "clue")
    assert "What indexing cost is not known." in to_html(made)
    html = to_html(replace(made, index_cost={"tokens": 1234, "seconds": 5.5}))
    assert [["index", "all settings"], ["tokens", "1234"], ["seconds", "5.5"]] in tables(html)
    apart = {"dense": {"tokens": 0}, "clue": {"tokens": 99, "usd": 0.5}}
    html = to_html(replace(made, index_costs=apart))
    assert [["index", "dense", "clue"], ["tokens", "0", "99"], ["usd", "-", "0.5"]] in tables(html)


@pytest.mark.parametrize("n", [1, 24])
def test_one_setting_and_many_have_a_page(n):
    """With every name in every table, and in every figure."""
    made = simple(*(f"method_{number}" for number in range(n)))
    drawn = pictures(made)
    [ranking, *_] = [table for table in tables(to_html(made, drawn)) if "recall@2" in table[0]]
    assert [row[0] for row in ranking[1:]] == [f"method_{number}" for number in range(n)]
    for picture in drawn:
        named = len(set(re.findall(r"method_\d+(?=</text>)", picture.svg)))
        assert named == n


def report_with_everything():
    """Return a report with a ranking, answers, a grid, spending and hostile names."""
    labels = [*(Setting(name) for name in ("dense", *HOSTILE)), *grid("clue", {"depth": [1, 2]})]
    measured = [
        rows(
            setting.label,
            [{"recall@5": q / 4, "F1 plain": q / 8} for q in range(5)],
            type=HOSTILE[place % len(HOSTILE)],
            answer_usage=Usage(seconds={"llm": 1.0}, llm_calls=1, prompt_tokens=place * 500),
            notes=(f"note {setting.label}",),
        )
        for place, setting in enumerate(labels)
    ]
    return report(labels, measured, models={"answer": HOSTILE[0]}, dataset=about(5, name="<b>|`"))


def test_hostile_names_are_only_text():
    made = report_with_everything()
    known = {element.tag for element in LexborHTMLParser(to_html(simple("dense"))).css("*")}
    shown = [*HOSTILE[:3], *HOSTILE[6:13]]
    for html in [to_html(made)]:
        parsed = LexborHTMLParser(html)
        assert {element.tag for element in parsed.css("*")} <= {*known, "hr"} - {"script", "img"}
        first_column = {row[0] for table in tables(html) for row in table}
        assert set(shown) <= first_column
        items = {item.text().partition(" (")[0] for item in parsed.css("li")}
        assert {f"{name}: note {name}".partition(" (")[0] for name in shown} <= items
        assert parsed.css_first("h1").text() == "Methods on <b>|`"
        assert not re.search("[\x00-\x08\x1b\x7f\u202e]", html)


@given(st.text(min_size=1, max_size=40).filter(str.strip))
def test_any_text_reads_as_it_is(text):
    table = [[text, "y"], ["a", text]]
    blocks = format_section(text, tables=[table], sentences=[text], items=[text])
    expected = visible(text)
    parsed = LexborHTMLParser(MARKDOWN.render("\n\n".join(blocks)))
    shown = ["h2", "h2 ~ p", "thead th", "tbody td:last-child", "h2 ~ ul > li"]
    found = [parsed.css_first(place).text().strip() for place in shown]
    assert found == [expected.strip()] * len(shown)
    assert not parsed.css("em, strong, code, s, img, ol, hr, blockquote, script")


def test_markdown_has_its_figures_beside_it(tmp_path):
    """The same of equal reports, to the byte."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write(simple("dense", "clue", HOSTILE[0]), tmp_path / name / "my page.md")
    one, other = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "other")
    )
    assert one == other
    links = re.findall(r"!\[.*?\]\((.*?)\)", one["my page.md"].decode())
    beside = {name for name in one if name.endswith(".svg")}
    assert {link.replace("%20", " ") for link in links} == beside
    assert len(links) == len(beside) > 3
    for name in beside:
        root = ET.fromstring(one[name])  # noqa: S314 -- written by the test
        assert [each.tag.rpartition("}")[2] for each in root[:2]] == ["title", "desc"]
        assert all(each.text for each in root[:2])
    shown = pictures(simple("dense", "clue"))
    assert to_html(simple("dense", "clue"), shown) == to_html(simple("dense", "clue"), shown)


def test_without_matplotlib_there_are_no_figures(tmp_path, monkeypatch):
    for module in ("canvas", "sensitivity", "bars", "tradeoff", "report_figures"):
        monkeypatch.delitem(sys.modules, f"clew.extras.evaluate.figures.{module}", raising=False)
        monkeypatch.delattr(clew.extras.evaluate.figures, module, raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write(simple("dense", "clue"), tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "Figures are left out" in text
    assert "clew[plots]" in text
    assert "0.625" in text
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("page.pdf", r"a report is a file \.md, not 'page\.pdf'"),
        ("page", "not 'page'"),
        ("no/page.md", "there is no folder 'no'"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, monkeypatch, file, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        check_page(file)
    with pytest.raises(InputError, match=message):
        write(simple("dense"), file)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("file", ["/proc/page.md", "folder.md"])
def test_a_place_that_takes_no_file_is_known_before(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(InputError, match=re.escape(f"{file}: ")):
        check_page(file)
    check_page("page.md")
    assert [path.name for path in tmp_path.iterdir()] == ["folder.md"]


def test_a_grid_is_bars_beside_every_method():
    labels = [*map(Setting, ("bm25", "hybrid", "dense")), *grid("clue", {"depth": [1, 2, 3]})]
    labels += grid("ket", {"core": ["random", "pagerank"]})
    made = report(labels, [rows(each.label, [{"recall@5": 0.5}] * 3) for each in labels])
    drawn = {picture.name: picture.svg for picture in pictures(made)}
    shown = {name: set(re.findall(r">([^<]+)</text>", svg)) for name, svg in drawn.items()}
    assert {each.label for each in labels} <= shown["recall-5-bars"]
    assert "hybrid 0.500, dense 0.500, clue depth=1 0.500" in drawn["recall-5-bars"]
    labels = grid("clue", {"depth": [1, 2]})
    made = report(labels, [rows(each.label, [{"recall@5": 0.5}] * 3) for each in labels])
    bars = next(picture.svg for picture in pictures(made) if picture.name == "recall-5-bars")
    assert {">clue depth=1<", ">clue depth=2<"} <= set(re.findall(r">[^<]+<", bars))


def test_answers_are_compared_too():
    """A second test and two more figures, of F1; its other rules stand beside it."""
    scores = [
        {"recall@5": 1.0, "F1 plain": q, "F1 hotpot": q / 2, "F1 ket": q} for q in (0.25, 0.75)
    ]
    spent = Usage(seconds={"llm": 1.0}, cost_usd=0.25, prompt_tokens=40)
    made = report(
        [Setting("dense"), Setting("clue")],
        [rows(label, scores, answer_usage=spent) for label in ("dense", "clue")],
    )
    html = to_html(made)
    [answers] = [table for table in tables(html) if "F1 plain" in table[0]]
    assert answers[0] == ["setting", "F1 plain", "95 % interval", "F1 hotpot", "F1 ket"]
    assert answers[1][1] == "0.500"
    heads = [table[0][0] for table in tables(html)]
    assert "F1 plain minus dense's" in heads
    assert "F1 plain by group" in heads
    names = [picture.name for picture in pictures(made)]
    assert names == [
        *(f"recall-5-{kind}" for kind in ("bars", "context", "tokens", "seconds")),
        *(f"f1-plain-{kind}" for kind in ("bars", "context", "tokens", "usd", "seconds")),
    ]
