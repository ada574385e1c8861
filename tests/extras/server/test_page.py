"""The page's files: what is sent, under which policy, and that nothing in them could break it."""

import gzip
import json
import re

import pytest

from clew.extras.server.page import POLICY, STATIC, VIEWS

# What a browser loads before it shows the field for a question.
FIRST = (
    "index.html", "style.css", "theme.js", "app.js", "state.js", "dom.js", "api.js", "ask.js",
    "options.js", "evidence.js", "figures.js", "markdown.js", "text.js", "icons.js", "icon.svg",
)  # fmt: skip
FILES = sorted(path.name for path in STATIC.iterdir())
SCRIPTS = sorted(path.name for path in STATIC.glob("*.js"))


def source(name):
    return (STATIC / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", ["/", *(f"/{view}" for view in VIEWS)])
def test_every_view_is_the_same_file(client, path):
    """What it shows is asked for by REST, so nothing of it depends on who opens it."""
    got = client.get(path)
    assert got.status_code == 200
    assert got.headers["content-type"] == "text/html; charset=utf-8"
    assert got.headers["content-security-policy"] == POLICY
    assert got.text == source("index.html")


def test_the_page_needs_no_key(home):
    """One signs in there: the files are sent to anybody, and data to nobody."""
    home.key("a")
    with home.client() as client:
        assert client.get("/").status_code == 200
        assert client.get("/page/app.js").status_code == 200
        assert client.get("/api/v1/indexes").status_code == 401


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_sent_packed_and_once(client, name):
    got = client.get(f"/page/{name}")
    assert got.headers["content-encoding"] == "gzip"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.content == (STATIC / name).read_bytes()
    again = client.get(f"/page/{name}", headers={"If-None-Match": got.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "content-encoding" not in again.headers  # a packed nothing has bytes, which 304 forbids
    plain = client.get(f"/page/{name}", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.content == got.content


@pytest.mark.parametrize("name", ["nothing.js", "..%2f__init__.py", "../__init__.py", "%00", ".."])
def test_no_other_file_is_sent(client, name):
    got = client.get(f"/page/{name}")
    assert "VIEWS" not in got.text
    assert got.status_code == 404 or got.text == source("index.html")  # httpx resolves ".."


def test_the_policy_lets_nothing_run_that_is_not_a_file_of_the_page():
    policy = dict(each.split(" ", 1) for each in POLICY.split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["base-uri"] == policy["form-action"] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in POLICY
    shell = source("index.html")
    assert not re.search(r"<style|\sstyle=|\son\w+=", shell)
    assert all(
        "src=" in tag and re.search(r"></script>", shell)
        for tag in re.findall(r"<script[^>]*>", shell)
    )
    named = re.findall(r'(?:href|src)="page/([^"]+)"', shell)
    assert named
    assert set(named) <= set(FILES)


@pytest.mark.parametrize("name", ["index.html", "style.css", *SCRIPTS])
def test_no_address_begins_at_the_root(name):
    """A proxy may have put the page below a path: REST and files are asked for beside the page."""
    assert not re.search(r"""["'`(]/(?:page|api)\b""", source(name))


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_make_no_markup_of_texts_and_call_nobody(name):
    text = source(name)
    forbidden = (
        r"(inn|out)erHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|srcdoc"
    )
    assert not re.search(forbidden, text)
    addresses = set(re.findall(r"https?://[^\"'` ]+", text))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, which nobody asks for
    imported = re.findall(r'(?:from|import\()\s*"\./([^"]+)"', text)
    assert set(imported) <= set(FILES)


def test_scripts_know_the_views_and_import_in_no_circle():
    table = re.search(r"const VIEWS = \{(.*?)\n\};", source("app.js"), re.DOTALL)
    assert re.findall(r"^  (\w+): \[", table[1], re.MULTILINE) == list(VIEWS)
    needs = {
        name: set(re.findall(r'(?:from|import\()\s*"\./([^"]+)"', source(name))) for name in SCRIPTS
    }
    while free := {name for name, others in needs.items() if not others & set(needs)}:
        needs = {name: others for name, others in needs.items() if name not in free}
    assert not needs


def test_what_the_first_view_loads_is_small():
    """Libraries for graphs and tables would be many times as large."""
    names = {*FIRST}
    loaded = [name for name in FIRST if name.endswith(".js") and name != "theme.js"]
    for name in loaded:  # nothing more is imported before it is shown
        assert set(re.findall(r'from "\./([^"]+)"', source(name))) <= names
    contents = [(STATIC / name).read_bytes() for name in FIRST]
    assert sum(map(len, contents)) < 115_000
    assert sum(len(gzip.compress(each)) for each in contents) < 40_000


def test_a_stream_may_have_the_graph_of_its_evidence(client):
    """The page draws it, without searching for the same again."""
    question = {"question": "Who built the Comet in Bakken?", "graph": True}
    got = client.post("/api/v1/indexes/small/ask", json={**question, "stream": True})
    events = {
        part.split("\n")[0][7:]: json.loads(part.split("\n")[1][6:])
        for part in got.text.split("\n\n")
        if part and not part.startswith("event: text")
    }
    assert list(events) == ["evidence", "graph", "answer"]
    body = {"query": question["question"]}
    assert events["graph"] == client.post("/api/v1/indexes/small/graph", json=body).json()
    refused = client.post("/api/v1/indexes/small/ask", json=question)
    assert refused.status_code == 400
    assert "stream" in refused.json()["error"]["message"]
