"""The documentation for machines: `llms.txt`, `llms-full.txt`, and each page as Markdown beside it.

`llms.txt` has a line for each page, with its first sentence; see https://llmstxt.org.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from docs.site.navigation import FIRST, NAVIGATION

ROOT = Path(__file__).parents[2]
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def list_pages() -> Iterator[tuple[str, Path]]:
    """Yield the caption and the file of each page that is Markdown, in order."""
    yield "", ROOT / f"{FIRST}.md"
    for caption, patterns in NAVIGATION[FIRST].items():
        for pattern in patterns:
            yield from ((caption, path) for path in sorted(ROOT.glob(f"{pattern}.md")))


def read_page(path: Path) -> tuple[str, str, str]:
    """Return the title of a page, its first sentence, and its text without comments."""
    text = _COMMENT.sub("", path.read_text(encoding="utf-8")).strip()
    title, _, rest = text.partition("\n")
    paragraphs = [each for each in _CODE.sub("", rest).split("\n\n") if each.strip()]
    first = _LINK.sub(r"\1", " ".join(paragraphs[0].split()))
    sentence = re.match(r"(.+?[.!?:])(?=\s|$)", first)
    return title.lstrip("# "), (sentence[1] if sentence else first).rstrip(":"), text


def write_for_machines(site: Path) -> None:
    """Write the documentation for machines into the folder of a site."""
    lines, whole, last = [], [], ""
    for caption, path in list_pages():
        title, sentence, text = read_page(path)
        place = path.relative_to(ROOT)
        (site / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, site / place)
        whole.append(f"{text}\n")
        if not caption:
            lines += [f"# {title}", "", f"> {sentence}"]
            continue
        if caption != last:
            lines += ["", f"## {caption}", ""]
            last = caption
        lines.append(f"- [{title}]({place.as_posix()}): {sentence}")
    (site / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")
    (site / "llms-full.txt").write_text("\n".join(whole), encoding="utf-8")


if __name__ == "__main__":
    write_for_machines(Path(sys.argv[1]))
