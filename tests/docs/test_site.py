"""The documentation for machines, and the folder of all versions that a static host takes."""

import json
import re

import pytest

from docs.site import llms, publish
from tests.docs.pages import ROOT

WORDS = ("llms.txt", "llms-full.txt")


def make_site(folder, version):
    (folder / "static").mkdir(parents=True)
    (folder / ".doctrees").mkdir()
    (folder / ".doctrees" / "page").touch()
    (folder / "index.html").write_text(version)
    for name in WORDS:
        (folder / name).write_text(f"- [Page](docs/page.md): Of {version}.\n")
    return folder


def test_versions_stand_side_by_side(tmp_path):
    for number, version in enumerate(("0.9.0", "main", "0.10.0", "0.2.0")):
        site = make_site(tmp_path / str(number), version)
        versions = publish.publish(site, tmp_path / "pages", version)
    pages = tmp_path / "pages"
    assert versions == ["main", "0.10.0", "0.9.0", "0.2.0"]
    assert json.loads((pages / "versions.json").read_text()) == versions
    assert [(pages / each / "index.html").read_text() for each in versions] == versions
    assert "url=0.10.0/" in (pages / "index.html").read_text()
    assert "](0.10.0/docs/page.md)" in (pages / "llms.txt").read_text()
    assert not (pages / "main" / ".doctrees").exists()


def test_a_version_that_is_published_again_is_replaced(tmp_path):
    publish.publish(make_site(tmp_path / "a", "old"), tmp_path / "pages", "main")
    (tmp_path / "pages" / "main" / "gone.html").touch()
    assert publish.publish(make_site(tmp_path / "b", "new"), tmp_path / "pages", "main") == ["main"]
    assert (tmp_path / "pages" / "main" / "index.html").read_text() == "new"
    assert not (tmp_path / "pages" / "main" / "gone.html").exists()


@pytest.mark.parametrize("version", ["", "..", "a/b", ".git"])
def test_a_version_is_a_folder_of_its_own(version, tmp_path):
    with pytest.raises(ValueError, match="is no version"):
        publish.publish(make_site(tmp_path / "a", "main"), tmp_path / "pages", version)


def test_machines_find_every_page(tmp_path):
    llms.write_for_machines(tmp_path)
    listing, whole = ((tmp_path / name).read_text(encoding="utf-8") for name in WORDS)
    named = re.findall(r"^- \[(.+)\]\((.+)\): (\S.+)$", listing, re.MULTILINE)
    assert listing.startswith("# Clew\n\n> Clew answers questions")
    assert listing.count("\n- ") == len(named)
    guides = {f"docs/guides/{path.name}" for path in (ROOT / "docs" / "guides").glob("*.md")}
    assert guides < {place for _, place, _ in named}
    for title, place, sentence in named:
        assert (tmp_path / place).read_text(encoding="utf-8") == (ROOT / place).read_text("utf-8")
        assert f"# {title}\n" in whole
        assert "](" not in sentence
    assert "<!--" not in whole
