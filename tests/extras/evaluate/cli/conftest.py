"""The command line of tests/cli, for the commands of `clew eval`."""

from tests.cli.conftest import _indexed, articles, clew, dataset, own_index  # noqa: F401 -- fixtures
