"""Routes of indexes, documents, questions and graphs: what they promise beyond their schemas."""

import json
from contextlib import closing
from itertools import pairwise

import numpy as np
import pytest

import clew
from clew import methods
from clew.extras.server.rest import ENDPOINTS
from clew.extras.wire.names import PREFIX
from clew.index.store import opening
from clew.testing import small_documents
from clew.views.describe import describe_method
from tests.extras.server.conftest import open_small
from tests.extras.server.every import QUESTION, replies, timeless

AT = f"{PREFIX}/indexes/small"


# -- documents ------------------------------------------------------------------------------------


def test_chunks_are_ranges_of_the_text_that_is_sent(client):
    for each in small_documents():
        found = client.get(f"{AT}/documents/{each.id}").json()
        assert found["text"] == each.text
        for chunk in found["chunks"]:
            row = client.get(f"{AT}/rows/{chunk['id']}").json()
            assert row["text"] == found["text"][chunk["start"] : chunk["end"]]
    found = client.get(f"{AT}/files/comet")
    assert found.text == small_documents()[2].text
    assert found.headers["content-disposition"] == "attachment; filename*=utf-8''comet.txt"
    assert found.headers["content-type"] == "text/plain; charset=utf-8"
    assert found.headers["x-content-type-options"] == "nosniff"


def test_lists_are_parts_in_an_order(client):
    """Parts put end to end are the whole, and the order is by id, title or a field."""
    whole = client.get(f"{AT}/documents").json()
    parts = [client.get(f"{AT}/documents?offset={i}&limit=5").json() for i in (0, 5, 10, 15)]
    assert [line for part in parts for line in part["items"]] == whole["items"]
    assert {part["total"] for part in parts} == {whole["total"]} == {12}
    ids = [line["id"] for line in whole["items"]]
    assert ids == sorted(ids)
    turned = client.get(f"{AT}/documents?sort=-title").json()["items"]
    assert [line["title"] for line in turned] == [i.capitalize() for i in reversed(ids)]
    groups = client.get(f"{AT}/documents?sort=group").json()["items"]
    assert [(g["metadata"]["group"], g["id"]) for g in groups] == sorted(
        (line["metadata"]["group"], line["id"]) for line in whole["items"]
    )
    some = client.get(f"{AT}/documents?pattern=*e*&where=group = 'open'&sort=-id").json()
    assert " ".join(line["id"] for line in some["items"]) == "verle osterland eriksen comet bakken"


@pytest.fixture
def uploaded(home):
    """A home with an index that has an uploaded file, the index's name that of the folder."""
    place = home.folder / "files" / "small" / "deep"
    place.mkdir(parents=True)
    (place / "page.html").write_text("<title>Page</title><p>The Fram was a ship.<script>x</script>")
    with open_small(home.settings.indexes["small"]) as index:
        index.add(home.folder / "files" / "small", name="small")
    return home


def test_an_uploaded_file_is_downloaded_as_it_came(uploaded):
    """As an attachment that no browser shows; who sees a part of an index gets the text alone."""
    with uploaded.client() as client:
        found = client.get(f"{AT}/files/small/deep/page.html")
        assert found.content.startswith(b"<title>Page</title>")
        assert found.headers["content-disposition"] == 'attachment; filename="page.html"'
        assert found.headers["content-type"] == "application/octet-stream"
        key = uploaded.key(where="id like '*.html'")
        found = client.get(f"{AT}/files/small/deep/page.html", headers=key)
        assert found.headers["content-type"] == "text/plain; charset=utf-8"
        assert "Fram" in found.text
        assert "<" not in found.text


def test_no_id_leads_out_of_the_folder_of_files(home):
    """Not by dots, links or another index's name: what is sent is the text of the document."""
    secret = home.folder / "secret.txt"
    files = home.folder / "files" / "small"
    files.mkdir(parents=True)
    secret.write_text("secret")
    (files / "link").symlink_to(secret)
    ids = ["small/../../secret.txt", "small/link", "../secret.txt", "small//etc/passwd", "small/"]
    with open_small(home.settings.indexes["small"]) as index:
        index.add([clew.Document(id=each, text="Plain text of Verle.") for each in ids])
    with home.client() as client:
        for each in ids:
            quoted = each.replace("/", "%2F")
            found = client.get(f"{AT}/files/{quoted}")
            assert found.status_code == 404 or found.text == "Plain text of Verle."


def test_a_document_goes_with_its_file(uploaded):
    with uploaded.client() as client:
        document = f"{AT}/documents/small/deep/page.html"
        assert client.get(document).status_code == 200
        gone = {"documents": ["small/deep/page.html"], "files": ["deep/page.html"]}
        assert client.delete(document).json() == gone
        assert client.get(document).status_code == 404
        assert client.delete(document).status_code == 404
        assert client.get(f"{AT}/documents").json()["total"] == 12
    assert not (uploaded.folder / "files" / "small" / "deep" / "page.html").exists()


def test_while_a_job_writes_others_wait(home):
    """One sentence, a code, and no path of the server for who is no admin; then it is done."""
    folder = home.settings.indexes["small"]
    key = home.key(scope="write")
    with home.client() as client:
        with closing(opening.open_store(folder)) as store:
            store.lock()
            found = client.delete(f"{AT}/documents/comet", headers=key)
            assert found.status_code == 409
            assert found.json()["error"] == {
                "code": "index_locked",
                "message": "another process is writing to this index: try again later",
            }
            body = {"name": "Eriksen", "into": "Ola Eriksen"}
            assert client.post(f"{AT}/aliases", json=body, headers=key).status_code == 409
        assert client.delete(f"{AT}/documents/comet", headers=key).status_code == 200
        with closing(opening.open_store(folder)) as store:
            store.lock()  # the server lets go of it after each write


# -- indexes --------------------------------------------------------------------------------------


def test_an_index_is_made_on_disk_and_deleted(home):
    """With its settings, before anything is in it, and for a server that starts later."""
    with home.client() as client:
        body = {"name": "made", "chunk_size": 64, "chunk_overlap": 8, "title": " My\u202e Notés"}
        made = client.post(f"{PREFIX}/indexes", json=body)
        assert made.status_code == 201
        assert made.json()["recipe"]["chunk_size"] == 64
        again = client.post(f"{PREFIX}/indexes", json=body)
        assert (again.status_code, again.json()["error"]["code"]) == (409, "already_exists")
        drawn = client.get(f"{PREFIX}/indexes/made/graph").json()
        assert drawn == {"nodes": [], "edges": [], "n_entities": 0}
    with home.client() as client:
        lines = client.get(f"{PREFIX}/indexes").json()["items"]
        assert {line["name"]: line["is_own"] for line in lines} == {"made": True, "small": False}
        titles = {line["name"]: line["title"] for line in lines}
        assert titles == {"made": "My<U+202E> Notés", "small": ""}
        folder = home.folder / "indexes" / "made.clew"
        with open_small(folder) as index:
            index.add(small_documents())
        assert client.get(f"{PREFIX}/indexes/made").json()["recipe"]["chunk_size"] == 64
        assert client.get(f"{PREFIX}/indexes/made/documents").json()["total"] == 12
        with closing(opening.open_store(folder)) as store:
            store.lock()
            assert client.delete(f"{PREFIX}/indexes/made").status_code == 409
        assert client.delete(f"{PREFIX}/indexes/made").status_code == 204
        assert not folder.exists()
        assert client.get(f"{PREFIX}/indexes/made").status_code == 404
        assert client.post(f"{PREFIX}/indexes", json={"name": "made"}).json()["n_documents"] == 0
        lines = client.get(f"{PREFIX}/indexes").json()["items"]
        assert [line["title"] for line in lines] == ["", ""]


@pytest.mark.parametrize(
    ("options", "body", "status"),
    [
        ({"scope": "read"}, {"name": "made"}, 403),
        ({"scope": "write"}, {"name": "made"}, 201),
        ({"scope": "write", "indexes": ("small",)}, {"name": "made"}, 403),
        ({"scope": "write"}, {"name": "made", "embedder": "openai:x@http://10.0.0.1"}, 403),
        ({"scope": "write"}, {"name": "made", "chunk_size": 1}, 400),
        ({"scope": "write"}, {"name": "made", "chunk_size": 64, "chunk_overlap": 64}, 400),
        ({"scope": "admin"}, {"name": "made", "embedder": "none-such"}, 400),
    ],
)
def test_who_may_make_an_index(home, options, body, status):
    """Who writes, within the indexes of the key; a model at another address is an admin's."""
    key = home.key(**options)
    with home.client() as client:
        assert client.post(f"{PREFIX}/indexes", json=body, headers=key).status_code == status
        listed = client.get(f"{PREFIX}/indexes", headers=home.key(scope="admin")).json()
        assert listed["total"] == 1 + (status == 201)


# -- questions ------------------------------------------------------------------------------------


def test_a_search_is_that_of_the_index(client, home):
    body = {"query": QUESTION, "method": "pagerank", "parameters": {"chunks": 3}}
    found = client.post(f"{AT}/search", json=body).json()
    with open_small(home.settings.indexes["small"]) as index:
        wanted = index.search(QUESTION, method="pagerank", chunks=3).to_dict()
    assert [found["hits"], found["paths"]] == [wanted["hits"], wanted["paths"]]
    told = client.get(f"{PREFIX}/methods").json()["items"]
    assert told == [json.loads(json.dumps(describe_method(name))) for name in methods.names()]


def test_an_answer_comes_as_events(client):
    body = {"question": QUESTION}
    whole = client.post(f"{AT}/ask", json=body).json()
    streamed = client.post(f"{AT}/ask", json={**body, "stream": True})
    assert streamed.headers["content-type"] == "text/event-stream; charset=utf-8"
    kinds = [line[7:] for line in streamed.text.splitlines() if line.startswith("event: ")]
    told = list(replies(streamed))
    assert kinds == ["evidence", *["text"] * (len(told) - 2), "answer"]
    assert "".join(each["text"] for each in told[1:-1]) == told[-1]["text"] == whole["text"]
    assert told[0]["hits"] == told[-1]["evidence"]["hits"] == whole["evidence"]["hits"]
    assert told[-1]["citations"] == whole["citations"]
    body = {"question": QUESTION, "stream": True}
    found = client.post(f"{AT}/ask", json={**body, "where": "nothing = 1"})
    assert found.status_code == 400
    found = client.post(f"{AT}/ask", json={**body, "method": "none"})
    assert found.text.startswith("event: error\ndata: ")
    [told] = replies(found)
    assert told["code"] == "unknown_method"


def test_a_question_leans_on_those_before_it(client):
    history = [{"question": "Who built the Comet?", "answer": "Ola Eriksen built it."}]
    body = {"question": "Where did he die?", "history": history}
    found = client.post(f"{AT}/ask", json=body).json()
    assert found["question"] == "Where did he die?"
    assert "Ola Eriksen" in found["evidence"]["query"]
    searched = client.post(f"{AT}/search", json={"query": body["question"], "history": history})
    assert searched.json()["query"] == found["evidence"]["query"]


# -- graphs ---------------------------------------------------------------------------------------


def test_the_graph_of_an_index_has_places(client):
    """Entities of most texts and the links between them, each once, the same at every request."""
    whole = client.get(f"{AT}/graph").json()
    keys = [node["id"] for node in whole["nodes"]]
    assert len(set(keys)) == len(keys) == whole["n_entities"]
    assert all(-1 <= node[axis] <= 1 for node in whole["nodes"] for axis in "xy")
    pairs = [frozenset((edge["source"], edge["target"])) for edge in whole["edges"]]
    assert len(set(pairs)) == len(pairs)
    assert {key for pair in pairs for key in pair} <= set(keys)
    by_hand = {key: set() for key in keys}
    for each in keys:
        texts = client.get(f"{AT}/entities/{each}?limit=1000").json()["texts"]
        by_hand[each] = {text["id"] for text in texts["items"]}
    for edge in whole["edges"]:
        assert edge["n_texts"] == len(by_hand[edge["source"]] & by_hand[edge["target"]]) > 0
    few = client.get(f"{AT}/graph?limit=4").json()
    counts = [node["n_texts"] for node in whole["nodes"]]
    assert counts == sorted(counts, reverse=True)
    assert few["nodes"] == whole["nodes"][:4]
    themes = {each["id"]: each for each in client.get(f"{AT}/themes?limit=100").json()["items"]}
    for node in whole["nodes"]:
        entity = client.get(f"{AT}/entities/{node['id']}?limit=1000").json()
        documents = {text["document_id"] for text in entity["texts"]["items"]}
        assert {*documents, *entity["title_of"]} & {*themes[node["theme"]]["documents"]}
    first = set(keys[:4])
    assert few["edges"] == [e for e in whole["edges"] if {e["source"], e["target"]} <= first]
    assert client.get(f"{AT}/graph?limit=4").json() == few
    assert client.get(f"{AT}/graph?limit=0").json()["nodes"] == []


def test_relations_join_entities(home):
    with open_small(home.settings.indexes["small"]) as index:
        index.add([], triples="cooccurrence", changed=[])
        n_triples = len(index.snapshot().layer("triple"))
    with home.client() as client:
        found = client.get(f"{AT}/graph").json()
        told = [edge["relations"] for edge in found["edges"] if edge["relations"]]
        assert 0 < len(told) <= n_triples
        entity = client.get(f"{AT}/entities/Ola Eriksen").json()
        assert {"Ola Eriksen"} <= {
            t[end] for t in entity["triples"] for end in ("subject", "object")
        }


@pytest.mark.parametrize("method", ["walk", "bubble", "agrag", "paths", "dense", "auto"])
def test_the_graph_of_a_question_is_its_evidence(client, method):
    """Every step of a thread is a node with its reason, every two steps are an edge."""
    body = {"query": QUESTION, "method": method}
    drawn = client.post(f"{AT}/graph", json=body).json()
    found = client.post(f"{AT}/search", json=body).json()
    nodes = {node["key"]: node for node in drawn["nodes"]}
    assert len(nodes) == len(drawn["nodes"])
    edges = {(edge["source"], edge["target"]) for edge in drawn["edges"]}
    assert {key for edge in edges for key in edge} <= set(nodes)
    for path in found["paths"]:
        keys = [
            "query" if s["layer"] == "query" else f"{s['layer']}:{s['id']}" for s in path["steps"]
        ]
        assert set(keys) <= set(nodes)
        assert set(pairwise(keys)) <= edges
        for key, step in zip(keys, path["steps"], strict=True):
            assert nodes[key]["reason"] or not step["reason"]
    ranks = {node["id"]: node["rank"] for node in drawn["nodes"] if node["rank"] is not None}
    assert ranks == {hit["chunk_id"]: rank for rank, hit in enumerate(found["hits"], 1)}
    places = np.array([[node["x"], node["y"]] for node in drawn["nodes"]])
    assert len(np.unique(places, axis=0)) == len(places)
    assert nodes["query"]["x"] == -1


# -- themes ---------------------------------------------------------------------------------------


def test_themes_are_listed_in_parts(client):
    """With every document; a theme that there is none of is refused."""
    whole = client.get(f"{AT}/themes").json()
    assert whole["total"] == len(whole["items"]) > 0
    assert {d for theme in whole["items"] for d in theme["documents"]} == {
        document.id for document in small_documents()
    }
    first = client.get(f"{AT}/themes?limit=1").json()
    assert (first["items"], first["total"]) == (whole["items"][:1], whole["total"])
    for theme in whole["items"]:
        parts = client.get(f"{AT}/themes?parent={theme['id']}").json()["items"]
        assert [part["id"] for part in parts] == theme["children"]
        assert client.get(f"{AT}/rows/{theme['id']}").json() == {"kind": "theme", **theme}
    assert client.get(f"{AT}/themes?parent=theme:99").status_code == 404
    some = client.get(f"{AT}/themes?where=group = 'open'").json()["items"]
    assert sum(theme["n_documents"] for theme in some) < 12


# -- entities and names ---------------------------------------------------------------------------


def test_entities_have_texts_and_neighbours(client):
    """Texts are ranges of documents; neighbours are counted by the texts that name both."""
    found = client.get(f"{AT}/entities/COMET").json()
    assert (found["id"], found["name"], found["title_of"]) == ("comet", "Comet", ["comet"])
    texts = found["texts"]["items"]
    assert found["texts"]["total"] == len(texts) == 4
    for text in texts:
        document = client.get(f"{AT}/documents/{text['document_id']}").json()
        assert document["text"][text["start"] : text["end"]] == text["text"]
        assert "Comet" in text["text"]
    together = [text for text in texts if "Cape Lund" in text["text"]]
    counts = {each["id"]: each["n_texts"] for each in found["neighbours"]}
    assert counts["cape lund"] == len(together)
    part = client.get(f"{AT}/entities/comet?offset=1&limit=2").json()["texts"]
    assert part == {"items": texts[1:3], "total": 4}
    assert client.get(f"{AT}/entities/nobody").status_code == 404
    found = client.get(f"{AT}/entities?find=LUND").json()
    assert [line["name"] for line in found["items"]] == ["Cape Lund", "Lund"]
    whole = client.get(f"{AT}/entities?limit=1000").json()
    counts = [line["n_texts"] for line in whole["items"]]
    assert counts == sorted(counts, reverse=True)
    assert whole["total"] == len(counts)
    assert client.get(f"{AT}/entities?find=zzz").json() == {"items": [], "total": 0}


def test_names_are_merged_and_taken_apart(home):
    """What one request changed the next one sees."""
    with home.client() as client:
        proposed = client.get(f"{AT}/aliases").json()["proposed"]
        assert ("Eriksen", "Ola Eriksen") in {(each["name"], each["into"]) for each in proposed}
        body = {"name": "Eriksen", "into": "Ola Eriksen"}
        merged = client.post(f"{AT}/aliases", json=body).json()
        assert merged["merged"] == {"eriksen": "ola eriksen"}
        assert client.get(f"{AT}/entities/Eriksen").json()["id"] == "ola eriksen"
        assert client.post(f"{AT}/aliases", json=body).json() == merged
        other = client.post(f"{AT}/aliases", json={"name": "Ola Eriksen", "into": "Eriksen"})
        assert (other.status_code, other.json()["error"]["code"]) == (409, "already_exists")
        nobody = {"name": "Nobody", "into": "Ola Eriksen"}
        assert client.post(f"{AT}/aliases", json=nobody).status_code == 404
        assert client.delete(f"{AT}/aliases?name=Eriksen").json()["merged"] == {}
        assert client.get(f"{AT}/entities/Eriksen").json()["id"] == "eriksen"
        assert client.delete(f"{AT}/aliases?name=Eriksen").status_code == 404


def test_a_backup_is_an_index(home, tmp_path):
    with home.client() as client:
        sent = client.post(f"{PREFIX}/indexes/small/backup")
    assert sent.headers["content-disposition"] == 'attachment; filename="small.tar.gz"'
    (tmp_path / "small.tar.gz").write_bytes(sent.content)
    clew.restore(tmp_path / "small.tar.gz", tmp_path / "back.clew")
    folder = home.settings.indexes["small"]
    with open_small(folder) as index, open_small(tmp_path / "back.clew") as back:
        assert back.digest() == index.digest()
    assert not list((home.folder / "uploads").glob("*"))


@pytest.mark.parametrize(
    ("path", "body"),
    [("search", {"query": QUESTION}), ("ask", {"question": QUESTION}), ("hop", {"start": "Comet"})],
)
def test_null_is_as_left_out(client, path, body):
    """For every optional field, also one whose default is not null."""
    kind = next(each.body for each in ENDPOINTS if each.path == f"/indexes/{{index}}/{path}")
    nulls = dict.fromkeys(name for name in kind.model_fields if name not in body)
    assert nulls
    plain, filled = (client.post(f"{AT}/{path}", json=each) for each in (body, {**nulls, **body}))
    assert (plain.status_code, filled.status_code) == (200, 200)
    assert timeless(plain.json()) == timeless(filled.json())
    assert client.post(f"{AT}/{path}", json={**body, "unknown": None}).status_code == 400
    required = next(iter(body))
    assert client.post(f"{AT}/{path}", json={**body, required: None}).status_code == 400


def test_half_a_character_in_json_is_refused_in_a_sentence(client):
    for path, name in (("search", "query"), ("ask", "question"), ("hop", "start")):
        content = f'{{"{name}": "Who built \\ud800 it?"}}'
        found = client.post(
            f"{AT}/{path}", content=content, headers={"content-type": "application/json"}
        )
        assert found.status_code == 400, found.text
        assert "Invalid JSON" in found.json()["error"]["message"]
