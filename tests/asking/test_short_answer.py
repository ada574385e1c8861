"""What is given above the quotes: by hand, and what holds of all."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.asking.answer_spans import SpanSigns, find_spans
from clew.asking.comparisons import compare_sides
from clew.asking.quotes import Quote
from clew.asking.short_answer import add_short_answer, find_short_answer
from clew.asking.span_weights import FITTED
from clew.errors import InputError
from clew.loading import Specs, load_reader
from clew.models.extractive import ReadSpan
from clew.models.rules import RuleTagger
from clew.testing import ScriptedLLM
from clew.testing import models as real_models
from clew.types import Document
from tests.asking.test_quotes import passage

LIKELY = replace(FITTED, least=0.0)
FRAM = "The Fram was built by Colin Archer and launched on 26 October 1892."
LARVIK = "Colin Archer (22 July 1832 – 8 February 1921) was born in Larvik."
GJOA = "The Gjøa was built by Knut Skaale and launched on 3 May 1872."


def quote(number, text, title, before="Before. "):
    whole = passage(number, f"{before}{text} Behind.", title, start=7)
    start = 7 + len(before)
    return Quote(whole, start, start + len(text), 0.9)


def short(question, *pairs, model=LIKELY, support=0.9):
    quotes = [quote(n, text, title) for n, (text, title) in enumerate(pairs, 1)]
    passages = [each.passage for each in quotes]
    return find_short_answer(question, quotes, passages, real_models(), support, model)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who built the Fram?", "Colin Archer"),
        ("When was the Fram launched?", "26 October 1892"),
        ("In what year was the Fram launched?", "1892"),
    ],
)
def test_what_is_asked_is_the_span_of_its_kind(question, text):
    """It is a range of the document, with the place of its quote and the probability."""
    found = short(question, (FRAM, "Fram"))
    assert (found.text, found.kind, found.note) == (text, "span", "")
    [span] = found.spans
    start = 7 + len("Before. ") + FRAM.index(text)
    assert (span.citation, span.document_id, span.text) == (0, "d1", text)
    assert (span.start, span.end) == (start, start + len(text))
    assert 0 < found.probability < 1


def test_what_is_less_likely_is_not_given():
    """Support lowers the probability; one below the least gives nothing, and no quote nothing."""
    asked = "Who built the Fram?", (FRAM, "Fram")
    known = short(*asked, support=0.9).probability
    unknown = short(*asked, support=0.1).probability
    assert unknown < known
    assert short(*asked, support=0.1, model=replace(FITTED, least=unknown + 1e-6)) is None
    assert short(*asked, support=0.9, model=replace(FITTED, least=unknown + 1e-6)) is not None
    assert short("Who built the Fram?") is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which ship was launched first, the Fram or the Gjøa?", "Gjøa"),
        ("Which ship was launched later, the Fram or the Gjøa?", "Fram"),
    ],
)
def test_dates_are_compared(question, text):
    found = short(question, (FRAM, "Fram"), (GJOA, "Gjøa (ship)"))
    assert (found.text, found.spans[0].text, found.probability) == (text, text, FITTED.compared)


@pytest.mark.parametrize(
    "question",
    [
        "Were both the Fram and the Gjøa built in Norway?",
        "Who is older, the Fram or the Gjøa ship?",
    ],
)
def test_what_quotes_need_not_say_is_not_denied(question):
    """A place may lie in a wider one, and of two things that are named a third is no answer."""
    found = short(question, (FRAM, "Fram"), (GJOA, "Gjøa (ship)"))
    assert found is None or found.text in question


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Were both the Fram and the Gjøa built?", "yes"),
        ("Were both the Fram and the Gjøa built by Colin Archer?", "no"),
    ],
)
def test_yes_and_no_rest_on_both_quotes(question, text):
    found = short(question, (FRAM, "Fram"), (GJOA, "Gjøa"))
    assert (found.text, found.kind) == (text, "yes or no")
    assert [(each.citation, each.text) for each in found.spans] == [(0, FRAM), (1, GJOA)]


def test_no_common_name_is_no_proof_that_two_have_none():
    assert (
        short(
            "Were the Fram and the Gjøa built by the same builder?", (FRAM, "Fram"), (GJOA, "Gjøa")
        )
        is None
    )


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (
            "Which film has the director who was born later, Red Harbour or Blue Night?",
            "Blue Night",
        ),
        ("Which film has the director born first, Red Harbour or Blue Night?", "Red Harbour"),
    ],
)
def test_two_things_are_compared_by_what_they_name(question, text):
    red = ("Red Harbour is a film by Ada Lund of 1951.", "Red Harbour")
    still = ("Blue Night is a film by Bo Tarn of 1949.", "Blue Night")
    lund, tarn = (
        ("Ada Lund was born in 1911.", "Ada Lund"),
        ("Bo Tarn was born in 1922.", "Bo Tarn"),
    )
    found = short(question, red, still, lund, tarn)
    assert (found.text, found.kind) == (text, "span")
    assert short(question, red, still, lund) is None


def test_births_and_deaths_are_told_apart():
    nansen = "Fridtjof Nansen (10 October 1861 – 13 May 1930) was an explorer."
    quotes = [quote(1, LARVIK, "Colin Archer"), quote(2, nansen, "Fridtjof Nansen")]
    mentions = RuleTagger().tag([each.text for each in quotes])

    def first(question):
        found = compare_sides(question, quotes, mentions)
        return found and found.sides[0].quote

    assert first("Who died first, Colin Archer or Fridtjof Nansen?") == 0
    assert first("Who died later, Colin Archer or Fridtjof Nansen?") == 1
    assert first("Who is younger, Fridtjof Nansen or Colin Archer?") is None  # no "born" of him


@pytest.mark.parametrize(
    "question",
    [
        "Which is better, the Fram or the Gjøa?",  # nothing to compare by
        "Was the director of the Fram born before the director of the Gjøa?",  # of something else
        "Was the Fram built?",  # of one alone
        "Which film has the director who died first, Fram or Gjøa?",
    ],
)
def test_what_the_quotes_do_not_compare_has_no_short_answer(question):
    assert short(question, (FRAM, "Fram"), (GJOA, "Gjøa")) is None


def test_a_list_has_no_short_answer():
    """What all documents have of something is counted, or quoted."""
    names = [("The builder was Colin Archer.", "Fram"), ("The builder was Knut Skaale.", "Gjøa")]
    plain = replace(LIKELY, span={"name NAME": 9.0, "nested": -9.0})
    assert short("List the builders", *names, model=plain) is None


WORDS = st.lists(
    st.sampled_from(
        'the of Ada Lund Oslo, "Red Sea" 26 October 1892 4 million metres. Ł é 東京 by'.split()
    ),
    min_size=1,
    max_size=25,
).map(" ".join)


@given(
    WORDS, st.sampled_from(["Who is it?", "When?", "Which town?", "List all", "How many?", "Is"])
)
def test_a_span_is_cut_from_its_document(text, question):
    """The offsets of each span give its text in the document, and nothing else is ever given."""
    document = f"{'x' * 7}Before. {text} Behind."
    found = short(question, (text, "Oslo"), (FRAM, "Fram"))
    for span in found.spans if found else ():
        if span.citation == 0:
            assert document[span.start : span.end] == span.text
        assert span.text.strip()
    for span in find_spans(text, RuleTagger().tag([text])[0]):
        assert text[span.start : span.end] == span.text


class Reader:
    """Reads the same range whatever is asked."""

    name = "reader"

    def __init__(self, place, text, words, probability=0.9):
        start = text.index(words)
        self.span = ReadSpan(place, start, start + len(words), probability)

    def read(self, question, texts):
        assert question
        return self.span if texts else None


def test_a_model_reads_the_passages():
    """A span in a quote is of that; the sentence of another one comes first, for the last quote."""
    quotes = [quote(1, FRAM, "Fram"), quote(2, GJOA, "Gjøa")]
    passages = [each.passage for each in quotes]

    def read(reader, most=2):
        models = replace(real_models(), reader=reader)
        return add_short_answer("Who?", quotes, passages, models, most=most)

    found, answer = read(Reader(1, passages[1].text, "Knut Skaale"))
    assert found == quotes
    assert (answer.text, answer.spans[0].citation, answer.probability) == ("Knut Skaale", 1, 0.9)
    found, answer = read(Reader(1, passages[1].text, "Behind"))
    assert [each.text for each in found] == ["Behind.", FRAM]
    assert (answer.text, answer.spans[0].citation) == ("Behind", 0)
    assert read(Reader(1, passages[1].text, "Behind", 0.4)) == (quotes, None)


def test_extractive_answers_are_written_by_no_llm(tmp_path):
    """The LLM may read the question, but answers are quoted; other words are refused."""
    llm = ScriptedLLM()
    models = replace(real_models(llm=llm), writes=False)
    with clew.open(tmp_path / "i.clew", models=models) as index:
        index.add([Document(id="fram", text=FRAM, title="Fram")])
        answer = index.ask("Who built the Fram?", method="bm25", min_support=0)
        assert answer.kind == "quoted"
        if answer.short:
            [span] = answer.short.spans
            assert answer.citations[span.citation].document_id == span.document_id == "fram"
            assert FRAM[span.start : span.end] == span.text
    assert load_reader("extractive") is None
    assert load_reader("extractive:some/model").name == "extractive:some/model"
    with pytest.raises(InputError, match="take extractive or extractive:MODEL"):
        load_reader("abstractive")
    assert Specs(reader="extractive").reader == "extractive"


@pytest.mark.parametrize(
    ("question", "text", "other"),
    [
        ("What is written in C#?", "The firmware is written in C++, the dashboard in C#.", "C++"),
        (
            "Who was born in Leeds?",
            "The baker was born in Leeds, Ole Vik was born in York.",
            "York",
        ),
        ("What was leased from AT&T?", "It was leased from the GPO, then from AT&T.", "GPO"),
    ],
)
def test_another_value_of_what_the_question_names_is_no_answer(question, text, other):
    """What stands where the question has a name of its own is asked about, not asked for."""
    asked = SpanSigns(question, [quote(1, text, "Page")], [], real_models())
    assert other not in {span.text for span in asked.find_spans(frozenset({"NAME", "PHRASE"}))}
    assert other in {span.text for span in find_spans(text, asked.mentions[0])}
