"""Place the labels of points in a chart without overlaps.

adjustText leaves names that overlap; here those without room are left out and counted.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

Box = tuple[float, float, float, float]  # left, bottom, right, top; all lengths are in points

_LABEL_DISTANCE = 9.0  # from a point to its name, and from one ring of places to the next
_LEADER = 14.0  # from which distance on a line leads from a name to its point
_N_RINGS, _N_DIRECTIONS, _N_ALONG = 24, 16, 32
_CROSSING = 14.0  # how much farther a name goes to cross one line less
_CONFUSING = 50.0  # the same, to be led over one point or name less


def place_names(
    points: Sequence[tuple[float, float]],
    widths: Sequence[float],
    height: float,
    inside: Box,
    marker: float,
    lines: Sequence[Box],
) -> list[Box | None]:
    """Return a box for each label, close to its point, or None if there is no room.

    A box lies `inside`, meets no other box and no marker, which reaches `marker` from each point,
    and stays clear of `lines` where that costs little, as does the line that leads to its point
    but for what the point itself stands on. The same input gives the same places.
    """
    markers = np.array([[x - marker, y - marker, x + marker, y + marker] for x, y in points])
    taken, crossable = markers, np.array(lines).reshape(-1, 4)
    places: list[Box | None] = []
    for number, (point, width) in enumerate(zip(points, widths, strict=True)):
        distances, boxes = _candidates(point, width, height)
        lies_in = (boxes[:, :2] >= inside[:2]) & (boxes[:, 2:] <= inside[2:])
        free = lies_in.all(axis=1) & ~_overlaps(boxes, taken).any(axis=1)
        own = _overlaps(np.array([[*point, *point]]), crossable)[0]  # the lines it stands on
        crossings = _overlaps(boxes[free], crossable).sum(axis=1)
        crossings += _crosses(point, boxes[free], crossable[~own]).sum(axis=1)
        prices = distances[free] + _CROSSING * crossings
        others = np.delete(taken, number, axis=0)
        prices += _CONFUSING * _crosses(point, boxes[free], others).sum(axis=1)
        if not prices.size:
            places.append(None)
            continue
        box = boxes[free][np.argmin(prices)]
        taken = np.vstack([taken, box])
        left, bottom, right, top = box.tolist()
        places.append((left, bottom, right, top))
    return places


def leader(point: tuple[float, float], box: Box) -> tuple[float, float] | None:
    """Return the start of a leader line from a label to its point, None if adjacent."""
    [end], [length] = _ends(point, np.array([box]))
    return (float(end[0]), float(end[1])) if length > _LEADER else None


def _candidates(point: tuple[float, float], width: float, height: float) -> tuple[Array, Array]:
    """Return candidate positions around a point with distances, nearest first."""
    turns = np.arange(_N_DIRECTIONS)
    angles = 2 * np.pi * ((turns + 1) // 2) * (-1.0) ** turns / _N_DIRECTIONS
    across, up = np.tile(np.cos(angles), _N_RINGS), np.tile(np.sin(angles), _N_RINGS)
    distances: Array = _LABEL_DISTANCE * np.repeat(np.arange(1.0, _N_RINGS + 1), _N_DIRECTIONS)
    left = point[0] + distances * across - width * (1 - across) / 2
    bottom = point[1] + distances * up - height * (1 - up) / 2
    boxes: Array = np.stack([left, bottom, left + width, bottom + height], axis=1)
    return distances, boxes


def _overlaps(boxes: Array, others: Array) -> Mask:
    """Return whether each box overlaps each of `others`."""
    left, bottom, right, top = boxes.T[:, :, None]
    across = (left < others[:, 2]) & (others[:, 0] < right)
    meets: Mask = across & (bottom < others[:, 3]) & (others[:, 1] < top)
    return meets


def _crosses(point: tuple[float, float], boxes: Array, others: Array) -> Mask:
    """Return whether each box's leader line crosses each of `others`."""
    ends, lengths = _ends(point, boxes)
    shares = np.linspace(0, 1, _N_ALONG)[:, None]
    along = ends[:, None] + (np.array(point) - ends)[:, None] * shares
    x, y = along[..., 0, None], along[..., 1, None]
    within = (others[:, 0] < x) & (x < others[:, 2]) & (others[:, 1] < y) & (y < others[:, 3])
    leads: Mask = within.any(axis=1) & (lengths > _LEADER)[:, None]
    return leads


def _ends(point: tuple[float, float], boxes: Array) -> tuple[Array, Array]:
    """Return the position in each box nearest to the point, and its distance."""
    ends = np.clip(np.array(point), boxes[:, :2], boxes[:, 2:])
    return ends, np.hypot(*(ends - np.array(point)).T)
