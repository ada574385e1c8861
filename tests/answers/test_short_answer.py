"""What is given above the quotes: by hand, and what holds of all."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.answers.quotes import Quote
from clew.answers.short_answer import add_short_answer, find_value, name_first
from clew.base.types import Document
from clew.errors import InputError
from clew.models import ReadSpan
from clew.models.loading import Specs
from clew.testing import ScriptedLLM
from clew.testing import models as real_models
from tests.answers.test_quotes import passage

FRAM = "The Fram was built by Colin Archer and launched on 26 October 1892."
GJOA = "The Gjøa was built by Knut Skaale and launched on 3 May 1872."
HARBOUR = "The Last Harbour is a 1957 Norwegian film directed by Ingrid Vold."
ZEYNEP = "Zeynep is a 1971 Turkish film directed by Kemal Arslan."
ROAD = "No Road Through Winter is a 1964 war film directed by Anton Belov."
VOLD = "Ingrid Vold (3 May 1911 – 12 June 1990) was a Norwegian director."
ARSLAN = "Kemal Arslan (born 19 January 1930, died 4 March 2001) was a Turkish director."


def quote(number, text, title, before="Before. "):
    whole = passage(number, f"{before}{text} Behind.", title, start=7)
    start = 7 + len(before)
    return Quote(whole, start, start + len(text), 0.9)


def short(question, *pairs):
    quotes = [quote(n, *pair) for n, pair in enumerate(pairs, 1)]
    return name_first(question, quotes, [each.passage for each in quotes])


SHIPS = ((FRAM, "Fram"), (GJOA, "Gjøa (ship)"))
FILMS = ((HARBOUR, "The Last Harbour (film)"), (ZEYNEP, "Zeynep"))
PEOPLE = ((VOLD, "Ingrid Vold"), (ARSLAN, "Kemal Arslan"))


@pytest.mark.parametrize(
    ("question", "pairs", "text"),
    [
        ("Which ship was launched first, the Fram or the Gjøa?", SHIPS, "Gjøa"),
        ("Which ship was launched later, the Fram or the Gjøa?", SHIPS, "Fram"),
        ("Of the Fram and the Gjøa, which was built first?", SHIPS, "Gjøa"),
        ("Which of the Fram and the Gjøa was built first?", SHIPS, "Gjøa"),
        ("Was the Fram or the Gjøa launched first?", SHIPS, "Gjøa"),
        ("Is the Fram or the Gjøa the older one?", SHIPS, "Gjøa"),
        ("Who was born later, Ingrid Vold or Kemal Arslan?", PEOPLE, "Kemal Arslan"),
        ("Who died first, Ingrid Vold or Kemal Arslan?", PEOPLE, "Ingrid Vold"),
        ("Did Ingrid Vold or Kemal Arslan die first?", PEOPLE, "Ingrid Vold"),
        ("Who is younger, Ingrid Vold or Kemal Arslan?", PEOPLE, "Kemal Arslan"),
        ("Which film came out later, Zeynep or The Last Harbour?", FILMS, "Zeynep"),
    ],
)
def test_dates_are_compared(question, pairs, text):
    """The answer is a range of the document, with the place of its quote and the probability."""
    found = short(question, *pairs)
    assert (found.text, found.kind, found.note) == (text, "span", "")
    [span] = found.spans
    place = [pair[0] for pair in pairs].index(next(t for t, _ in pairs if text in t))
    start = 7 + len("Before. ") + pairs[place][0].index(text)
    assert (span.citation, span.document_id, span.text) == (place, f"d{place + 1}", text)
    assert (span.start, span.end) == (start, start + len(text))
    assert 0.9 < found.probability < 1


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which film is older, The Last Harbour or Zeynep?", "The Last Harbour"),
        ("Which film is older, the last harbour or zeynep?", "The Last Harbour"),
        ("Which film was released first, No Road Through Winter or Zeynep?", ROAD[:22]),
        ("Which film is newer, No Road Through Winter or The Last Harbour?", ROAD[:22]),
    ],
)
def test_words_of_names_do_not_steer_and_are_not_cut(question, text):
    """A film named "Last" is not late, and "No" belongs to a name."""
    assert short(question, *FILMS, (ROAD, "No Road Through Winter")).text == text


@pytest.mark.parametrize(
    "question",
    [
        "Which has more cabins, the Last Fram or the Gjøa?",
        "Welches Schiff ist älter, die Fram oder die Gjøa?",  # codespell:ignore ist,oder
        "Which is better, the Fram or the Gjøa?",  # nothing to compare by
        "Which was sold first, the Fram or the Gjøa?",  # of which the quotes say nothing
        "Who is older, the Fram?",
        "Were the Fram and the Gjøa both built in Norway?",  # yes and no are quoted
        "Were the Fram and the Gjøa built in the same town?",
        "Is the Fram older than the Gjøa?",
        "Was the director of the Fram born before the director of the Gjøa?",  # of something else
        "Which film has the director who died first, Fram or Gjøa?",
        "Which ship has the older captain, the Fram or the Gjøa?",
        "Who built the ship that was launched first, the Fram or the Gjøa?",
        "Where was the older of the Fram and the Gjøa built?",
        "In what year was the older one built, the Fram or the Gjøa?",
        "Which was launched first in Norway, the Fram or the Gjøa?",
        "Which builder's first ship was launched earlier, the Fram or the Gjøa?",
    ],
)
def test_what_is_not_dated_is_quoted(question):
    assert short(question, *SHIPS) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Fram was launched in 1892.", "The Gjøa was launched in May 1892."),  # may be before
        ("The Fram was launched in 1892.", "The Gjøa was sold in 1901."),
        ("The Fram was launched in 1892.", "The Gjøa was built by Skaale, who died in 1901."),
        ("The Fram was launched in 1892.", "The Gjøa was re-launched in 1901."),
        ("The Fram was launched in 1892.", "The Gjøa launched a boat in 1901."),
        ("The Fram was launched in 1892.", "The Gjøa won a prize that is a 1901 cup."),
    ],
)
def test_a_date_of_something_else_is_not_compared(one, other):
    asked = "Which was launched first, the Fram or the Gjøa?"
    assert short(asked, (one, "Fram"), (other, "Gjøa")) is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which film has the director who was born later, {} or {}?", "Zeynep"),
        ("Which film has the director born first, {} or {}?", "The Last Harbour"),
        ("Which film whose director died first, {} or {}?", "The Last Harbour"),
        ("Which film has the director who is younger, {} or {}?", "Zeynep"),
    ],
)
def test_two_things_are_compared_by_what_they_name(question, text):
    """In the role that the question says, and not by another one who is named there."""
    asked = question.format("Zeynep", "The Last Harbour")
    star = "Per Aune (1 May 1890 – 3 May 1995) was a singer."
    films = ((f"With Per Aune: {HARBOUR}", "The Last Harbour"), (ZEYNEP, "Zeynep"))
    found = short(asked, *films, (star, "Per Aune"), *PEOPLE)
    assert (found.text, found.kind) == (text, "span")
    assert short(asked, *films, (star, "Per Aune"), PEOPLE[0]) is None


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        ("Who is older, Ada or Bo?", "Ada made her debut in 1990.", "Bo was founded in 1980."),
        (
            "Which singer is older, Ada or Bo?",
            "Ada founded Kite in 1990.",
            "Bo founded Myr in 1980.",
        ),
        ("Who is older, Ada or Bo?", "Ada (active 1950–1990) sang.", "Bo (1940–1999) sang."),
        (
            "Who died first, Ada or Bo?",
            "Ada (born 1911, married 1935) sang.",
            "Bo (1940–1999) sang.",
        ),
        ("Who died first, Ada or Bo?", "Ada sah 1935 die Stadt.", "Bo (1940–1999) sang."),
    ],
)
def test_people_are_compared_by_their_lives(question, one, other):
    assert short(question, (one, "Ada"), (other, "Bo")) is None


def test_what_several_documents_are_called_is_not_compared():
    """Nor what several people did together."""
    older = "The Last Harbour is a 1931 film."
    asked = "Which film is older, The Last Harbour or Zeynep?"
    assert short(asked, *FILMS) is not None
    assert short(asked, *FILMS, (older, "The Last Harbour (1931 film)")) is None
    whole = "Which film is older, The Last Harbour (film) or Zeynep?"
    assert short(whole, *FILMS, (older, "The Last Harbour (1931 film)")) is not None
    asked = "Which film has the director born first, The Last Harbour or Zeynep?"
    joint = (HARBOUR.replace("Vold", "Vold and Bo Tarn"), "The Last Harbour")
    assert short(asked, *FILMS, *PEOPLE) is not None
    assert short(asked, joint, FILMS[1], *PEOPLE) is None


def test_no_quote_gives_no_short_answer():
    assert short("Who is older, Ada or Bo?") is None


WORDS = st.lists(
    st.sampled_from(
        "the of Ada Lund Oslo, (1861–1930) 26 October 1892 is a born Ł é 東京 by".split()
    ),
    min_size=1,
    max_size=25,
).map(" ".join)


@given(WORDS, WORDS, st.sampled_from(["Who is older", "Who died last", "Which was built first"]))
def test_a_name_is_cut_from_its_document(text, other, question):
    """The offsets of the span give its text in the document, and nothing else is ever given."""
    texts = [f"Oslo {text}", f"Ada {other}"]
    found = short(f"{question}, Oslo or Ada?", (texts[0], "Oslo"), (texts[1], "Ada"))
    for span in found.spans if found else ():
        document = f"{'x' * 7}Before. {texts[span.citation]} Behind."
        assert document[span.start : span.end] == span.text
        assert span.text in {"Oslo", "Ada"}


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
    with pytest.raises(InputError, match="unknown reader 'abstractive': choose extractive"):
        Specs(reader="abstractive")
    assert Specs(reader="extractive").reader == "extractive"


@pytest.mark.parametrize(
    ("question", "text", "found"),
    [
        ("When was the Fram launched?", FRAM, "26 October 1892"),
        ("When did Ingrid Vold die?", VOLD, "12 June 1990"),
        ("What is the date of birth of Ingrid Vold?", VOLD, "3 May 1911"),
        (
            "How many cabins has the Fram?",
            "Since 1892 the Fram has twenty-two cabins.",
            "twenty-two",
        ),
        ("When was she sold?", "She was built in 1872 and sold in 1901.", None),
        ("When was the ship of 1892 sold?", "The ship of 1892 was sold by Nansen.", None),
        ("When was the Fram launched?", "[2026-03-04 09:10] Ada: the Fram was launched.", None),
        ("How many cabins has she?", "She has ten cabins and twelve boats.", None),
        ("How many cabins has she?", "She has ten boats.", None),
        ("Was the Fram launched in 1893?", FRAM, None),
        ("Wann lief die Fram vom Stapel?", FRAM, None),  # codespell:ignore lief
    ],
)
def test_the_only_date_or_number_is_given(question, text, found):
    """Not where the quote has a second one, or where the question asks for something else."""
    given = find_value(question, [quote(1, text, "Ship")])
    assert (given and given.text) == found
    assert given is None or given.spans[0].start == 7 + len("Before. ") + text.index(found)


def test_an_unlikely_quote_gives_no_date():
    unlikely = quote(1, FRAM, "Fram")._replace(probability=0.4)
    assert find_value("When was the Fram launched?", [unlikely]) is None


TRIPLES = """\
{"id": "fram", "triples": [["Colin Archer", "built", "Fram"], ["Fram", "built for", "Nansen"]]}
{"id": "archer", "triples": [["Colin Archer", "born in", "Larvik"], ["Archer", "saw", "Rome"]]}
"""
SHIPYARD = [
    Document(
        id="fram",
        title="Fram (ship)",
        text="The Fram was a polar ship. Colin Archer built her for Nansen.",
    ),
    Document(
        id="archer",
        title="Colin Archer",
        text="Colin Archer was born in Larvik in 1832. He had studied in Australia.",
    ),
]


def test_a_graph_and_a_quote_agree(tmp_path):
    """The answer of imported triples is given with the statements of its facts, and only then."""
    (tmp_path / "t.jsonl").write_text(TRIPLES, encoding="utf-8")
    with clew.open(tmp_path / "i.clew") as index:
        index.add(SHIPYARD)
        index.import_triples(tmp_path / "t.jsonl")
        found = index.ask("In which town was the builder of the Fram born?", method="paths")
        other = index.ask("Where did the builder of the Fram die?", method="paths")
    assert (found.kind, found.short.text, found.short.kind) == ("quoted", "Larvik", "named")
    assert [(each.link, each.quote) for each in found.citations] == [
        ("", "Colin Archer was born in Larvik in 1832."),
        ("Colin Archer", "Colin Archer built her for Nansen."),
    ]
    assert other.short is None


def test_a_graph_by_rules_is_quoted(tmp_path):
    """Triples of words between names are right too seldom, and were an answer before."""
    with clew.open(tmp_path / "i.clew") as index:
        index.add(SHIPYARD, triples="cooccurrence")
        found = index.ask("Who built the ship for Nansen?", method="paths")
    assert found.evidence.graph.answers
    assert (found.kind, found.short) == ("quoted", None)
