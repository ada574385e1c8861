"""Read the documentation: its pages, their links, and what stands in their fences."""

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / ".github").rglob("*.md")]
)

_FENCE = re.compile(r"^```([\w-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\((?!\w+:)([^)\s]+)[^)]*\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def name(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page, *languages):
    """Yield (line, text) of each fenced block of a page in one of `languages`."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        if match[1] in languages:
            yield text.count("\n", 0, match.start(2)) + 1, match[2]


def prose(page):
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def links(page):
    """Return the relative links of a page, without what only looks like one in code."""
    return _LINK.findall(re.sub(r"`[^`\n]*`", "", prose(page)))


@cache
def anchors(page):
    """Return the anchors of a page's headings, as GitHub and the site name them."""
    headings = _HEADING.findall(prose(page))
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def all_text():
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
