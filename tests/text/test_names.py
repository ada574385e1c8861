"""Names, quotations, dates and titles in sentences that could stand in an encyclopedia."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.text.dates import date_spans
from clew.text.names import name_spans, quoted_spans, strip_title, uncased_spans

# sentence, names, dates; in the order in which they are found
SENTENCES = [
    ("Roald Amundsen sailed the Fram south.", "Roald Amundsen|Fram", ""),
    ("The Fram was built by Colin Archer in 1892.", "Fram|Colin Archer", "1892"),
    ("The Battle of the Bulge began late.", "Battle of the Bulge|Bulge", ""),
    ("It was fought until December 1944.", "", "December 1944"),
    ("Erich von Drygalski led it.", "Erich von Drygalski|Drygalski", ""),
    ("She led the Gauss expedition of 1901–03.", "Gauss", "1901–03"),
    (
        "Captain Scott's last diary is in the British Library.",
        "Captain Scott|Scott|British Library",
        "",
    ),
    ("J. R. R. Tolkien taught at Oxford.", "J. R. R. Tolkien|Oxford", ""),
    ("St. Louis lies on the Mississippi River.", "St. Louis|Louis|Mississippi River", ""),
    ("They met in Paris. Berlin came later.", "Paris|Berlin", ""),
    ("Simon & Garfunkel sang.", "Simon & Garfunkel|Simon|Garfunkel", ""),
    (
        "The 1920 Summer Olympics were held in Antwerp.",
        "Summer Olympics|1920 Summer Olympics|Antwerp",
        "1920",
    ),
    (
        "In 1912 Shirase led it, and by 1914 Ernest Shackleton.",
        "Shirase|Ernest Shackleton",
        "1912|1914",
    ),
    (
        "1912 Shirase landed; on 5 May 1914 Shackleton sailed.",
        "Shirase|Shackleton",
        "1912|5 May 1914",
    ),
    ("On 2nd of May 1885 she moved to Bergen, Norway.", "Bergen|Norway", "2nd of May 1885"),
    ("They walked to Maud of Wales.", "Maud of Wales|Wales", ""),
    ("A title is Duke of York and Albany.", "Duke of York and Albany|Duke of York|Albany|York", ""),
    ("Nobody at IBM knew.", "IBM", ""),
    ("The labs filed 12 patents in the 1960s.", "", "1960s"),
    ("Apollo 11 landed on 1969-07-20.", "Apollo 11", "1969-07-20"),
    ("The premiere was on January 29, 1964.", "", "January 29, 1964"),
    ("Their cat sat on the mat.", "", ""),
    ("In the 19th century, Leiden was a centre of physics.", "Leiden", "19th century"),
    ("He died in 44 BC.", "BC", "44 BC"),
    (
        "They heard Ludwig van Beethoven's Ninth Symphony.",
        "Ludwig van Beethoven|Beethoven|Ninth Symphony",
        "",
    ),
    ("He lost to the New York Times v. Sullivan.", "New York Times|Sullivan", ""),
    ("Then came Pourquoi-Pas?, Charcot's ship.", "Pourquoi-Pas|Charcot", ""),
    ("Apsley Cherry-Garrard wrote it.", "Apsley Cherry-Garrard", ""),
    ("He saw Mardon--Salome too--IN--_the_ night.", "Mardon|Salome", ""),
    ("Who leads IT in the US Navy?", "IT in the US Navy|IT|US Navy", ""),
    ("It told us of it.", "", ""),
    (
        "Les plans d'Orsay et de l'Italie par Jeanne d'Arc.",
        "Orsay et de l'Italie|Orsay|Italie|Jeanne d'Arc",
        "",
    ),
    ("He is José Ortega y Gasset.", "José Ortega y Gasset|José Ortega|Gasset", ""),
    (
        "Prince Charles, Prince of Wales, visited Cardiff.",
        "Prince Charles|Charles|Prince of Wales|Wales|Cardiff",
        "",
    ),
    ("Charles III was crowned in May 2023.", "Charles III", "May 2023"),
    (
        "President Franklin D. Roosevelt met Winston Churchill.",
        "President Franklin D. Roosevelt|Franklin D. Roosevelt|Winston Churchill",
        "",
    ),
    ("Mr. Smith lives in London.", "Smith|London", ""),
    ("Война и мир, роман Льва Толстого.", "Война|Льва Толстого", ""),
    ("Ελλάδας είναι η Αθήνα.", "Ελλάδας|Αθήνα", ""),
    ("Her iPhone rang.", "iPhone", ""),
    ("It sank off Cape Adare, Sept. 1907.", "Cape Adare", "Sept. 1907"),
    ("Jose\u0301 Marti\u0301 fell.", "Jose\u0301 Marti\u0301", ""),
    (
        "They saw the Bay of Whales and Oslo.",
        "Bay of Whales and Oslo|Bay of Whales|Oslo|Whales",
        "",
    ),
    ("HMS Terror\nwas found in 2016/17.", "HMS Terror", "2016/17"),
    ("Oslo on Monday and Bergen in August.", "Oslo on Monday and Bergen|Oslo|Bergen", "August"),
    ("Winter Storm of January hit in June.", "Winter Storm", "January|June"),
    ("On Black Friday August Strindberg left.", "Black Friday August Strindberg", ""),
    ("Back's Fish River with 105 men.", "Back|Fish River", ""),
    ("Mon Sep 17 00:00 is no name.", "", "Sep 17"),
    ("In the 2nd week of 300 nothing happened.", "", ""),
    ("北京大学在北京。", "", ""),
    ("He and the others went from here to there.", "", ""),
    ("", "", ""),
]


def texts(text, spans):
    return [text[a:b] for a, b in spans]


@pytest.mark.parametrize(("sentence", "names", "dates"), SENTENCES)
def test_names_and_dates_in_a_sentence(sentence, names, dates):
    """Capitalised runs and the parts that can stand alone; days, years, decades and centuries."""
    assert "|".join(texts(sentence, name_spans(sentence))) == names
    assert "|".join(texts(sentence, date_spans(sentence))) == dates


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('He wrote "The Worst Journey in the World".', ["The Worst Journey in the World"]),
        ("called “the Iron Lady,” they say", ["the Iron Lady"]),
        ("read « Les Misérables » twice", ["Les Misérables"]),
        ("las „Faust“ gern", ["Faust"]),
        ("las „Faust” gern", ["Faust"]),
        ("《红楼梦》和「雪国」と『心と』", ["红楼梦", "雪国", "心と"]),
        ('"..." and "?!"', []),
        ('"a"', []),
        ('"127" and "-- > 8"', []),
        ('"one" or "two"', ["one", "two"]),
        ('"a line\nbreak"', []),
        ('"' + "x" * 81 + '"', []),
        ("it's the dogs' day", []),
    ],
)
def test_quotations(text, quoted):
    """Short quotations in the marks of many languages are found, without end marks."""
    assert texts(text, quoted_spans(text)) == quoted


@pytest.mark.parametrize(
    "name",
    [
        "I.B.M", "U.S.A", "AT&T", "R&D", "C#", "C++", ".NET", "Node.js", "Wal*Mart", "v2.1",
        "Debian 12.4", "TLS 1.3", "8812-00-7", "PX-4471-A", "Warner Bros. Records", "La Paz",
        "Al Pacino", "Van Morrison", "Ibn al-Nafis", "Robert De Niro", "José Núñez", "O'Brien",
        "Rolls-Royce", "Apollo 11", "Henry VIII",
    ],
)  # fmt: skip
def test_names_of_many_kinds(name):
    """Each is one name, wherever it stands."""
    for text in (f"Last year {name} was seen there.", f"They asked about {name}.", f"{name} came."):
        assert name in texts(text, name_spans(text))


def test_a_name_within_a_longer_one_is_a_name_too():
    text = "She was CEO of Bank of America in 1990."
    found = texts(text, name_spans(text))
    assert found == ["CEO of Bank of America", "Bank of America", "America"]
    assert texts("Do Americans sail?", name_spans("Do Americans sail?")) == ["Americans"]


def test_terms_and_titles_without_names():
    """Where nothing marks a name, every term may be one."""
    text = "Oslo 北京 مصر"
    assert texts(text, uncased_spans(text)) == ["北京", "مصر"]
    assert texts("Oslo", uncased_spans("Oslo")) == []
    text = "東京タワーは1958年に完成した電波塔である。"  # endings are in hiragana
    assert texts(text, uncased_spans(text)) == ["東京タワー", "完成", "電波塔"]
    text = "这是上海的豫园"
    assert texts(text, uncased_spans(text)) == ["上海", "豫园"]
    assert texts("สะพานพุทธ", uncased_spans("สะพานพุทธ")) == []
    assert "untitled" in strip_title("(untitled)")


@pytest.mark.parametrize(
    ("title", "core"),
    [
        ("The Thing (1982 film)", "Thing"),
        ("The Fram", "Fram"),
        ("A Night at the Opera", "Night at the Opera"),
        ("It (novel)", "It"),
        ("The", "The"),
        ("Fram", "Fram"),
        ("Naples (Italy) (city)", "Naples (Italy)"),
        ("Mercury （planet）", "Mercury"),
        ("Dr. Strangelove", "Strangelove"),
        ("war of the worlds", "war of the worlds"),
        ("2001: A Space Odyssey", "2001: A Space Odyssey"),
        ("Her (film) ", "Her"),
        ("an unclosed (bracket", "unclosed (bracket"),
        ("红楼梦", "红楼梦"),
        ("?", "?"),
        ("", ""),
    ],
)
def test_the_core_of_a_title(title, core):
    """Articles and a bracket at the end do not belong to the name."""
    assert strip_title(title) == core


PIECES = [
    "A ", "of ", "the ", "and ", "Mr. ", "J. ", "King ", "Scott's ", "1920 ", "May ", "3rd ", ", ",
    ". ", '"', "“", "”", "«", "»", "(", ")", "-", "’", "&", "\n", "中文", "é", "\u0301", "AD ", "x",
]  # fmt: skip
TEXT = st.lists(st.text(max_size=6) | st.sampled_from(PIECES), max_size=30).map("".join)


@given(TEXT)
def test_spans_lie_inside_the_text(text):
    """Whatever the text, spans are not empty, and names do not begin or end in white space."""
    for spans in (name_spans, date_spans, quoted_spans, uncased_spans):
        for a, b in spans(text):
            assert 0 <= a < b <= len(text)
            assert not text[a].isspace() or spans is quoted_spans
    assert strip_title(text) in text


@pytest.mark.parametrize(
    "unit",
    [
        "A of the ", "A of ", "A and ", "Mr. ", "Dr. A. B. of the C. ", "(", "( )", ")", '"', "“",
        "«", "« ", "„", "「", "A.", "A-", "A'", "A/", "-", "1-", "1 of ", "Jan ", "1920 ", "1920-",
        " ", "\n", " \n", "中", "Saint A ", "B's ", "the ", "& ",
    ],
)  # fmt: skip
def test_hostile_text_takes_linear_time(unit):
    """40,000 characters of any of these are read in a moment."""
    text = "a" + unit * (40_000 // len(unit)) + "b"
    for spans in (name_spans, date_spans, quoted_spans, uncased_spans):
        assert all(b <= len(text) for _, b in spans(text))
    assert strip_title(text) in text


@pytest.mark.parametrize("gap", ["of the", "of and the", "of the old", "was of the very old"])
def test_no_name_goes_on_across_three_plain_words(gap):
    """Two connectors join a name; three of them, or another word, end it."""
    text = f"Bay {gap} Whales froze"
    names = {text[a:b] for a, b in name_spans(text)}
    assert ((f"Bay {gap} Whales") in names) == (gap == "of the")
    assert "Whales" in names
