"""Two small corpora, and a writer of each format that `clew.readers` reads.

A writer is given the title and the paragraphs of an article and returns a file; one of records is
given all articles. Writers know nothing of the readers.
"""

import io
import json
import random
import zipfile
import zlib

import docx
import pypdf

OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
OOXML = "http://schemas.openxmlformats.org"
RELATIONS = f"{OOXML}/officeDocument/2006/relationships"

LIGHTHOUSES = {
    "Gull Rock": [
        "Gull Rock is a lighthouse that stands on the northern edge of Port Erland.",
        "It was designed by Marit Solheim, and its lamp was lit for the first time in 1871.",
    ],
    "Marit Solheim": [
        "Marit Solheim was an engineer who was born in the village of Kvalnes.",
        "She learned her trade from her uncle, who built bridges.",
    ],
    "Port Erland": [
        "Port Erland lives on herring and on the repair of boats.",
        "A railway has led there since 1902.",
    ],
    "Kvalnes": [
        "Kvalnes lies between two fjords and has forty houses.",
        "Sheep graze on its roofs in summer.",
    ],
}
LOOMS = {
    "Tolland loom": [
        "The Tolland loom weaves linen three yards wide.",
        "It was invented by Edwin Harrow, a carpenter, after a winter without work.",
    ],
    "Edwin Harrow": [
        "Edwin Harrow sold his patent to the Brightwater mill for forty pounds.",
        "He spent the money on an orchard.",
    ],
    "Brightwater mill": [
        "The Brightwater mill stood on the river Lune and burned down twice.",
        "Two hundred people wove sailcloth there.",
    ],
    "River Lune": [
        "The river Lune rises in the hills and is never quite still.",
        "Its water is soft, and good for dyeing.",
    ],
}
QUESTIONS = (  # each with the two articles that together answer it
    (LIGHTHOUSES, "In which village was the designer of the Gull Rock lighthouse born?",
     {"Gull Rock", "Marit Solheim"}),
    (LOOMS, "To which mill did the inventor of the Tolland loom sell his patent?",
     {"Tolland loom", "Edwin Harrow"}),
)  # fmt: skip


def saved(write):
    """Return what is written into a file that is given to `write`."""
    sink = io.BytesIO()
    write(sink)
    return sink.getvalue()


def unpacked(data):
    """Return the parts of a zip file, by their names."""
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        return {name: source.read(name) for name in source.namelist()}


def packed(parts):
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(name, content)
    return sink.getvalue()


def picture(seed, width=160, height=120):
    """Draw a grey picture as PNG, which no other seed gives."""
    greys = random.Random(seed)  # noqa: S311 -- no secret
    rows = b"".join(b"\0" + bytes([greys.randrange(256)]) * width for _ in range(height))
    head = width.to_bytes(4) + height.to_bytes(4) + b"\x08\0\0\0\0"
    chunks = (b"IHDR" + head, b"IDAT" + zlib.compress(rows), b"IEND")
    parts = (len(e[4:]).to_bytes(4) + e + zlib.crc32(e).to_bytes(4) for e in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def tagged(tag, paragraphs):
    return "".join(f"<{tag}>{paragraph}</{tag}>" for paragraph in paragraphs)


def plain(title, paragraphs):
    return "\n\n".join([title, *paragraphs]) + "\n"


def markdown(title, paragraphs):
    return plain(f"# {title}", paragraphs)


def restructured(title, paragraphs):
    return plain(f"{title}\n{'=' * len(title)}", paragraphs)


def manual(title, paragraphs):
    body = "".join(f".PP\n{paragraph}\n" for paragraph in paragraphs)
    return f'.TH "{title}"\n{body}'


def org(title, paragraphs):
    return plain(f"#+title: {title}", paragraphs)


def asciidoc(title, paragraphs):
    return plain(f"= {title}", paragraphs)


def latex(title, paragraphs):
    body = plain("\\maketitle", paragraphs)
    return (
        f"\\documentclass{{a}}\n\\title{{{title}}}\n\\begin{{document}}\n{body}\\end{{document}}\n"
    )


def html(title, paragraphs):
    head = f"<html><head><title>{title}</title></head>"
    return f"<!DOCTYPE html>{head}<body><h1>{title}</h1>{tagged('p', paragraphs)}</body></html>"


def xml(title, paragraphs):
    return f"<article><title>{title}</title>{tagged('para', paragraphs)}</article>"


def notebook(title, paragraphs):
    texts = [f"# {title}", *paragraphs]
    cells = [{"cell_type": "markdown", "source": [each]} for each in texts]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4})


def subtitles(title, paragraphs):
    cues = [
        f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{each}"
        for n, each in enumerate([title, *paragraphs], 1)
    ]
    return "\n\n".join(cues) + "\n"


def web_subtitles(title, paragraphs):
    return "WEBVTT\n\n" + subtitles(title, paragraphs).replace(",000", ".000").replace(
        ",900", ".900"
    )


def mail(title, paragraphs):
    body, name = "\n\n".join(paragraphs), title.replace(" ", "-")
    return f"From: a@example.org\nSubject: {title}\nMessage-ID: <{name}>\n\n{body}\n"


def mailbox(articles):
    mails = (mail(title, paragraphs) for title, paragraphs in articles.items())
    return "".join(f"From a@example.org Sat Jun 24 12:00:00 1893\n{each}\n" for each in mails)


def pdf(*pages, title=None, password=None):
    """Write a small PDF by hand, and encrypt it through pypdf."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * i) for i in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, page in enumerate(pages):
        lines = b" ".join(b"(%s) Tj T*" % line.encode() for line in page.split("\n"))
        stream = b"BT /F1 12 Tf 72 700 Td 14 TL %s ET" % lines
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * i),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        ]
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(b"%010d 00000 n \n" % len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (size, b"".join(offsets))
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (size, len(out))
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(out + table + end))
    if title:
        writer.add_metadata({"/Title": title})
    if password is not None:
        writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
    return saved(writer.write)


def portable(title, paragraphs):
    return pdf("\n".join([title, *paragraphs]), title=title)


def word(title, paragraphs):
    file = docx.Document()
    file.core_properties.title = title
    for each in (title, *paragraphs):
        file.add_paragraph(each)
    return saved(file.save)


def rich(title, paragraphs):
    return (
        f"{{\\rtf1\\ansi{{\\info{{\\title {title}}}}}" + "\\par ".join([title, *paragraphs]) + "}"
    )


def slides(title, paragraphs):
    lines = "".join(f"<a:p><a:r><a:t>{each}</a:t></a:r></a:p>" for each in (title, *paragraphs))
    return packed({"ppt/slides/slide1.xml": f"<p:sld xmlns:p='p' xmlns:a='a'>{lines}</p:sld>"})


def open_document(title, paragraphs):
    names = (
        f"xmlns:o='{OFFICE}:office:1.0' xmlns:t='{OFFICE}:text:1.0' xmlns:d='{OFFICE}:drawing:1.0'"
    )
    body = f"<t:h>{title}</t:h>{tagged('t:p', paragraphs)}"
    content = (
        f"<o:document-content {names}><o:body><d:page>{body}</d:page></o:body></o:document-content>"
    )
    return packed({"content.xml": content})


def open_sheet(title, paragraphs):
    names = (
        f"xmlns:office='{OFFICE}:office:1.0' xmlns:text='{OFFICE}:text:1.0' "
        f"xmlns:table='{OFFICE}:table:1.0'"
    )
    rows = "".join(
        "<table:table-row><table:table-cell office:value-type='string'>"
        f"<text:p>{each}</text:p></table:table-cell></table:table-row>"
        for each in paragraphs
    )
    table = f"<table:table table:name='{title}'>{rows}</table:table>"
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return packed(
        {
            "mimetype": kind,
            "META-INF/manifest.xml": f"<m:manifest xmlns:m='{OFFICE}:manifest:1.0'/>",
            "content.xml": f"<office:document-content {names}>{body}</office:document-content>",
        }
    )


def relation(kind, target):
    return (
        f"<Relationships xmlns='{OOXML}/package/2006/relationships'>"
        f"<Relationship Id='r1' Type='{RELATIONS}/{kind}' Target='{target}'/></Relationships>"
    )


def sheet(title, paragraphs):
    main = f"{OOXML}/spreadsheetml/2006/main"
    rows = "".join(
        f"<row r='{n}'><c r='A{n}' t='inlineStr'><is><t>{each}</t></is></c></row>"
        for n, each in enumerate(paragraphs, 1)
    )
    return packed(
        {
            "[Content_Types].xml": f"<Types xmlns='{OOXML}/package/2006/content-types'/>",
            "_rels/.rels": relation("officeDocument", "xl/workbook.xml"),
            "xl/workbook.xml": f"<workbook xmlns='{main}' xmlns:r='{RELATIONS}'><sheets>"
            f"<sheet name='{title}' sheetId='1' r:id='r1'/></sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relation("worksheet", "worksheets/sheet1.xml"),
            "xl/worksheets/sheet1.xml": f"<worksheet xmlns='{main}'><sheetData>{rows}"
            "</sheetData></worksheet>",
        }
    )


def book(title, paragraphs):
    kind = "application/xhtml+xml"
    return packed(
        {
            "META-INF/container.xml": "<c xmlns='u'><rootfile full-path='a.opf'/></c>",
            "a.opf": f"<p xmlns:dc='d'><dc:title>{title}</dc:title><manifest>"
            f"<item id='a' href='a.xhtml' media-type='{kind}'/></manifest>"
            "<spine><itemref idref='a'/></spine></p>",
            "a.xhtml": html(title, paragraphs),
        }
    )


def _records(articles):
    return [
        {"id": title, "title": title, "text": "\n".join(paragraphs)}
        for title, paragraphs in articles.items()
    ]


def json_lines(articles):
    return "".join(json.dumps(each) + "\n" for each in _records(articles))


def json_list(articles):
    return json.dumps(_records(articles))


def _rows(articles, delimiter):
    cells = ([each["title"], " ".join(each["text"].split())] for each in _records(articles))
    rows = [["title", "text"], *cells]
    return "".join(delimiter.join(f'"{cell}"' for cell in row) + "\r\n" for row in rows)


def commas(articles):
    return _rows(articles, ",")


def tabs(articles):
    return _rows(articles, "\t")


def calendar(articles):
    entries = (
        f"BEGIN:VEVENT\nSUMMARY:{title}\nDESCRIPTION:{escape_text(paragraphs)}\nEND:VEVENT\n"
        for title, paragraphs in articles.items()
    )
    return f"BEGIN:VCALENDAR\n{''.join(entries)}END:VCALENDAR\n"


def contacts(articles):
    entries = (
        f"BEGIN:VCARD\nFN:{title}\nNOTE:{escape_text(paragraphs)}\nEND:VCARD\n"
        for title, paragraphs in articles.items()
    )
    return "".join(entries)


def escape_text(paragraphs):
    text = "\n\n".join(paragraphs)
    return text.replace("\\", r"\\").replace(",", r"\,").replace(";", r"\;").replace("\n", r"\n")


def columns(articles):
    sink = io.BytesIO()
    import pyarrow as pa  # which the tests of the page do without
    from pyarrow import parquet

    parquet.write_table(pa.Table.from_pylist(_records(articles)), sink)
    return sink.getvalue()


RECORDS = {
    ".csv": commas, ".tsv": tabs, ".jsonl": json_lines, ".ndjson": json_lines, ".json": json_list,
    ".parquet": columns, ".mbox": mailbox, ".ics": calendar,
    ".vcf": contacts,
}  # fmt: skip
WRITERS = {
    ".md": markdown, ".markdown": markdown, ".rst": restructured, ".org": org, ".adoc": asciidoc,
    ".asciidoc": asciidoc, ".tex": latex, ".html": html, ".htm": html, ".xhtml": html, ".xml": xml,
    ".ipynb": notebook, ".srt": subtitles, ".vtt": web_subtitles, ".eml": mail, ".pdf": portable,
    ".docx": word, ".rtf": rich, ".pptx": slides, ".odt": open_document, ".odp": open_document,
    ".xlsx": sheet, ".xls": sheet, ".ods": open_sheet, ".epub": book, ".docm": word, ".dotx": word,
    ".dotm": word, ".pptm": slides, ".ppsx": slides, ".ppsm": slides, ".potx": slides,
    ".xlsm": sheet, ".xlsb": sheet, ".xltx": sheet, ".ots": open_sheet, ".ott": open_document,
    ".otp": open_document, **dict.fromkeys(".1 .2 .3 .4 .5 .6 .7 .8 .man .mdoc".split(), manual),
}  # fmt: skip


def files(suffix, articles):
    """Return the files of a corpus in the format of a suffix, as bytes by their names."""
    if suffix in RECORDS:
        contents = {f"all{suffix}": RECORDS[suffix](articles)}
    else:
        write = WRITERS.get(suffix, plain)
        contents = {
            f"{title}{suffix}": write(title, paragraphs) for title, paragraphs in articles.items()
        }
    return {
        name: content if isinstance(content, bytes) else content.encode()
        for name, content in contents.items()
    }
