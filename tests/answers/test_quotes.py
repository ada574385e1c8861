"""Which sentences are quoted: by hand, one sign at a time, and what holds of all."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.answers import quotes
from clew.answers.sentences import find_sentences
from clew.base.types import Document, Passage
from clew.models.rules import RuleTagger
from clew.testing import HashTokenEmbedder, built
from clew.testing import models as real_models
from clew.text.chunking import Chunking
from clew.text.questions import (
    find_question_word,
    is_yes_no,
    question_kind,
    refers_back,
    score_nearness,
)
from tests.answers.evidence import models


def passage(number, text, title="", start=0):
    return Passage(
        number=number, chunk_id=f"p{number}", document_id=f"d{number}", title=title,
        source=f"d{number}.txt", start=start, end=start + len(text), text=text,
    )  # fmt: skip


def choose_quotes(question, passages, given, snapshot=None, most=3):
    sentences = find_sentences(passages, snapshot)
    return quotes.choose_quotes(question, sentences, passages, given, snapshot, most=most)


def quoted(question, *texts, most=3, titles=()):
    titled = [*titles, *[""] * len(texts)]
    passages = [passage(n, text, titled[n - 1]) for n, text in enumerate(texts, 1)]
    found, _ = choose_quotes(question, passages, models(), most=most)
    return [each.passage.text[each.start : each.end] for each in found]


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who built the Fram?", "person"),
        ("Whose ship was she?", "person"),
        ("When did she sink?", "date"),
        ("In which year was he born?", "date"),
        ("How many men sailed?", "number"),
        ("What is the population of Larvik?", "number"),
        ("Where was he born?", "place"),
        ("In which small town was the builder born?", "place"),
        ("Which countries did they see?", "place"),
        ("Which explorer went south?", "person"),
        ("What was her first name?", "name"),
        ("In which town was the man born who built her?", "place"),
        ("In which New Zealand harbour town was she built?", "place"),
        ("Which ship was launched by the man who built her?", "name"),
        ("The ship that sank had a captain who drank. How many men sailed?", "number"),
        ("She was built in what year?", "date"),
        ("Her builder was born where?", "place"),
        ("Her name.", "name"),
        ("", "name"),
    ],
)
def test_the_word_that_asks_says_for_what(question, kind):
    """Who, when, where, how many and which X each ask for a kind of thing; relatives do not."""
    assert question_kind(question) == kind


@pytest.mark.parametrize(
    ("question", "asking"),
    [
        ("Which ship sank?", "Which"),
        ("In which town was the man born who built her?", "which"),
        ("The man who built her was born in which town?", "which"),
        ("The man who built her, which town was he born in and raised?", "who"),
        ("The man who built her left at 3.5 knots. Where did he go?", "Where"),
        ("Her builder left.", "Her"),
        ("", ""),
    ],
)
def test_which_word_asks(question, asking):
    """It opens the last sentence or stands near its end; else it is the first such word."""
    assert question[find_question_word(question) :].startswith(asking)


def test_questions_of_yes_or_no_and_sentences_that_refer_back():
    assert is_yes_no("Did both men die?")
    assert not is_yes_no("Which of both died?")
    assert refers_back("She sank in 1915.")
    assert refers_back("The ship was lost.")
    assert not refers_back("The Fram was lost.")
    assert not refers_back("Heat was lost.")
    question = "The man left which town behind with all of his men?"
    spans = [(question.index(word), 0) for word in ("which", "left", "behind", "man", "men")]
    found = score_nearness(question, spans)
    assert found[0] == 1.0
    assert found == sorted(found, reverse=True)
    assert all(0 < near <= 1 for near in found)


def test_each_quote_adds_what_the_others_leave_unsaid():
    """The second quote is about the other half of the question, not more of the first."""
    said = quoted(
        "Who built the hull of the vessel, and who sailed north?",
        "Ada Lund built the hull. Ada Lund also built the hull of the vessel.",
        "Bo Tarn sailed north in May.",
        most=2,
    )
    assert set(said) == {
        "Ada Lund also built the hull of the vessel.",
        "Bo Tarn sailed north in May.",
    }
    text = "Ada Lund built the Hesper in the harbour of Moss"
    said = quoted("Who built the Hesper?", f"{text}.", f"{text} (1811).", "Bo Tarn sailed her.")
    assert len(said) == 2
    assert "Bo Tarn sailed her." in said
    assert quoted("Who?") == []
    assert quoted("Who?", "Ada Lund did.", most=0) == []
    assert quoted("", "Ada Lund did.") == ["Ada Lund did."]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was the brig built?", "The brig was built in 1811."),
        ("Who built the brig?", "The brig was built by Ada Lund."),
        ("Where was the brig built?", "The brig was built in Moss."),
        ("How many masts had the brig that was built?", "The brig built then had two masts."),
    ],
)
def test_the_kind_of_answer_decides_between_like_sentences(question, answer):
    """Of sentences with the same words the one with a date, a name, a place or a number wins."""
    plain = "The brig was built of oak and nothing else."
    assert quoted(question, plain, answer, most=1) == [answer]
    assert quoted(question, answer, plain, most=1) == [answer]


def test_the_thread_leads_from_quote_to_quote():
    """The thread leads from the ship to her builder, and on to where he was born."""
    said = quoted(
        "In which town was the builder of the Hesper born?",
        "The Hesper was lost. Ada Lund was the builder of the Hesper.",
        "Bo Tarn was born in Holt.",
        "Ada Lund was born in Moss.",
        titles=("Hesper", "Bo Tarn", "Ada Lund"),
        most=2,
    )
    assert set(said) == {"Ada Lund was the builder of the Hesper.", "Ada Lund was born in Moss."}


def test_what_refers_back_is_quoted_with_what_it_refers_to():
    """A pronoun says nothing alone; the quote is one range of the passage."""
    text = "The Hesper was a brig. She sank off Moss in 1811. Nobody was seen again."
    said = quoted("When did the Hesper sink off Moss?", text, most=1)
    assert said == ["The Hesper was a brig. She sank off Moss in 1811."]
    text = "The Hesper was a brig. She had two masts. She sank off Moss in 1811."
    question = "When did the Hesper sink off Moss?"
    assert quoted(question, text, most=1) == [text]
    text = "The Hesper was a brig. She was old. She had two masts. She sank off Moss in 1811."
    assert quoted(question, text, most=1) == ["She sank off Moss in 1811."]
    text = "The Hesper sank off Moss. She sank in 1811."
    assert quoted("When did the Hesper sink?", text, "Nobody knew.", most=1) == [text]


@pytest.mark.parametrize(
    "below",
    ["- Turn the wheel left.\n- Pull the anchor up.", "    $ anchor --up", "Pull the anchor up."],
    ids=["list", "code", "prose"],
)
def test_what_a_lead_in_leads_to_is_quoted_with_it(below):
    """It may be too long to be only the context of what follows; a whole list is too much."""
    lead = (
        "Where the Hesper of 1811 lies on foul ground and has to leave the roads of Moss at night:"
    )
    question = "What to do where the Hesper has to leave the roads of Moss at night on foul ground?"
    said, *_ = quoted(question, f"{lead}\n\n{below}\n\nShe was old.")
    assert said == f"{lead}\n\n{below}"
    items = "\n".join(f"- Wait for the boat number {i} of the harbour." for i in range(30))
    said, *_ = quoted(question, f"{lead}\n\n{items}")
    assert lead in said
    assert "number 3 " in said
    assert "number 20" not in said


def test_a_definition_is_quoted_with_its_term():
    """The line above says what is defined, so a term is no answer by itself."""
    text = (
        "scan_delay (default: 300s)\n\nThe time between scans of the queue. It may be 0.\n\n"
        "queue_lifetime (default: 5d)\n\nHow long a letter stays before it is sent back.\n\n"
        "Other matters\n\nHow long a letter is, nobody knows."
    )
    [said] = quoted("How long does a letter stay before it is sent back?", text, most=1)
    assert said == text[text.index("queue_lifetime") : text.index("\n\nOther")]
    [said] = quoted("What does nobody know of a letter?", text, most=1)
    assert said == "Other matters\n\nHow long a letter is, nobody knows."


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("**{}**\n{}", "{}"),
        ("Q: {}\nA: {}", "A: {}"),
        ("{}\n\n{}", "{}"),
        ("question: {}; answer: {}", "{}"),
        ("Frage: {}\nAntwort: {}", "Antwort: {}"),
    ],
)
def test_an_answer_is_found_by_the_question_above_it(form, expected):
    """A question that an FAQ answers is no answer by itself, and "No." is one."""
    pairs = {"Is the sauna open in May?": "No.", "Where are the towels?": "In the blue chest."}
    pairs |= {"Who cleans the sauna?": "Tom Berg does it on Fridays."}
    text = "\n\n".join(form.format(*pair) for pair in pairs.items())
    for pair in pairs.items():
        [said] = quoted(pair[0], text, most=1)
        assert said == expected.format(pair[1])


def test_a_question_within_a_text_is_not_joined_to_what_follows():
    text = "Who cleans the sauna? Nobody knew. Tom Berg cleans it."
    assert quoted("Who cleans the sauna?", text, most=1) == ["Tom Berg cleans it."]


CHANGES = """## v2.10

The importer reads ODS. It also writes CSV.

## v2.9

A crash on start was fixed.

## v2.1

The parser was rewritten. A leak of memory was fixed."""


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What changed in v2.10?", "The importer reads ODS."),
        ("What was fixed in v2.9?", "A crash on start was fixed."),
        ("What was fixed in v2.1?", "A leak of memory was fixed."),
    ],
)
def test_a_sentence_is_read_below_its_heading(question, first):
    """A heading is no quote, and what refers back refers to nothing above it."""
    quotes = quoted(question, CHANGES)
    assert quotes[0] == first
    assert not [quote for quote in quotes if "#" in quote]


def test_headings_alone_are_quoted():
    assert quoted("What is planned for v3?", "## Planned for v3") == ["## Planned for v3"]


def test_a_comparison_is_quoted_one_sentence_for_each_side():
    said = quoted(
        "Who was born earlier, Ada Lund or Bo Tarn?",
        "Ada Lund was born in 1811. Ada Lund kept bees.",
        "Cy Venn was born earlier than all.",
        "Bo Tarn was born in 1822.",
    )
    assert sorted(said) == ["Ada Lund was born in 1811.", "Bo Tarn was born in 1822."]
    said = quoted(
        "Which of the two sailors of the Hesper died later, Ada Lund or Bo Tarn?",
        "Ada Lund was one of the two sailors of the Hesper. Lund died at Moss in 1871.",
        "Bo Tarn sailed on the Hesper too, one of two. Tarn died at Holt in 1862.",
        titles=("Ada Lund", "Bo Tarn"),
    )
    assert {"Lund died at Moss in 1871.", "Tarn died at Holt in 1862."} <= set(said)
    said = quoted(
        "Which came first, the birth of Ada Lund or the loss of the Hesper?",
        "Ada Lund was born in 1811. Ada Lund came first.",
        "The loss of the Hesper was in 1822.",
    )
    assert len(said) == 2
    assert "The loss of the Hesper was in 1822." in said
    said = quoted(
        "Were Ada Lund and Bo Tarn born in one town?",
        "Ada Lund was born in Moss.",
        "Moss is a town.",
        "Bo Tarn was born in Holt.",
    )
    assert sorted(said) == ["Ada Lund was born in Moss.", "Bo Tarn was born in Holt."]


ALIKE = {
    "Error {} means that {}.": [("E101", "a filter is clogged"), ("E102", "the pump is blocked")],
    "Room {} seats {} people.": [("B101", "20"), ("B102", "35"), ("C101", "12")],
    "{} holds a degree in {}.": [("Ann Berg", "physics"), ("Bo Dahl", "botany")],
    "`{}` returns {}.": [("read_rows", "a list"), ("count_rows", "a number")],
}


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which ship was launched first, Fram or Gjøa?", "Gjøa"),
        ("Which ship was launched later, Gjøa or Fram?", "Fram"),
        ("Which ship was launched first, Gjøa or Fram?", "Gjøa"),
    ],
)
def test_what_a_comparison_by_date_gives_is_quoted_first(question, first):
    """The quotes are the same; their dates say which of the two is the answer."""
    fram, gjoa = "The Fram was launched on 26 October 1892.", "The Gjøa was launched in 1872."
    quotes = quoted(question, fram, gjoa, titles=("Fram", "Gjøa"))
    assert sorted(quotes) == sorted([fram, gjoa])
    assert first in quotes[0]


FILMS = (
    ("Red Harbour", "Red Harbour is a 1951 film directed by Ada Lund."),
    ("Still the Night", "Still the Night is a 1962 film directed by Bo Tarn."),
    ("Ada Lund", "Ada Lund (born 3 May 1911) made films. Ada Lund kept bees."),
    ("Bo Tarn", "Bo Tarn kept bees. Bo Tarn was born on 4 June 1922."),
)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which film has the director who was born later, Red Harbour or {}?", "Still"),
        ("Which film has the director born first, Red Harbour or {}?", "Red"),
        ("Which film whose director is younger, {} or Red Harbour?", "Still"),
    ],
)
@pytest.mark.parametrize("name", ["Still the Night", "Still The Night"])
def test_a_comparison_of_what_two_things_name_is_quoted_both_steps_of_each(question, first, name):
    """Of the films, and of their directors, whose dates say which film is the answer."""
    titles, texts = zip(*FILMS, strict=True)
    said = quoted(question.format(name), *texts, titles=titles, most=5)
    born = {"Ada Lund (born 3 May 1911) made films.", "Bo Tarn was born on 4 June 1922."}
    assert set(said) == {*texts[:2], *born}
    assert said[0].startswith(first)
    plain = quoted(f"Which film came out later, Red Harbour or {name}?", *texts, titles=titles)
    assert set(plain) == set(texts[:2])


def test_a_side_is_a_whole_title_not_a_name_within_it():
    texts = (
        "Lund of the Isles is a ship of 1811.",
        "Bo Tarn built Lund of the Isles.",
        "Moss of 1822.",
    )
    said = quoted(
        "Which is older, Lund Of The Isles or Moss?",
        *texts,
        titles=("Lund of the Isles", "Lund", "Moss"),
    )
    assert set(said) == {texts[0], texts[2]}


def test_more_is_quoted_where_no_sentence_is_likely():
    """One where it surely has the answer, as many as may be where none of them does."""
    ship = "The Hesper was built by Ada Lund at Moss."
    names = ("Alba", "Brine", "Coral", "Dorade", "Elfin", "Fulmar", "Gannet")
    others = [f"The {name} sailed with the tide." for name in names]
    assert len(quoted("Who built the Hesper?", ship, *others, most=5)) == 1
    asked = "What did the owner say of the voyage?"
    assert [len(quoted(asked, *others, most=n)) for n in (2, 5, 7)] == [2, 5, 5]


@pytest.mark.parametrize(("record", "values"), ALIKE.items())
def test_of_alike_records_the_one_asked_for_is_quoted_first(record, values):
    """What it says is new, though its name is not; the others name what nobody asked for."""
    texts = [record.format(*each) for each in values]
    for (name, _), text in zip(values, texts, strict=True):
        verb = record.split()[-2].rstrip("s")
        for passages in (texts, texts[::-1], [" ".join(texts)]):
            assert quoted(f"What does {name} {verb}?", *passages)[0] == text


@pytest.mark.parametrize(
    "question", ["What do E103 and E101 mean?", "Compare E101 and E103", "Is E103 worse than E101?"]
)
def test_of_alike_records_all_that_are_asked_for_are_quoted_and_no_other(question):
    states = {"E101": "a filter is clogged", "E102": "a pump is dry", "E103": "a lid is open"}
    texts = [f"Error {code} means that {state}." for code, state in states.items()]
    for passages in (texts, texts[::-1], [" ".join(texts)]):
        assert sorted(quoted(question, *passages)) == [texts[0], texts[2]]


def test_what_the_index_stores_is_not_embedded_again():
    """With the snapshot only the question is read by the model."""
    documents = [
        Document(id="a", title="Hesper", text="Ada Lund built the Hesper. She was a brig.")
    ]

    asked = []

    class Counting(HashTokenEmbedder):
        def embed_tokens(self, texts):
            asked.extend(texts)
            return super().embed_tokens(texts)

    embedder = Counting(32)
    with built(documents, real_models(embedder)) as snapshot:
        asked.clear()
        [chunk] = snapshot.layer("chunk").ids([0])
        text = documents[0].text
        here = Passage(
            number=1, chunk_id=chunk, document_id="a", title="Hesper", source="", start=0,
            end=len(text), text=text,
        )  # fmt: skip
        question = "Who built the Hesper?"
        stored, _ = choose_quotes(question, [here], real_models(embedder), snapshot)
        assert asked == [question]
        again, _ = choose_quotes(question, [here], real_models(embedder))
    assert asked[1:] == [question, "Ada Lund built the Hesper.", "She was a brig."]
    # Of the stored tokens stop words are left out, so the rest need not be the same.
    assert stored[0].start == again[0].start


def whole_chunks(snapshot):
    layer = snapshot.layer("chunk")
    rows = [*range(len(layer))]
    for key, text in zip(layer.ids(rows), layer.texts(rows), strict=True):
        document, _, place = key.rpartition(":")
        start, end = map(int, place.split("-"))
        yield Passage(
            number=1, chunk_id=key, document_id=document, title="", source="", start=start,
            end=end, text=text,
        )  # fmt: skip


TEXTS_OF_KINDS = {
    "a": "# Ships\n\n## Hesper\nAda Lund built the Hesper. She was a brig.\n\n- Two men sank.",
    "b": "Ada Lund came from Moss. " * 20,
    "c": "| Ship | Port |\n|---|---|\n" + "| Hesper | Moss. It is small. |\n" * 20,
} | {f"d{n}": "so " * n + "they sail from Oslo past Moss and " * 60 for n in range(9)}


def test_sentences_of_the_index_are_those_of_the_passages():
    """A passage is cut as the index does, as far as nothing above it tells more."""
    documents = [Document(id=key, text=TEXTS_OF_KINDS[key]) for key in "ab"]
    with built(documents, chunking=Chunking(size=48, overlap=8)) as snapshot:
        passages = list(whole_chunks(snapshot))
        stored = find_sentences(passages, snapshot)
    assert sum(each.mentions is not None for each in stored) > 9
    anew = find_sentences(passages, None)
    assert [(s.place, s.start, s.end) for s in stored] == [(s.place, s.start, s.end) for s in anew]


def test_what_the_index_tagged_is_not_tagged_again():
    """A sentence behind the one that it refers to is, as are parts of chunks."""
    seen = []

    class Counting(RuleTagger):
        def tag(self, texts):
            seen.append(list(texts))
            return super().tag(texts)

    class Other(Counting):
        name = "other"

    question = "Who built the Hesper?"
    embedder = HashTokenEmbedder(32)
    with built([Document(id="a", text=TEXTS_OF_KINDS["a"])], real_models(embedder)) as snapshot:
        [here] = whole_chunks(snapshot)
        part = replace(here, end=here.end - 1, text=here.text[:-1])
        found = [
            choose_quotes(question, [each], replace(real_models(embedder), tagger=tagger), snapshot)
            for tagger, each in ((Counting(), here), (Other(), here), (Counting(), part))
        ]
    [stored, by_another, of_part] = seen
    assert stored == [question, "Ada Lund built the Hesper. She was a brig."]
    assert {"Ada Lund built the Hesper.", stored[1]} <= set(by_another)
    assert set(of_part[1:3]) <= set(by_another)
    assert found[0] == found[1]
    assert found[0][0][0].text.startswith("Ada Lund built the Hesper.")


WORDS = st.sampled_from("Ada Lund built the Hesper in 1811 She sank off Moss and two men .".split())
TEXTS = st.lists(st.lists(WORDS, max_size=25).map(" ".join), max_size=4)


@given(TEXTS, st.lists(WORDS, max_size=8).map(" ".join), st.integers(0, 4))
def test_quotes_are_ranges_of_their_passages(texts, question, most):
    passages = [passage(n, text, start=7) for n, text in enumerate(texts, 1)]
    found, _ = choose_quotes(question, passages, models(), most=most)
    assert found == choose_quotes(question, passages, models(), most=most)[0]
    assert len(found) <= most
    assert len({(q.passage.number, q.start, q.end) for q in found}) == len(found)
    for each in found:
        assert each.passage.start <= each.start < each.end <= each.passage.end
    for a, b in combinations(found, 2):
        assert a.passage is not b.passage or a.end <= b.start or b.end <= a.start
