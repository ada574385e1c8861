"""Tag entities by rules: no model, no download, any language.

Mentions are capitalised spans (label NAME), quoted spans (TITLE), dates and years (DATE) and, in
scripts without capital letters, the analyser's terms (TERM), of which an index uses those that
connect a few chunks. Months and weekdays alone are none. spaCy finds types that these rules cannot:
`clew.extras.models.spacy` unites both.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from operator import itemgetter

from clew.base.runtime.lazy import compile_re
from clew.base.types import Mention
from clew.text import names
from clew.text.dates import date_spans
from clew.text.unseen import drop_and_place

_JOINED = compile_re(r" (?:in|on|from|until|since|and|to|at) $")  # between a name and a date
_JOINING = compile_re(r" (?:the|in|on|from|and|to|at) ")  # the other way round


class RuleTagger:
    """The default tagger."""

    @property
    def name(self) -> str:
        return "rules-3"

    def tag(self, texts: Sequence[str]) -> list[list[Mention]]:
        return [list(_find_mentions(text)) for text in texts]


@lru_cache(maxsize=1 << 12)
def _find_mentions(given: str) -> tuple[Mention, ...]:
    """Return the mentions of a text, cached for the last texts."""
    text, places = drop_and_place(given)
    dates = list(date_spans(text))
    # A month without a year is many times, and would join whatever happened in August.
    labels = {(a, b): "DATE" for a, b in dates if any(map(str.isdecimal, text[a:b]))}
    for span in names.quoted_spans(text):
        labels.setdefault(span, "TITLE")
    for start, end in names.name_spans(text):
        before = bisect_right(dates, end - 1, key=itemgetter(0)) - 1  # dates do not overlap
        first, last = dates[before] if before >= 0 else (0, 0)
        is_dated = end <= last and (first <= start or _JOINED.search(text, start, first))
        at = bisect_right(dates, start, key=itemgetter(0)) - 1
        is_behind = at >= 0 and start < dates[at][1] and _JOINING.match(text, dates[at][1], end)
        # Neither "August" nor "Melville Bay in August", nor "October the Gauss".
        if not (is_dated or is_behind):
            labels.setdefault((start, end), "NAME")
    for span in names.uncased_spans(text):
        labels.setdefault(span, "TERM")
    return tuple(
        Mention(places[start], places[end - 1] + 1, label)
        for (start, end), label in sorted(labels.items())
    )
