"""Read charts and diagrams of Office files, whose texts and numbers are in separate parts."""

from xml.etree.ElementTree import Element

from clew.extras.files.number_formats import format_stored
from clew.text.normalize import collapse


def read_chart(root: Element) -> list[str]:
    """Return a chart as its title and a row for each category, with the series' values.

    Empty where the file does not hold the values.
    """
    series = list(root.iter("ser"))
    columns = [_points(each, "val", "yVal") for each in series]
    names = [_points(each, "tx") for each in series]
    labels = next(filter(None, (_points(each, "cat", "xVal") for each in series)), {})
    places = sorted({place for column in columns for place in column})
    heads = [" ".join(each.values()) for each in names]
    rows = [["", *heads]] if any(heads) else []
    rows += [[labels.get(i, str(i + 1)), *(each.get(i, "") for each in columns)] for i in places]
    title = next((_words(each) for each in root.iter("title")), "")
    lines = [" | ".join(filter(None, row)) for row in rows]
    return [f"Chart: {title}" if title else "Chart", *lines] if places else []


def _points(series: Element, *names: str) -> dict[int, str]:
    """Return a series' values by position, from the first of several parts that has any."""
    for name in names:
        for part in series.findall(name):
            code = next((_words(each) for each in part.iter("formatCode")), "")
            points = {
                each.get("idx", ""): format_stored(_words(each), code) for each in part.iter("pt")
            }
            if points:
                return {int(place): text for place, text in points.items() if place.isdecimal()}
            if text := "".join(map(_words, part.iter("v"))):
                return {0: text}
    return {}


def read_diagram(root: Element) -> list[str]:
    """Return the texts of a diagram (SmartArt), in the order of the file."""
    return [text for each in root.iter("p") if (text := _words(each))]


def _words(element: Element) -> str:
    return collapse("".join(element.itertext()))
