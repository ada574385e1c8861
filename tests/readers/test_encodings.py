"""No byte costs a file its text, and no encoding is guessed without saying that it is a guess."""

import codecs

import pytest

from clew.readers import read
from clew.readers.decode import find_codec

LETTER = "Der Bäcker in der Königstraße schließt künftig schon um vier.\n"
REPLACED = "1 place with bytes that are no UTF-8 became U+FFFD, the first in line {}"

# A sentence or two of each language, in the encodings in which its older files are.
TEXTS = {
    "German": ("cp1252 cp850", "Frau Müller prüft die Verträge, bevor der Käufer zahlt."),
    "French": ("cp1252 iso-8859-15", "Les élèves étaient fatigués après la journée à la forêt."),
    "Spanish": ("cp1252", "El niño perdió su paraguas en la estación del tren de Málaga."),
    "Danish": ("cp1252", "Skibet lå ved kajen hele dagen, fordi blæsten var for stærk."),
    "Polish": ("cp1250 iso-8859-2", "Książka, którą mi pożyczyłaś, jest bardzo ciekawa i długa."),
    "Czech": ("cp1250", "Zítra ráno pojedeme vlakem do Českých Budějovic, řekl ředitel."),
    "Hungarian": ("cp1250 iso-8859-2", "Az új híd építése több mint három évig tartott."),
    "Romanian": ("cp1250", "Mâine dimineaţă plecăm la munte împreună cu copiii şi părinţii."),
    "Turkish": ("cp1254", "Çocuklar bahçede oynarken yağmur başladı ve köprü kapandı."),
    "Lithuanian": ("cp1257", "Rytoj ryte važiuosime traukiniu į Klaipėdą, šią žiemą užšąlusią."),
    "Russian": ("cp1251 koi8-r iso-8859-5 cp866", "Дети играли во дворе, пока не начался дождь."),
    "Ukrainian": ("cp1251 koi8-u", "Її молодший брат навчається в університеті у Львові."),
    "Greek": ("cp1253 iso-8859-7", "Τα παιδιά έπαιζαν στην αυλή ώσπου άρχισε να βρέχει."),
    "Hebrew": ("cp1255", "הילדים שיחקו בחצר עד שהתחיל לרדת גשם."),
    "Arabic": ("cp1256", "كان الأطفال يلعبون في الحديقة حتى بدأ المطر."),
    "Thai": ("tis-620", "เด็กๆ เล่นอยู่ในสวนจนกระทั่งฝนเริ่มตก"),
    "Japanese": ("shift_jis euc-jp iso-2022-jp", "子どもたちは雨が降るまで庭で遊んでいました。"),
    "Korean": ("euc-kr", "아이들은 비가 내리기 시작할 때까지 마당에서 놀았습니다."),
    "Chinese": ("gb18030 gbk", "孩子们在院子里玩耍，直到开始下雨。"),
    "Taiwanese": ("big5", "孩子們在院子裡玩耍，直到開始下雨。"),
}  # fmt: skip
ENCODED = [(name, each, text) for name, (all_, text) in TEXTS.items() for each in all_.split()]


@pytest.mark.parametrize(
    ("encoding", "text"), [each[1:] for each in ENCODED], ids=[f"{a}-{b}" for a, b, _ in ENCODED]
)
@pytest.mark.parametrize("suffix", ["txt", "html"])
def test_a_sentence_tells_its_encoding(document, encoding, text, suffix):
    """Of twenty languages, in the encodings of their older files."""
    assert document(f"a.{suffix}", text.encode(encoding)).text == text


@pytest.mark.parametrize("suffix", ["txt", "md", "html", "xml"])
def test_a_bad_byte_is_replaced_and_named(document, suffix):
    """The file is read, and a note says where that was."""
    text = f"<p>{LETTER * 3}</p>" if suffix in ("html", "xml") else LETTER * 3
    data = (
        text.encode()
        .replace("künftig".encode(), b"k\xffnftig", 2)
        .replace(b"k\xff", "kü".encode(), 1)
    )
    found = document(f"a.{suffix}", data)
    assert found.text.count("\ufffd") == 1
    assert found.text.count("künftig") == 2
    assert found.partly == (REPLACED.format(2),)


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        (codecs.BOM_UTF8 + b"Bergen\xff", "Bergen\ufffd", "UTF-8"),
        ("東京タワーは一九五八年".encode()[:-1], "東京タワーは一九五八\ufffd", "UTF-8"),
        (codecs.BOM_UTF16_LE + "Bergen".encode("utf-16-le") + b"x", "Bergen\ufffd", "UTF-16"),
    ],
    ids=["mark", "cut", "utf-16"],
)
def test_a_text_that_is_cut_in_a_character_is_read(document, content, text, encoding):
    """By its byte order mark, or as UTF-8."""
    found = document("a.txt", content)
    assert found.text == text
    assert found.partly == (REPLACED.format(1).replace("UTF-8", encoding),)


@pytest.mark.parametrize("joint", [" ", "\n"])
def test_a_file_in_two_encodings_is_read_in_both(document, joint):
    """Also where both are in one line."""
    old, new = "Åse bor i Bø.", "Søren bor i Århus."
    data = joint.encode().join([old.encode()] * 5 + [new.encode("latin-1")] * 5)
    found = document("a.txt", data)
    assert found.text == joint.join([old] * 5 + [new] * 5)
    line = 6 if joint == "\n" else 1
    assert found.partly == (
        f"10 words in another encoding than the rest read as CP1252, the first in line {line}",
    )


def test_a_bad_byte_in_an_older_encoding_is_replaced(document):
    """It rules the encoding out, were all bytes taken together."""
    sentence = TEXTS["Japanese"][1] + "\n"
    data = sentence.encode("euc-jp") * 6
    found = document("a.txt", data[:20] + b"\xff" + data[20:])
    assert found.text.count(sentence) >= 5
    assert len(found.partly) == 1


def test_records_with_bad_bytes_are_kept(write):
    """Each with a note of its own; a file that is no UTF-8 is guessed."""
    first, second = read(
        [write("a.jsonl", '{"text": "Köln"}\n{"text": "Größe X"}'.encode().replace(b"X", b"\xff"))]
    )
    assert (first.text, first.partly) == ("Köln", ())
    assert (second.text, second.partly) == ("Größe \ufffd", (REPLACED.format(2),))
    (third,) = read([write("b.jsonl", '{"text": "Größe und Müßiggang"}'.encode("cp1252"))])
    assert third.text == "Größe und Müßiggang"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", '<meta charset="windows-1254"><p>{}</p>'),
        ("a.html", '<meta http-equiv="a" content="text/html; charset=ISO-8859-9"><p>{}</p>'),
        ("a.xml", '<?xml version="1.0" encoding="cp-1254"?><p>{}</p>'),
    ],
)  # fmt: skip
def test_a_page_is_in_the_encoding_that_it_states(document, name, content):
    """A word is too short for a guess."""
    assert document(name, content.format("Işık").encode("cp1254")).text == "Işık"


@pytest.mark.parametrize(
    ("name", "content", "encoding"),
    [
        ("a.py", "# -*- coding: latin-1 -*-\nwort = 'Größe'\n", "latin-1"),
        ("a.el", "#!/bin/emacs\n;; -*- coding: cp850; -*-\n(setq wort 'Größe)\n", "cp850"),
        ("a.css", '@charset "iso-8859-9";\n/* Işık */\n', "cp1254"),
        ("a.tex", "\\usepackage[applemac]{inputenc}\nGröße\n", "mac-roman"),
        ("a.tex", "\\usepackage[ansinew]{inputenc}\nGröße\n", "cp1252"),
    ],
)
def test_a_source_is_in_the_encoding_that_it_states(document, name, content, encoding):
    """Each language has its own way to say so."""
    assert document(name, content.encode(encoding)).text == content


def test_a_byte_that_is_no_letter_is_replaced(document):
    """A word of ASCII needs no other encoding for it."""
    found = document("a.txt", b"Hello\xff there.\n")
    assert (found.text, found.partly) == ("Hello\ufffd there.\n", (REPLACED.format(1),))


def test_a_few_nul_bytes_make_no_binary_file(document):
    """A crash leaves them in a log; the text keeps them."""
    content = "".join(f"Pump {n} runs.\n" for n in range(99)) + "\0\0\0After the crash.\n"
    for name in ("a.log", "messages"):
        found = document(name, content)
        assert (found.text, found.partly) == (content, ("3 NUL bytes, the first in line 100",))


def test_a_stated_encoding_that_is_wrong_does_not_count(document):
    """Editors write UTF-8 below an old head."""
    page = '<meta charset="{}"><p>Größe und Müßiggang</p>'
    for stated in ("iso-8859-1", "utf-16", "nonsense"):
        assert document("a.html", page.format(stated).encode()).text == "Größe und Müßiggang"
    assert document("a.html", page.format("utf-8").encode("cp1252")).text == "Größe und Müßiggang"


def test_xml_is_read_in_encodings_of_several_bytes(document):
    """The parser knows none of them."""
    page = '<?xml version="1.0" encoding="Shift_JIS"?><p>契約書は三月末までに。</p>'
    assert document("a.xml", page.encode("shift_jis")).text == "契約書は三月末までに。"


def test_a_guess_that_is_not_sure_is_said(document):
    """Several encodings have letters for its few bytes."""
    found = document(
        "a.txt", "Lunedì e martedì il museo resterà chiuso al pubblico.".encode("cp1252")
    )
    (note,) = found.partly
    assert ", which is a guess: it may be " in note
    assert document("b.txt", TEXTS["Russian"][1].encode("cp1251")).partly == ()


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("cp-850", "cp850"), ("ISO-8859-8-I", "cp1255"), ("iso_8859_2", "iso8859-2"),
        ("x-sjis", "cp932"), ("windows-1252", "cp1252"), ("ks_c_5601-1987", "cp949"),
        ("unknown-8bit", ""), ("base64", ""), ("", ""), ("no\0ne", ""),
    ],
)  # fmt: skip
def test_names_of_encodings_are_known_by_their_aliases(name, codec):
    """What is none has no codec."""
    assert find_codec(name) == codec
