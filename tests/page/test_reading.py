"""Texts as they are read: Markdown and tables, with each character where a quote expects it."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.page.conftest import EXAMPLES, shown_json

DOCS = Path(__file__).parents[2]
TEXTS = sorted([*EXAMPLES.glob("polar/*.md"), *(DOCS / "docs").rglob("*.md"), DOCS / "README.md"])
READ = """texts => import('/page/markdown.js').then(({ readText }) => texts.map((text) => {
    const node = document.createElement('div');
    node.append(...readText(text, { markdown: true }));
    const blocks = [...node.querySelectorAll('p, h3, h4, h5, h6, pre, th, td')];
    return blocks.map((each) => each.textContent).join('\\n');
}))"""
NOTES = """# Winter *stores*

The **Fram** had `12 sledges` and [a map](https://example.org/map), ![a sketch](https://example.org/s.png)
[bad](javascript:window.pwned=1) <b onclick="window.pwned=2">stores</b>, see snake_case_names and 2 * 3 * 4.

> Quoted words.

| Port | Winter | Note |
|---|--:|---|
| Bergen | 12 | a \\| b |
| Oslo | 7 | |

1. First
   - inner
2. Second

```python
# no heading
```
"""  # noqa: E501 -- a line of Markdown


def read(page, text, name="notes/winter.md", start=None, end=None):
    view = {
        "id": name, "title": "Winter", "source": "", "metadata": {}, "text": text,
        "body_start": 0, "headings": [], "pages": [], "apparatus": [], "chunks": [],
    }  # fmt: skip
    page.route("**/documents/*", lambda route: route.fulfill(**shown_json(view)))
    page.evaluate(
        "place => import('/page/reader.js').then((found) => found.openReader(place))",
        {"index": "polar", "id": name, "start": start, "end": end},
    )
    page.locator("#reader .text").wait_for()
    return page.locator("#reader .text")


def test_markdown_is_shown_as_it_is_read(reading, opened):
    page = opened(reading)
    text = read(page, NOTES)
    assert text.get_by_role("heading", name="Winter stores").count() == 1
    assert text.locator("strong").all_inner_texts() == ["Fram"]
    assert text.locator("p > code").all_inner_texts() == ["12 sledges"]
    links = text.locator("a")
    assert [each.get_attribute("href") for each in links.all()] == ["https://example.org/map"]
    assert links.first.get_attribute("rel") == "noopener noreferrer"
    assert text.locator("img, b, script").count() == 0
    assert "snake_case_names and 2 * 3 * 4" in text.inner_text()
    assert '<b onclick="window.pwned=2">stores</b>' in text.inner_text()
    rows = [row.locator("th, td").all_inner_texts() for row in text.locator("tr").all()]
    assert rows == [["Port", "Winter", "Note"], ["Bergen", "12", "a | b"], ["Oslo", "7", ""]]
    assert text.locator("td.n").all_inner_texts() == ["12", "7"]
    assert text.locator("ol > li").count() == 2
    assert text.locator("ol ul > li").inner_text() == "inner"
    assert text.locator("pre").inner_text().strip() == "# no heading"
    page.get_by_label("As written").check()
    assert text.locator(".line").all_inner_texts() == NOTES.rstrip("\n").split("\n")


@pytest.mark.parametrize(
    ("quote", "marked"),
    [
        ("The **Fram** had `12 sledges` and [a map]", "The Fram had 12 sledges and a map"),
        ("| Bergen | 12 |", "Bergen12"),
        ("*stores*", "stores"),
        ("inner\n2. Second", "innerSecond"),
    ],
)
def test_a_quote_is_marked_across_marks_of_markdown(reading, opened, quote, marked):
    page = opened(reading)
    start = NOTES.index(quote)
    text = read(page, NOTES, start=start, end=start + len(quote))
    text.locator("mark").first.wait_for()
    assert "".join(text.locator("mark").all_text_contents()) == marked


def test_rows_of_other_documents_are_a_table(reading, opened):
    text = "Prices\n\nPort | Winter | Summer\n\nBergen | | 12\n\nOslo | 8 |\n\nIt ends | here."
    shown = read(opened(reading), text, name="prices.docx")
    rows = [row.locator("td").all_inner_texts() for row in shown.locator("tr").all()]
    assert rows == [["Port", "Winter", "Summer"], ["Bergen", "", "12"], ["Oslo", "8", ""]]
    assert shown.locator(".line").filter(has_text=re.compile(r"\S")).all_inner_texts() == [
        "Prices",
        "It ends | here.",
    ]


def test_words_are_those_of_a_parser_of_commonmark(reading, opened):
    """Of the example corpus and of this documentation, no word is lost or shown elsewhere."""
    page = opened(reading)
    texts = [path.read_text(encoding="utf-8") for path in TEXTS]
    shown = page.evaluate(READ, texts)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for path, text, found in zip(TEXTS, texts, shown, strict=True):
        front = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
        body = text[front.end() :] if front else text
        wanted = []
        for token in parser.parse(body):
            if token.type in {"fence", "code_block", "html_block"}:
                wanted.append(token.content)
            wanted += (
                " " if child.type.endswith("break") else child.content
                for child in token.children or ()
            )
            wanted.append("\n")
        got = re.findall(r"\w+", found)
        if front:
            got = got[len(re.findall(r"\w+", front[0])) :]
        assert got == re.findall(r"\w+", "".join(wanted)), path.name
