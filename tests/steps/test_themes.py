"""Themes: what documents share, with numbers that stay, and words that tell one from another."""

from itertools import product

import numpy as np
import pytest

import clew
from clew.base.types import Document
from clew.errors import InputError
from clew.steps.themes import THEMES, themes
from clew.testing import models

SUBJECTS = {
    "ships": ("The Fram sailed north with a crew of {}.", "Her hull was built by Colin Archer {}."),
    "bread": ("Sourdough bread needs flour and {}.", "The baker kneads the dough for {} minutes."),
    "stars": ("The telescope shows {} stars of Orion.", "Astronomers measure the light of {}."),
}
COUNTS = ("seven", "twelve", "forty", "ninety", "twenty", "thirty")


def document(subject, count, **fields):
    text = " ".join(line.format(count) for line in SUBJECTS[subject])
    fields.setdefault("metadata", {"subject": subject})
    return Document(id=f"{subject}-{count}", text=text, **fields)


DOCUMENTS = [document(*pair) for pair in product(SUBJECTS, COUNTS)]


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    with clew.open(tmp_path_factory.mktemp("themes") / "my.clew", models=models()) as index:
        index.add(DOCUMENTS)
        yield index


@pytest.fixture
def writable(tmp_path):
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(DOCUMENTS)
        yield index


def by_subject(found):
    """Return the subject of the documents of each theme, by its id."""
    return {theme.id: {name.split("-")[0] for name in theme.documents} for theme in found}


def test_documents_of_one_subject_are_a_theme(index):
    """With its own words, sentences where they stand, and all of its documents."""
    found = index.themes()
    assert sorted(map(sorted, by_subject(found).values())) == [["bread"], ["ships"], ["stars"]]
    ships = next(theme for theme in found if theme.documents[0].startswith("ships"))
    assert (ships.n_documents, ships.n_chunks, ships.level, ships.parent) == (6, 6, 0, "")
    assert {"Fram", "Colin Archer"} <= set(ships.entities)
    assert "hull" in ships.terms
    assert not {"bread", "light"} & set(ships.terms)
    assert ships.name == "Colin Archer"
    texts = {each.id: each.text for each in DOCUMENTS}
    for sentence in ships.sentences:
        assert texts[sentence.document_id][sentence.start : sentence.end] == sentence.text
    assert ("Fram", "") not in [(each.subject, each.relation) for each in ships.relations[1:]]
    assert ships.since == ships.until == ""


def test_names_are_spelled_as_documents_write_them(index):
    written = "\n".join(f"{each.title}\n{each.text}" for each in DOCUMENTS)
    parts = [part for theme in index.themes() for part in theme.name.split(", ")]
    assert parts
    assert all(part in written for part in parts)


def test_themes_are_named_by_whole_names_and_noun_phrases(tmp_path):
    """Not by first names, numbers or verbs, nor by the same name twice."""
    texts = (
        "Floyd Bennett flew in 1926. The supply ship left Kings Bay. Bennett flew home in 1926.",
        "Floyd Bennett flew again in 1926. The supply ship is old. Bennett flew to Kings Bay.",
        "Bennett and Umberto flew in 1926. Floyd Bennett saw the supply ship at Kings Bay.",
    )
    with clew.open(tmp_path / "a.clew", models=models()) as index:
        index.add([Document(id=str(n), text=text) for n, text in enumerate(texts)])
        [theme] = index.themes()
        assert set(theme.name.split(", ")) == {"Floyd Bennett", "Kings Bay", "supply ship"}


def test_headings_and_titles_name_a_theme(tmp_path):
    """A file's number and suffix are left off."""
    names = ("Pump repair 2024", "Pump repair 2025", "Pump repair 2026")
    with clew.open(tmp_path / "a.clew", models=models()) as index:
        for n, title in enumerate(names):
            text = f"# Spare parts\n\nOrder seals {COUNTS[n]} days before and grease them."
            index.add([Document(id=str(n), title=title, text=text)])
        assert index.themes()[0].name.startswith("Pump repair")


def test_a_term_is_spelled_as_most_chunks_write_it(tmp_path):
    texts = ("The Orrery turns. An orrery is old.", "Orrery and gear.", "See the Orrery in Verle.")
    with clew.open(tmp_path / "a.clew", models=models()) as index:
        index.add([Document(id=str(n), text=text) for n, text in enumerate(texts)])
        assert "Orrery" in index.themes()[0].name.split(", ")


def test_the_head_of_every_page_tells_nothing(tmp_path):
    """Its words name no theme, and its sentence represents none."""
    head = "Swift Tools, the shop that everybody in this town knows and likes."
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add([Document(id=each.id, text=f"{head}\n\n{each.text}") for each in DOCUMENTS])
        for theme in index.themes():
            assert not {"Swift Tools", "shop", "town"} & {*theme.entities, *theme.terms}
            assert head not in [each.text for each in theme.sentences]


def test_every_chunk_is_in_a_theme_of_each_level(index):
    for level in range(3):
        assert sum(theme.n_chunks for theme in index.themes(level)) == len(DOCUMENTS)
    with pytest.raises(InputError, match="at least 0, not -1"):
        index.themes(-1)


def test_a_theme_is_shown_by_its_id(index):
    theme = index.themes()[0]
    assert index.show(theme.id) == {"kind": "theme", **theme.to_dict()}
    with pytest.raises(InputError, match="'theme:99'"):
        index.show("theme:99")


def test_a_filter_gives_the_themes_of_some_documents(index):
    found = index.themes(where="subject != 'stars'")
    assert sorted(map(sorted, by_subject(found).values())) == [["bread"], ["ships"]]


def test_numbers_stay_where_documents_come_and_go(writable):
    """Few join what they are like; after many, themes are made anew and have their ids again."""
    before = by_subject(writable.themes())
    writable.add([document("ships", "eighty")])
    after = writable.themes()
    assert by_subject(after) == before
    assert sum(theme.n_documents for theme in after) == len(DOCUMENTS) + 1
    leaves = writable.snapshot().get(THEMES)["leaves"]
    writable.remove([f"bread-{count}" for count in COUNTS[:3]])
    writable.add([document("stars", count) for count in ("fifty", "sixty", "eleven")])
    assert by_subject(writable.themes()) == before
    writable.compact()
    assert by_subject(writable.themes()) == before
    assert len(leaves) == len(DOCUMENTS) + 1
    assert themes(writable.snapshot()).sizes.sum() == 19


def test_new_subjects_have_new_numbers(writable):
    before = by_subject(writable.themes())
    writable.add(
        [
            Document(
                id=f"dogs-{n}", text=f"Huskies pull a sledge of {n} pounds. Huskies eat pemmican."
            )
            for n in COUNTS
        ]
    )
    after = by_subject(writable.themes())
    assert {name: subjects for name, subjects in after.items() if name in before} == before
    assert [subjects for name, subjects in after.items() if name not in before] == [{"dogs"}]


def test_the_same_documents_have_the_same_themes(index, writable):
    """Byte for byte."""
    for name, array in index.snapshot().get(THEMES).items():
        assert np.array_equal(array, writable.snapshot().get(THEMES)[name]), name


def test_a_theme_has_the_dates_of_its_documents(tmp_path):
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        dates = ("1893-06-24", "1896-08-20T10:00:00", "soon")
        index.add(
            [
                document("ships", count, metadata={"date": date})
                for count, date in zip(COUNTS, dates, strict=False)
            ]
        )
        assert [(each.since, each.until) for each in index.themes()] == [
            ("1893-06-24", "1896-08-20")
        ]


def test_an_empty_index_has_no_theme(tmp_path):
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(DOCUMENTS[:1])
        assert len(index.themes()) == 1
        index.remove([DOCUMENTS[0].id])
        assert index.themes() == ()
