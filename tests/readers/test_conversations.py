"""Chats, transcripts and calendars: each message and event stands by itself, with who and when."""

import json

import pytest

from clew.readers import read
from clew.text.statements import statement_spans

SLACK = [
    {"type": "message", "user": "U1", "ts": "1772442120.0001", "text": "The pump stops at *noon*."},
    {"type": "message", "user": "U2", "ts": "1772442300.0002", "text": "Which one? <@U1>",
     "user_profile": {"real_name": "Ada Winter"}},
    {"type": "message", "user": "U3", "ts": "1772442360.0", "text": "<@U3> has joined",
     "subtype": "channel_join", "user_profile": {"real_name": "Cy"}},
    {"type": "message", "user": "U3", "ts": "1772442420.0003", "text": "See <https://a.example|it>",
     "user_profile": {"real_name": "Cy"}},
    {"type": "message", "user": "U2", "ts": "1772442480.0003", "text": "<@U3> thanks"},
]  # fmt: skip
SAID = [
    "[2026-03-02 09:02] U1: The pump stops at *noon*.",
    "[2026-03-02 09:05] Ada Winter: Which one? @U1",
    "[2026-03-02 09:07] Cy: See it (https://a.example)",
    "[2026-03-02 09:08] U2: @Cy thanks",
]
DISCORD = {
    "channel": {"name": "pumps"},
    "messages": [
        {"timestamp": "2026-03-02T09:02:11+00:00", "content": "Off", "author": {"name": "ada"}},
        {"timestamp": "2026-03-02T09:03:00+00:00", "content": "", "author": {"name": "bo"}},
    ],
}
TELEGRAM = {
    "name": "Pumps",
    "messages": [
        {"date": "2026-03-02T09:02:11", "from": "Ada", "text": ["Call ", {"text": "555"}, " now"]}
    ],
}


def test_messages_of_slack_are_paragraphs_with_speaker_and_time(document):
    """The sentence cutter joins none with the next; who came is no message."""
    found = document("ops.json", json.dumps(SLACK))
    assert found.text.split("\n\n") == SAID
    starts = {found.text.index(each) for each in SAID}
    assert starts <= {start for start, _ in statement_spans(found.text)}


@pytest.mark.parametrize(
    ("export", "text"),
    [(DISCORD, "[2026-03-02 09:02] ada: Off"), (TELEGRAM, "[2026-03-02 09:02] Ada: Call 555 now")],
)
def test_other_exports_are_read_alike(document, export, text):
    """The name of a speaker may be inside an object, and a text in pieces."""
    assert document("a.json", json.dumps(export)).text == text


def test_records_with_authors_are_no_chat(write):
    """Nor are turns that have no time, as for the training of a model."""
    rows = [{"id": "a", "date": "2026-03-02", "author": "Ada", "text": "Off."}]
    assert [each.id for each in read([write("a.json", json.dumps(rows))])] == ["a"]
    turns = {"messages": [{"role": "user", "content": "Off?"}, {"role": "bot", "content": "On."}]}
    assert [each.text for each in read([write("b.json", json.dumps(turns))])] == ["Off?", "On."]


TALK = """WEBVTT

00:04.100 --> 00:09.800
<v Ada Winter>Good morning.

00:10.200 --> 00:18.900
<v.loud Bo>Sales are up because of the

00:18.900 --> 00:24.000
<v.loud Bo>blue umbrellas.
"""


def test_a_transcript_keeps_its_speakers(document):
    """A turn is a paragraph, however many captions it has."""
    assert document("a.vtt", TALK).text.split("\n\n") == [
        "[00:04] Ada Winter: Good morning.",
        "[00:10] Bo: Sales are up because of the blue umbrellas.",
    ]


CALENDAR = """BEGIN:VCALENDAR
BEGIN:VTIMEZONE
TZID:Europe/Oslo
END:VTIMEZONE
BEGIN:VEVENT
UID:1@quay
DTSTART;TZID=Europe/Oslo:20260317T093000
DTEND;TZID=Europe/Oslo:20260317T110000
SUMMARY:Crane inspection
LOCATION:Quay 7\\, north
DESCRIPTION:The inspector is Mr Berg. Bring the lo
 g.\\nHard hats only.
ORGANIZER;CN="Ada Winter":mailto:ada@example.org
ATTENDEE:mailto:bo@example.org
BEGIN:VALARM
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
BEGIN:VEVENT
UID:2@quay
DTSTART;VALUE=DATE:20260406
DTEND;VALUE=DATE:20260411
SUMMARY:Quay closed
END:VEVENT
BEGIN:VTODO
DUE:20260401T120000Z
SUMMARY:Order rope
END:VTODO
BEGIN:VEVENT
UID:3@quay
END:VEVENT
END:VCALENDAR
"""


INSPECTION = """The inspector is Mr Berg. Bring the log.
Hard hats only.

Start: 2026-03-17 09:30 (Europe/Oslo)
End: 2026-03-17 11:00 (Europe/Oslo)
Place: Quay 7, north
Organizer: Ada Winter
Attendees: bo@example.org"""


@pytest.mark.satellite
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_event_says_when_and_where_it_is(write, newline):
    """In its time zone; the last of whole days is the day before the end."""
    items = list(read([write("team.ics", CALENDAR.replace("\n", newline))]))
    assert [each.text for each in items[:3]] == [
        INSPECTION,
        "Start: 2026-04-06\nEnd: 2026-04-10",
        "Due: 2026-04-01 12:00 UTC",
    ]
    assert [(each.id, each.title, each.source) for each in items[:3]] == [
        ("1@quay", "Crane inspection", "team.ics:1"),
        ("2@quay", "Quay closed", "team.ics:2"),
        ("team.ics:3", "Order rope", "team.ics:3"),
    ]
    assert [each.metadata["date"][:10] for each in items[:3]] == [
        "2026-03-17", "2026-04-06", "2026-04-01",
    ]  # fmt: skip
    assert str(items[3]) == "team.ics, line 4: is an entry without text"


@pytest.mark.satellite
def test_a_contact_is_a_document(write):
    """Of vCards: what has parts is joined, a group's name and types are left out."""
    card = """BEGIN:VCARD
VERSION:3.0
N:Lund;Ada;;;
FN:Ada Lund
ORG:Northern Ropes;Rigging
item1.TEL;TYPE=work,voice:+47 22 33 44 55
EMAIL;TYPE=internet:ada@ropes.example
ADR;TYPE=work:;;Kaigata 3;Bergen;;5003;Norway
NOTE:Delivers on Tuesdays\\, before noon.
END:VCARD
BEGIN:VCARD
FN:Bo Tarn
TEL;VALUE=uri:tel:+49-170-1234
END:VCARD
"""
    first, second = read([write("crew.vcf", card)])
    assert (first.title, first.source) == ("Ada Lund", "crew.vcf:1")
    assert first.text.split("\n") == [
        "Delivers on Tuesdays, before noon.", "", "Organization: Northern Ropes, Rigging",
        "Phone: +47 22 33 44 55", "E-mail: ada@ropes.example",
        "Address: Kaigata 3, Bergen, 5003, Norway",
    ]  # fmt: skip
    assert (second.title, second.text) == ("Bo Tarn", "Phone: +49-170-1234")
