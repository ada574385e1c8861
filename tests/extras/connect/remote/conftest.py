"""The S3 server of the tests of the store."""

from tests.extras.cluster.postgres.conftest import s3  # noqa: F401
