"""A message is read whole: its texts in order, and a note on what it holds besides."""

from email.message import EmailMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText

import pytest

from clew.readers import read

DATE = "Mon, 02 Mar 2026 10:00:00 +0100"
PICTURE = b"\x89PNG\r\n"
STUB = "Your e-mail program cannot show this message. Open it in the browser."
PAGE = "<html><body><p>The harbour fee is raised to 40 pounds.</p><p>{}</p></body></html>"
PAGE = PAGE.format("It is due on the first of each month, and is paid at the office. " * 5)


def message(**headers):
    made = EmailMessage()
    made["From"], made["Subject"] = "ada@example.org", "Harbour plan"
    for name, value in headers.items():
        made[name] = value
    return made


def multipart(kind, *parts):
    made = MIMEMultipart(kind)
    for each in parts:
        made.attach(each)
    return made


def picture(name="a.png"):
    made = EmailMessage()
    made.set_content(PICTURE, "image", "png", filename=name)
    return made


def body(document, made):
    if "From" not in made:
        made["From"] = "ada@example.org"
    found = document("a.eml", made.as_bytes())
    return found.text.rpartition("\n\nFrom: ")[0], found.partly


@pytest.mark.parametrize("kind", ["plain", "html"])
def test_all_texts_are_read_in_order(document, kind):
    """Text, a picture and text, as some programs send it, in words or as pages."""
    first, second = (MIMEText(each, kind) for each in ("The drawing is below.", "Due on 9 April."))
    text, notes = body(document, multipart("mixed", first, picture(), second))
    assert text == "The drawing is below.\n\nDue on 9 April."
    assert notes == ("1 attachment not read: a.png",)


def test_a_forwarded_message_is_read_below_its_headers(document):
    """Also one in one, with the names of attachments in it."""
    inner = message(To="bo@example.org", Date=DATE)
    inner.set_content("Quay 7 is closed.")
    inner.add_attachment(b"%PDF", "application", "pdf", filename="plan.pdf")
    middle, outer = message(), message()
    middle.set_content("See below.")
    middle.add_attachment(inner)
    outer.set_content("For you.")
    outer.add_attachment(middle)
    text, notes = body(document, outer)
    assert text.split("\n\n") == [
        "For you.",
        "Subject: Harbour plan\nFrom: ada@example.org",
        "See below.",
        f"Subject: Harbour plan\nFrom: ada@example.org\nTo: bo@example.org\nDate: {DATE}",
        "Quay 7 is closed.",
    ]
    assert notes == ("1 attachment not read: plan.pdf",)


def test_attachments_are_named(document):
    """A dozen of them in one note, and what is no name by its kind."""
    made = message()
    made.set_content("Twelve drawings.")
    for number in range(11):
        made.add_attachment(b"x", "application", "pdf", filename=f"{number}.pdf")
    made.add_attachment(b"x", "application", "octet-stream")
    _, (note,) = body(document, made)
    assert note.startswith("12 attachments not read: 0.pdf, 1.pdf, ")
    assert note.endswith("9.pdf and 2 more")


@pytest.mark.parametrize(
    ("plain", "is_page"),
    [(STUB, True), ("", True), ("The fee is raised to 40 pounds. " * 20, False)],
    ids=["stub", "empty", "text"],
)
def test_the_page_is_read_where_the_plain_part_is_a_stub(document, plain, is_page):
    """Otherwise the plain part is, which has no frames."""
    made = message()
    made.set_content(plain)
    made.add_alternative(PAGE, subtype="html")
    text, notes = body(document, made)
    assert ("at the office" in text) == is_page
    assert notes == ()


def test_an_alternative_may_have_attachments(document):
    """Beside a plain text that is whole; pictures of the page are no text."""
    pages = multipart("mixed", MIMEText("<p>Short.</p>", "html"), picture("b.png"))
    made = multipart("alternative", MIMEText("All is said here, in full.", "plain"), pages)
    assert body(document, made) == ("All is said here, in full.", ("1 attachment not read: b.png",))
    related = multipart("related", MIMEText("<p>With a logo.</p>", "html"), picture("logo.png"))
    assert body(document, related) == ("With a logo.", ("1 attachment not read: logo.png",))


def test_a_signature_is_no_attachment(document):
    """What is encrypted is one."""
    signature = EmailMessage()
    signature.set_content(b"x", "application", "pgp-signature", filename="signature.asc")
    text = MIMEText("Signed words.", "plain")
    assert body(document, multipart("signed", text, signature)) == ("Signed words.", ())
    secret = EmailMessage()
    secret.set_content(b"x", "application", "pkcs7-mime")
    _, notes = body(document, multipart("mixed", MIMEText("Open words.", "plain"), secret))
    assert notes == ("1 attachment not read: application/pkcs7-mime",)


def test_a_delivery_report_is_read(document):
    """It says what became of a message."""
    report = (
        b"From: a@b\nContent-Type: multipart/report; boundary=x\n\n--x\n\nNot delivered.\n--x\n"
        b"Content-Type: message/delivery-status\n\nReporting-MTA: dns; mx.example.org\n\n"
        b"Final-Recipient: rfc822; bo@example.org\nStatus: 5.1.1\n\n--x--\n"
    )
    assert "Status: 5.1.1" in document("a.eml", report).text


def test_a_multipart_without_a_boundary_is_a_text(document):
    """Whatever its head says."""
    made = b"From: a@b\nContent-Type: multipart/mixed\n\nQuay 7 is closed.\n"
    assert document("a.eml", made).text.startswith("Quay 7 is closed.")


@pytest.mark.parametrize(
    ("charset", "encoding", "words"),
    [
        ("cp-850", "cp850", "Größe und Müßiggang"),
        ("iso-8859-8-i", "iso-8859-8", "שלום הפגישה ביום שלישי"),
        ("unknown-8bit", "cp1251", "Дети играли во дворе, пока не начался дождь."),
        ("x-unknown", "utf-8", "Größe und Müßiggang"),
        ("us-ascii", "cp1252", "Frau Müller prüft die Verträge, bevor der Käufer zahlt."),
        ("iso-2022-jp", "iso-2022-jp", "電車で京都へ行きます。"),
        ("windows-1254", "cp1254", "Işık"),
        ("utf-7", "utf-7", "Größe und Müßiggang"),
        ("ks_c_5601-1987", "cp949", "기차를 타고 부산으로 갑니다."),
    ],
)
def test_charsets_are_known_by_aliases_or_guessed(document, charset, encoding, words):
    """Of bodies and of subjects."""
    encoded = words.encode(encoding)
    quoted = "".join(f"={byte:02X}" for byte in encoded).encode()
    made = b"From: a@b\nSubject: =?%s?Q?%s?=\nContent-Type: text/plain; charset=%s\n\n%s\n" % (
        charset.encode(), quoted, charset.encode(), encoded,
    )  # fmt: skip
    found = document("a.eml", made)
    assert found.text.startswith(words)
    assert found.title == words


def test_headers_of_broken_programs_are_read(document):
    """Bytes as they are, and a character that is divided between two encoded words."""
    subject = b"Subject: =?utf-8?B?R3LDtsM=?=\n =?utf-8?B?n2U=?=\n\n"
    made = b"From: J\xfcrgen M\xfcller <a@b>\n" + subject + b"Words.\n"
    found = document("a.eml", made)
    assert found.title == "Größe"
    assert found.text.endswith("From: Jürgen Müller <a@b>")


def test_each_message_of_a_mailbox_has_its_own_notes(write):
    """The first has an attachment, the second a bad byte."""
    made = message()
    made.set_content("With a picture.")
    made.add_attachment(PICTURE, "image", "png", filename="a.png")
    second = "From: a@b\nContent-Type: text/plain; charset=utf-8\n\nGröße X\n".encode()
    start = b"From a@b Sat Jun 24 12:00:00 1893\n"
    both = start + made.as_bytes() + b"\n" + start + second.replace(b"X", b"\xff")
    one, two = read([write("a.mbox", both)])
    assert one.partly == ("1 attachment not read: a.png",)
    assert two.partly == (
        "1 place with bytes that are no UTF-8 became U+FFFD, the first in line 1",
    )


REPLY = """The lamp is repaired. It costs 80 crowns.
Bo

On Tue, 3 Mar 2026 at 09:02, Ada Winter
<ada@example.org> wrote:
> What does the lamp cost?
> Is it 95?
>
> On Mon, 2 Mar 2026, Bo wrote:
>> It will cost 95 crowns.
"""
FORWARD = """See below.

----- Original message of 2 March -----
> The boat sails at 9.
"""
OUTLOOK = """Agreed.

-----Ursprüngliche Nachricht-----
Von: Ada Winter
Gesendet: Montag

Is noon good?
"""


def test_what_a_message_quotes_stands_behind_it_below_who_wrote_it(document):
    """So a price that was changed is not quoted from the older message."""
    made = message(To="bo@example.org")
    made.set_content(REPLY)
    found = document("a.eml", made.as_bytes())
    titles = [
        "On Tue, 3 Mar 2026 at 09:02, Ada Winter <ada@example.org> wrote:",
        "On Mon, 2 Mar 2026, Bo wrote:",
    ]
    assert found.text.split("\n\n") == [
        "The lamp is repaired. It costs 80 crowns.\nBo",
        "From: ada@example.org\nTo: bo@example.org",
        titles[0],
        "What does the lamp cost?\nIs it 95?",
        titles[1],
        "It will cost 95 crowns.",
    ]
    assert [(each.level, each.title) for each in found.headings] == [(1, titles[0]), (2, titles[1])]
    (quoted,) = found.apparatus
    assert found.text[quoted.start : quoted.end].startswith(titles[0])
    assert (quoted.end, quoted.kind) == (len(found.text), "quoted")


@pytest.mark.parametrize(
    ("text", "title", "quoted"),
    [
        (FORWARD, "----- Original message of 2 March -----", "The boat sails at 9."),
        (OUTLOOK, "Von: Ada Winter", "Gesendet: Montag\n\nIs noon good?"),
    ],
)
def test_other_programs_quote_otherwise(document, text, title, quoted):
    """Below a line of hyphens."""
    made = message()
    made.set_content(text)
    found = document("a.eml", made.as_bytes())
    assert found.headings[0].title == title
    assert found.text.endswith(f"{title}\n\n{quoted}")


def test_a_quote_that_is_answered_below_stays_where_it_is(document):
    """Then the quote is the question."""
    made = message()
    made.set_content("Ada wrote:\n> Is noon good?\n\nNo, at two.\n")
    assert document("a.eml", made.as_bytes()).text.startswith("Ada wrote:\n> Is noon good?\n\nNo")
