"""Indexes as external knowledge of Dify, and as what Open WebUI calls web search."""

import time

import pytest

import clew
from clew.extras.server import ServerSettings
from tests.extras.server.conftest import Home, open_small

QUESTION = "Which light stands on the cape?"
METADATA = {
    "a": {"year": 1911, "tags": ["ice", "ship"], "kind": "log", "day": "1911-05-02"},
    "b": {"year": 1902, "tags": ["ship"], "kind": "Logbook", "day": "1902-01-01"},
    "c": {"year": 1893, "tags": [], "kind": "letter*", "day": "1893-06-24"},
    "d": {"kind": ""},
}


@pytest.fixture(scope="session")
def _lights(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dify") / "lights.clew"
    with open_small(folder) as index:
        index.add(
            clew.Document(
                id=name,
                title=f"Cape {name}",
                text=f"A light stands on the cape {name}. Its keeper saw it.",
                metadata=metadata,
            )
            for name, metadata in METADATA.items()
        )
    return folder


@pytest.fixture
def lights(tmp_path, _lights):
    """A home that serves four documents with metadata."""
    return Home(ServerSettings(home=tmp_path / "home", indexes={"lights": _lights}))


def body(*conditions, joined=None, **setting):
    found = {"knowledge_id": "lights", "query": QUESTION, "retrieval_setting": setting}
    if conditions:
        given = [{"name": n, "comparison_operator": o, "value": v} for n, o, v in conditions]
        found["metadata_condition"] = {"logical_operator": joined, "conditions": given}
    return found


def ids(response):
    assert response.status_code == 200, response.text
    return "".join(sorted(r["metadata"]["document_id"] for r in response.json()["records"]))


def test_records_are_as_dify_reads_them(lights):
    """Content, a score from 0 to 1, a title, and metadata that are never null; well in time."""
    with lights.client() as client:
        began = time.process_time()
        found = client.post("/dify/retrieval", json=body(top_k=3)).json()["records"]
        assert time.process_time() - began < 3
        assert client.post("/retrieval", json=body(top_k=3)).json()["records"] == found
    assert len(found) == 3
    for each in found:
        assert set(each) == {"content", "score", "title", "metadata"}
        assert 0 <= each["score"] <= 1
        name = each["metadata"]["document_id"]
        assert each["content"].startswith(f"A light stands on the cape {name}.")
        assert each["title"] == f"Cape {name}"
        assert METADATA[name].items() <= each["metadata"].items()
    with lights.client() as client:
        every = client.post("/dify/retrieval", json=body(top_k=50)).json()["records"]
        scores = [each["score"] for each in every]
        for least in (0.0, *scores, 1.0):
            given = body(top_k=50, score_threshold=least)
            found = client.post("/dify/retrieval", json=given).json()["records"]
            assert [each["score"] for each in found] == [s for s in scores if s >= least]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (("tags", "contains", "ice"), "a"),
        (("tags", "not contains", "ship"), "cd"),
        (("kind", "contains", "og"), "ab"),
        (("kind", "start with", "log"), "ab"),
        (("kind", "end with", "er*"), "c"),
        (("kind", "end with", "r?"), ""),
        (("kind", "is", "log"), "a"),
        (("kind", "is not", "log"), "bcd"),
        (("kind", "in", ["log", "letter*"]), "ac"),
        (("kind", "in", "log, Logbook"), "ab"),
        (("kind", "not in", ["log"]), "bcd"),
        (("kind", "empty", None), "d"),
        (("kind", "not empty", None), "abc"),
        (("year", "empty", None), "d"),
        (("year", "null", None), "d"),
        (("year", "not null", None), "abc"),
        (("year", "=", 1902), "b"),
        (("year", "=", "1902"), "b"),
        (("year", "≠", 1902), "acd"),
        (("year", ">", 1893), "ab"),
        (("year", "<", "1911"), "bc"),
        (("year", "≥", 1902), "ab"),
        (("year", "≤", 1902), "bc"),
        (("day", "before", "1902-01-01"), "c"),
        (("day", "after", "1902-01-01"), "a"),
        ((["kind", "day"], "contains", "1911"), "a"),
        ((["kind", "day"], "not contains", "log"), "bcd"),
    ],
)
def test_every_operator_is_a_filter(lights, condition, expected):
    with lights.client() as client:
        assert ids(client.post("/dify/retrieval", json=body(condition, top_k=9))) == expected


def test_conditions_together_and_many_records(lights, tmp_path):
    both = ("year", ">", 1893), ("tags", "contains", "ice")
    with lights.client() as client:
        for joined, expected in (("and", "a"), ("or", "ab"), (None, "a")):
            given = body(*both, joined=joined, top_k=9)
            assert ids(client.post("/dify/retrieval", json=given)) == expected
    with open_small(tmp_path / "many.clew") as index:
        index.add(clew.Document(id=f"d{n}", text=f"Light {n} on the cape.") for n in range(25))
    with lights.client(indexes={"many": tmp_path / "many.clew"}) as client:
        for method in ("", "@bm25", "@dense"):
            given = {**body(top_k=20), "knowledge_id": f"many{method}"}
            assert len(client.post("/dify/retrieval", json=given).json()["records"]) == 20


@pytest.mark.parametrize(
    ("given", "status", "code", "said"),
    [
        (None, 400, 400, "the body is empty"),
        ({"query": "x"}, 400, 400, "knowledge_id: Field required"),
        (body(("year", "near", 3)), 400, 400, "there is no comparison operator 'near'"),
        (body(("year", ">", None)), 400, 400, "a condition compares with one value"),
        (body(("colour", "is", "red")), 400, 400, "no document has the field 'colour'"),
        (body(("year", ">", 3), joined="xor"), 400, 400, "conditions are joined by and, or or"),
        ({**body(), "knowledge_id": "other"}, 404, 2001, "there is no index 'other' here"),
        ({**body(), "knowledge_id": "lights@magic"}, 400, 400, "there is no method 'magic'"),
    ],
)
def test_errors_are_as_dify_reads_them(lights, given, status, code, said):
    """A code of its own or the status, and one sentence. It registers by an empty body."""
    with lights.client() as client:
        response = client.post("/dify/retrieval", **({"json": given} if given else {}))
    assert response.status_code == status
    found = response.json()
    assert found["error_code"] == code
    assert found["error_msg"].startswith(said)


def test_keys_of_dify(lights):
    good = lights.key()["Authorization"]
    with lights.client() as client:

        def status(header):
            headers = {} if header is None else {"authorization": header}
            found = client.post("/dify/retrieval", json=body(), headers=headers)
            return found.status_code, found.json().get("error_code")

        assert status(good) == (200, None)
        assert status("Bearer clew_1_x") == (403, 1002)
        assert status(good.partition(" ")[2]) == status(None) == (403, 1001)


def test_web_search_of_open_webui(lights):
    with lights.client() as client:
        found = client.post("/openwebui/search", json={"query": QUESTION, "count": 2}).json()
        for path in ("/openwebui/search/lights", "/openwebui/search?index=lights"):
            assert client.post(path, json={"query": QUESTION, "count": 2}).json() == found
        assert client.post("/openwebui/search/other", json={"query": "x"}).status_code == 404
    assert len(found) == 2
    for each in found:
        assert set(each) == {"link", "title", "snippet"}
        assert each["link"].startswith("http://localhost:8765/documents?index=lights&doc=")
        assert each["snippet"].startswith("A light stands on the cape")
