"""What agents write over MCP, and the resources and prompts that they are offered."""

import json
from dataclasses import replace

import pytest
from anyio import from_thread
from mcp.shared.exceptions import MCPError

import clew
from clew.extras.server.mcp import resources
from clew.testing import models, small_documents
from tests.extras.server.conftest import open_small
from tests.extras.server.test_mcp import given, in_process, over_http, refused

WRITES = {"add", "remember", "edit"}
TEXTS = {each.id: each.text for each in small_documents()}

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def writable(home):
    """A server whose agents may write."""
    return replace(home, settings=replace(home.settings, mcp_writes=True))


async def test_agents_do_not_write_unless_the_server_lets_them(home):
    async with in_process(home) as client:
        assert not WRITES & {each.name for each in (await client.list_tools()).tools}
        for name in WRITES:
            with pytest.raises(MCPError, match=f"there is no tool '{name}'"):
                await client.call_tool(name, {"id": "x", "text": "y"})


async def test_what_is_added_remembered_and_edited_is_found(writable):
    async with in_process(writable) as client:
        tools = {each.name: each for each in (await client.list_tools()).tools}
        assert set(tools) > WRITES
        assert not any(tools[name].annotations.read_only_hint for name in WRITES)
        added = await given(client, "add", id="dawn", text="Una Berg built the Dawn in Verle.")
        assert (added["id"], added["tokens"]) == ("small/dawn", 0)
        built = await given(client, "ask", question="Who built the Dawn?")
        assert "Una Berg" in built["answer"]
        said = {"text": "The Dawn sank off Verle in 1931.", "source": "Ida", "date": "2026-03-05"}
        first, second = [await given(client, "remember", **said) for _ in range(2)]
        assert first == second  # the same text is one note
        sank = await given(client, "ask", question="When did the Dawn sink?")
        assert "1931" in sank["answer"]
        note = (await given(client, "fetch", id=first["id"]))["metadata"]
        assert (note["date"], note["from"], note["author"]) == ("2026-03-05", "Ida", "local")
        assert "0 times" in await refused(client, "edit", id=added["id"], old="no such", new="")
        await given(client, "edit", id=added["id"], old="Una Berg", new="Ada Lund")
        built = await given(client, "ask", question="Who built the Dawn?")
        assert "Ada Lund" in built["answer"]
        assert "Una Berg" not in built["answer"]


async def test_an_edit_does_not_undo_another(writable, monkeypatch):
    """A second one, once the first has read and before it has written, is refused."""
    write, started, second = clew.Index.add, [], {"id": "small/dawn", "old": "Verle", "new": "Moss"}

    async with in_process(writable) as client:
        await given(client, "add", id="dawn", text="Una Berg built the Dawn in Verle.")

        def add(index, *documents, **options):
            if not started:
                started.append(True)
                result = from_thread.run(client.call_tool, "edit", second)
                started.append(result.content[0].text)
            return write(index, *documents, **options)

        monkeypatch.setattr(clew.Index, "add", add)
        await given(client, "edit", id="small/dawn", old="Una Berg", new="Ada Lund")
        assert "is writing to" in started[1]
        await given(client, "edit", **second)
        text = (await given(client, "fetch", id="small/dawn"))["text"]
    assert text == "Ada Lund built the Dawn in Moss."


async def test_what_cannot_be_written_is_a_sentence_and_changes_nothing(writable, tmp_path):
    (tmp_path / "file.md").write_text("Una Berg built the Dawn in Verle.")
    with clew.open(writable.settings.indexes["small"], models=models()) as index:
        index.add(tmp_path)
        [name] = [each for each in index.documents() if each not in TEXTS]
    async with in_process(writable) as client:
        before = await given(client, "list_indexes")
        taken = await refused(client, "add", id=name, text="No.")
        assert "is read from a file: change that file" in taken
        assert "from a file" in await refused(client, "edit", id=name, old="Una", new="Ada")
        assert "no document 'x'" in await refused(client, "edit", id="x", old="a", new="b")
        assert "must be a date" in await refused(client, "remember", text="Yes.", date="soon")
        assert "at least 1 character" in await refused(client, "add", id="x", text="")
        assert await given(client, "list_indexes") == before


async def test_only_keys_that_may_write_do(writable, home):
    reads, writes = home.key(), home.key(scope="write", indexes=("small",))
    with home.serving(mcp_writes=True) as address:
        async with over_http(f"{address}/mcp", reads) as client:
            assert not WRITES & {each.name for each in (await client.list_tools()).tools}
            with pytest.raises(MCPError, match="there is no tool 'remember'"):
                await client.call_tool("remember", {"text": "The Dawn sank."})
        async with over_http(f"{address}/mcp", writes) as client:
            await given(client, "remember", text="The Dawn sank.")
            assert "no index 'other'" in await refused(
                client, "remember", text="The Dawn sank.", index="other"
            )
    audit = (home.settings.home / "audit.log").read_text().splitlines()
    entries = [each for each in map(json.loads, audit) if each.get("tool") == "remember"]
    assert [(each["index"], each["status"]) for each in entries] == [
        ("", 400),
        ("small", 200),
        ("", 200),
    ]
    assert "sank" not in "".join(audit)


async def test_documents_are_resources(home):
    async with in_process(home) as client:
        listed = (await client.list_resources()).resources
        assert {each.name for each in listed} == set(TEXTS)
        [eriksen] = [each for each in listed if each.name == "eriksen"]
        assert eriksen.uri == "clew://small/eriksen"
        [content] = (await client.read_resource(eriksen.uri)).contents
        assert content.text == TEXTS["eriksen"]
        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "clew://{index}/{+document}"
        for uri, why in (
            ("clew://small/none", "no document 'none'"),
            ("clew://other/x", "no index 'other'"),
            ("file:///etc/passwd", "clew://INDEX/DOCUMENT"),
        ):
            with pytest.raises(MCPError, match=why):
                await client.read_resource(uri)


async def test_resources_are_listed_page_by_page(home, tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "_PAGE", 5)
    with open_small(tmp_path / "other.clew") as index:
        index.add([clew.Document(id="dawn", text="Una Berg built the Dawn in Verle.")])
    indexes = {**home.settings.indexes, "other": tmp_path / "other.clew"}
    more = replace(home, settings=replace(home.settings, indexes=indexes))
    async with in_process(more) as client:
        names, cursor = [], None
        while True:
            page = await client.list_resources(cursor=cursor)
            names += [each.uri for each in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
    assert len(names) == len(set(names)) == 13


async def test_a_key_with_a_filter_sees_its_own_resources(home):
    headers = home.key(where="group = 'open'")
    with home.serving() as address:
        async with over_http(f"{address}/mcp", headers) as client:
            seen = {each.name for each in (await client.list_resources()).resources}
            assert seen
            assert seen < set(TEXTS)
            hidden = min(set(TEXTS) - seen)
            with pytest.raises(MCPError, match="there is no document"):
                await client.read_resource(f"clew://small/{hidden}")


async def test_prompts_name_tools_that_there_are(home):
    async with in_process(home) as client:
        tools = {each.name for each in (await client.list_tools()).tools}
        for prompt in (await client.list_prompts()).prompts:
            [argument] = prompt.arguments
            result = await client.get_prompt(prompt.name, {argument.name: "the Dawn"})
            text = result.messages[0].content.text
            assert "the Dawn" in text
            assert set(text.split("`")[1::2]) <= tools
        with pytest.raises(MCPError, match="needs the argument 'question'"):
            await client.get_prompt("answer", {})
        with pytest.raises(MCPError, match="there is no prompt 'x'"):
            await client.get_prompt("x", {})
