"""What is known of other languages than English: in which one a text is, what asks, what ends.

English has its own rules where these are read: `analyze`, `questions`, `sentences`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Literal

Kind = Literal["number", "date", "place", "person", "name"]

_LEAST = 0.08  # the share of words that are a language's commonest, in its texts
_READ = 5_000  # characters of a text
_WORD = re.compile(r"[^\W\d_]+")

# The commonest words of languages in the Latin script that few others have.
_WORDS: Mapping[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "English": "the of and to in is was that for it with as his on be at by had are this from",
        "German": "der die das und ist nicht ein eine zu den von mit dem sich auf für werden im",
        "French": "le la les des est et dans une un du que pour qui par sur au avec sont ce pas",
        "Spanish": "el la los las de que en un una por con para del se es su al como más",
        "Italian": "il di che la della è un una per del con sono nel alla le gli dei non si",
        "Portuguese": "o de que e do da em um uma para com não os no se na por mais as dos ao",
        "Dutch": "de het een van en in is dat op te voor met zijn niet aan er ook bij door",
        "Polish": "w i na z się do jest że nie o jak po przez od są za dla ale był",
        "Czech": "a v se na je že s z do o jako za pro by jsou byl ve podle po",
        "Swedish": "och i att det som en på är av för med den till ett inte om har de",
        "Danish": "og i at det er en til på som af for med den der ikke et har fra",
        "Finnish": "ja on ei että se oli hän mutta kun ovat tai myös sen joka ole",
        "Hungarian": "a az és hogy nem egy is volt csak mint meg már ez kell",
        "Turkish": "ve bir bu için da de ile olarak çok daha olan gibi en ise",
        "Romanian": "și de în la a cu pe din care este un o nu că pentru mai",
        "Vietnamese": "và của là có được cho trong một các những với người không này",
        "Indonesian": "yang dan di dengan untuk dari pada ini itu dalam tidak adalah ke",
    }.items()
}  # fmt: skip
_SCRIPTS = (
    ("Japanese", re.compile(r"[\u3041-\u30fa]")),
    ("Chinese", re.compile(r"[\u4e00-\u9fff]")),
    ("Korean", re.compile(r"[\u1100-\u11ff\uac00-\ud7af]")),
    ("Russian or another language in Cyrillic", re.compile(r"[\u0400-\u052f]")),
    ("Greek", re.compile(r"[\u0370-\u03ff]")),
    ("Arabic script", re.compile(r"[\u0600-\u06ff]")),
    ("Hebrew", re.compile(r"[\u0590-\u05ff]")),
    ("Thai", re.compile(r"[\u0e00-\u0e7f]")),
    ("Hindi or another language in Devanagari", re.compile(r"[\u0900-\u097f]")),
)


def _split(words: str) -> list[str]:
    """Return the patterns that stand in a text with commas between them."""
    return [word.strip() for word in words.split(",") if word.strip()]


def _match_any(words: str, parts: str) -> re.Pattern[str]:
    """Return a pattern of whole words, and of parts of what is written without spaces."""
    return re.compile(
        rf"\b(?:{'|'.join(_split(words))})\b|{'|'.join(_split(parts))}", re.IGNORECASE
    )


# What asks for a kind of thing, wherever it stands in a question.
ASKING: Mapping[Kind, re.Pattern[str]] = {
    "number": _match_any(
        r"""wie ?viele?, wie (?:oft|lange|hoch|alt|groß|gross), combien, cuánt[oa]s?, quant[eio],
        quant[oa]s, hoeveel, hur många, hvor mange, ile, kolik, hány, kaç, bao nhiêu, berapa,
        сколько, скільки, πόσ[αεοη]\w*""",
        """いくつ, いくら, 何[人個本冊台枚回歳], 多少, [几幾][个個人本次],
        몇 ?(?!년), 얼마, كم, कितन, กี่, เท่าไร""",
    ),
    "date": _match_any(
        """wann, in welchem jahr, quand, (?:en|à) quelle (?:année|date), cuándo, quando,
        (?:en|em) qu[eé] año, em que ano, in che anno, wanneer, in welk jaar, när, hvornår, når,
        kiedy, kdy, mikor, ne zaman, khi nào, kapan, когда, в каком году, коли, πότε""",
        """いつ, 何年, 何月, 何日, 何時, 哪一?[年天], [几幾]年, 什[么麼][时時]候, 何[时時],
        언제, 몇 ?년, متى, कब, เมื่อไ, ปีใด, ปีไหน""",
    ),
    "place": _match_any(
        """wo, wohin, woher, où, d'où, dónde, onde, dove, waar, var, hvor, gdzie, kde, hol, nerede,
        ở đâu, di mana, где, куда, откуда, в как(?:ом|ой) (?:городе|стране|месте), де, πού""",
        "どこ, 何処, 哪里, 哪裡, 哪儿, 何[處处], 어디, أين, कहाँ, कहां, ที่ไหน",
    ),
    "person": _match_any(
        """wer, wen, wem, wessen, qui, quién(?:es)?, quem, chi, wie is, vem, hvem, kto, kdo, ki,
        kim, siapa, кто, кого, кому, кем, хто, ποιος""",
        "誰, だれ, 谁, 누[구가], कौन, किसने, ใคร",
    ),
}

# What ends with a dot and no sentence.
_ABBREVIATED = _split(
    r"""bzw, bspw, vgl, evtl, ggf, usw, inkl, zzgl, sog, abb, nr, bd, jh, hrsg, str, ca, geb, gest,
    [zudos] ?\. ?[abhou], mme, mlle, chap, fig, env, éd, vol, av, apr, p ?\. ?ex, cf, c\.-à-d,
    sr, sra, srta, dña, núm, págs?, aprox, avda, EE, UU, ej, p\. ?ej, dott, sigg?, ecc, pagg?,
    ad es, avv, dhr, mevr, bijv, blz, o\.a, m\.b\.t, zob, tzn, tj, np, ul, św, wyd, см, ср, напр,
    рис, табл, стр, гл, разд, им, ул, пер, просп, обл, акад, проф, гг?, тыс, млн, млрд, руб,
    т ?\. ?[екн], डॉ, श्री, พ\.ศ, ค\.ศ, ม\.ร\.ว, ดร, น\.ส"""
)
_SPELT = [*_ABBREVIATED, *(word[:1].upper() + word[1:] for word in _ABBREVIATED)]
ABBREVIATION = re.compile(rf"(?:(?<=\s)|(?<=[(„«])|^)(?:{'|'.join(_SPELT)})\.$")
# "am 3. Oktober", "im 19. Jahrhundert"
ORDINAL = re.compile(r"(?<=\s)\d{1,2}\.$")
COUNTED = re.compile(
    "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
    "|Jahrhundert|Auflage|Kapitel|Klasse|Abschnitt"
)


def find_language(text: str) -> str | None:
    """Return the name of the language or script of a text, None where nothing tells.

    >>> find_language("Der Turm ist nicht auf dem Berg, und das Haus ist in der Stadt.")
    'German'
    >>> find_language("pump valve gasket")
    """
    read = text[:_READ]
    letters = sum(map(str.isalpha, read))
    for name, script in _SCRIPTS:
        if len(script.findall(read)) * 5 > letters:
            return name
    words = [word.casefold() for word in _WORD.findall(read)]
    counts = Counter({name: sum(word in own for word in words) for name, own in _WORDS.items()})
    (name, most), (_, second) = counts.most_common(2)
    return name if most > second and most >= max(3, _LEAST * len(words)) else None
