"""Write sections as Markdown, or as one self-contained HTML page.

What a section says may quote a dataset, a peer or an endpoint, so every text is escaped here.
"""

import re
from collections.abc import Iterator, Sequence
from html import escape
from urllib.parse import quote

from clew.extras.evaluate.figures import Picture
from clew.extras.evaluate.pages.sections import Section
from clew.extras.evaluate.tables.cells import Rows, printable

# What Markdown, also GitHub's, could take for more than text. An underscore within a word is one.
_SPECIAL = re.compile(
    r"[\\`*|~$]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])|<(?=[A-Za-z/!?])|&(?=[#\w])"
    r"|(?<!\S)#|(?<!\w)@|:(?=//)|(?<=www)\.",
    re.IGNORECASE,
)
_BLOCK_START = re.compile(r"^([-+=>\[]|\d+(?=[.)]))")  # of a list, a quotation, a box
_IN_BRACKETS = re.compile(rf"{_SPECIAL.pattern}|[\[\]]", re.IGNORECASE)
_SVG_NAME = re.compile(r'(\bid="|href="#|url\(#)')

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --rule: #d0d0d8; --head: #f1f1f5; --text: #1b1b22;
  --page: #ffffff; --link: #1f4fa3; }
@media (prefers-color-scheme: dark) { :root { --rule: #3b3b46; --head: #23232b; --text: #e6e6ee;
  --page: #15151a; --link: #9dbcf5; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--page);
  color: var(--text); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.2rem; margin-top: 2.2rem; }
p, li { max-width: 46rem; }
a { color: var(--link); }
nav ul { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; padding: 0; list-style: none; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--rule); text-align: right;
  white-space: nowrap; }
th:first-child { text-align: left; position: sticky; left: 0; background: var(--page); }
tbody th { font-weight: normal; }
thead th, thead th:first-child { background: var(--head); font-weight: 600; }
figure { margin: 1.5rem 0; }
figure .wide { background: #ffffff; border: 1px solid var(--rule); border-radius: .4rem; }
figure svg { display: block; width: 100%; min-width: 32rem; max-width: 52rem; height: auto;
  margin: auto; }
figcaption { font-size: .9rem; }
""".strip()


def to_markdown(title: str, sections: Sequence[Section], stem: str = "") -> str:
    """Return sections as Markdown under a heading.

    A picture is a link to `<stem>-<its name>.svg`.
    """
    blocks = [f"# {_plain(title)}"]
    for section in sections:
        blocks.append(f"## {_plain(section.title)}")
        blocks += [_line(sentence) for sentence in section.sentences]
        for rows in section.tables:
            header, *body = ([_plain(cell) for cell in row] for row in rows)
            rule = f"|---|{'---:|' * (len(header) - 1)}"
            head, *lines = (f"| {' | '.join(row)} |" for row in (header, *body))
            blocks.append("\n".join([head, rule, *lines]))
        if section.items:
            blocks.append("\n".join(f"- {_line(item)}" for item in section.items))
        blocks += [
            f"![{_plain(picture.title, _IN_BRACKETS)}]({quote(file_name(stem, picture))})"
            for picture in section.pictures
        ]
    return "\n\n".join(blocks) + "\n"


def to_html(title: str, sections: Sequence[Section]) -> str:
    """Return sections as an HTML page without other files, scripts or network access."""
    name = escape(printable(title))
    links = [
        f'<li><a href="#s{number}">{escape(section.title)}</a></li>'
        for number, section in enumerate(sections, start=1)
    ]
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>{name}</title>",
        f"<style>\n{_STYLE}\n</style>",
        "</head>",
        "<body>",
        f"<h1>{name}</h1>",
        f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>',
        "<main>",
        *(line for n, section in enumerate(sections, start=1) for line in _html(section, n)),
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def file_name(stem: str, picture: Picture) -> str:
    """Return the file name of a Markdown page's picture."""
    return f"{stem}-{picture.name}.svg"


def _plain(text: str, special: re.Pattern[str] = _SPECIAL) -> str:
    """Escape text for a Markdown heading or table cell."""
    return special.sub(r"\\\g<0>", printable(text).strip())


def _line(text: str) -> str:
    """Escape text for a line of Markdown."""
    return _BLOCK_START.sub(
        lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", _plain(text)
    )


def _html(section: Section, number: int) -> Iterator[str]:
    yield f'<section id="s{number}" aria-labelledby="h{number}">'
    yield f'<h2 id="h{number}">{escape(section.title)}</h2>'
    for sentence in section.sentences:
        yield f"<p>{escape(printable(sentence))}</p>"
    for rows in section.tables:
        yield from _html_table(rows, section.title)
    if section.items:
        yield "<ul>"
        for item in section.items:
            yield f"<li>{escape(printable(item))}</li>"
        yield "</ul>"
    for picture in section.pictures:
        yield from _html_figure(picture)
    yield "</section>"


def _html_table(rows: Rows, name: str) -> Iterator[str]:
    """Return a table that scrolls horizontally on narrow screens."""
    header, *body = ([escape(printable(cell)) for cell in row] for row in rows)
    yield f'<div class="wide" role="region" tabindex="0" aria-label="{escape(name)}">'
    yield "<table>"
    names = "".join(f'<th scope="col">{cell}</th>' for cell in header)
    yield f"<thead><tr>{names}</tr></thead>"
    yield "<tbody>"
    for label, *cells in body:
        numbers = "".join(f"<td>{cell}</td>" for cell in cells)
        yield f'<tr><th scope="row">{label}</th>{numbers}</tr>'
    yield "</tbody>"
    yield "</table>"
    yield "</div>"


def _html_figure(picture: Picture) -> Iterator[str]:
    """Return a figure with unique ids, since a page has several."""
    _, _, drawn = picture.svg.partition("<svg ")
    svg = _SVG_NAME.sub(rf"\g<1>{picture.name}-", drawn)
    title = escape(printable(picture.title))
    yield "<figure>"
    yield f"<figcaption>{title}</figcaption>"
    yield f'<div class="wide" role="region" tabindex="0" aria-label="{title}"><svg {svg.strip()}'
    yield "</div>"
    yield "</figure>"
