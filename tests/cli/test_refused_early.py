"""Whatever can be refused is refused before a call or a vector is paid for."""

import pytest

from clew.api import open_index
from clew.errors import EndpointError
from clew.index.recipe import Settings
from clew.testing import HashEmbedder, models
from tests.index.reads import ReadsChat

LLM = ("--triples", "llm")
TERMS = ("--triples", "llm", "--entities", "statistical")


class Counting:
    """An embedder that counts texts."""

    name, dimension = HashEmbedder().name, HashEmbedder().dimension

    def __init__(self):
        self.n_read = 0

    def embed(self, texts, *, kind):
        self.n_read += len(texts)
        return HashEmbedder().embed(texts, kind=kind)


class Silent(ReadsChat):
    """A chat behind an address at which nothing answers."""

    name = "silent"

    def reach(self):
        raise EndpointError("nothing answers at http://localhost:1")


@pytest.fixture
def spent(clew):
    """Return a function that runs the command line with an LLM and says what was paid for."""

    def run(*arguments, chat=None, price=True):
        chat = ReadsChat() if chat is None else chat
        chat.price = (1.0, 2.0) if price else None
        embedder = Counting()
        given = models(embedder, llm=None if chat is False else chat)

        def opener(folder, **named):
            named = {"settings": Settings(unit_bits=8, token_bits=8), **named}
            return open_index(folder, models=given, **named)

        result = clew(*arguments, obj=opener)
        return result, getattr(chat, "n_asked", 0), embedder.n_read

    return run


@pytest.fixture
def empty(tmp_path):
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_an_empty_folder_buys_nothing_for_what_is_there(spent, articles, empty):
    assert spent("index", articles, "--into", "i.clew")[0].exit_code == 0
    assert spent("index", articles, "--into", "j.clew")[2] > 0
    result, calls, texts = spent("index", empty, "--into", "i.clew", *LLM)
    assert result.exit_code == 1
    assert "no file to index" in result.stderr
    assert (calls, texts) == (0, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--units", "1"), "needs an LLM"),
        (LLM, "needs an LLM"),
        (("--triples", "parse"), "one of none, llm, cooccurrence, not 'parse'"),
        (("--for", "magic"), "no method 'magic'"),
        (("--entities", "statistical"), "triples are set to"),
        (("--dataset", "nowhere.json"), "Give PATH"),
    ],
)
def test_index_embeds_nothing_in_vain(clew, articles, options, message):
    """An extraction that cannot be is refused before the first document is read."""
    embedder = Counting()
    result = clew(
        "index", articles, "--into", "i.clew", *options,
        obj=lambda folder, **named: open_index(folder, models=models(embedder), **named),
    )  # fmt: skip
    assert result.exit_code in {1, 2}
    assert message in result.stderr
    assert embedder.n_read == 0


def test_a_wrong_schema_is_refused_before_new_documents_are_read(spent, articles, tmp_path):
    assert spent("index", articles, "--into", "i.clew", *LLM)[0].exit_code == 0
    (tmp_path / "new.md").write_text("The Gjoa sailed with Amundsen.", encoding="utf-8")
    types = tmp_path / "types.toml"
    types.write_text("[schema.entities]\nship = 3\n", encoding="utf-8")
    command = ("index", tmp_path / "new.md", "--into", "i.clew", *LLM, "--schema", types)
    result, calls, texts = spent(*command)
    assert "schema.entities.ship must be a table, not 3" in result.stderr
    assert (result.exit_code, calls, texts) == (1, 0, 0)


@pytest.mark.satellite
@pytest.mark.parametrize("command", [("index", *LLM), ("eval", "--methods", "bm25")])
def test_dollars_without_a_price_buy_nothing(spent, dataset, command):
    name, *options = command
    source = ("--dataset", dataset) if name == "index" else (dataset,)
    result, calls, texts = spent(
        name, *source, *options, "--llm", "x", "--budget-usd", "1", price=False
    )
    assert "needs the price of reads" in result.stderr
    assert (result.exit_code, calls, texts) == (1, 0, 0)


@pytest.mark.satellite
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--answer-llm", "magic:x"), "magic:x"),
        (("--answers", "--judge", "magic:x"), "magic:x"),
        (("--answers", "--judge", "openai:x@http://127.0.0.1:9/v1"), "127.0.0.1:9"),
        (("--methods", "magic"), "no method 'magic'"),
        (("--param", "dense.width=3"), "no parameter 'width'"),
        (("--report", "nowhere/r.md"), "nowhere"),
        (("--where", "date >"), "date >"),
    ],
)
def test_eval_indexes_nothing_in_vain(spent, dataset, options, message):
    result, calls, texts = spent("eval", dataset, "--methods", "dense", *options)
    assert message in result.stderr
    assert (result.exit_code, calls, texts) == (1, 0, 0)


@pytest.mark.satellite
def test_a_silent_llm_is_known_before_anything_is_indexed(spent, dataset):
    result, calls, texts = spent("eval", dataset, "--methods", "bm25", "--answers", chat=Silent())
    assert "nothing answers at" in result.stderr
    assert result.exit_code != 0
    assert (calls, texts) == (0, 0)


@pytest.mark.satellite
def test_a_question_whose_file_cannot_be_written_buys_nothing(spent, articles):
    spent("index", articles, "--into", "i.clew")
    result, calls, texts = spent("ask", "Who?", "--index", "i.clew", "--history", "nowhere/a.json")
    assert "nowhere/a.json cannot be written: there is no folder nowhere" in result.stderr
    assert (result.exit_code, calls, texts) == (1, 0, 0)
