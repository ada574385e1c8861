"""On how many examples a property that takes long is tried."""

from hypothesis import settings


def trials(few, many, **more):
    """Give the settings of a property: `few` examples, or `many` in `make test-slow`."""
    is_thorough = settings.default.max_examples > 100
    return settings(max_examples=many if is_thorough else few, **more)
