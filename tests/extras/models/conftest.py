"""What the tests of the core share with these."""

from tests.models.conftest import server  # noqa: F401 -- a fixture
