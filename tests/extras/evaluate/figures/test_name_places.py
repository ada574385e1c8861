"""Names in a picture: near their points, and never on one another."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from clew.extras.evaluate.figures.name_places import leader, place_names

PAPER = (0.0, 0.0, 500.0, 300.0)
MARKER = 5.0
within = st.tuples(st.floats(10, 490), st.floats(10, 290))


def placed(points, width=60.0):
    return place_names(points, [width] * len(points), 10.0, PAPER, MARKER, [])


def meet(one, other):
    across = one[0] < other[2] and other[0] < one[2]
    return across and one[1] < other[3] and other[1] < one[3]


def test_a_name_stands_beside_its_point():
    [box] = placed([(100, 100)])
    assert box == (109, 95, 169, 105)
    assert leader((100, 100), box) is None
    [box] = placed([(495, 100)])
    assert box is not None
    assert box[2] <= 495 - MARKER
    assert leader((0, 5), (40, 0, 90, 10)) == (40, 5)
    assert leader((0, -30), (40, 0, 90, 10)) == (40, 0)
    assert leader((0, 5), (10, 0, 90, 10)) is None
    boxes = place_names([(100, 100), (200, 200)], [900, 60], 10, PAPER, MARKER, [])
    assert boxes[0] is None
    assert boxes[1] is not None


def test_a_name_leaves_a_line_free_where_that_is_near():
    """A place that crosses nothing wins over one that is nearer, unless it is far."""
    line = (100.0, 99.0, 500.0, 101.0)
    [box] = place_names([(100, 100)], [60], 10, PAPER, MARKER, [line])
    assert box is not None
    assert not meet(box, line)
    [box] = place_names([(10, 100)], [20], 10, PAPER, MARKER, [(0.0, 99.0, 500.0, 101.0)])
    assert box is not None
    assert 0 < 99 - box[3] < 10  # the line on which the point itself stands is no obstacle to it
    everywhere = [(0.0, float(y), 500.0, y + 2.0) for y in range(0, 300, 5)]
    [box] = place_names([(100, 100)], [60], 10, PAPER, MARKER, everywhere)
    assert box is not None
    assert leader((100, 100), box) is None


@given(st.lists(within, min_size=1, max_size=15), st.floats(5, 150))
def test_names_hide_neither_each_other_nor_points(points, width):
    boxes = placed(points, width)
    assert boxes == placed(points, width)
    shown = [box for box in boxes if box is not None]
    markers = [(x - MARKER, y - MARKER, x + MARKER, y + MARKER) for x, y in points]
    assert not any(meet(one, other) for one, other in combinations(shown, 2))
    assert not any(meet(box, marker) for box in shown for marker in markers)
    for left, bottom, right, top in shown:
        assert min(left, bottom, 500 - right, 300 - top) >= 0
