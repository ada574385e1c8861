"""Uploads: what is taken, what is refused, and what goes with a document."""

import io
import json
import os
import re
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.errors import InputError
from clew.extras.server import files, multipart
from tests.extras.files.engine import engine  # noqa: F401 -- a fixture
from tests.extras.files.test_ocr import picture
from tests.extras.server.served import API, events

BAD_NAMES = [
    "", ".", "..", "../a.md", "a/../../b.md", "/etc/passwd", "//host/a.md", "C:/a.md", "c:a.md",
    "a\\b.md", "..\\a.md", "a\x00.md", "a\n.md", "a\x7f.md", "a\u202egpj.md", "a\u2028.md",
    "a//b.md", "a/./b.md", "a/", " a.md", "a.md ", "a.md.", "a./b.md", "CON", "nul.txt",
    "x/com1.md", ".env", ".git/config", "a/.hidden/b.md", "node_modules/a.md", "~$report.docx",
    "x" * 241, "é" * 121, "/".join("x" * 100 for _ in range(11)), "/".join("x" for _ in range(33)),
    "CACHEDIR.TAG",
]  # fmt: skip
GOOD_NAMES = [
    "a.md", "2024/March notes.md", "Æ/海.txt", "what is RAG?.pdf", "a..b.md", "console.log.md",
    "..a/b.md", "10:30 talk.md", "it's 100% \"true\"; <b>.html", "x" * 240,
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES, ids=ascii)
def test_names_that_lead_elsewhere_are_refused(name):
    with pytest.raises(InputError, match=r"^the name '.*' of a file (has|is) ") as error:
        files.check_file_name(name)
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("name", [n for n in GOOD_NAMES if not n.startswith("..")], ids=ascii)
def test_names_that_are_taken_as_they_are(name):
    """Nothing is changed, so the id of a document is what was uploaded."""
    assert files.check_file_name(name) == name


@given(st.text(max_size=30) | st.text("./\\:a \x00~", max_size=12))
def test_no_name_leaves_the_folder(tmp_path_factory, name):
    root = tmp_path_factory.getbasetemp()
    try:
        safe = files.check_file_name(name)
    except InputError:
        return
    assert safe == name
    assert (root / safe).resolve().relative_to(root.resolve()).as_posix() == name


def post(client, *parts, index="notes", params=None, **form):
    """Send files, as (name, content)."""
    given = [("files", part) for part in parts]
    return client.post(f"{API}/indexes/{index}/documents", files=given, data=form, params=params)


def raw(client, content, length=None, boundary="b"):
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    if length is not None:
        headers["Content-Length"] = str(length)
    return client.post(f"{API}/indexes/notes/documents", content=content, headers=headers)


def stored(home, index="notes"):
    root = home.settings.home / "files" / index
    return sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())


def is_clean(home):
    """Say whether nothing of a request that was refused stays."""
    staged = home.settings.home / "uploads"
    return not (staged.exists() and list(staged.iterdir())) and not stored(home)


def part(headers, content=b"x"):
    return b"--b\r\n" + headers + b"\r\n\r\n" + content + b"\r\n"


FILE = b'Content-Disposition: form-data; name="files"; filename="a.md"'


@pytest.mark.parametrize(
    ("content", "status", "sentence"),
    [
        (b"", 400, "it ends before its last part does"),
        (part(FILE)[:-20], 400, "it ends before its last part does"),
        (part(FILE) + b"--b--", 202, ""),
        (part(FILE) + part(FILE) + b"--b--", 400, "two files of this request have the name 'a.md'"),
        (part(FILE.replace(b"a.md", b"../a.md")) + b"--b--", 400, "names no file"),
        (part(FILE.replace(b"a.md", b"\xff.md")) + b"--b--", 400, "is not in UTF-8"),
        (part(FILE.replace(b'"files"', b'"other"')) + b"--b--", 400,
         "files must be in the field 'files', not 'other'"),
        (part(b"X: " + b"y" * 5_000) + b"--b--", 400, "form cannot be read"),
        (part(b'Content-Disposition: form-data; name="options"', b"z" * 70_000) + b"--b--", 413,
         "the field 'options' has at most"),
        (b"".join(part(b'Content-Disposition: form-data; name="f%d"' % i) for i in range(30))
         + b"--b--", 400, "sent as 'files', and 'options': no 'f0'"),
        (2 * part(b'Content-Disposition: form-data; name="options"', b"{}") + b"--b--", 400,
         "'options' more than once"),
        (part(b'Content-Disposition: form-data; name="options"', b'{"llm": 1}') + b"--b--", 400,
         "options.llm"),
        (part(b'Content-Disposition: form-data; name="options"', b"{}") + b"--b--", 400,
         "send at least one file"),
        (b"no form at all", 400, "form cannot be read"),
    ],
)  # fmt: skip
def test_forms_that_are_none(jobs_home, content, status, sentence):
    with jobs_home.client(jobs=0) as client:
        found = raw(client, content)
        assert found.status_code == status
        if status != 202:
            assert re.search(sentence, found.json()["error"]["message"])
            assert is_clean(jobs_home)


def test_quotes_in_a_name_come_as_browsers_send_them(jobs_home):
    """Written as %22 in the header of a form, and nothing else of a name is."""
    headers = FILE.replace(b"a.md", b"100%25 %22true%22.md")
    with jobs_home.client(jobs=0) as client:
        assert raw(client, part(headers) + b"--b--").status_code == 202
    assert stored(jobs_home) == ['100%25 "true".md']


def test_bounds_of_an_upload(jobs_home):
    """Too many files, too many bytes: before anything is read where the length says so."""
    read = []

    def endless():
        yield part(FILE)[:-2]
        for _ in range(1_000):
            read.append(1)
            yield b"x" * 65_536

    with jobs_home.client(jobs=0, upload_bytes=1 << 20, upload_files=2, text_bytes=5_000) as client:
        told = raw(client, b"--b", length=(1 << 20) + 1)
        assert told.status_code == 413
        assert raw(client, endless()).status_code == 413
        assert 0 < len(read) <= 1_000
        many = post(client, *((f"{i}.md", b"x") for i in range(3)))
        said = {"code": "too_large", "message": "a request can have at most 2 files"}
        assert many.json()["error"] == said
        text = {"documents": [{"id": "a", "text": "x" * 6_000}]}
        assert client.post(f"{API}/indexes/notes/documents", json=text).status_code == 413
        assert is_clean(jobs_home)
        assert client.get(f"{API}/jobs").json()["total"] == 0


def test_thirty_uploads_at_once(jobs_home):
    """None is lost, none is mixed with another, and one run over the folder indexes them all."""
    with jobs_home.client(jobs=0) as client:

        def send(i):
            return post(client, (f"deep/{i}.md", f"Ship {i} sailed north.".encode() * 3_000))

        with ThreadPoolExecutor(30) as pool:
            sent = list(pool.map(send, range(30)))
        assert {each.status_code for each in sent} == {202}
        ids = [each.json()["id"] for each in sent]
        assert len(set(ids)) == 30
        for each in ids:
            client.delete(f"{API}/jobs/{each}")
    root = jobs_home.settings.home / "files" / "notes"
    for i in range(30):
        assert (root / f"deep/{i}.md").read_text() == f"Ship {i} sailed north." * 3_000
    assert not list((jobs_home.settings.home / "uploads").iterdir())


def bomb():
    """Return a Word file of some kilobytes whose text unpacks to hundreds of megabytes."""
    found = io.BytesIO()
    with zipfile.ZipFile(found, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("word/document.xml", "w") as inner:
            for _ in range(300):
                inner.write(b"<" * (1 << 20))
    return found.getvalue()


def test_what_cannot_be_read_is_told_by_file(jobs_home, monkeypatch):
    """A zip bomb and a picture are events with reasons; the rest is indexed, no path is told."""
    monkeypatch.chdir(jobs_home.settings.home.parent)
    with jobs_home.client(home=Path("home")) as client:
        found = post(
            client,
            ("bomb.docx", bomb()),
            ("x.bin", b"\x00\x01\x02" * 99),
            ("<script>.md", b"Colin Archer <script>alert(1)</script> was born in Larvik."),
            params={"wait": 60},
        ).json()
        assert found["state"] == "done", found
        assert found["result"]["n_skipped"] == 2
        told = [json.loads(data) for _, kind, data in events(client, found["id"])]
        skipped = {each["source"]: each["reason"] for each in told if "reason" in each}
        assert sorted(skipped) == ["notes/bomb.docx", "notes/x.bin"]
        assert "more than" in skipped["notes/bomb.docx"]
        assert str(jobs_home.settings.home) not in json.dumps(told)
        page = client.get(f"{API}/indexes/notes/files/notes/<script>.md")
        assert page.headers["content-type"] == "application/octet-stream"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["content-disposition"].startswith("attachment;")
        assert b"<script>alert" in page.content
        for missing in ("notes/bomb.docx", "../server.sqlite", "%2e%2e/server.sqlite"):
            assert client.get(f"{API}/indexes/notes/files/{missing}").status_code == 404


def test_a_table_is_read_again_by_its_columns(jobs_home):
    """The job that cannot tell says how; only the file that is named is read, none elsewhere."""
    table = b"name,abstract,summary\nFram,1892,Larvik\nMaud,1916,Vollen\n"
    at = f"{API}/indexes/notes"
    with jobs_home.client() as client:
        found = post(client, ("ships.csv", table), ("a.md", b"Ice."), params={"wait": 60}).json()
        assert (found["result"]["added"]["n"], found["result"]["n_skipped"]) == (1, 1)
        told = events(client, found["id"])
        [reason] = [json.loads(data)["reason"] for _, kind, data in told if kind == "skipped"]
        assert reason.endswith("only: name, abstract, summary (see the option text_column)")

        def again(**options):
            given = {"kind": "index", "options": options}
            return client.post(f"{at}/jobs?wait=60", json=given).json()

        done = again(files=["ships.csv"], text_column="summary")["result"]
        assert (done["added"]["n"], done["n_skipped"], done["gone"]["n"]) == (2, 0, 0)
        lines = client.get(f"{at}/documents?pattern=notes/ships*").json()["items"]
        ships = [("Fram", "1892"), ("Maud", "1916")]
        assert [(each["title"], each["metadata"]["abstract"]) for each in lines] == ships
        assert again()["result"]["gone"]["n"] == 0  # what is not read again stays
        assert client.get(f"{at}/documents").json()["total"] == 3
        missing = again(files=["other.csv"])
        assert missing["result"]["error"]["message"].startswith("no file 'other.csv' was uploaded")
        assert again(files=["../server.sqlite"])["error"]["code"] == "invalid_input"


def test_texts_records_and_what_goes_with_a_document(jobs_home):
    """Given texts have ids of their own; what is removed does not come back with its file."""
    with jobs_home.client() as client:
        table = b"id,text\nr1,Anna sailed north.\nr2,Bo stayed at home.\n"
        files_ = ("t.csv", table), ("d/a.md", b"The Fram sailed.")
        found = post(client, *files_, params={"wait": 60}).json()
        assert found["result"]["n_documents"] == 3, found
        text = {"id": "x/y", "title": "Ice", "text": "Ice drifts.", "metadata": {"n": [1]}}
        at = f"{API}/indexes/notes/documents"
        found = client.post(f"{at}?wait=60", content=json.dumps({"documents": [text]})).json()
        assert found["result"]["added"]["ids"] == ["x/y"], found
        for body, sentence in (
            ([text, text], "two documents have the id 'x/y'"),
            ([{**text, "id": "notes/d/a.md"}], "the id 'notes/d/a.md' is that of an uploaded file"),
            ([{**text, "id": "a\nb"}], "documents.0.id"),
            ([{**text, "more": 1}], "documents.0.more"),
            ([{**text, "text": "Ice \ud800"}], "Invalid JSON"),
            ([], "documents"),
        ):
            refused = client.post(at, content=json.dumps({"documents": body}))
            is_taken = "uploaded file" in sentence
            assert refused.status_code == (409 if is_taken else 400)
            assert sentence in refused.json()["error"]["message"]
        given = client.get(f"{API}/indexes/notes/files/x/y")
        assert given.text == "Ice drifts."
        assert given.headers["content-type"] == "text/plain; charset=utf-8"

        uploads = jobs_home.settings.home / "files" / "notes"
        with jobs_home.index() as index:
            with pytest.raises(InputError, match="'r1' is one of 2 documents of the uploaded"):
                files.plan_removal(index.snapshot(), uploads, ["r1", "notes/d/a.md"])
            with pytest.raises(InputError, match="there is no document 'r3'"):
                files.plan_removal(index.snapshot(), uploads, ["r3"])
            removal = files.plan_removal(index.snapshot(), uploads, ["notes/d/a.md", "x/y"])
            assert (removal.documents, removal.files) == (["notes/d/a.md", "x/y"], ["d/a.md"])
            assert stored(jobs_home) == ["d/a.md", "t.csv"]
            for _ in range(2):  # the second time all is gone already
                files.remove_documents(index, uploads, removal)
                assert index.documents() == ["r1", "r2"]
                assert stored(jobs_home) == ["t.csv"]
        remove = {"kind": "remove", "options": {"documents": ["r*"]}}
        done = client.post(f"{API}/indexes/notes/jobs", json=remove, params={"wait": 60}).json()
        assert done["result"] == {"documents": ["r1", "r2"], "files": ["t.csv"]}
        assert stored(jobs_home) == []
        assert not (uploads / "d").exists()


def test_a_bound_key_downloads_no_file(jobs_home):
    """It may have rows that the key does not see, or be replaced by another: it gets the text."""
    table = b"id,text,group\nr1,Anna sailed north.,open\nr2,Bo stayed at home.,hidden\n"
    uploads = jobs_home.settings.home / "files" / "notes"
    uploads.mkdir(parents=True)
    (uploads / "t.csv").write_bytes(table)
    (uploads / "a.md").write_text("---\ngroup: open\n---\nThe Fram sailed.")
    with jobs_home.index() as index:
        index.add(uploads)
    _, bound = jobs_home.key("bound", where="group = 'open'")
    _, whole = jobs_home.key("whole")
    with jobs_home.client(jobs=0) as client:

        def get(document_id, headers):
            return client.get(f"{API}/indexes/notes/files/{document_id}", headers=headers)

        assert get("r1", whole).content == table
        assert get("r1", bound).text == "Anna sailed north."
        assert get("r2", bound).status_code == 404
        (uploads / "a.md").write_text("---\ngroup: hidden\n---\nThe Fram sank.")
        assert "sank" in get("notes/a.md", whole).text
        assert "sailed" in get("notes/a.md", bound).text


def test_a_file_replaces_one_of_its_name(jobs_home):
    with jobs_home.client(jobs=0) as client:
        assert post(client, ("a/b.md", b"one")).status_code == 202
        assert post(client, ("a/b.md", b"two")).status_code == 202
        assert (jobs_home.settings.home / "files/notes/a/b.md").read_bytes() == b"two"
        for names in (["a"], ["a/b.md/c.md"], ["x.md", "a"], ["y", "y/z.md"]):
            refused = post(client, *((name, b"three") for name in names))
            assert refused.status_code == 400, refused.text
            assert "folder" in refused.json()["error"]["message"]
        assert stored(jobs_home) == ["a/b.md"]


def test_a_full_disk_is_told(jobs_home, monkeypatch):

    def full(_path):
        raise OSError(28, "No space left on device")

    with jobs_home.client(jobs=0) as client:
        with monkeypatch.context() as patched:
            patched.setattr(multipart, "open_file", full)
            refused = post(client, ("a.md", b"one"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (507, "no_space")
        assert is_clean(jobs_home)
        assert post(client, ("a.md", b"one")).status_code == 202


def test_a_job_reads_scans_by_ocr_where_it_is_to(started_jobs_home, engine, monkeypatch):  # noqa: F811
    """As files come, and in a later job; without the option its name is told."""
    engine()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    with started_jobs_home.client() as client:
        plain = post(client, ("letter.png", picture()), params={"wait": 60}).json()
        assert (plain["result"]["added"]["n"], plain["result"]["n_skipped"]) == (0, 1)
        told = [
            json.loads(data) for _, kind, data in events(client, plain["id"]) if kind == "skipped"
        ]
        assert "without OCR: the option ocr reads pictures" in told[0]["reason"]
        given = {"kind": "index", "options": {"ocr": True}}
        later = client.post(f"{API}/indexes/notes/jobs?wait=60", json=given).json()["result"]
        assert later["partly"]["notes"] == {"notes/letter.png": ["read by OCR, confidence .97"]}
        scan = "other.png", picture(dark=0.5)
        sent = post(client, scan, options='{"ocr": true}', params={"wait": 60}).json()["result"]
        assert sent["added"]["ids"] == ["notes/other.png"]


@pytest.mark.skipif(find_spec("rapidocr") is not None, reason="it is installed")
def test_a_server_without_ocr_says_what_to_install(jobs_home):
    """Before a file is taken or a job queued."""
    with jobs_home.client(jobs=0) as client:
        given = {"kind": "index", "options": {"ocr": True}}
        for reply in (
            post(client, ("a.md", b"Ice."), options='{"ocr": true}'),
            client.post(f"{API}/indexes/notes/jobs", json=given),
        ):
            assert (reply.status_code, reply.json()["error"]["code"]) == (501, "missing_extra")
            assert "pip install 'clew[ocr]'" in reply.json()["error"]["message"]
        assert is_clean(jobs_home)
        assert client.get(f"{API}/jobs").json()["total"] == 0
