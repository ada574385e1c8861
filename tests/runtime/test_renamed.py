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
    """An old name of a public module gives what the new one does, and the warning says it."""
    with pytest.warns(DeprecationWarning, match=rf"\.{old} is called {new} now"):
        found = getattr(module, old)
    assert found is getattr(module, new)


def test_another_name_is_no_attribute():
    """A name that a module never had is an AttributeError, as of any module."""
    with pytest.raises(AttributeError, match="no attribute 'tables'"):
        _ = schema.tables
