"""Both clients, against a server on this machine: its answers are those of the index itself."""

import asyncio
import json
import math
from dataclasses import replace
from inspect import signature

import pytest

import clew
from clew import errors
from clew.base.display.shown import plain
from clew.base.types import Answer, Document, Evidence, Exchange
from clew.client import Refusal, find, opened
from clew.extras.wire import refusals
from clew.filters import field
from clew.testing import QUESTIONS, models, small_documents
from tests.extras.server.conftest import Home
from tests.models.server import Answer as Sent
from tests.models.server import serving as scripted

ASKED = "Where was the builder of the Comet at home?"


@pytest.fixture
def url(home):
    with home.serving() as found:
        yield found


@pytest.fixture
def client(url):
    with clew.Client(url, key="") as found:
        yield found


@pytest.fixture
def local(home):
    with clew.open(home.settings.indexes["small"], models=models()) as found:
        yield found


def timeless(found):
    """Return an evidence or an answer without what its seconds are."""
    if isinstance(found, Answer):
        found = replace(found, evidence=timeless(found.evidence))
    return replace(found, usage=replace(found.usage, seconds={}))


@pytest.mark.parametrize("method", ["walk", "bm25", "paths", "bubble"])
def test_what_a_client_finds_is_what_the_index_finds(client, local, method):
    served = client.index("small")
    for question in QUESTIONS[:3]:
        found, same = (
            each.search(question, method=method, where="group == 'open'")
            for each in (served, local)
        )
        assert timeless(found) == timeless(same)
        answer, same = (
            each.ask(question, method=method, context_tokens=500) for each in (served, local)
        )
        assert timeless(answer) == timeless(same)


def test_hops_are_those_of_the_index(client, local):
    served = client.index("small")
    hops = served.hop("Bakken", query=ASKED, chunks=1, where=field("group") == "open")
    assert hops == local.hop("Bakken", query=ASKED, chunks=1, where=field("group") == "open")
    with pytest.raises(errors.InputError, match="no passage, document or entity 'none'"):
        served.hop("none")


def test_arguments_are_those_of_an_index(client, local):
    served = client.index("small")
    where = field("group") == "open"
    assert len(served.search(ASKED, method="bm25", chunks=2, where=where).hits) == 2
    history = [Exchange("Who built the Comet?", "Ola Eriksen did.")]
    given = {"history": history, "min_support": 0.0}
    followed = served.ask("And where was he at home?", **given)
    assert timeless(followed) == timeless(local.ask("And where was he at home?", **given))
    assert served.ask("zzz", min_support=1.0).kind == local.ask("zzz", min_support=1.0).kind


def test_an_answer_is_told_as_it_comes(client, local):
    evidence, pieces = [], []
    served = client.index("small")
    answer = served.ask(ASKED, min_support=0, on_evidence=evidence.append, on_text=pieces.append)
    assert timeless(answer) == timeless(local.ask(ASKED, min_support=0))
    assert [type(each) for each in evidence] == [Evidence]
    assert "".join(pieces) == answer.text
    events = list(served.stream(ASKED, min_support=0))
    assert [each.kind for each in events] == ["evidence", "text", "answer"]
    assert timeless(events[-1].value) == timeless(answer)
    with pytest.raises(errors.UnknownMethod, match="nosuch"):
        list(served.stream(ASKED, method="nosuch"))


def test_documents_rows_and_graphs(client, local):
    served = client.index("small")
    lines = served.documents()
    assert [each.id for each in lines] == local.documents()
    assert [each.id for each in served.documents("c*", sort="-id")] == sorted(
        local.documents("c*"), reverse=True
    )
    hidden = served.documents(where=field("group") == "hidden")
    assert 0 < len(hidden) < len(lines)
    assert {each.metadata["group"] for each in hidden} == {"hidden"}
    document = served.document("comet")
    assert document.text == {each.id: each.text for each in small_documents()}["comet"]
    assert served.download("comet") == document.text.encode()
    assert served.show("comet") == json.loads(json.dumps(plain(local.show("comet"))))
    assert served.describe().n_documents == len(local)
    entity = served.entities("comet")[0]
    assert served.entity(entity.name).texts.total == entity.n_texts
    assert served.graph(limit=5).n_entities >= len(served.graph(limit=5).nodes) == 5
    assert served.question_graph(ASKED).nodes
    assert served.aliases().merged == {}
    assert served.costs()[0].usage == local.costs()[-1].usage
    plan = served.plan(small_documents()[:2])
    assert plan.to_dict() == local.plan(small_documents()[:2]).to_dict()


def test_a_server_says_what_it_has(client):
    assert [each.name for each in client.indexes()] == ["small"]
    assert client.about().version == clew.__version__
    assert "walk" in [each.name for each in client.methods()]
    assert client.spent() == client.jobs() == []
    assert "small" in repr(client.index("small"))
    assert client.address.base in repr(client)
    for kind, _, code in refusals._STATUS:  # noqa: SLF001 -- the table itself
        assert issubclass(kind, refusals.KINDS[code])
        assert isinstance(refusals.KINDS[code]("a sentence"), errors.ClewError)
    assert refusals.KINDS["index_locked"] is errors.IndexLocked


def test_errors_are_those_of_the_server(client, local):
    served = client.index("small")
    for given in ({"where": "colour == 1"}, {"method": "nosuch"}, {"bend": 2}):
        with pytest.raises(errors.InputError) as here:
            local.search(ASKED, **given)
        with pytest.raises(type(here.value)) as there:
            served.search(ASKED, **given)
        assert str(there.value) == str(here.value)
    with pytest.raises(Refusal, match="no index 'nosuch'") as refused:
        client.index("nosuch").search(ASKED)
    assert (refused.value.status, refused.value.code) == (404, "not_found")
    with pytest.raises(errors.InputError, match="name, not ''"):
        client.index("")


def test_the_same_is_awaited(url, local):

    async def main():
        async with clew.AsyncClient(url, key="") as client:
            served = client.index("small")
            found = await asyncio.gather(*(served.search(each) for each in QUESTIONS[:3]))
            pieces = []
            answer = await served.ask(ASKED, min_support=0, on_text=pieces.append)
            events = [each.kind async for each in served.stream(ASKED, min_support=0)]
            plain_answer = await served.ask(ASKED, min_support=0)
            ids = [each.id for each in await served.documents()]
            with pytest.raises(errors.UnknownMethod):
                await served.search(ASKED, method="nosuch")
            with pytest.raises(Refusal, match="no index"):
                await client.index("x").ask(ASKED, on_text=pieces.append)
            return found, "".join(pieces), answer, plain_answer, events, ids

    found, text, answer, plain_answer, events, ids = asyncio.run(main())
    assert list(map(timeless, found)) == [timeless(local.search(q)) for q in QUESTIONS[:3]]
    assert timeless(answer) == timeless(plain_answer) == timeless(local.ask(ASKED, min_support=0))
    assert text == answer.text
    assert events == ["evidence", "text", "answer"]
    assert ids == local.documents()


def test_keys_come_from_the_environment(home, monkeypatch):
    """Address and key are arguments, or variables; without one a server with keys refuses."""
    key = home.key(scope="read")["Authorization"].removeprefix("Bearer ")
    with home.serving() as url:
        monkeypatch.setenv("CLEW_URL", url + "/")
        monkeypatch.setenv("CLEW_KEY", key + "\n")
        with clew.Client() as client:
            assert client.about().scope == "read"
            assert key not in repr(client) + repr(client.address)
            with pytest.raises(Refusal, match="write") as refused:
                client.index("small").remove("comet")
            assert refused.value.status == 403
        with clew.Client(key="") as client, pytest.raises(Refusal) as refused:
            client.indexes()
        assert refused.value.code == "unauthorized"


def test_documents_go_in_by_jobs(jobs_home, tmp_path):
    """Files of a folder, texts, and removals; each is a job that is waited for, or followed."""
    folder = tmp_path / "polar"
    (folder / "people").mkdir(parents=True)
    (folder / ".hidden").write_text("not sent")
    (folder / "fram.md").write_text("# The Fram\n\nColin Archer built the Fram in 1892.")
    (folder / "people" / 'a "quoted" näme.md').write_text("# Archer\n\nBorn in Larvik.")
    with Home(jobs_home.settings).serving(clew.open) as url, clew.Client(url, key="") as client:
        notes = client.index("notes")
        job = notes.add(folder, wait=math.inf)
        assert job.result["added"]["ids"] == [
            "notes/polar/fram.md",
            'notes/polar/people/a "quoted" näme.md',
        ]
        assert notes.download("notes/polar/fram.md") == (folder / "fram.md").read_bytes()
        text = Document(id="n1", text="The ice drifts west.", title="Ice", metadata={"year": 1893})
        queued = notes.add([text], methods=["bm25"])
        told = list(client.follow(queued.id))
        assert (told[0].kind, told[-1].kind) == ("queued", "done")
        assert list(client.follow(queued.id, after=told[-2].number)) == told[-1:]
        assert notes.documents(sort="-year")[0].metadata == {"year": 1893}
        assert client.wait(queued.id).options == {"methods": ["bm25"]}
        assert notes.remove("notes/polar", wait=60).result["files"]
        assert [each.id for each in notes.documents()] == ["n1"]
        assert [each.kind for each in notes.jobs(state="done")] == ["remove", "index", "index"]
        with pytest.raises(errors.InputError, match="no document"):
            notes.remove("nosuch", wait=60)
        with pytest.raises(errors.InputError, match="there is no file to upload"):
            notes.add(tmp_path / "home" / "uploads", wait=60)
        with pytest.raises(errors.InputError, match="add needs paths or documents"):
            notes.add([text, folder])
        client.make("more")
        asyncio.run(_awaited_upload(url, folder))
        client.drop("more")
        assert [each.name for each in client.indexes()] == ["notes"]


async def _awaited_upload(url, folder):
    async with clew.AsyncClient(url, key="") as client:
        job = await client.index("more").add(folder / "fram.md", wait=math.inf)
        assert job.result["added"]["ids"] == ["more/fram.md"]
        assert [each.kind async for each in client.follow(job.id)][-1] == "done"


BUSY = Sent({"error": {"code": "busy", "message": "ask later"}}, 503, {"Retry-After": "0"})
ABOUT = Sent(
    {"version": "1", "caller": "me", "scope": "read", "llm": False, "key": None, "spent": None}
)


@pytest.fixture
def no_pause(monkeypatch):
    """Let no attempt wait for its turn."""
    waited = []
    monkeypatch.setattr(
        "clew.extras.client.requests.pause_s", lambda _, asked, __: waited.append(asked) or 0.0
    )
    return waited


def test_what_only_reads_is_tried_again(no_pause):
    """A busy server is asked four times; what a lost reply may have done is not done again."""
    with scripted() as server, clew.Client(server.url, key="") as client:
        server.script(BUSY, BUSY, ABOUT)
        assert client.about().caller == "me"
        assert no_pause == ["0", "0"]
        server.script(BUSY)
        with pytest.raises(Refusal, match="ask later"):
            client.about()
        assert len(server.requests) == 3 + 4
        with pytest.raises(Refusal, match="ask later"):
            client.index("i").ask("?")
        with pytest.raises(Refusal, match="ask later"):
            client.index("i").remove("a")
        assert len(server.requests) == 3 + 4 + 2
        server.script(replace(ABOUT, missing_bytes=4))
        with pytest.raises(errors.EndpointError, match="sent an incomplete reply"):
            client.about()
        with pytest.raises(errors.EndpointError, match="sent an incomplete reply"):
            client.index("i").ask("?")
        assert len(server.requests) == 3 + 4 + 2 + 4 + 1


def test_other_programs_and_nobody_are_told_apart(no_pause):
    with clew.Client("http://127.0.0.1:9", key="") as client:
        with pytest.raises(errors.EndpointError, match=r"127\.0\.0\.1:9 cannot be reached"):
            client.index("i").ask("?")  # which was never sent, so it may be sent again
        assert len(no_pause) == 3
        with pytest.raises(errors.EndpointError, match="cannot be reached"):
            list(client.index("i").stream("?"))
    with scripted() as server, clew.Client(server.url, key="secret", attempts=1) as client:
        index = client.index("i")
        for sent, said in (
            (Sent(b"<html>"), "cannot read"),
            (Sent({"version": 1}), r"\(AboutServer.version: Expected `str`, got `int`\)"),
            (Sent(b"<html>", 404), "HTTP 404, unlike a Clew server"),
            (Sent({"error": "no"}, 500), "HTTP 500, unlike a Clew server"),
        ):
            server.script(sent)
            with pytest.raises(errors.EndpointError, match=said) as raised:
                client.about()
            assert "secret" not in str(raised.value)
        events = {"Content-Type": "text/event-stream"}
        for body, said in (
            (b': hello\n\nevent: later\ndata: {}\n\nevent: text\ndata: {"text":"a"}\n\n', "ended"),
            (b"event: text\ndata: {\n\n", "not JSON"),
            (b"event: answer\ndata: {}\n\n", "Answer: Object missing required field `question`"),
        ):
            server.script(Sent(body, headers=events))
            with pytest.raises(errors.EndpointError, match=said):
                index.ask("?", on_text=lambda _: None)
        server.script(Sent(b"<html>sign in</html>", headers={"Content-Type": "text/html"}))
        with pytest.raises(errors.EndpointError, match="cannot read .*text/html"):
            index.ask("?", on_text=lambda _: None)
        error = b'event: error\ndata: {"code":"budget_spent","message":"all of it"}\n\n'
        server.script(Sent(error, headers=events))
        with pytest.raises(errors.BudgetSpent, match="all of it"):
            index.ask("?", on_text=lambda _: None)


@pytest.mark.parametrize(
    "given",
    [{"url": "polar.clew"}, {"url": "http://me:pass@host"}, {"url": "http://h/?key=1"},
     {"key": "ü"}, {"timeout_s": 0}, {"attempts": 0}],
)  # fmt: skip
def test_wrong_arguments(given):
    with pytest.raises(errors.InputError):
        clew.Client(**given)


def test_methods_of_both_clients_are_the_same():
    from clew.client import AsyncClient, AsyncServedIndex, Client, ServedIndex

    for one, other in ((Client, AsyncClient), (ServedIndex, AsyncServedIndex)):
        names = [{n for n in vars(kind) if not n.startswith("_")} for kind in (one, other)]
        assert names[0] == names[1]
        assert len(names[0]) > 10
        assert all(getattr(kind, n).__name__ == n for kind in (one, other) for n in names[0])
    with Client("http://localhost:1") as client:
        made, shown = (str(signature(each)) for each in (client.make, client.index("i").show))
    assert made.startswith("(name: 'str', *, chunk_size:")
    assert shown == "(name: 'str') -> 'dict[str, Any]'"


@pytest.mark.parametrize("method", [None, "walk", "bm25", "ket"])
def test_frameworks_find_the_same_in_a_folder_and_on_a_server(url, local, method):
    """At most k chunks, with their places, the document's fields and the thread."""
    served = opened("small", url=url, key="")
    for k in (1, 3, None):
        found = find(local, ASKED, k=k, method=method, where="group == 'open'")
        assert found == find(served, ASKED, k=k, method=method, where="group == 'open'")
        assert 0 < len(found) <= (k or 10)
        assert all(0 <= each.relevance <= 1 for each in found)
        document = served.document(found[0].document_id)
        place = slice(found[0].metadata["start"], found[0].metadata["end"])
        assert document.text[place] == found[0].text
        assert found[0].metadata["fields"] == {"group": "open"}
    threads = [each.metadata["thread"] for each in find(local, ASKED, method="walk")]
    assert all(each[0]["layer"] == "query" for each in threads)
    assert all(step["reason"] for each in threads for step in each[1:])
    chosen = [each.chunk_id for each in find(local, ASKED, method="bm25", parameters={"chunks": 2})]
    assert chosen == [each.chunk_id for each in find(local, ASKED, k=2, method="bm25")]


def test_what_frameworks_may_not_ask(local):
    with pytest.raises(errors.InputError, match="at least 1, not 0"):
        find(local, ASKED, k=0)
    with pytest.raises(errors.InputError, match="a key needs the url of its server"):
        opened("small", key="clew_x")
    assert opened(local) is local
