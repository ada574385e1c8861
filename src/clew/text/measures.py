"""Recognize the kind of value that a question asks for, and find what it counts.

What answers "How heavy is it?" has a number of kilograms, whatever its other words are. Words are
those of English, German, French, Spanish, Japanese and Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import takewhile
from typing import NamedTuple

from clew.base.runtime.lazy import compile_re
from clew.text.dates import date_spans
from clew.text.forms import find_bases
from clew.text.phrases import Span, overlap

_NUMBER = (
    r"(?:\d[\d.,]*|\b(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen"
    r"|twenty|thirty|forty|fifty|sixty|hundred|half|ein(?:e[nmrs]?)?|zwei|drei|vier|fünf|sechs"
    r"|sieben|acht|neun|zehn|zwölf|une?|deux|trois|quatre|cinq|sept|huit|neuf|dix|un[ao]?|dos|tres"
    r"|cuatro|cinco|seis|siete|ocho|nueve|diez)\b|[一二三四五六七八九十百千万半]+)"
)


class _Measure(NamedTuple):
    """A kind of value: its question words, units, and other notations."""

    asked: str
    units: str
    others: str = r"(?!)"


# The first kinds are surer: "how long" asks for a length only where nothing else is asked for.
_MEASURES = {
    "money": _Measure(
        r"\b(?:costs?|prices?|pa(?:y|ys|id)|fees?|fines?|charged?|expensive|cheap|rent|deposit"
        r"|salary|budget|worth)\b|teuer|kostet|kosten\b|preis|gebühr|zahl(?:t|en)\b|coût|prix|tarif"
        r"|payer|cuesta|precio|pagar|いくら|料金|値段|費用|多少钱|价格|费用|收费|售价",
        r"[€£$¥]|(?:euros?|eur|usd|gbp|chf|pounds?|dollars?|pence|p|cents?|francs?|franken|kr)\b"
        r"|円|元|块",
        r"[€£$¥]\s?\d|\b(?:free|gratis|kostenlos|umsonst|gratuite?s?)\b|無料|免费",
    ),
    "frequency": _Measure(
        r"\bhow (?:often|frequently)\b|wie (?:oft|häufig)|à quelle fréquence|combien de fois"
        r"|con qué frecuencia|何回|頻度|多久.{0,8}一次|几次",
        r"d\b|days?\b|h\b|hours?\b|min\b|weeks?\b|months?\b|个月",
        r"\b(?:every|each|daily|weekly|monthly|yearly|annually|hourly|once|twice|times"
        r"|per (?:hour|day|week|month|year)|alle|jede[nrsm]?|(?:täg|wöchent|monat|jähr)lich"
        r"|(?:ein|zwei|drei)mal|fois|chaque|tou(?:s|tes) les|cada|veces|vez|todos los)\b"
        r"|毎|每|回|次",
    ),
    "weight": _Measure(
        r"\bhow heavy\b|\bweigh|schwer|wiegt|gewicht|pèse|poids|\bpesa\b|\bpeso\b|重",
        r"(?:k?g|mg|t|lbs?|oz|ton(?:ne)?s?|gram(?:me)?s?|kilos?|kilogram\w*|pounds?|gramm)\b"
        r"|千克|公斤|克|キロ|グラム",
    ),
    "temperature": _Measure(
        r"\bhow (?:hot|cold|warm)\b|temp[eé]rature?|\bdegrees\b|wie (?:heiß|kalt|warm)|温度|何度"
        r"|多少度",
        r"[°º℃]|(?:degrees?|grad|degrés?|grados?|[ck])\b|度",
    ),
    "share": _Measure(
        r"\b(?:percent\w*|share|proportion|fraction|rate|discount)\b|prozent|anteil|rabatt"
        r"|pourcentage|porcentaje|descuento|割引|何割|比例|折扣",
        r"%|(?:percent|per cent|prozent|pour cent|por ciento)\b|割|折",
        r"\b(?:half|an? (?:third|quarter)|two thirds|hälfte|drittel|moitié|tiers|mitad)\b",
    ),
    "phone": _Measure(
        r"\b(?:(?:tele)?phone|fax|extension)\b|telefon|durchwahl|téléphone|teléfono|電話|电话",
        r"(?!)",
        r"\+?\d[\d /()-]{5,}\d|\bext\.? ?\d+",
    ),
    "pressure": _Measure(
        r"\bpressure\b|\bdruck\b|pression|presión|圧力|压力", r"(?:m?bar|psi|[hk]?pa|mm)\b"
    ),
    "power": _Measure(
        r"\b(?:power|watts?|consum\w+)\b|leistung|verbrauch|puissance|potencia|電力|功率",
        r"(?:[km]?wh?|hp|ps|v|a)\b|瓦",
    ),
    "noise": _Measure(r"\b(?:how loud|noise)\b|\blaut\b|lärm|bruit|ruido|騒音|噪音", r"db\b"),
    "duration": _Measure(
        r"\bhow long\b|\b(?:period|duration|deadline|within what|notice)\b|wie lange|frist|dauer"
        r"|combien de temps|durée|délai|cuánto (?:tiempo|dura)|plazo|どのくらい|どれくらい|期間"
        r"|何日|何分|何時間|多久|多长时间|几天|期限",
        r"(?:ms|s|sec(?:onds?)?|min(?:ute)?s?|h|hrs?|hours?|(?:working |business )?days?|nights?"
        r"|weeks?|months?|years?|sekunden?|minuten?|stunden?|tagen?|wochen?|monate?n?|jahren?"
        r"|secondes?|heures?|jours?|semaines?|mois|ans?|années?|segundos?|minutos?|horas?|días?"
        r"|semanas?|mes(?:es)?|años?|d)\b|秒|分|時間|日間|日|週間|か月|ヶ月|年|小时|天|周|个月",
    ),
    "length": _Measure(
        r"\bhow (?:tall|high|wide|deep|far|thick|long|big|large)\b|\b(?:height|width|depth|length"
        r"|distance|diameter|thickness)\b|wie (?:hoch|breit|tief|weit|lang|groß)|höhe|breite|länge"
        r"|tiefe|hauteur|largeur|profondeur|longueur|altura|anchura|profundidad|高さ|幅|長さ|深さ"
        r"|多高|多宽|多深|多长",
        r"(?:[cmk]?m|ft|feet|foot|inch(?:es)?|miles?|(?:centi|milli|kilo)?met(?:er|re)s?|mètres?"
        r"|metros?)\b|米|厘米|毫米|メートル|センチ",
    ),
    "volume": _Measure(
        r"\bhow much \w+|\b(?:volume|capacity)\b|wie viel \w+|volumen|contenance|capacidad|容量",
        r"(?:[mc]?l|lit(?:er|re)s?|litros?|cups?|tbsp|tsp|m3|k?g)\b|m³|升|毫升|リットル",
    ),
    "time": _Measure(
        r"\bwhat time\b|\bwhen\b|opening hours|wie viel uhr|\bwann\b|à quelle heure|\bquand\b"
        r"|a qué hora|cuándo|何時|いつ|几点|什么时候",
        r"(?:uhr|[ap]\.?m|heures?|o'clock|h)\b|時|点",
        r"\d{1,2}[:.h]\d\d|\b(?:half past|noon|midnight|mittags?|midi)\b",
    ),
    "count": _Measure(
        r"\bhow many\b|wie viele|combien d|cuánt[oa]s|何[冊人個台名枚]|いくつ|几[个人本台]|多少",
        r"",
    ),
}
_SURE = frozenset(takewhile(lambda name: name != "duration", _MEASURES))
_COUNTED = compile_re(r"\bhow many ([a-z][\w-]*(?: [a-z][\w-]*)?)", re.IGNORECASE)
_AMOUNT = compile_re(
    r"(?<![\w.,:])(?:[€£$¥]\s?)?\d(?:[\d.,:]*\d)?|\b(?:one|two|three|four|five|six|seven|eight|nine"
    r"|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|dozen|hundred|thousand|[mb]illion)\b",
    re.IGNORECASE,
)
_SAME_AMOUNT = compile_re(r"[\s-]|\s?[–~-]\s?| (?:to|and|or) ")
_NEXT_WORDS = compile_re(r"(?:[ -]\w+){1,2}")


@cache
def _compile(name: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a kind: its questions, its values, its units in table headers."""
    asked, units, others = _MEASURES[name]
    between = rf"\s?(?:(?:-|–|~|〜|to|bis|à|a)\s?{_NUMBER}\s?)?-?"
    values = rf"(?:{_NUMBER}{between}(?:{units}))|{others}"
    heads = rf"[(\[,]\s?(?:{units or '(?!)'})\s?[)\]]?"
    patterns = (compile_re(each, re.IGNORECASE) for each in (asked, values, heads))
    asking, written, above = patterns
    return asking, written, above


@lru_cache(maxsize=1 << 6)
def _find_measures(question: str) -> tuple[str, ...]:
    """Return the kinds of value that a question asks for, only the most certain ones."""
    names = tuple(name for name in _MEASURES if _compile(name)[0].search(question))
    return tuple(name for name in names if name in _SURE) or names


def has_asked_value(question: str, text: str, above: str = "") -> bool:
    """Check whether a text has a value of a kind that the question asks for.

    The unit may stand in the header above a row.

    >>> has_asked_value("How heavy is it?", "Net mass: 286 kg")
    True
    >>> has_asked_value("How heavy is it?", "Length: 3 m"), has_asked_value("Who is it?", "3 kg")
    (False, False)
    """
    for name in _find_measures(question):
        _, values, heads = _compile(name)
        if values.search(text):
            return True
        if "|" in above and heads.search(above) and any(map(str.isdigit, text)):
            return True
    return False


def counts_things(question: str) -> bool:
    """Check whether a question asks how many of something there are."""
    return _COUNTED.search(question) is not None


def find_counts(question: str, text: str) -> list[Span]:
    """Return the position of the only number of a text, if it is of what the question counts.

    One of the two words behind it is a noun of the question. Dates are no numbers.

    >>> text = "Since 1892 she has twenty-two cabins."
    >>> [text[a:b] for a, b in find_counts("How many cabins has she?", text)]
    ['twenty-two']
    >>> find_counts("How many cabins has she?", "She has ten cabins and twelve boats.")
    []
    """
    counted = _COUNTED.search(question)
    nouns = find_bases(counted[1]) if counted else frozenset()
    dates = list(date_spans(text))
    numbers = (match.span() for match in _AMOUNT.finditer(text))
    apart = [span for span in numbers if not any(overlap(span, date) for date in dates)]
    amounts = _join_spans(text, apart)
    behind = [_NEXT_WORDS.match(text, end) for _, end in amounts]
    is_counted = len(behind) == 1 and behind[0] and nouns & find_bases(behind[0][0])
    return amounts if is_counted else []


def _join_spans(text: str, spans: Sequence[Span]) -> list[Span]:
    """Join the numbers that make one amount: "two hundred", "3 to 5"."""
    joined: list[Span] = []
    for start, end in spans:
        if joined and _SAME_AMOUNT.fullmatch(text, joined[-1][1], start):
            joined[-1] = joined[-1][0], end
        else:
            joined.append((start, end))
    return joined
