"""The folder of tests/readers to write files into."""

from tests.readers.conftest import write  # noqa: F401 -- a fixture
