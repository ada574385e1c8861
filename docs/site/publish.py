"""Put a site that `make docs` built beside those of other versions: `make publish-docs`.

VERSION becomes a folder of its own, and `versions.json` lists them: what is not yet released first,
then releases, the newest first. The first page leads to the newest release. Any static host takes
the folder as it is.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

_RELEASE = re.compile(r"\d+(\.\d+)*")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FIRST = """<!doctype html>
<meta charset="utf-8">
<title>Clew</title>
<meta http-equiv="refresh" content="0; url={version}/">
<link rel="canonical" href="{version}/">
<a href="{version}/">Clew {version}</a>
"""


def publish(site: Path, folder: Path, version: str) -> list[str]:
    """Put a site into `folder` as a version, and return all versions.

    Raises ValueError for a version that is no name of a folder.
    """
    if not _NAME.fullmatch(version):
        raise ValueError(f"{version!r} is no version: take one such as 0.1.0 or main")
    shutil.rmtree(folder / version, ignore_errors=True)
    shutil.copytree(site, folder / version, ignore=shutil.ignore_patterns(".*"))
    there = (path.parent.name for path in folder.glob("*/index.html"))
    versions = sorted(there, key=_order)
    releases = [each for each in versions if _RELEASE.fullmatch(each)]
    newest = (releases or versions)[0]
    (folder / "versions.json").write_text(f"{json.dumps(versions)}\n", encoding="utf-8")
    (folder / "index.html").write_text(_FIRST.format(version=newest), encoding="utf-8")
    for name in ("llms.txt", "llms-full.txt"):  # where machines look for them
        shutil.copyfile(folder / newest / name, folder / name)
    listing = (folder / "llms.txt").read_text(encoding="utf-8")
    (folder / "llms.txt").write_text(listing.replace("](", f"]({newest}/"), encoding="utf-8")
    (folder / ".nojekyll").touch()  # GitHub would leave out folders that begin with _
    return versions


def _order(version: str) -> tuple[bool, list[int], str]:
    is_release = _RELEASE.fullmatch(version) is not None
    return is_release, [-int(each) for each in version.split(".")] if is_release else [], version


if __name__ == "__main__":
    print(" ".join(publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])))
