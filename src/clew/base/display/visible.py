"""Escape invisible characters so that they can be seen: <U+200B>.

A terminal obeys control characters, and shows nothing of zero-width ones, of marks that turn the
direction of a line, or of tags, in which a whole sentence can hide. Whatever leaves for a person's
eyes or for another program goes through here. `restored` takes the escapes back.

A joiner, a selector or a flag's tags stay where a script or an emoji is written with them, since
Persian, Hindi or a family could not be read without: one of them, beside what needs it. Nothing is
dropped: two different names would look alike.
"""

import re
import unicodedata

_LAYOUT = "\t\n\r"
_ZWNJ, _ZWJ = "\u200c", "\u200d"
_VIRAMA = 9  # the combining class of the signs that join two consonants, as in Devanagari
_ARABIC = "AL"  # the bidirectional class of letters that are joined to the next one
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Fixed, not the categories of the Python at hand: an output is the same whatever runs it. Control
# characters; invisible letters and marks; joiners, directions, tags, annotations; halves of
# surrogate pairs; what is no character.
_HIDDEN = (
    "\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    f"{_SELECTORS}"
)
# Behind a black flag, the tags of "gb", of "eng", "sct" or "wls", and the one that ends them:
# England, Scotland and Wales. Unicode recommends no others.
_FLAG = (
    "(?<=\U0001f3f4)\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067"
    "|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
# Compiled by `re` when they are first used.
_UNSEEN = f"{_FLAG}|[{_HIDDEN}]"
_ANY_HIDDEN = f"[{_HIDDEN}]"
_ESCAPE = r"<U\+[0-9A-F]{4,6}>"
_MESSAGE = r"(?:<U\+[0-9A-F]{4,6}>){4}|<U\+E0[0-9A-F]{3}>"
_EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001faff]"
)
_KEYCAP = "\u20e3"


def visible(text: str) -> str:
    r"""Escape every invisible character in `text`, including line breaks.

    >>> visible("Fr\u200bam")
    'Fr<U+200B>am'
    """
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_UNSEEN, _escape_character, text)


def escape_unseen(text: str) -> str:
    """Escape invisible characters reversibly, except tabs and line breaks.

    What looks like an escape has its first character escaped.
    """
    safe = re.sub(_ESCAPE, lambda match: f"<U+003C>{match[0][1:]}", text)
    return re.sub(
        _UNSEEN, lambda match: match[0] if match[0] in _LAYOUT else _escape_character(match), safe
    )


def restore_unseen(text: str) -> str:
    """Undo `escape_unseen`."""
    return re.sub(_ESCAPE, _character, text)


def drop_hidden(text: str) -> str:
    r"""Drop the invisible characters of `text`, except white space.

    >>> drop_hidden("Fr\u200bam")
    'Fram'
    """
    return re.sub(
        _UNSEEN, lambda match: match[0] if match[0] in _LAYOUT or _is_needed(match) else "", text
    )


def has_hidden(text: str) -> bool:
    """Check for invisible characters other than white space."""
    return any(
        match[0] not in _LAYOUT and not _is_needed(match) for match in re.finditer(_UNSEEN, text)
    )


def may_hide_a_message(text: str) -> bool:
    """Check for a tag character or several invisible characters in a row.

    One of them, such as a soft hyphen, can say nothing.
    """
    return bool(re.search(_MESSAGE, escape_unseen(text)))


def _escape_character(match: re.Match[str]) -> str:
    return match[0] if _is_needed(match) else f"<U+{ord(match[0]):04X}>"


def _character(match: re.Match[str]) -> str:
    """Return the character of an escape, or the escape itself if invalid."""
    code = int(match[0][3:-1], 16)
    character = chr(code) if code <= 0x10FFFF else ""
    is_ours = character == "<" or (character and re.match(_ANY_HIDDEN, character))
    return character if is_ours and match[0] == f"<U+{code:04X}>" else match[0]


def _is_needed(match: re.Match[str]) -> bool:
    """Check whether a script or an emoji needs an invisible character."""
    if len(match[0]) > 1:  # the tags of a flag
        return True
    character, text = match[0], match.string
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    if character in (_ZWNJ, _ZWJ):
        ends_emoji = before == "\ufe0f" or re.match(_EMOJI, before)
        joins_emoji = character == _ZWJ and ends_emoji and re.match(_EMOJI, after)
        return bool(joins_emoji) or _joins_letters(before, after)
    if re.match(f"[{_SELECTORS}]", character):
        return _is_selected(before, after)
    return False


def _joins_letters(before: str, after: str) -> bool:
    """Check whether a joiner is beside a letter whose form it changes."""
    if not before or re.match(_ANY_HIDDEN, before) or (after and re.match(_ANY_HIDDEN, after)):
        return False
    if _VIRAMA in map(unicodedata.combining, (before, after or " ")):
        return unicodedata.category(before)[0] in "LM"
    is_mark = unicodedata.category(before) == "Mn" and "\u0610" <= before <= "\u08ff"
    return is_mark or unicodedata.bidirectional(before) == _ARABIC


def _is_selected(before: str, after: str) -> bool:
    """Check whether a variation selector follows a character with variants."""
    if not before or re.match(_ANY_HIDDEN, before):
        return False
    if before in "0123456789#*":
        return after == _KEYCAP
    return not before.isascii() and unicodedata.category(before) in ("So", "Sm", "Sk", "Lo", "Po")
