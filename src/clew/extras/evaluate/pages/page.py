"""Write a report as a page: Markdown with figures beside it."""

from collections.abc import Sequence
from pathlib import Path

from clew.errors import InputError, MissingExtra
from clew.extras.evaluate.figures import Picture
from clew.extras.evaluate.files import check_file
from clew.extras.evaluate.pages import markup
from clew.extras.evaluate.pages.sections import sections
from clew.extras.evaluate.report import Report

SUFFIXES = (".md",)


def write(report: Report, path: str | Path) -> None:
    """Write a report as `.md`, with its figures beside it as `<stem>-<name>.svg`.

    Without the extra `plots` the page has no figures, and says so. Equal reports give equal bytes.
    Raises InputError as `check` does, and where a file cannot be written.
    """
    check_page(path)
    file = Path(path)
    pictures, remark = list[Picture](), ""
    try:
        from clew.extras.evaluate.figures import report_figures

        pictures = report_figures.pictures(report)
    except MissingExtra as error:
        remark = f"Figures are left out: {error}"
    try:
        _write(file, to_markdown(report, pictures, stem=file.stem, remark=remark))
        for picture in pictures:
            _write(file.with_name(markup.file_name(file.stem, picture)), picture.svg)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error


def check_page(path: str | Path) -> None:
    """Raise InputError early for a file that `write` could not write."""
    check_file(path, SUFFIXES, "a report")


def to_markdown(
    report: Report, pictures: Sequence[Picture] = (), *, stem: str = "", remark: str = ""
) -> str:
    """Return a report as Markdown under a heading, with links to `pictures`.

    The file of a picture is `<stem>-<name>.svg`. A `remark` on figures stands at the beginning.
    """
    return markup.to_markdown(_title(report), sections(report, pictures, remark), stem)


def _title(report: Report) -> str:
    return f"Methods on {report.dataset.name}"


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")
