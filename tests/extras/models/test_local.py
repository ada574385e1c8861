"""A model of a file on this machine: a chat like any other."""

import hashlib
import sys

import pytest

from clew.errors import InputError, MissingExtra
from clew.extras.models.local import LocalChat
from clew.models import Prompt, PromptRefused
from clew.models.recorded_llm import RecordedLLM
from clew.testing import ChatContract
from tools import gguf

SHIPS = {
    "type": "object",
    "properties": {"ships": {"type": "array", "items": {"type": "string"}, "maxItems": 3}},
    "required": ["ships"],
    "additionalProperties": False,
}


@pytest.fixture
def parts(tmp_path):
    """Give three files and the SHA-256 of what they are together."""
    contents = [b"GGUF", b"ice" * 1_000, b"end"]
    paths = [tmp_path / f"part{i}" for i in range(3)]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    return paths, hashlib.sha256(b"".join(contents)).hexdigest()


def test_parts_become_one_file(parts, tmp_path):
    """End to end, and nothing else is left in the folder."""
    paths, sha256 = parts
    folder = tmp_path / "cache"
    folder.mkdir()
    with pytest.raises(SystemExit, match="the parts of .*whole.gguf do not fit together"):
        gguf.join(paths, folder / "whole.gguf", "0" * 64)
    assert list(folder.iterdir()) == []
    gguf.join(paths, folder / "whole.gguf", sha256)
    assert (folder / "whole.gguf").read_bytes() == b"GGUF" + b"ice" * 1_000 + b"end"
    assert [path.name for path in folder.iterdir()] == ["whole.gguf"]


def test_a_missing_runtime_is_named_with_its_extra(monkeypatch, tmp_path):
    """One sentence says what to install."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    file = tmp_path / "m.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(MissingExtra, match=r"xllamacpp.*pip install 'clew\[local\]'"):
        LocalChat(file=file).ask(Prompt(user="Who?"))


def test_a_model_is_named_by_its_contents(tmp_path):
    """Another quantisation is another model to a ledger."""
    first, second = tmp_path / "a" / "m.gguf", tmp_path / "b" / "m.gguf"
    for path, content in ((first, b"GGUF 1"), (second, b"GGUF 2")):
        path.parent.mkdir()
        path.write_bytes(content)
    names = {LocalChat(file=path).name for path in (first, second)}
    assert len(names) == 2
    assert all(name.startswith("m-") for name in names)
    chat = LocalChat(file=tmp_path / "m.gguf")
    assert (chat.price, chat.concurrency) == ((0.0, 0.0), 1)


def test_a_file_that_is_no_model_is_refused(tmp_path):
    """Before anything is loaded."""
    notes = tmp_path / "notes.gguf"
    notes.write_text("ice")
    with pytest.raises(InputError, match="is not a GGUF file"):
        LocalChat(file=notes).name  # noqa: B018 -- reading it is the test
    with pytest.raises(InputError, match="gone.gguf cannot be read"):
        LocalChat(file=tmp_path / "gone.gguf").name  # noqa: B018 -- the same


@pytest.mark.parametrize("n_threads", [0, 10_000])
def test_threads_are_those_of_the_machine(n_threads, tmp_path):
    """More threads than cores make it slower."""
    with pytest.raises(InputError, match="but this machine has"):
        LocalChat(file=tmp_path / "m.gguf", n_threads=n_threads)


# With the real model


@pytest.fixture(scope="module")
def real():
    pytest.importorskip("xllamacpp", reason="the extra 'local' is not installed")
    if not gguf.FILE.exists():
        pytest.skip("there is no model: make test-slow puts one together")
    return LocalChat(file=gguf.FILE)


@pytest.mark.slow
class TestRealModel(ChatContract):
    @pytest.fixture
    def chat(self, real):
        return real


@pytest.mark.slow
def test_counts_are_those_of_the_bill(real):
    """With and without a system message, a schema, other scripts and earlier turns."""
    asked = [
        Prompt(user="Who sailed the Fram?", max_tokens=4),
        Prompt(user="x", system="Be brief.", max_tokens=4),
        Prompt(user="Ångström — 冰 и лёд <|im_start|>", max_tokens=4),
        Prompt(user="Which ships? " * 40, schema=SHIPS, max_tokens=8),
        Prompt(user="Which ships?", system="Ice.\n\n" * 20, schema=SHIPS, max_tokens=8),
        Prompt(user="", max_tokens=4),
    ]
    assert [real.count_tokens(p) for p in asked] == [real.ask(p).prompt_tokens for p in asked]


@pytest.mark.slow
def test_the_same_question_gives_the_same_reply(real):
    """Whatever was asked in between."""
    asked = [Prompt(user=f"Name two {x}.", schema=SHIPS, max_tokens=60) for x in ("ships", "dogs")]
    first = [real.ask(p).text for p in asked]
    assert [real.ask(p).text for p in asked[::-1]] == first[::-1]
    assert real.ask(asked[1]).text == first[1]


@pytest.mark.slow
def test_replies_keep_to_their_schema(real):
    """The grammar holds the model to it, so no repair is needed."""
    prompt = Prompt(user="Amundsen sailed on the Gjøa and the Fram. Which ships?", schema=SHIPS)
    [reply] = RecordedLLM(real).complete([prompt])
    assert (reply.calls, reply.error, reply.cost_usd) == (1, "", 0.0)
    assert {"Gjøa", "Fram"} <= set(reply.data["ships"])


@pytest.mark.slow
def test_a_prompt_that_is_too_long_is_refused(real):
    """The context has 4,096 tokens."""
    with pytest.raises(PromptRefused, match="context size"):
        real.ask(Prompt(user="ice " * 5_000))
