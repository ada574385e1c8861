"""The command line starts quickly; the contracts of imports are a matter of `make lint`."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*command):
    return subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("module", ["clew", "clew.errors", "clew.cli"])
def test_start_loads_nothing_but_click(module):
    """Importing the command line loads no numpy, no model runtime, nothing that takes time."""
    if find_spec(module) is None:
        pytest.skip(f"there is no {module} yet")
    script = "import sys; before = set(sys.modules); import {}; print(*set(sys.modules) - before)"
    result = run("-c", script.format(module))
    assert result.returncode == 0, result.stderr
    loaded = {name.partition(".")[0] for name in result.stdout.split()}
    assert loaded - sys.stdlib_module_names <= {"clew", "click", "colorama"}


def test_an_index_loads_what_few_need_when_it_is_needed():
    """Libraries for one format, one reply or one price wait until there is one."""
    result = run("-c", "import sys, clew.api, clew.extras.models.openai; print(*sys.modules)")
    assert result.returncode == 0, result.stderr
    late = {"genai_prices", "json_repair", "markdown_it", "msgspec", "platformdirs", "rich"}
    assert late.isdisjoint(result.stdout.split())
