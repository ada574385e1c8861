"""An OCR engine for tests in the place of `rapidocr`; what it reads is how dark a page is."""

import pytest

MODULE = """
import time
from pathlib import Path

CALLS = Path(__file__).with_name("calls")


class Found:
    def __init__(self, lines):
        self.boxes, self.txts, self.scores = None, None, None
        if lines:
            import numpy
            self.boxes = numpy.array([
                [[10, 40 * i], [400, 40 * i], [400, 40 * i + 30], [10, 40 * i + 30]]
                for i in range(len(lines))
            ], dtype=float)
            self.txts, self.scores = zip(*lines)


class RapidOCR:
    def __init__(self, params):
        assert params["Global.use_cls"] is False

    def __call__(self, pixels):
        assert pixels.ndim == 3 and pixels.shape[2] == 3 and max(pixels.shape) <= 2000
        with CALLS.open("a") as calls:
            calls.write(f"{pixels.shape}\\n")
        time.sleep(SECONDS)
        dark = (pixels.max(axis=2) < 100).mean()
        if dark < 0.001:
            return Found([])
        if dark < 0.1:
            return Found([("The Halcyon ran aground near Cape Mor-", 0.97), ("row in 1922.", 0.97)])
        return Found([("Tha Patlence saved all.", 0.5)])
"""


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """Install the engine, and return what counts its calls; it may be made slow."""
    folder = tmp_path / "packages"
    folder.mkdir()

    def install(seconds=0):
        (folder / "rapidocr.py").write_text(f"SECONDS = {seconds}\n{MODULE}")
        return lambda: len(calls.read_text().splitlines()) if calls.exists() else 0

    calls = folder / "calls"
    monkeypatch.syspath_prepend(folder)
    return install
