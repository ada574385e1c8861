"""Draw the paths of an answer as SVG: boxes in columns, joined by curves.

Boxes are as high as their text, and boxes and edge labels are moved apart in their columns, so that
nothing overlaps. Edges only connect adjacent columns, so they pass behind no box. graphviz would be
a program to install, and matplotlib an extra.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from statistics import fmean

from clew.base.display.columns import shorten, width_of, wrap
from clew.base.display.shown import Shown
from clew.base.display.visible import visible
from clew.base.types import Answer, Citation, Evidence, EvidenceGraph, Path, Step
from clew.errors import InputError
from clew.extras.graphs.threads import draw_evidence
from clew.extras.wire.graphs import ThreadEdge, ThreadNode

MOST_NODES = 40
_NAMES = {
    "query": ("Question", "#1c2328"),
    "entity": ("Entity", "#22609c"),
    "unit": ("Sentence", "#6b3fa0"),
    "sentence": ("Sentence", "#6b3fa0"),
    "chunk": ("Passage", "#0b6663"),
    "quote": ("Quote", "#0b6663"),
}
_OTHER, _FACT = "#8a5a00", "#22609c"
_TEXTS = ("query", "unit", "sentence", "chunk", "quote")  # layers whose boxes are wide
_WIDE, _NARROW, _LABEL = 28, 18, 14  # columns of a line of text
_MAX_LINES, _MAX_REASONS = 6, 2
_MAX_TOOLTIP = 500  # characters of what is shown where the mouse rests
_COLUMN = 7.2  # pixels, as wide as letters of 12 pixels are in a wide font
_PAD, _GAP, _GUTTER = 10.0, 14.0, 36.0
_SIZES = {"name": (10, 14.0), "text": (12, 16.0), "reason": (10.5, 14.0)}  # of letters, lines
_FONT = "system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True, slots=True, repr=False)
class Drawing(Shown):
    """An SVG picture that a notebook shows."""

    svg: str  # write it to a file whose name ends in .svg
    n_nodes: int
    n_left_out: int  # nodes beyond those that are drawn

    def _repr_svg_(self) -> str:
        """Show the picture in a notebook."""
        return self.svg


@dataclass(frozen=True, slots=True)
class _Box:
    """A node or an edge label: lines of text with styles, and their position."""

    lines: tuple[tuple[str, str], ...]
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0  # of the middle


def draw(found: Answer | Evidence, most: int = MOST_NODES) -> Drawing:
    """Draw how an answer's quotes were found, or everything that a search found.

    At most `most` nodes are drawn, those of the first hits first. Raises InputError for anything
    but an Answer or Evidence.
    """
    if not isinstance(found, Answer | Evidence):
        raise InputError(f"draw needs an Answer or Evidence, not {type(found).__name__}")
    if most < 1:
        raise InputError(f"the number of nodes to draw must be at least 1, not {most}")
    graph = draw_evidence(_find_quoted(found) if isinstance(found, Answer) else found)
    nodes = graph.nodes[:most]
    by_key = {node.key: node for node in nodes}
    edges = [each for each in graph.edges if by_key.keys() >= {each.source, each.target}]
    boxes, labels = _place(by_key, edges)
    svg = "".join(_write(graph.query, by_key, edges, boxes, labels))
    return Drawing(svg, len(nodes), len(graph.nodes) - len(nodes))


# -- of an answer: its quotes, and the facts that name it -----------------------------------------


def _find_quoted(answer: Answer) -> Evidence:
    """Return the part of the evidence on the paths to the answer's quotes."""
    paths = tuple(_find_path(cited, answer) for cited in answer.citations)
    graph = answer.evidence.graph
    facts = None if graph is None else _find_named(answer, graph)
    query = answer.question
    return replace(answer.evidence, query=query, paths=paths, hits=(), seeds=(), graph=facts)


def _find_path(cited: Citation, answer: Answer) -> Path:
    """Return the path to a quote, with passages replaced by their quotes."""
    before = () if cited.path is None else answer.evidence.paths[cited.path].steps[:-1]
    steps = [_find_quote(step, answer) if step.layer == "unit" else step for step in before]
    last = _make_quote(cited)
    return Path((*(step for step in dict.fromkeys(steps) if step != last), last))


def _find_quote(step: Step, answer: Answer) -> Step:
    met = (each for each in answer.citations if each.meets(step))
    return next(map(_make_quote, met), step)


def _make_quote(cited: Citation) -> Step:
    key = f"{cited.document_id}:{cited.start}-{cited.end}"
    place = cited.place.rpartition("/")[2]
    return Step(layer="quote", id=key, text=cited.quote, reason=f"[{cited.number}] {place}")


def _find_named(answer: Answer, graph: EvidenceGraph) -> EvidenceGraph:
    """Return the facts on the paths to answers named in the text, else to quoted ones."""
    ways = {fact for each in graph.answers if each.text in answer.text for fact in each.facts}
    cited = {each.chunk_id for each in answer.citations}
    facts = tuple(
        fact
        for fact in graph.facts
        if (fact.id in ways if graph.answers else not cited.isdisjoint(fact.chunk_ids))
    )
    ends = {end for fact in facts for end in (fact.subject, fact.object)}
    return EvidenceGraph(facts=facts, entities=tuple(e for e in graph.entities if e.id in ends))


# -- places ---------------------------------------------------------------------------------------


def _place(
    nodes: Mapping[str, ThreadNode], edges: Sequence[ThreadEdge]
) -> tuple[dict[str, _Box], dict[ThreadEdge, _Box]]:
    """Return a box for each node by key, and for each labelled edge."""
    numbers = {x: number for number, x in enumerate(sorted({each.x for each in nodes.values()}))}
    column = {key: numbers[node.x] for key, node in nodes.items()}
    boxes: dict[str, _Box] = {}
    for number in numbers.values():
        keys = sorted((k for k in nodes if column[k] == number), key=lambda k: (nodes[k].y, k))
        wanted = [_mean_height(key, edges, boxes) for key in keys]
        wide = any(nodes[key].layer in _TEXTS for key in keys)
        width = _WIDE if wide else _NARROW
        made = _spread([_make_box(nodes[key], width) for key in keys], wanted)
        boxes.update(zip(keys, made, strict=True))
    labels: dict[ThreadEdge, _Box] = {}
    left = 0.0
    for number in numbers.values():
        keys = [key for key in nodes if column[key] == number]
        widest = max(boxes[key].width for key in keys)
        boxes.update((key, replace(boxes[key], x=left, width=widest)) for key in keys)
        behind = _label(
            [each for each in edges if min(column[each.source], column[each.target]) == number],
            nodes,
            boxes,
        )
        left += widest + _GUTTER
        labels.update((edge, replace(box, x=left)) for edge, box in behind.items())
        left += max((box.width + _GUTTER for box in behind.values()), default=0.0)
    return boxes, labels


def _make_box(node: ThreadNode, width: int) -> _Box:
    name = _NAMES.get(node.layer, (node.layer.capitalize(), ""))[0]
    lines = [("name", f"{name} {node.rank}" if node.rank else name)]
    lines += [("text", line) for line in _wrap(node.text, width, _MAX_LINES)]
    lines += [("reason", line) for line in _wrap(node.reason, width + 2, _MAX_REASONS)]
    return _measure(lines)


def _measure(lines: Sequence[tuple[str, str]]) -> _Box:
    wide = max(width_of(line) * _COLUMN * _SIZES[style][0] / 12 for style, line in lines)
    high = sum(_SIZES[style][1] for style, _ in lines)
    return _Box(tuple(lines), wide + 2 * _PAD, high + 1.4 * _PAD)


def _wrap(text: str, width: int, most: int) -> list[str]:
    """Wrap a text to at most so many lines, with an ellipsis if it is cut."""
    lines = [line for line in wrap(visible(" ".join(text.split())), width) if line]
    if len(lines) > most:
        lines[most - 1 :] = [shorten(f"{lines[most - 1]} {lines[most]}", width, " …")]
    return lines


def _mean_height(key: str, edges: Sequence[ThreadEdge], boxes: Mapping[str, _Box]) -> float:
    """Return the mean height of a node's placed neighbours."""
    ends = [{each.source, each.target} for each in edges]
    near = [boxes[other].y for pair in ends if key in pair for other in pair & boxes.keys()]
    return fmean(near) if near else 0.0


def _spread(boxes: Sequence[_Box], wanted: Sequence[float]) -> list[_Box]:
    """Stack boxes in order, as close to the wanted heights as possible."""
    placed: list[_Box] = []
    low = float("-inf")
    for box, middle in zip(boxes, wanted, strict=True):
        y = max(middle, low + _GAP + box.height / 2)
        placed.append(replace(box, y=y))
        low = y + box.height / 2
    shift = (
        fmean(middle - box.y for middle, box in zip(wanted, placed, strict=True)) if placed else 0
    )
    return [replace(box, y=box.y + shift) for box in placed]


def _label(
    edges: Iterable[ThreadEdge], nodes: Mapping[str, ThreadNode], boxes: Mapping[str, _Box]
) -> dict[ThreadEdge, _Box]:
    """Return the labels of the edges that leave a column, at the middle of each edge."""
    found = []
    for edge in edges:
        source, target = nodes[edge.source].text, nodes[edge.target].text
        relation = edge.text.removeprefix(source).removesuffix(target)  # the boxes show both
        lines = _wrap(relation.strip(), _LABEL, _MAX_REASONS)
        if lines:
            middle = (boxes[edge.source].y + boxes[edge.target].y) / 2
            found.append((middle, edge, _measure([("reason", line) for line in lines])))
    found.sort(key=lambda each: each[0])
    spread = _spread([box for *_, box in found], [middle for middle, *_ in found])
    return {edge: box for (_, edge, _), box in zip(found, spread, strict=True)}


# -- SVG: every text in it comes from documents, questions and models, and is escaped --------------


def _write(
    query: str,
    nodes: Mapping[str, ThreadNode],
    edges: Sequence[ThreadEdge],
    boxes: Mapping[str, _Box],
    labels: Mapping[ThreadEdge, _Box],
) -> Iterator[str]:
    every = [*boxes.values(), *labels.values()]
    top = min(box.y - box.height / 2 for box in every) - _GAP
    high = max(box.y + box.height / 2 for box in every) + _GAP - top
    wide = max(box.x + box.width for box in every) + _GUTTER / 2
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide + _GAP:.0f}" height="{high:.0f}" '
        f'viewBox="{-_GAP:.0f} {top:.1f} {wide + _GAP:.0f} {high:.1f}" role="img" '
        f'aria-label="{_escape(query)}" font-family="{_FONT}" font-size="12" fill="#1c2328">'
        f'<rect x="{-_GAP:.0f}" y="{top:.1f}" width="100%" height="100%" rx="10" fill="#fff"/>'
    )
    for edge in edges:
        yield from _write_edge(edge, boxes[edge.source], boxes[edge.target], labels.get(edge))
    for box in labels.values():
        yield _write_frame(box, "#f4f8fc", "#c9d9ea", box.height / 2)
        yield from _write_lines(box, _FACT, "middle")
    for key, box in boxes.items():
        yield from _write_box(nodes[key], box)
    yield "</svg>"


def _write_edge(edge: ThreadEdge, source: _Box, target: _Box, label: _Box | None) -> Iterator[str]:
    out = source.x + source.width if target.x >= source.x else source.x
    into = target.x if target.x > source.x else target.x + target.width
    ahead = 1 if target.x >= source.x else -1  # the way in which the edge leaves its source
    back = ahead if target.x != source.x else -1  # and that in which it comes to its target
    if label is None:
        curve = _curve(out, source.y, ahead, into - back * 5, target.y, back)
    else:
        ends = (label.x, label.x + label.width)[::ahead]
        curve = _curve(out, source.y, ahead, ends[0], label.y, ahead)
        leave = ends[1] if back == ahead else ends[0]
        curve += _curve(leave, label.y, back, into - back * 5, target.y, back)
    tone = _FACT if edge.kind == "fact" else "#8b8f8c"
    yield f'<path d="{curve}" fill="none" stroke="{tone}" stroke-width="1.3"/>'
    x, y = into - back, target.y
    points = f"{x:.1f},{y:.1f} {x - 7 * back:.1f},{y - 3.5:.1f} {x - 7 * back:.1f},{y + 3.5:.1f}"
    yield f'<polygon points="{points}" fill="{tone}"/>'


def _curve(x1: float, y1: float, way1: int, x2: float, y2: float, way2: int) -> str:
    bend = max(abs(x2 - x1) / 2, _GUTTER / 2)
    first, second = x1 + way1 * bend, x2 - way2 * bend
    return f"M{x1:.1f} {y1:.1f}C{first:.1f} {y1:.1f} {second:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"


def _write_box(node: ThreadNode, box: _Box) -> Iterator[str]:
    tone = _NAMES.get(node.layer, ("", _OTHER))[1]
    whole = "\n".join(filter(None, (node.text, node.reason)))
    yield f"<g><title>{_escape(whole[:_MAX_TOOLTIP])}</title>"
    yield _write_frame(box, "#faf9f6", "#dedad1", 6)
    top = box.y - box.height / 2
    stripe = f'<rect x="{box.x:.1f}" y="{top:.1f}" width="4" height="{box.height:.1f}" rx="2"'
    yield f'{stripe} fill="{tone}"/>'
    yield from _write_lines(box, tone, "start")
    yield "</g>"


def _write_frame(box: _Box, fill: str, stroke: str, round_: float) -> str:
    return (
        f'<rect x="{box.x:.1f}" y="{box.y - box.height / 2:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{round_:.1f}" fill="{fill}" stroke="{stroke}"/>'
    )


def _write_lines(box: _Box, tone: str, anchor: str) -> Iterator[str]:
    x = box.x + (box.width / 2 if anchor == "middle" else _PAD + 2)
    y = box.y - box.height / 2 + 0.7 * _PAD
    styles = {
        "name": f'fill="{tone}" font-weight="600"',
        "text": "",
        "reason": f'fill="{tone if anchor == "middle" else "#566069"}"',
    }
    for style, line in box.lines:
        size, high = _SIZES[style]
        place = f'x="{x:.1f}" y="{y + 0.75 * high:.1f}" font-size="{size}" text-anchor="{anchor}"'
        yield f"<text {place} {styles[style]}>{_escape(line)}</text>"
        y += high


def _escape(text: str) -> str:
    return escape("\n".join(map(visible, text.split("\n"))))
