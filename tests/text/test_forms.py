"""Forms of words: those of one share a base, and words that only look alike do not."""

import pytest

from clew.text.forms import find_base


@pytest.mark.parametrize(
    "forms",
    [
        "lead leads led leading",
        "own owns owned owning",
        "write writes wrote written writing",
        "plan plans planned planning",
        "study studies studied studying",
        "process processes processed",
        "fix fixes fixed",
        "use uses used using",
        "die dies died",
    ],
)
def test_forms_share_a_base(forms):
    assert len({find_base(form) for form in forms.split()}) == 1


def test_other_words_do_not():
    words = "red bed king thing ring string need class sing sin 2019 писать".split()
    assert len({find_base(word) for word in words}) == len(words)
    assert [find_base(word) for word in ("red", "thing", "class")] == ["red", "thing", "class"]
