"""Texts that end early, that begin anew, and that come from documents."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from clew.base.types import AnswerSpan, ShortAnswer
from clew.extras.server.openai.answers import StreamedText, _HeldText
from clew.extras.server.openai.citations import (
    Reference,
    _escape_markdown,
    _write_line,
    _write_short,
    strip_marks,
)
from clew.text import tokens

TEXTS = st.text("ab. ", max_size=40)


def parted(text, cuts):
    places = [0, *sorted({cut % (len(text) + 1) for cut in cuts}), len(text)]
    return [text[a:b] for a, b in pairwise(places)]


@given(TEXTS, st.lists(st.text("ab. ", max_size=3), max_size=3), st.lists(st.integers(0, 40)))
def test_a_text_ends_before_the_first_text_at_which_to_stop(text, stop, cuts):
    written = StreamedText(stop)
    told = "".join(map(written.put, parted(text, cuts))) + written.end()
    found = [
        (text.find(each) + len(each), text.find(each)) for each in stop if each in text if each
    ]
    assert told == written.text == (text[: min(found)[1]] if found else text)
    assert written.reason == ("stop" if found else "")


@given(st.text(max_size=60), st.integers(1, 12), st.lists(st.integers(0, 60)))
def test_a_text_has_at_most_so_many_tokens(text, most, cuts):
    written, pieces = StreamedText((), most), parted(text, cuts)
    told = "".join(map(written.put, pieces)) + written.end()
    assert text.startswith(told)
    assert tokens.count(told) <= most
    parts = ["".join(pieces[: n + 1]) for n in range(len(pieces))]
    has_more = any(tokens.count(part) > most for part in parts)
    assert written.reason == ("length" if has_more else "")
    assert has_more or told == text


def test_a_reply_that_breaks_off_begins_anew():
    """What was told stays, since it cannot be taken back; a sentence says what follows."""
    said = _HeldText("annotations", 0)
    assert [said.hear("text", e) for e in ("One ", "two ", "three")] == ["", "One ", "two "]
    assert said.hear("text", None) == "\n\n(The reply broke off; it restarts.)\n\n"
    assert [said.hear("text", each) for each in (None, "Four ", "five")] == ["", "", "Four "]
    assert said.marks.text == "Four "
    said = _HeldText("annotations", 0)  # the last piece is held back, so nobody saw it
    said.hear("text", "One ")
    assert said.hear("text", None) == ""


def test_texts_of_documents_are_no_markdown():
    """An image in a document is not fetched by who reads the answer, and a price is no formula."""
    assert _escape_markdown("![x](http://evil/?q) <b> `a` *b*\n# c") == (
        r"![x\](http://evil/?q) \<b\> \`a\` \*b\* \# c"
    )
    assert _escape_markdown("a tub [sic] for $5, {{user}}") == r"a tub [sic\] for \$5, \{\{user}}"
    named = {"title": "A [draft]", "url": "http://x/a", "quote": "It [sic] sank."}
    reference = Reference(number=1, id="", start=0, end=9, **named)
    assert _write_line(reference) == r"1. [A &#91;draft\]](<http://x/a>): “It [sic\] sank.”"
    assert strip_marks("It sank [1][2]. It was a[1]0. [3]") == "It sank. It was a0."


def test_a_short_answer_stands_above_the_quotes():
    """With the numbers of its quotes, what it does not prove, and escaped where that is needed."""
    named = {"title": "t", "url": "http://x/a", "quote": "q", "start": 0, "end": 1}
    references = [Reference(number=n, id=f"d{n}", **named) for n in (1, 2)]
    marks = {each: f" {each.mark}" for each in references}
    spans = tuple(AnswerSpan(citation=n, document_id="d", start=0, end=1, text="q") for n in (1, 1))
    short = ShortAnswer(text="*a*", kind="list", probability=0.9, spans=spans, note="of some")
    assert list(_write_short(short, references, marks, _escape_markdown)) == [
        r"\*a\* [2] (of some)"
    ]
    assert list(_write_short(None, references, marks, _escape_markdown)) == []
