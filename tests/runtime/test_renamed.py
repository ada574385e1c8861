"""Old names of public modules."""

import pytest

from clew.evaluate import measure


def test_an_old_name_works_with_a_warning():
    with pytest.warns(DeprecationWarning, match=r"\.check is called check_protocol now"):
        found = measure.check
    assert found is measure.check_protocol


def test_another_name_is_no_attribute():
    with pytest.raises(AttributeError, match="no attribute 'tables'"):
        _ = measure.tables
