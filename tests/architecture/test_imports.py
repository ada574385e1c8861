"""Modules know only what stands below them, and the command line starts quickly."""

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


def test_imports_keep_the_contracts():
    """The import contracts of `.importlinter` hold."""
    script = "from importlinter.cli import import_linter; import_linter()"
    result = run("-c", script, "lint", "--no-cache")
    assert result.returncode == 0, result.stdout + result.stderr


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


def test_a_client_loads_no_arrays_and_no_server():
    """`from clew import Client` loads no numpy, scipy or apsw, and no part of a server or index."""
    script = """
import sys
from clew import Client
Client("http://127.0.0.1:1").index("polar")
print(*sys.modules)
"""
    result = run("-c", script)
    assert result.returncode == 0, result.stderr
    loaded = set(result.stdout.split())
    assert "httpx2" in loaded
    heavy = {"numpy", "scipy", "apsw", "pydantic", "starlette", "tiktoken", "yaml", "loky"}
    assert not heavy & loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("clew.")}
    assert not {"algo", "api", "index", "server", "snapshot", "store"} & rooms
