"""Language-specific patterns: detection, question words, sentence ends.

English has its own rules where these are read: `analyze`, `questions`, `sentences`.
"""

# ruff: noqa: E501 -- a character of some scripts counts as two columns

import re
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from clew.base.runtime.lazy import compile_re

Kind = Literal["number", "date", "place", "person", "name"]

_MIN_SHARE = 0.08  # the share of words that are a language's commonest, in its texts
_MAX_LENGTH = 5_000  # characters of a text
_WORD = compile_re(r"[^\W\d_]+")

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
_FIRST_OTHER = "\u0370"  # the first character of these
_SCRIPTS = (
    ("Japanese", compile_re(r"[\u3041-\u30fa]")),
    ("Chinese", compile_re(r"[\u4e00-\u9fff]")),
    ("Korean", compile_re(r"[\u1100-\u11ff\uac00-\ud7af]")),
    ("Russian or another language in Cyrillic", compile_re(r"[\u0400-\u052f]")),
    ("Greek", compile_re(r"[\u0370-\u03ff]")),
    ("Arabic script", compile_re(r"[\u0600-\u06ff]")),
    ("Hebrew", compile_re(r"[\u0590-\u05ff]")),
    ("Thai", compile_re(r"[\u0e00-\u0e7f]")),
    ("Hindi or another language in Devanagari", compile_re(r"[\u0900-\u097f]")),
)


def _split(words: str) -> list[str]:
    """Return the comma-separated patterns of a text."""
    return [word.strip() for word in words.split(",") if word.strip()]


def _match_any(words: str, parts: str) -> re.Pattern[str]:
    """Return a pattern of whole words, and of parts of words in scripts without spaces."""
    return compile_re(
        rf"\b(?:{'|'.join(_split(words))})\b|{'|'.join(_split(parts))}", re.IGNORECASE
    )


# What joins or asks in a question, and says nothing of what it is about.
_JOINING = """
    als am an auf aus bei bin bis dem einem einen einer eines er es habe haben hatte ich ihr kann man
    muss nach oder seit sie sind um vom war waren warum was welche welchem welchen welcher welches wem
    wen wer wie wird wo woher wohin womit worden wovon wurde wurden zum zur wann
    aux ces cette combien comment de elle en eu faut fut il on ont où ou quand quel quelle quelles
    quels quoi se son sa ses sur était été peut à
    cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo dónde está están fue ha han hay le lo qué
    quién quiénes se sus unos unas y
    ai alle c'è chi ci come cosa da dai dal dalla degli dello dove fu ha hanno i lo nei nella quale
    quali qual quando quanta quante quanti quanto su uno
    będzie była było były co czego czy czym ile jaka jaki jakie jakim jaką jej kiedy kim kogo komu kto
    gdzie która które którego której którym który ma od oraz po są to u we ze
    в во до для его её есть же за и из или к как какая какие какова каков каково какого какое какой
    каком какую кем ко когда кого кому кто куда ли на не о об от откуда по с сколько со у что чего
    чем чему это был была были было бы где
    का के की को कब कर कहाँ कितना कितनी कितने किस किसने किसे कैसे कौन क्या जाता जाती जाते तक थी थे था
    ने पर में यह ये वह वाला वाली वाले वे सा सी से हुआ हुई हुए है हैं होता होती होते और
    أن إلى أي أين الذي التي عن على في كان كانت كم كيف ما ماذا متى مع من هل هو هي بماذا لماذا تم
    את של על עם אל מן זה זאת הוא היא הם הן היה היתה הייתה היו אשר כי גם או לא יש אין מה מי מתי איפה היכן
    איך כיצד כמה למה מדוע איזה איזו אילו באיזה באיזו לאן מאין
    것 누가 누구 누구인가 몇 무슨 무엇 무엇인가 어느 어디 어디인가 어떤 어떻게 언제 얼마 얼마나 왜 있는 있나
"""
JOINING = frozenset(_JOINING.split()).union(*_WORDS.values())
# Words of German, in which each noun has a capital and need not be a name.
_GERMAN = compile_re(
    r"\b(?:der|das|dem|ist|sind|wird|werden|wurden?|wie|wer|wann|wo|welche[rsnm]?|eine?[rmn]?)\b",
    re.IGNORECASE,
)

_WHICH = (
    r"welche[rsnm]?|quel(?:le)?s?|qué|que|cuál(?:es)?|qual[ei]?|jak(?:a|i|ie|ą|im|iej)|któr(?:y|ym|a|ej)"
    r"|как(?:ов[аоы]?|ая|ой|ом|ое|ую|ого)"
)
_NEAR = r"\b(?:{which})(?=(?: [\w'’]+)??(?: [\w'’]+)?? (?:[ld]['’]|all['’])?(?:{nouns})\b)"
_AMOUNTS = """Höhe, Länge, Tiefe, Fläche, Breite, Größe, Gewicht, Preis, Temperatur, Anzahl, Alter,
    Dauer, hauteur, longueur, profondeur, largeur, vitesse, superficie, altitude, poids, prix, durée,
    température, nombre, âge, altura, longitud, profundidad, anchura, velocidad, altitud, distancia,
    peso, precio, edad, temperatura, altezza, lunghezza, profondità, larghezza, velocità, altitudine,
    prezzo, età, wysokość, długość, głębokość, powierzchni[aęi], szerokość, prędkość, waga, cena, wiek,
    высот[аыу], длин[аыу], глубин[аыу], площадь, ширин[аыу], скорость, вес, цен[аыу], температур[аыу]"""
_TIMES = """Jahr, Jahre, Tag, Tage, Monat, année, jour, date, mois, año, día, fecha, mes, anno, giorno,
    mese, data, roku, rok, dniu, dzień, год, году, день, месяц"""
_PLACES = """Stadt, Land, Ort, ville, pays, lieu, ciudad, país, lugar, città, paese, luogo, mieście,
    kraju, город, городе, стране, месте"""


def _find_nouns(nouns: str) -> str:
    """Return a pattern of question words followed closely by some nouns."""
    return _NEAR.format(which=_WHICH, nouns="|".join(_split(nouns)))


# What asks for a kind of thing, wherever it stands in a question.
ASKING: Mapping[Kind, re.Pattern[str]] = {
    "number": _match_any(
        r"""wie ?viele?, wie (?:oft|lange?|hoch|alt|groß|gross|tief|breit|weit|schwer|schnell|teuer),
        combien, cuánt[oa]s?, quant[eio], was kostet,
        quant[oa]s, hoeveel, hur många, hvor mange, ile, kolik, hány, kaç, bao nhiêu, berapa,
        сколько, скільки, πόσ[αεοη]\w*, כמה""",
        """いくつ, いくら, 何[人個本冊台枚回歳分円名度階], 何メートル, どのくらい, どれくらい, 何日以内,
        (?=[長高広深重]さは), 多[少高长長深大远遠重久宽寬], [几幾][个個人本次条條级級天层層],
        몇 ?(?!년), 얼마, كم, (?:ما|كم) (?=ارتفاع|طول|عمق|مساحة|عدد|سعر|ثمن), कितन, กี่, เท่าไ, เท่าใด, """
        + _find_nouns(_AMOUNTS),
    ),
    "date": _match_any(
        """wann, in welchem jahr, quand, (?:en|à) quelle (?:année|date), cuándo, quando,
        (?:en|em) qu[eé] año, em que ano, in che anno, wanneer, in welk jaar, när, hvornår, når,
        kiedy, kdy, mikor, ne zaman, khi nào, kapan, когда, в каком году, коли, πότε, מתי, באיזו שנה, באיזה (?:יום|תאריך)""",
        """いつ, 何年, 何月, 何日, 何時, 哪一?[年天], [几幾]年, 什[么麼][时時]候, 何[时時],
        언제, 몇 ?년, متى, أي (?:سنة|عام|يوم), कब, किस (?:साल|वर्ष|दिन), เมื่อไ, เมื่อใด, ปีใด, ปีไหน, """
        + _find_nouns(_TIMES),
    ),
    "place": _match_any(
        """wo, wohin, woher, où, d'où, dónde, onde, dove, waar, var, hvor, gdzie, kde, hol, nerede,
        ở đâu, di mana, где, куда, откуда, в как(?:ом|ой) (?:городе|стране|месте), де, πού,
        איפה, היכן, לאן, מאין, באיזו (?:עיר|מדינה), באיזה מקום""",
        """どこ, 何処, 哪里, 哪裡, 哪儿, 何[處处], 어디, أين, कहाँ, कहां, ที่ไหน, ที่ใด, เมืองใด, เมืองอะไร, """
        + _find_nouns(_PLACES),
    ),
    "person": _match_any(
        """wer, wen, wem, wessen, qui, quién(?:es)?, quem, chi, wie is, vem, hvem, kto, kdo, ki,
        kim, siapa, кто, кого, кому, кем, хто, ποιος, מי""",
        "誰, だれ, 谁, 누[구가], कौन, किसने, ใคร",
    ),
    "name": _match_any(
        "was, welche[rsnm]?, quoi, quel(?:le)?s?, qué, cosa, qual[ei], co, czym, что, как, מה, איזה, איזו",
        "อะไร, อย่างไร, ทำไม, 什[么麼]意思, 什[么麼], 怎[么麼样樣], 哪[种種个個所些], なに, 何, 무엇, क्या, ماذا",
    ),
}

# What begins a sentence about what one before it named: a pronoun, a verb alone, a measure of it.
_PRONOUNS = "Er, Sie, Es, Seine?[rmns]?, Ihre?[rmns]?, Diese[rsmn]?, Dort, Darin, Dabei"
_REFERRING = """Ils?, Elles?, Sa, Ses, Son, Leurs?, Cette, Ces?, Él, Ell[ao]s?, Sus?, Est[aeo]s?,
    Fue, Era, Es, Está, Tienen?, Egli, Ess[oa], Lui, Lei, (?:Il|La|I|Le) su[aoe]i?, Quest[aoei], È, Fu,
    Ha, Si, Jego, Jej, Ich, On[aoi], Jest, Był[ao]?, Ma, Mają, Zmarła?, Urodziła?"""
_REFERRING_PARTS = r"""(?:Он[аои]?|Его|Её|Ее|Их|Эт[аио]|Этот|Там|(?:На|В|Из) (?:нём|ней|него|неё))\b,
    [它他她其该該此这這], これ, それ, この, その, 彼, 全[长長], 总长, 面[积積], (?:高さ|長さ|面積|標高|広さ|深さ|全長)は,
    그[는의가녀], 그것, 그곳, 이는, 이것, 이곳, (?:전체 )?(?:길이|높이|면적)[는은],
    (?:و?هو|و?هي|هذا|هذه|ارتفاعه|ارتفاعها|عدده|عددها)\b, (?:यह|वह|ये|वे|इस|उस|इन|उन|यहाँ|वहाँ)"""
REFERRING = compile_re(
    rf"\W*(?:(?:{'|'.join(_split(_PRONOUNS))})\b|{'|'.join(_split(_REFERRING_PARTS))}"
    rf"|(?:{'|'.join(_split(_REFERRING))}) (?!of |and |to |the )[^\WA-Z_]"
    rf"|(?:(?:Die|La|Le|Il|L['’]|El|Seine|Ihre) ?)?(?:{'|'.join(_split(_AMOUNTS))})\b)"
)

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
ABBREVIATION = compile_re(rf"(?:(?<=\s)|(?<=[(„«])|^)(?:{'|'.join(_SPELT)})\.$")
# "am 3. Oktober", "im 19. Jahrhundert"
ORDINAL = compile_re(r"(?<=\s)\d{1,2}\.$")
COUNTED = compile_re(
    "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"
    "|Jahrhundert|Auflage|Kapitel|Klasse|Abschnitt"
)


def capitalizes_nouns(question: str) -> bool:
    """Check whether a non-English question has German words."""
    return bool(_GERMAN.search(question))


def find_language(text: str) -> str | None:
    """Return the language or script of a text, or None.

    >>> find_language("Der Turm ist nicht auf dem Berg, und das Haus ist in der Stadt.")
    'German'
    >>> find_language("pump valve gasket")
    """
    read = text[:_MAX_LENGTH]
    letters = sum(map(str.isalpha, read))
    for name, script in () if read.isascii() or max(read) < _FIRST_OTHER else _SCRIPTS:
        if len(script.findall(read)) * 5 > letters:
            return name
    words = [word.casefold() for word in _WORD.findall(read)]
    counts = Counter({name: sum(word in own for word in words) for name, own in _WORDS.items()})
    (name, most), (_, second) = counts.most_common(2)
    return name if most > second and most >= max(3, _MIN_SHARE * len(words)) else None
