"""Write sections as Markdown.

What a section says may quote a dataset or an endpoint, so every text is escaped here.
"""

import re
from collections.abc import Sequence
from urllib.parse import quote

from clew.base.display.visible import visible
from clew.extras.evaluate.figures import Picture
from clew.extras.evaluate.pages.sections import Section

# What Markdown, also GitHub's, could take for more than text. An underscore within a word is one.
_SPECIAL = re.compile(
    r"[\\`*|~$]|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])|<(?=[A-Za-z/!?])|&(?=[#\w])"
    r"|(?<!\S)#|(?<!\w)@|:(?=//)|(?<=www)\.",
    re.IGNORECASE,
)
_BLOCK_START = re.compile(r"^([-+=>\[]|\d+(?=[.)]))")  # of a list, a quotation, a box
_IN_BRACKETS = re.compile(rf"{_SPECIAL.pattern}|[\[\]]", re.IGNORECASE)


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


def file_name(stem: str, picture: Picture) -> str:
    """Return the file name of a Markdown page's picture."""
    return f"{stem}-{picture.name}.svg"


def _plain(text: str, special: re.Pattern[str] = _SPECIAL) -> str:
    """Escape text for a Markdown heading or table cell."""
    return special.sub(r"\\\g<0>", visible(text).strip())


def _line(text: str) -> str:
    """Escape text for a line of Markdown."""
    return _BLOCK_START.sub(
        lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", _plain(text)
    )
