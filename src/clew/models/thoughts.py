"""Remove a model's reasoning ("thoughts") from its reply."""

import re

from clew.base.runtime.lazy import compile_re

_NAMES = r"(?i:(?:\w+:)?(?:think(?:ing)?|thoughts?|reasoning))"
_INSIDE = r"(?:[^<]|<\|constrain\|>)"  # a channel's name, and for whom it is
_TAGS = (  # what opens thoughts, and what closes them
    (rf"<{_NAMES}>", rf"</{_NAMES}>"),
    (r"\[THINK\]", r"\[/THINK\]"),
    (r"◁think▷", r"◁/think▷"),
    (r"<\|(?:START_THINKING|begin_of_thought)\|>", r"<\|(?:END_THINKING|end_of_thought)\|>"),
    (r"<\|channel>thought", r"<channel\|>"),
    # The channels of gpt-oss, and what is left of them where their marks are not shown.
    (
        rf"<\|channel\|>\s?(?:analysis|commentary){_INSIDE}*<\|message\|>",
        rf"<\|channel\|>\s?final{_INSIDE}*<\|message\|>",
    ),
    (r"\A\s*analysis(?=[A-Z])", r"assistantfinal"),
)
_TAG = compile_re("|".join(f"(?P<o{i}>{o})|(?P<c{i}>{c})" for i, (o, c) in enumerate(_TAGS)))
_CLOSES = {f"o{i}": compile_re(closes) for i, (_, closes) in enumerate(_TAGS)}
_BEGUN = compile_re(  # what further pieces may make a tag of
    rf"(?:<[^<>\s]{{0,24}}|<\|channel\|?>{_INSIDE}{{0,60}}(?:<\|?\w{{0,9}}\|?)?"
    r"|\[[A-Z]{0,5}|◁\w{0,5}|\A\s*a\w{0,7})\Z"
)
_MARKS = compile_re(r"<\|start\|>\w*|<\|(?:end|return|im_end|(?:begin|end)_of_solution)\|>")
_DATA = compile_re(r"\s*(?:```|\{|\[\s*[\[{\"\]])")  # JSON, of which a tag is a part at most
_OPENED = compile_re(r"(?:^|[\s(])[`'\"“‘]\Z")
_QUOTES = "`'\"”’"


def strip_thoughts(text: str, *, ended: bool = True) -> tuple[str, bool]:
    """Return a text without reasoning, and whether it ends inside reasoning.

    Thoughts stand between two tags, of which the first may be missing. Where the text has not
    `ended`, that is as much as is known not to become a part of a tag.

    >>> strip_thoughts("<think>Archer?</think> Archer.")
    ('Archer.', False)
    >>> strip_thoughts("Archer? Yes.</think>Archer.")
    ('Archer.', False)
    """
    spoken, place, is_thinking, is_data = "", 0, False, _DATA.match(text)
    tags = iter(()) if is_data else _TAG.finditer(text)
    for tag in tags:
        before, kind = _MARKS.sub("", text[place : tag.start()]), str(tag.lastgroup)
        if tag.start() < place or _is_quoted(text, tag):
            continue
        if kind not in _CLOSES:  # all before it was thought
            spoken, place = "", tag.end()
            continue
        closing = _CLOSES[kind].search(text, tag.end())
        if closing is not None:
            spoken, place = spoken + before, closing.end()
        elif not (ended and before.rpartition("\n")[2].strip()):  # else the text is about tags
            spoken, place, is_thinking = spoken + before, len(text), True
    rest = text[place:]
    if not (ended or is_data):
        rest = _BEGUN.sub("", rest)
    spoken = (spoken + _MARKS.sub("", rest)).strip()
    return spoken.encode("utf-8", "replace").decode(), is_thinking


def begins_in_thoughts(text: str) -> bool:
    """Check whether a reply begins with reasoning that has no opening tag."""
    tag = None if _DATA.match(text) else _TAG.search(text)
    return tag is not None and tag.lastgroup not in _CLOSES and not _is_quoted(text, tag)


def _is_quoted(text: str, tag: re.Match[str]) -> bool:
    """Check whether a tag is quoted rather than used."""
    before, behind = text[max(tag.start() - 2, 0) : tag.start()], text[tag.end() : tag.end() + 1]
    return bool(_OPENED.search(before) and behind) and behind in _QUOTES
