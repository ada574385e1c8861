"""What a Python process leaves open when it ends."""

import subprocess
import sys

import pytest

OPEN = "index = clew.open('my.clew', models=models())"
ASK = f"{OPEN}\nindex.search('the Fram')"
PATCH = "def kept(self):\n    return index\nclew.methods.walk.Walk.kept = kept"
ENDS = {
    "an index": ASK,
    "a snapshot": f"{OPEN}\nkept = index.snapshot()",
    "an index of a patched class": f"{ASK}\n{PATCH}",
    "a writer of a patched class": f"{OPEN}\nindex.add(document)\n{PATCH}",
}


@pytest.mark.parametrize("script", ENDS.values(), ids=ENDS)
def test_a_script_may_end_with_an_open_index(tmp_path, script):
    """APSW closes connections after their file system is gone, which crashes, so Clew does."""
    start = (
        "import clew\nimport clew.methods.walk\nfrom clew.testing import models\n"
        "document = clew.Document(id='fram', text='Colin Archer built the Fram.')\n"
        "with clew.open('my.clew', models=models()) as made:\n    made.add(document)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{start}{script}\nprint('done')"],
        capture_output=True, check=False, cwd=tmp_path, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
