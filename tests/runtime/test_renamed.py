"""Old names of public modules."""

import pytest

from clew.store import opening, schema


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        (schema, "placed", "place_batch"),
        (schema, "table", "open_columns"),
        (opening, "shown", "describe_place"),
    ],
)
def test_an_old_name_works_with_a_warning(module, old, new):
    with pytest.warns(DeprecationWarning, match=rf"\.{old} is called {new} now"):
        found = getattr(module, old)
    assert found is getattr(module, new)


def test_another_name_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'tables'"):
        _ = schema.tables
