"""Statements: what is quoted by itself, and what stands above it."""

import pytest
from hypothesis import given

from clew.text.statements import find_above, find_statements
from tests.text.test_sentences import TEXT


def pairs(text):
    """Return each statement with what stands above it, and each context with None."""
    return [
        (
            text[each.start : each.end],
            None if each.is_context else text[slice(*(each.above or (0, 0)))],
        )
        for each in find_statements(text)
    ]


def said(text):
    return [(own, above) for own, above in pairs(text) if above is not None]


ASKED = "Is the sauna open?"


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        (f"{ASKED}\n\nNo. It is closed in May.", ASKED, "No. It is closed in May."),
        (f"**{ASKED}**\nNo.", f"**{ASKED}**", "No."),
        (f"**{ASKED}** No.", f"**{ASKED}**", "No."),
        (f"## {ASKED}\n\nNo.", f"## {ASKED}", "No."),
        (f"Q: {ASKED}\nA: No.", f"Q: {ASKED}", "A: No."),
        (f"Frage: {ASKED}\nAntwort: Nein.", f"Frage: {ASKED}", "Antwort: Nein."),
        ("問：開いていますか\n答：いいえ。", "問：開いていますか", "答：いいえ。"),
        (f"no: 7; q: {ASKED}; a: No.", f"no: 7; q: {ASKED}; a:", "No."),
        (f"* {ASKED}\n\n  No.", f"* {ASKED}", "No."),
    ],
)
def test_an_answer_stands_below_its_question(text, question, answer):
    """However they are set apart; the question is context, and a short answer one statement."""
    assert pairs(text) == [(question, None), (answer, question)]


def test_all_of_a_long_answer_stands_below_its_question():
    text = f"{ASKED}\n\n" + "It is closed in May for repairs. " * 12 + "\n\nCall us before."
    assert {above for _, above in said(text)} == {ASKED}
    assert len(said(text)) == 13


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "The crew takes along:\n- rope\n- an axe\n  with a sheath",
            [("- rope", "The crew takes along:"),
             ("- an axe\n  with a sheath", "The crew takes along:")],
        ),
        (
            "1. Cut the branch:\n   - bump it\n2. Install",
            [("1. Cut the branch:", ""), ("- bump it", "1. Cut the branch:"), ("2. Install", "")],
        ),
        (
            "[retry]\n; tries before it fails\nattempts = 4\npause = 45s",
            [("; tries before it fails\nattempts = 4", "[retry]"), ("pause = 45s", "[retry]")],
        ),
        (
            "keep:\n  daily: 14\n  weekly: 9",
            [("daily: 14", "keep:"), ("weekly: 9", "keep:")],
        ),
        ("Droop\n:   The ratio.", [("Droop\n:   The ratio.", "")]),
        (
            "Port | Summer | Winter\n\nBergen | 12 | 3\n\nOslo | 8 | 2",
            [("Bergen | 12 | 3", "Port | Summer | Winter"),
             ("Oslo | 8 | 2", "Port | Summer | Winter")],
        ),
        (
            "09:15 Ada: Who has the key?\n09:17 Bo: Tom",
            [("09:15 Ada: Who has the key?", ""),
             ("09:17 Bo: Tom", "09:15 Ada: Who has the key?")],
        ),
        (
            "2026-01-01 10:00:00 ERROR broke\n  at line 7\n2026-01-01 10:00:01 INFO up",
            [("2026-01-01 10:00:00 ERROR broke\n  at line 7", ""),
             ("2026-01-01 10:00:01 INFO up", "")],
        ),
        (
            "Ada Lund\n4 Quay Street\nMoss\n\nBo Tarn\n7 Hill Road\nOslo",
            [("Ada Lund\n4 Quay Street\nMoss", ""), ("Bo Tarn\n7 Hill Road\nOslo", "")],
        ),
        ("# Ships\n\nShe sank. He swam.", [("She sank.", "# Ships"), ("He swam.", "# Ships")]),
        ("7.2 Notice is given. It is due.", [("7.2 Notice is given. It is due.", "")]),
        ("/** How long it is held. */\nconst HOLD = 420;", [
            ("/** How long it is held. */\nconst HOLD = 420;", "")]),
        ("Mia — Today at 9:02\nwho has the key?\n\nJo — Today at 9:04\nme\nuntil noon", [
            ("Mia — Today at 9:02\nwho has the key?", ""),
            ("Jo — Today at 9:04\nme\nuntil noon", "Mia — Today at 9:02\nwho has the key?")]),
        ("Anna Weiß  14:02\nIst es da?\nBo Alt  14:05\nJa, im Regal.", [
            ("Anna Weiß  14:02\nIst es da?", ""),
            ("Bo Alt  14:05\nJa, im Regal.", "Anna Weiß  14:02\nIst es da?")]),
        ("It is fast. To wipe it all, use\n\n    wipe --all\n\nThen wait.", [
            ("It is fast.", ""), ("To wipe it all, use", ""),
            ("wipe --all", "It is fast. To wipe it all, use"), ("Then wait.", "")]),
        ("It has two.\n\ntie(a)\n\n    Ties a.\n\n    Not if wet.\n\ncut()\n\n    Cuts it.", [
            ("It has two.", ""), ("Ties a.", "tie(a)"), ("Not if wet.", "tie(a)"),
            ("cut()\n\n    Cuts it.", "")]),
        ("A page\nthat wraps goes on.", [("A page\nthat wraps goes on.", "")]),
    ],
)  # fmt: skip
def test_what_is_said_and_what_stands_above(text, expected):
    assert said(text) == expected


def test_terms_and_definitions_take_turns():
    """Three or more of them are a glossary; one title above a paragraph is that of the whole."""
    pages = {"Droop": "The ratio of two.", "Tie line": "It joins two.", "Gate": "It closes early."}
    text = "\n\n".join(f"{term}\n\n{definition}" for term, definition in pages.items())
    assert [own for own, _ in said(text)] == [f"{a}\n\n{b}" for a, b in pages.items()]
    assert said("Droop\n\nThe ratio of two.") == [("The ratio of two.", "Droop")]


@given(TEXT)
def test_what_stands_above_is_a_range_before_it(text):
    for each in find_statements(text):
        if each.above is not None:
            start, end = each.above
            assert 0 <= start < end <= each.start


def test_what_stands_above_a_place():
    text = "Rules\n\nThe crew takes along:\n- rope\n- an axe"
    assert text[slice(*find_above(text, text.index("an axe")))] == "The crew takes along:"
    assert find_above("# Ships\n\nShe sank.", 10) is None


def test_wrapped_paragraphs_without_blank_lines_stand_apart():
    """As in the text of a PDF: a line goes on where the next word had no room."""
    text = """6 Repairs
The tenant bears small repairs. The roof, outer walls and the pipes of the yard are left to
the owner.
7 Snow
The tenant clears the yard by seven in the morning.
8 Guests
Guests may stay overnight in the upper hall, and in the garden house from May to the end of
September. They sign the book."""
    found = [text[s.start : s.end] for s in find_statements(text)]
    for whole in ("are left to\nthe owner.", "7 Snow\nThe tenant clears", "end of\nSeptember."):
        assert any(whole in each for each in found)
    assert not any("7 Snow" in each and "owner" in each for each in found)


def test_lines_of_a_list_stay_apart():
    """The widest line ends by itself."""
    lines = [
        "Two litres of water for each of those who walk over the ridge on the second day",
        "Rope, forty metres",
        "A stove with fuel for three evenings",
    ]
    assert [own for own, _ in said("\n".join(lines))] in (lines, ["\n".join(lines)])


LOGS = {
    "level before the time": (
        "INFO 2026-03-04 08:00:15 started worker 1\n"
        "ERROR 2026-03-04 08:00:17 could not write /var/berths\n    caused by: no space left\n"
        "INFO 2026-03-04 08:00:18 stopped"
    ),
    "level in brackets, without a time": (
        "[INFO] Starting up on port 8080\n[ERROR] Failed to bind port 8080\n"
        "  at Server.listen (net.js:12)\n  at main (app.js:3)\n[INFO] Shutting down"
    ),
    "level and dash": "INFO - loaded 12 routes\nERROR - no timetable\n\tat Route.load\nINFO - done",
    "Python's logging": "INFO:root:12 routes\nERROR:root:no timetable\n  for Skarv\nINFO:root:done",
    "Apache": (
        "[Wed Mar 04 08:00:15.123456 2026] [core:error] [pid 12] AH00126: Invalid URI\n"
        "[Wed Mar 04 08:00:16.123456 2026] [core:warn] [pid 12] AH00127: Bad header\n  in line 3\n"
        "[Wed Mar 04 08:00:17.123456 2026] [core:notice] [pid 12] AH00094: Command line"
    ),
    "nginx": (
        '10.0.0.5 - - [04/Mar/2026:08:00:15 +0000] "GET /a" 200\n'
        '10.0.0.6 - anna [04/Mar/2026:08:00:16 +0000] "POST /b" 403\n  upstream: closed\n'
        '10.0.0.7 - - [04/Mar/2026:08:00:17 +0000] "GET /c" 301'
    ),
    "journal in German": (
        "Mär 04 08:00:15 skarv sync[1]: started\nMär 04 08:00:16 skarv sync[1]: failed:\n"
        "                          no route\nMär 04 08:00:17 skarv sync[1]: stopped"
    ),
    "kernel": "[    0.000000] Linux 6.1\n[    1.234567] usb 1-1: new\n  device\n[   12.345678] md0",
    "epoch": "1772611215.123 charged\n1772611216.001 retrying\n  in 30 s\n1772611246.002 charged",
    "containers": (
        "web-1  | 2026-03-04 08:00:15 up\ndb-1   | 2026-03-04 08:00:16 is\n  starting\n"
        "web-1  | 2026-03-04 08:00:17 GET / 200"
    ),
    "JSON": '{"level": "info"}\n{"level": "error", "card": 88172}\n{"level": "info", "in": 30}',
}


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_an_event_of_a_log_with_the_lines_that_go_on_is_one_statement(log):
    said = [log[s.start : s.end] for s in find_statements(log)]
    first, *event, last = log.split("\n")
    assert said == [first, "\n".join(event), last]


def test_labels_with_times_and_sentences_with_one_are_no_events():
    labels = "created: 2026-03-04 08:00:15\nmodified: 2026-03-05 09:00:00\ntitle: The Fram"
    assert [labels[s.start : s.end] for s in find_statements(labels)] == labels.splitlines()
    prose = "The meeting of 2026-03-04 09:00 was moved.\nIt is now in the hall, and Anna leads it."
    assert len(find_statements(prose)) == 2
