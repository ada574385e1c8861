"""What the tests of the core share with these."""

from tests.cli.conftest import clew  # noqa: F401 -- a fixture
from tests.extras.files.kettle import kettle  # noqa: F401 -- a fixture
from tests.models.conftest import server  # noqa: F401 -- a fixture
from tests.readers.conftest import document, skipped, write  # noqa: F401 -- fixtures
