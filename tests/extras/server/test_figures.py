"""Figures over REST: shown to those who may see their document, and to nobody else."""

from urllib.parse import quote

import pytest

from clew.base.types import Document, Figure
from clew.extras.files.figures import hash_picture
from clew.extras.server import ServerSettings
from clew.shards import open_any, split
from clew.testing import models
from tests.extras.files.kettle import LID, SWITCH
from tests.extras.server.conftest import Home, open_small

A = hash_picture(LID), hash_picture(SWITCH)


def drawn(name, data, group):
    text = f"The {name} has a lid. Figure 1: The {name} from above."
    figure = Figure(23, len(text), f"Figure 1: The {name} from above.", hash_picture(data))
    return Document(
        id=f"docs/{name}.html",
        text=text,
        metadata={"group": group},
        figures=(figure,),
        pictures={figure.address: data},
    )


@pytest.fixture
def home(tmp_path):
    documents = [
        drawn("kettle", LID, "open"),
        drawn("vault", SWITCH, "hidden"),
        Document(id="script", text="Its picture is a script.", metadata={"group": "open"}),
    ]
    with open_small(tmp_path / "small.clew") as index:
        index.add(documents)
    places = {"small": tmp_path / "small.clew", "wide": tmp_path / "wide"}
    split(places["small"], places["wide"], 2)
    return Home(ServerSettings(home=tmp_path / "home", indexes=places))


def figure(document, address):
    return f"/api/v1/indexes/small/figures/{address}/{quote(document, safe='')}"


def test_a_figure_is_sent_as_the_picture_that_it_is(home):
    key = home.key()
    with home.client() as client:
        reply = client.get(figure("docs/kettle.html", A[0]), headers=key)
        assert (reply.status_code, reply.content) == (200, LID)
        assert reply.headers["content-type"] == "image/png"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        view = client.get("/api/v1/indexes/small/documents/docs%2Fkettle.html", headers=key).json()
        assert [each["address"] for each in view["figures"]] == [A[0]]
        assert "pictures" not in view
        asked = {"question": "What has a lid, the kettle?", "method": "bm25"}
        answer = client.post("/api/v1/indexes/small/ask", json=asked, headers=key).json()
        cited = next(c for c in answer["citations"] if c["document_id"] == "docs/kettle.html")
        assert [each["address"] for each in cited["figures"]] == [A[0]]


def test_a_figure_is_of_its_own_document_alone(home):
    key = home.key()
    with home.client() as client:
        for document, address in (
            ("docs/kettle.html", A[1]), ("docs/vault.html", A[0]), ("script", A[0]), ("none", A[0]),
            ("docs/kettle.html", "0" * 32), ("docs/kettle.html", "x'--"),
        ):  # fmt: skip
            reply = client.get(figure(document, address), headers=key)
            assert (reply.status_code, reply.json()["error"]["code"]) == (404, "not_found")
        assert client.get(figure("docs/kettle.html", A[0])).status_code == 401


def test_a_bound_key_gets_no_picture_of_what_it_may_not_see(home):
    bound = home.key("b", where="group = 'open'")
    with home.client() as client:
        assert client.get(figure("docs/kettle.html", A[0]), headers=bound).content == LID
        hidden = client.get(figure("docs/vault.html", A[1]), headers=bound)
        missing = client.get(figure("docs/never.html", A[1]), headers=bound)
        assert hidden.status_code == missing.status_code == 404
        assert hidden.text.replace("vault", "never") == missing.text
        for document in ("docs/kettle.html", "script"):
            assert client.get(figure(document, A[1]), headers=bound).status_code == 404


def test_figures_of_shards_come_from_the_shard_that_has_them(home):
    key = home.key()
    with home.client(lambda folder, **_: open_any(folder, models=models())) as client:
        place = figure("docs/vault.html", A[1]).replace("/small/", "/wide/")
        assert client.get(place, headers=key).content == SWITCH


def test_a_removed_document_takes_its_figures_with_it(home):
    key = home.key(scope="write")
    with home.client() as client:
        place = "/api/v1/indexes/small/documents/docs%2Fkettle.html"
        assert client.delete(place, headers=key).status_code == 200
        assert client.get(figure("docs/kettle.html", A[0]), headers=key).status_code == 404
