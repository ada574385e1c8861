"""The command line of tests/cli, for the commands of shards."""

from tests.cli.conftest import _indexed, articles, clew, own_index  # noqa: F401 -- fixtures
