"""What is known of other languages than English."""

import pytest

from clew.text.languages import find_language
from clew.text.questions import find_joining, find_question_word, question_kind, refers_back
from clew.text.statements import statement_spans


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The Fram was built by Colin Archer, and she is in Oslo with the Gjøa.", "English"),
        ("Das Schiff ist nicht groß, und die Mannschaft war mit dem Kapitän zufrieden.", "German"),
        ("Le navire est dans le port, et les marins sont sur le pont avec une carte.", "French"),
        ("El barco no es grande, pero los marinos y las velas son del mejor puerto.", "Spanish"),
        ("Il porto della città è grande, e le navi sono nel golfo con gli altri.", "Italian"),
        ("Het schip is niet groot en de mannen van het dek zijn ook op reis.", "Dutch"),
        ("Statek jest w porcie i nie płynie do miasta, ale załoga się na to cieszy.", "Polish"),
        ("Gemi limanda ve bir kaptan için çok büyük, daha sonra denize olarak gibi.", "Turkish"),
        ("船は港にある。", "Japanese"),
        ("船在港口里。", "Chinese"),
        ("배는 항구에 있다.", "Korean"),
        ("Корабль стоит в порту.", "Russian or another language in Cyrillic"),
        ("Το πλοίο είναι στο λιμάνι.", "Greek"),
        ("السفينة في الميناء.", "Arabic script"),
        ("เรืออยู่ที่ท่าเรือ", "Thai"),
        ("जहाज बंदरगाह में है।", "Hindi or another language in Devanagari"),
        ("pump valve gasket PX-4471", None),
        ("", None),
    ],
)
def test_the_language_of_a_text(text, language):
    assert find_language(text) == language


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Wie viele Schiffe hat er gebaut?", "number"),
        ("En quelle année le navire a-t-il été construit ?", "date"),
        ("¿Dónde nació el capitán?", "place"),
        ("Chi ha costruito la nave?", "person"),
        ("Сколько кораблей он построил?", "number"),
        ("В каком году был построен корабль?", "date"),
        ("船はいつ造られましたか?", "date"),
        ("誰が船を造りましたか?", "person"),
        ("船是哪一年建造的？", "date"),
        ("有多少艘船？", "number"),
        ("船在哪里？", "place"),
        ("누가 배를 만들었나?", "person"),
        ("متى بنيت السفينة؟", "date"),
        ("dove migration", "name"),
        ("When did Wo Fat die?", "date"),
        ("What does quando mean?", "name"),
    ],
)
def test_what_a_question_in_another_language_asks_for(question, kind):
    """English asking words come first, and keywords ask for nothing."""
    assert question_kind(question) == kind


def test_where_a_question_asks_in_another_language():
    question = "東京タワーは誰が設計しましたか?"
    assert question[find_question_word(question) :].startswith("誰")


@pytest.mark.parametrize(
    "text",
    [
        "Подробнее см. раздел 6.|Там есть рис. 3 и т. д. и табл. 2.",
        "Das ist z. B. in Abb. 3, vgl. Nr. 5.|Am 3. Oktober 1990 war es kalt.|Es schneite.",
        "Das erschien 1892.|Danach kam nichts.|Im 19. Jahrhundert war das anders.",
        "Voir p. ex. la page 3, cf. chap. 2.|Mme. Durand est venue.",
        "El Sr. García vive en el núm. 5, p. ej. en Madrid.|Fin.",
        "Il dott. Rossi abita ad es. a Milano.|Fine.",
        "Dhr. Jansen woont o.a. in Utrecht.|Einde.",
        "डॉ. शर्मा दिल्ली में रहते हैं।|यह अच्छा है।",
        "สวรรคตใน พ.ศ. 2325 กรุงเทพมหานครเป็นเมืองหลวง",
        "昨日は雨だった．|彼は「行く。」と言った。|終わり。",
    ],
)
def test_abbreviations_end_no_sentence(text):
    whole = text.replace("|", " ")
    assert [whole[a:b] for a, b in statement_spans(whole)] == text.split("|")


@pytest.mark.parametrize(
    ("question", "kind", "joining"),
    [
        ("Quelle est la hauteur de la tour ?", "number", {"quelle", "est", "la", "de"}),
        ("In welchem Jahr wurde der Dom fertig?", "date", {"in", "welchem", "wurde", "der"}),
        ("Какова глубина озера?", "number", {"какова"}),
        ("爬泰山要走多少级台阶？", "number", set()),
        ("शहर किस वर्ष बसा?", "date", {"किस"}),
        ("מי בנה את הספינה?", "person", {"מי", "את"}),
        ("מתי ואיפה נולד?", "date", {"מתי"}),
        ("כמה ספינות היו?", "number", {"כמה", "היו"}),
        ("Who built la Torre del Oro?", "person", set()),
    ],
)
def test_what_only_joins_or_asks_in_a_question_is_known(question, kind, joining):
    assert question_kind(question) == kind
    assert find_joining(question) == joining


def test_a_sentence_refers_back_by_a_pronoun_and_a_name_does_not():
    for sentence in ("Seine tiefste Stelle ist hier.", "Elle dure six heures.", "Его построил он."):
        assert refers_back(sentence), sentence
    for sentence in ("Sudan has a desert.", "Ella Fitzgerald sang.", "On the hill stood a tower."):
        assert not refers_back(sentence), sentence


def test_what_begins_with_a_date_refers_to_nothing_before_it():
    """In French and Polish "on" is a pronoun, in English a preposition."""
    assert not refers_back("On 11 May 1926 she left Kings Bay.")
    assert refers_back("Elle est née à Oslo.")
    assert refers_back("她生于奥斯陆。")
