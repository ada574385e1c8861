"""Places that are fetched: once, and then what changed; each against a real one of this machine."""

import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import apsw
import fsspec
import obstore
import obstore.store
import pytest

import clew
from clew.base.display.addresses import hide_secrets
from clew.errors import InputError
from clew.limits import ReadingLimits
from clew.testing import models
from tests.extras.cluster.postgres.conftest import S3_VARIABLES


@pytest.fixture
def index(tmp_path):
    with clew.open(tmp_path / "my.clew", models=models()) as opened:
        yield opened


def add(index, address, **options):
    """Return ids of documents added, changed and gone, how many are unchanged, and problems."""
    try:
        report = index.add(address, **options).report
    except InputError as error:  # of a new index, where all was skipped
        what, _, problem = str(error).partition(": ")
        if what != "nothing could be read":
            raise
        return [], [], [], 0, [problem]
    problems = [str(each) for each in report.skipped]
    return report.added, report.changed, report.gone, report.n_unchanged, problems


@pytest.fixture
def memory():
    """Give a file system of fsspec that is filled, and counts the files that are read."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    for name, text in {"fram.md": "# Fram\n\nA ship.", "old/gjoa.txt": "A sloop sailed."}.items():
        files.pipe(f"/docs/{name}", text.encode())
    yield files
    files.store.clear()


def test_files_are_fetched_once(index, memory, monkeypatch):
    """What did not change is not read again, what is gone is told, and --prune removes it."""
    both = ["memory://docs/fram.md", "memory://docs/old/gjoa.txt"]
    assert add(index, "memory://docs") == (both, [], [], 0, [])
    assert index.show("memory://docs/fram.md")["title"] == "Fram"
    fetched = []
    real = type(memory).get_file
    monkeypatch.setattr(
        type(memory), "get_file", lambda self, *a, **k: fetched.append(a[0]) or real(self, *a, **k)
    )
    assert add(index, "memory://docs") == ([], [], [], 2, [])
    assert fetched == []
    memory.pipe("/docs/fram.md", b"# Fram\n\nA ship of wood.")
    assert add(index, "memory://docs") == ([], both[:1], [], 1, [])
    assert fetched == ["/docs/fram.md"]
    memory.rm("/docs/old/gjoa.txt")
    assert add(index, "memory://docs") == ([], [], both[1:], 1, [])
    assert add(index, "memory://docs", prune=True)[2] == []  # nothing more is known to be gone
    index.remove(both[1])
    memory.pipe("/docs/old/gjoa.txt", b"A sloop sailed.")
    index.add("memory://docs")
    memory.rm("/docs/old/gjoa.txt")
    assert index.add("memory://docs", prune=True).report.pruned
    assert index.documents() == both[:1]


def test_what_is_left_out_and_what_no_reader_takes_is_not_fetched(index, memory):
    memory.pipe("/docs/a.bin", b"\0\1")
    memory.pipe("/docs/.hidden/b.md", b"Hidden.")
    added, *_, problems = add(index, "memory://docs", exclude=["old"])
    assert added == ["memory://docs/fram.md"]
    assert problems == ["memory://docs/a.bin: no reader for .bin files"]


def test_one_file_and_nothing(index, memory):
    assert add(index, "memory://docs/fram.md")[0] == ["memory://docs/fram.md"]
    [problem] = add(index, "memory://none")[4]
    assert problem == "memory://none: holds no file, or is not there"
    assert index.documents() == ["memory://docs/fram.md"]


def test_a_zip_file(index, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr("docs/fram.md", "# Fram\n\nA ship.")
    assert add(index, "zip://docs::a.zip")[0] == ["zip://docs::a.zip/fram.md"]
    assert add(index, "zip://docs::a.zip")[3] == 1


def test_object_storage(index, s3, monkeypatch):
    """What S3 says of a file is enough to know that it did not change."""
    for name, value in {**S3_VARIABLES, "AWS_ENDPOINT_URL": s3}.items():
        monkeypatch.setenv(name, value)
    store = obstore.store.from_url("s3://bucket", client_options={"allow_http": True})
    for name in ("fram.md", "west/gjoa.md"):
        obstore.put(store, f"docs/{name}", f"# {name}\n\nA ship sailed.".encode())
    both = ["s3://bucket/docs/fram.md", "s3://bucket/docs/west/gjoa.md"]
    assert add(index, "s3://bucket/docs", web=True) == (both, [], [], 0, [])
    assert add(index, "s3://bucket/docs", web=True)[3] == 2
    obstore.put(store, "docs/fram.md", b"# Fram\n\nA ship was built.")
    assert add(index, "s3://bucket/docs/", web=True)[1:4] == (both[:1], [], 1)
    [problem] = add(index, "s3://nowhere/docs", web=True)[4]
    assert problem.startswith("s3://nowhere/docs: ")


@pytest.mark.parametrize(
    ("address", "options", "message"),
    [
        ("s3://bucket/docs", {}, "'s3://bucket/docs' is only fetched with --web"),
        ("zip://a::s3://bucket/a.zip", {}, "'zip://a::s3://bucket/a.zip' is only fetched"),
        ("reference::file:///a.json", {}, "'reference::file:///a.json' is only fetched"),
        ("sqlite://[a/b.db", {"sql": "SELECT 1"}, "an address: Invalid IPv6 URL"),
        ("sqlite:///a.db", {}, "needs a query: say one by --sql"),
        ("memory://docs", {"sql": "SELECT 1"}, "is not a database: leave --sql out"),
        ("nothing://docs", {"web": True}, "not an address that can be read: Protocol not known"),
        ("sqlite:///a.db", {"sql": "SELECT 1"}, "there is no database 'a.db'"),
    ],
)
def test_what_may_not_or_cannot_be_fetched(index, address, options, message):
    with pytest.raises(InputError, match=message):
        index.add(address, **options)


def test_secrets_are_in_no_id():
    shown = hide_secrets("postgresql://me:secret@host:5432/name?password=secret")
    assert shown == "postgresql://me@host:5432/name"
    assert hide_secrets("github://org:repository@main/docs") == "github://org:repository@main/docs"
    assert (
        hide_secrets("zip://a.md::https://me:secret@host/a.zip?b")
        == "zip://a.md::https://host/a.zip?b"
    )


def test_secrets_are_in_no_report(index):
    [problem] = add(index, "POSTGRES://me:secret@[::1]:1/n", web=True, sql="SELECT 1")[4]
    assert "secret" not in problem


def test_what_is_no_archive_is_reported(index, tmp_path):
    (tmp_path / "a.zip").write_bytes(b"none")
    [problem] = add(index, f"zip://*::{(tmp_path / 'a.zip').as_posix()}")[4]
    assert problem.endswith("cannot be read: File is not a zip file")


# -- SQL ------------------------------------------------------------------------------------------


def test_text_of_a_database_that_is_none(index, tmp_path):
    with apsw.Connection(str(tmp_path / "a.db")) as database:
        database.execute("CREATE TABLE a (b); INSERT INTO a VALUES (CAST(x'ff' AS TEXT))")
    address = f"sqlite:///{tmp_path.as_posix()}/a.db"
    [problem] = add(index, address, sql="SELECT b FROM a")[4]
    assert problem.endswith("has a text that is not valid UTF-8")


def test_rows_of_a_query_are_documents(index, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    database = apsw.Connection("ships.db")
    database.execute("CREATE TABLE ship (id INTEGER, title TEXT, text TEXT, year INTEGER)")
    database.execute("INSERT INTO ship VALUES (1, 'Fram', 'A ship of wood.\nShe drifted.', 1892)")
    database.execute("INSERT INTO ship VALUES (2, 'Gjøa', 'A small sloop.', 1872), (3, 'X', '', 0)")
    address, sql = "sqlite:///ships.db", "SELECT * FROM ship ORDER BY id"
    both = [f"{address}/ship/1", f"{address}/ship/2"]
    added, *_, problems = add(index, address, sql=sql)
    assert added == both
    assert "its 'text' is empty" in problems[0]
    assert index.show(both[0])["metadata"]["year"] in {1892, "1892"}
    database.execute("UPDATE ship SET text = 'A sloop.' WHERE id = 2")
    database.execute("DELETE FROM ship WHERE id = 1")
    assert add(index, address, sql=sql)[:4] == ([], both[1:], both[:1], 0)
    [problem] = add(index, address, sql="DELETE FROM ship")[4]
    assert problem == f"{address}/ship: is asked by one SELECT alone, which reads only"
    assert add(index, address, sql="SELECT 1 AS id, 'A word.' AS text")[:3] == (
        [f"{address}/rows/1"],
        [],
        [],
    )
    assert index.documents() == [f"{address}/rows/1", *both]
    assert database.execute("SELECT count(*) FROM ship").fetchall() == [(2,)]


WRITES = [
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE ship",
    "DROP TABLE ship",
    "UPDATE ship SET id = 2",
    "INSERT INTO ship VALUES (2, 'b')",
    "CREATE TABLE more (a)",
    "ATTACH 'other.db' AS other",
    "VACUUM INTO 'other.db'",
    "BEGIN",
]


@pytest.mark.parametrize(
    "sql", [*WRITES, "PRAGMA user_version = 7", "PRAGMA table_info(ship)",
            "WITH a AS (SELECT 1) DELETE FROM ship", "SELECT writefile('other.db', text) FROM ship",
            "CREATE TEMP TABLE more AS SELECT 1", "SELECT 1 -- ;\n; ATTACH 'other.db' AS other"],
)  # fmt: skip
def test_sqlite_is_only_read(index, tmp_path, sql):
    """By one statement, which writes nothing and opens no other file."""
    with apsw.Connection(str(tmp_path / "a.db")) as database:
        database.execute(
            "CREATE TABLE ship (id INTEGER, text TEXT); INSERT INTO ship VALUES (1, 'a')"
        )
    before = (tmp_path / "a.db").read_bytes()
    added, *_, [problem] = add(index, f"sqlite:///{tmp_path.as_posix()}/a.db", sql=sql)
    assert added == []
    assert "is asked by one SELECT" in problem or "no such function" in problem
    assert (tmp_path / "a.db").read_bytes() == before
    assert not list(tmp_path.glob("*other.db"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 AS id, 'A word.' AS text;",
        " -- all\nSELECT id, text FROM ship",
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 3) "
            "SELECT i AS id, upper(text) AS text FROM n, ship"
        ),
        "SELECT id, group_concat(text) AS text FROM ship GROUP BY id",
        "SELECT ship.id, text FROM json_each('[1]'), ship",
    ],
)
def test_sqlite_is_asked_by_any_select(index, tmp_path, sql):
    with apsw.Connection(str(tmp_path / "a.db")) as database:
        database.execute(
            "CREATE TABLE ship (id INTEGER, text TEXT); INSERT INTO ship VALUES (1, 'a')"
        )
    added, *_, problems = add(index, f"sqlite:///{tmp_path.as_posix()}/a.db", sql=sql)
    assert (bool(added), problems) == (True, [])


@pytest.mark.parametrize("sql", WRITES)
def test_duckdb_is_only_read(index, tmp_path, sql, monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("a.duckdb") as database:
        database.execute(
            "CREATE TABLE ship (id INTEGER, text TEXT); INSERT INTO ship VALUES (1, 'a')"
        )
    added, *_, [problem] = add(index, "duckdb:///a.duckdb", sql=sql)
    assert added == []
    assert "asked by one SELECT" in problem or "Parser Error" in problem
    assert not list(tmp_path.glob("*other.db"))
    assert add(index, "duckdb:///a.duckdb", sql="FROM ship")[0]


# -- sites ----------------------------------------------------------------------------------------


@pytest.fixture
def site():
    """Give the address of a site, its pages, and a list of those that were asked for."""
    pages, asked = {}, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            text = pages.get(self.path)
            self.send_response(404 if text is None else 200)
            kind = "html" if text and text.startswith("<html") else "plain"
            self.send_header("Content-Type", f"text/{kind}")
            self.end_headers()
            self.wfile.write((text or "").encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", pages, asked
    server.shutdown()
    server.server_close()
    thread.join()


def page(title):
    return f"<html><title>{title}</title><p>{title} is a ship that sailed far.</p></html>"


def sitemap(address, *names, kind="url"):
    root = {"url": "urlset", "sitemap": "sitemapindex"}[kind]
    parts = (
        f"<{kind}><loc>{name if '//' in name else address + name}</loc>"
        f"<lastmod>2020-01-0{n}</lastmod></{kind}>"
        for n, name in enumerate(names, 1)
    )
    return f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{"".join(parts)}</{root}>'


def test_a_site_by_its_sitemap(index, site):
    """As robots.txt allows; a page whose change is older than the last run is not asked again."""
    address, pages, asked = site
    pages["/robots.txt"] = f"User-agent: *\nDisallow: /no\nSitemap: {address}/maps.xml\n"
    pages["/maps.xml"] = sitemap(address, "/map.xml", kind="sitemap")
    pages["/map.xml"] = sitemap(
        address, "/fram", "/no/a", "http://other.invalid/b", "/gjoa", "/missing"
    )
    pages |= {"/fram": page("Fram"), "/gjoa": page("Gjoa"), "/no/a": page("Hidden")}
    added, _, _, _, problems = add(index, f"sitemap+{address}", web=True)
    assert added == [f"{address}/fram", f"{address}/gjoa"]
    assert problems == [f"{address}/missing: was answered with status 404"]
    assert "/no/a" not in asked
    asked.clear()
    assert add(index, f"sitemap+{address}", web=True)[3] == 2
    assert asked == ["/robots.txt", "/maps.xml", "/map.xml", "/missing"]
    pages["/map.xml"] = sitemap(address, "/fram")
    assert add(index, f"sitemap+{address}", web=True)[2:4] == ([f"{address}/gjoa"], 1)


def test_a_hostile_site(index, site):
    """What no page can have for an address is passed over, and a delay of any length is short."""
    address, pages, _ = site
    host = address.partition("//")[2]
    pages["/robots.txt"] = f"User-agent: *\nCrawl-delay: {'9' * 400}\n"
    names = "http://[", f"ftp://{host}/a", "/fram", "/gjoa"
    pages["/sitemap.xml"] = sitemap(address, *names)
    pages["/fram"] = page("Fram")
    added, *_, problems = add(index, f"sitemap+{address}", web=True, limits=ReadingLimits(pages=1))
    assert added == [f"{address}/fram"]
    assert problems[0].endswith("lists more than 1 pages: --limit pages=4 reads it")
    pages["/robots.txt"] = "User-agent: *\nCrawl-delay: \u00b2\n"
    assert "has a robots.txt with an error" in add(index, f"sitemap+{address}", web=True)[4][0]


def test_a_site_has_limits(index, site):
    address, pages, _ = site
    pages["/sitemap.xml"] = sitemap(address, "/fram", "/gjoa")
    pages |= {"/fram": page("Fram"), "/gjoa": page("Gjoa")}
    added, *_, problems = add(index, f"sitemap+{address}/", web=True, limits=ReadingLimits(pages=1))
    assert added == [f"{address}/fram"]
    assert problems == [f"sitemap+{address}: lists more than 1 pages: --limit pages=4 reads it"]
    pages["/sitemap.xml"] = sitemap(address, "/fram", "/gjoa", "/maud")
    limits = ReadingLimits(site_bytes=1)
    added, *_, problems = add(index, f"sitemap+{address}/", web=True, limits=limits)
    assert added == [f"{address}/gjoa"]
    assert problems[0].startswith(f"{address}/maud: its site has more than 1 bytes: --limit")
    pages["/sitemap.xml"] = page("No map")
    [problem] = add(index, f"sitemap+{address}", web=True)[4]
    assert problem.endswith("/sitemap.xml: is no sitemap")
    assert index.documents() == [f"{address}/fram", f"{address}/gjoa"]


# -- secrets --------------------------------------------------------------------------------------


def test_no_secret_of_an_address_is_kept_or_told(index, site):
    """Not of a page or a site, that is there or is not; the page is found under one id."""
    address, pages, _ = site
    own = address.replace("//", "//me:s3cr3t@")
    for token in "s3cr3t", "s3cr3t-2":
        pages[f"/fram?n=1&token={token}"] = page("Fram")
    pages["/robots.txt"] = pages["/sitemap.xml"] = sitemap(address, "/gjoa?sig=s3cr3t")
    pages["/gjoa?sig=s3cr3t"] = page("Gjoa")
    told = [
        add(index, f"{address}/fram?n=1&token=s3cr3t", web=True),
        add(index, f"{address}/fram?n=1&token=s3cr3t-2", web=True),
        add(index, f"{own}/none?access_token=s3cr3t", web=True),
        add(index, f"sitemap+{address}/sitemap.xml?api_key=s3cr3t", web=True),
        add(index, f"sitemap+{address}/sitemap.xml", web=True),
        add(index, "http://me:s3cr3t@127.0.0.1:1/a", web=True),
        add(index, "https://me:s3cr3t@127.0.0.1:x/a", web=True),
    ]
    for refused in (f"{own}/a?sig=s3cr3t", "ftp://me:s3cr3t@host/r"):
        with pytest.raises(InputError) as caught:
            add(index, refused)
        told.append(str(caught.value))
    assert index.documents() == [f"{address}/fram?n=1", f"{address}/gjoa"]
    told += [index.show(each) for each in index.documents()]
    told.append(index.ask("Which ship sailed far?"))
    assert "s3cr3t" not in repr(told)
    stored = [path for path in index.folder.rglob("*") if path.is_file()]
    assert not [path for path in stored if b"s3cr3t" in path.read_bytes()]


@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("postgres://me:s3cr3t@127.0.0.1:1/db?password=s3cr3t", {"sql": "SELECT 1"}),
        ("https://127.0.0.1:1/a?X-Amz-Signature=s3cr3t", {}),
        ("zip://a.md::https://me:s3cr3t@127.0.0.1:1/a.zip?token=s3cr3t", {}),
        ("ftp://me:s3cr3t@127.0.0.1:1/a", {}),
        ("s3://me:x@bucket/a?token=s3cr3t", {}),
        ("nothing://me:s3cr3t@host/a?api_key=s3cr3t", {}),
    ],
)
def test_no_reader_tells_a_secret(index, address, options, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    try:
        told = repr(add(index, address, web=True, **options))
    except InputError as error:
        told = repr(error)
    assert "s3cr3t" not in told
