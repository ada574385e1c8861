"""What all tests of workers have."""

import pytest


@pytest.fixture(autouse=True, scope="session")
def _same_time():
    """Indexes that are compared byte by byte were all written at one time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1764115200")
        yield
