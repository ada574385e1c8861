"""An index from Python: open, add, search, ask, show, remove, compact."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import clew
from clew import errors
from clew.answers.method import build_method
from clew.base.types import Document, Evidence
from clew.index.recipe import Settings
from clew.index.store.catalogue import Catalogue
from clew.models import Reply
from clew.models.loading import Specs
from clew.testing import (
    QUESTIONS,
    HashEmbedder,
    HashTokenEmbedder,
    ScriptedLLM,
    models,
    small_documents,
)
from clew.text.chunking import Chunking
from tests.models.server import Answer as Sent
from tests.models.server import serving

QUESTION = QUESTIONS[0]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "my.clew"


@pytest.fixture
def index(folder):
    with clew.open(folder, models=models()) as opened:
        yield opened


@pytest.fixture
def full(index):
    index.add(small_documents())
    return index


@pytest.fixture
def texts(tmp_path):
    """A folder with three files, one of them unreadable."""
    place = tmp_path / "docs"
    place.mkdir()
    (place / "comet.txt").write_text("The Comet was a ship.\n\nThe Comet sank in 1911.")
    (place / "verle.md").write_text("# Verle\n\nVerle is the capital of Osterland.\n")
    (place / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    return place


# -- round trip ---------------------------------------------------------------------------------


def test_add_search_ask_show_remove(index, folder):
    """The whole life of an index, in the order in which it is lived."""
    added = index.add(small_documents())
    assert added.report.added == [d.id for d in small_documents()]
    assert (added.n_documents, added.n_chunks) == (12, 12)
    found = index.search("Who built the Comet?", chunks=3)
    assert isinstance(found, Evidence)
    assert (found.query, found.method, len(found.hits)) == ("Who built the Comet?", "walk", 3)
    answer = index.ask("Who built the Comet?", method="bm25")
    assert answer.kind == "quoted"
    assert "Ola Eriksen built the Comet in Bakken." in answer.text
    assert answer.question == "Who built the Comet?"
    assert index.show()["layers"]["document"] == 12
    assert index.remove("eriksen") == ["eriksen"]
    index.compact()
    assert index.show()["layers"]["document"] == 11
    assert "Ola Eriksen" not in index.ask("Who built the Comet?", method="bm25").text
    assert folder.is_dir()


def test_an_index_is_kept(full, folder):
    before = full.search(QUESTION).hits
    full.close()
    assert full.search(QUESTION).hits == before  # it opens itself again
    before = full.ask(QUESTION)
    full.close()
    with clew.open(str(folder), models=models()) as again:
        after = again.ask(QUESTION)
    assert after.text == before.text
    assert after.evidence.hits == before.evidence.hits
    full.close()
    with clew.open(folder, models=models(HashEmbedder(8))) as other:
        assert other.show("comet")["kind"] == "document"
        assert other.remove("comet") == ["comet"]


def test_the_context_manager_lets_go(folder):
    """Behind the block another session may write, and inside it may not."""
    with clew.open(folder, models=models()) as first:
        first.add(small_documents()[:2])
        with clew.open(folder, models=models()) as second, pytest.raises(errors.IndexLocked):
            second.add(small_documents())
    with clew.open(folder, models=models()) as third:
        assert third.add(small_documents()).n_documents == 12


def test_another_session_sees_the_new_generation(full, folder):
    first = full.snapshot()
    full.search(QUESTION)
    assert full.snapshot() is first
    with clew.open(folder, models=models()) as reader:
        assert reader.search("zeppelin", method="bm25").hits == ()
        generation = reader.snapshot().generation
        full.add(Document(id="z", text="The Zeppelin flew over Verle."))
        assert [h.document_id for h in reader.search("zeppelin", method="bm25").hits] == ["z"]
        assert reader.snapshot().generation > generation
        full.remove(["z"])
        assert reader.search("zeppelin", method="bm25").hits == ()


# -- what can be added --------------------------------------------------------------------------


def test_a_path_as_text_or_path(index, texts):
    added = index.add(str(texts))
    assert sorted(added.report.added) == ["docs/comet.txt", "docs/verle.md"]
    assert [s.source for s in added.report.skipped] == [f"{texts.as_posix()}/photo.png"]
    again = index.add(Path(texts))
    assert (again.report.added, again.report.n_unchanged) == ([], 2)


def test_the_same_name_in_two_folders(index, texts, tmp_path):
    other = tmp_path / "comet.txt"
    other.write_text("Another Comet.")
    added = index.add([texts / "comet.txt", other])
    assert added.report.added == ["comet.txt", f"{tmp_path.name}/comet.txt"]
    assert not added.report.skipped
    added = index.add([texts / "comet.txt", str(texts / "verle.md")])
    assert (added.report.added, added.report.n_unchanged) == (["verle.md"], 1)


def test_documents_of_a_list_a_generator_and_alone(index):
    documents = small_documents()
    assert len(index.add(documents[:3]).report.added) == 3
    assert len(index.add(document for document in documents[3:6]).report.added) == 3
    assert index.add(documents[6]).report.added == [documents[6].id]
    assert index.add([]).n_documents == 7
    told = []
    index.add(small_documents(), on_progress=told.append)
    index.add(small_documents(), on_progress=told.append)
    assert sum(told) == 24


def test_documents_are_read_as_they_are_needed(index, monkeypatch):
    monkeypatch.setattr("clew.index.adding.BATCH_CHARACTERS", 50)
    committed = []

    def documents():
        for document in small_documents():
            committed.append(len(index._store.hashes()) if index._store else 0)  # noqa: SLF001
            yield document

    index.add(documents())
    assert committed[-1] > 0


def test_a_changed_document_replaces_the_old_one(full):
    changed = replace(small_documents()[2], text="A kite was lost in Moss.")
    added = full.add(changed)
    assert added.report.changed == ["comet"]
    assert added.n_documents == 12
    assert "comet" in [h.document_id for h in full.search("kite", method="bm25").hits]
    assert "sank" not in full.show("comet:0-24")["text"]


@pytest.mark.parametrize("wrong", [[1, 2], [{"id": "a", "text": "b"}], [None], b"docs"], ids=str)
def test_what_is_neither_paths_nor_documents_is_refused(index, folder, wrong):
    """It is not left out in silence, and no index is made for it."""
    with pytest.raises(errors.InputError, match="list of either|add needs paths or documents"):
        index.add(wrong)
    with pytest.raises(errors.InputError, match="there is no file or folder"):
        index.add("dosc")
    with pytest.raises(errors.InputError, match="no parameter"):
        index.search(QUESTION, chunk=3)
    assert not folder.exists()


@pytest.mark.parametrize("first", [0, 1])
def test_paths_and_documents_do_not_mix(index, texts, first):
    mixed = [small_documents()[0], texts / "comet.txt"]
    with pytest.raises(errors.InputError, match="list of either|add needs paths or documents"):
        index.add(mixed[first:] + mixed[:first])


def test_places_where_no_index_can_be_made(tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with (
        clew.open(tmp_path, models=models()) as index,
        pytest.raises(errors.NotAnIndex, match="contains other files"),
    ):
        index.add(small_documents())
    with (
        clew.open(tmp_path / "thesis.txt" / "my.clew", models=models()) as index,
        pytest.raises(errors.StoreError, match=r"my.clew cannot be created \(Not a directory\)"),
    ):
        index.add(small_documents())


# -- errors -------------------------------------------------------------------------------------


def test_without_an_index_the_message_says_how_to_make_one(index, folder):
    """Everything but `add` needs an index, and makes none."""
    calls = [index.show, index.compact, index.snapshot]
    calls += [partial(call, "x") for call in (index.search, index.ask, index.show, index.remove)]
    for call in calls:
        with pytest.raises(
            errors.NotAnIndex, match=r"my.clew is not a Clew index: create one with 'clew i"
        ):
            call()
    assert not folder.exists()


def test_an_empty_index_says_what_to_do(full):
    """Methods without retrieval need no chunk."""
    full.remove([d.id for d in small_documents()])
    for method in ("walk", "clue", "dense", "bm25", "hybrid", "pagerank"):
        with pytest.raises(errors.InputError, match="this index is empty: add documents first"):
            full.search(QUESTION, method=method)
    assert full.search(QUESTION, method="zero_shot").hits == ()


def test_documents_without_names_can_be_searched(index):
    """No entity and hardly a word is no reason to refuse: the methods have their fallbacks."""
    index.add([Document(id="a", text="it was so."), Document(id="b", text="ice melts in water.")])
    for method in ("clue", "pagerank", "hybrid", "dense"):
        assert len(index.search("what melts?", method=method).hits) == 2


def test_a_layer_that_the_index_lacks_is_named(full, monkeypatch):
    monkeypatch.setattr("clew.methods.dense.Dense.layers", frozenset({"chunk", "label"}))
    with pytest.raises(errors.MissingLayer, match="no 'label' layer, only document, chunk"):
        full.search(QUESTION, method="dense")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda i: i.ask(""), "the question is empty"),
        (lambda i: i.ask(" "), "the question is empty"),
        (lambda i: i.ask("\n\t"), "the question is empty"),
        (
            lambda i: i.search(QUESTION, method="cleu"),
            r"'clue'\?\): choose one of agrag, .*clue, clue_p",
        ),
        (lambda i: i.search(QUESTION, method="dense", k=3), "'dense' has no parameter 'k': choose"),
        (lambda i: i.ask(QUESTION, context_tokens=0), "whole number, at least 1, not 0"),
        (lambda i: i.remove(["comet", "comte"]), r"no document 'comte' in .*my.clew: see 'clew l"),
    ],
)
def test_a_wrong_argument_is_told_with_what_there_is(full, call, message):
    with pytest.raises(errors.ClewError, match=message):
        call(full)
    assert full.show()["layers"]["document"] == 12


@pytest.mark.parametrize(
    ("method", "parameter", "value", "kind"),
    [
        ("dense", "chunks", "5", "a whole number"),
        ("dense", "chunks", 5.0, "a whole number"),
        ("dense", "chunks", True, "a whole number"),
        ("dense", "chunks", None, "a whole number"),
        ("clue", "fill", 1, "true or false"),
        ("clue", "fill", "no", "true or false"),
        ("clue", "ranking", True, "a text"),
        ("pagerank", "damping", "0.5", "a number"),
        ("pagerank", "damping", False, "a number"),
    ],
)
def test_a_parameter_of_another_type_is_refused(method, parameter, value, kind):
    with pytest.raises(errors.InputError) as error:
        build_method(method, {parameter: value})
    assert str(error.value) == f"{parameter} of the method {method!r} is {kind}, not {value!r}"
    assert build_method("pagerank", {"title_weight": 2}).title_weight == 2  # as 0.5 would be


@pytest.mark.parametrize(
    ("method", "parameter", "value", "limit"),
    [
        ("dense", "chunks", -1, "at least 0"),
        ("clue", "depth", -3, "at least 0"),
        ("pagerank", "title_weight", -0.5, "at least 0"),
        ("pagerank", "chunk_weight", float("nan"), "a finite number"),
        ("pagerank", "chunk_weight", float("inf"), "a finite number"),
    ],
)
def test_numbers_that_mean_nothing_are_refused(method, parameter, value, limit):
    with pytest.raises(errors.InputError) as error:
        build_method(method, {parameter: value})
    assert str(error.value) == f"{parameter} of the method {method!r} is {limit}, not {value}"


@pytest.mark.parametrize("value", [-1, 0])
def test_a_method_tells_its_own_limit(value):
    with pytest.raises(errors.InputError, match=f"^seed_entities is at least 1, not {value}$"):
        build_method("ket", {"seed_entities": value})


def cached_generation(folder):
    [path] = (folder / "cached").glob("statistical-*")
    return int(path.stem.rpartition("-")[2])


def test_a_removal_loads_no_model(full, folder, monkeypatch):
    """Names without a vector wait for the next question; a compaction needs no model either."""
    title, word = "The quince is a tree.", "One quince grew, another quince fell."
    added = [Document(id="tree", title="Quince", text=title), Document(id="grove", text=word)]
    full.add(added, triples="cooccurrence")
    full.search("Where are quinces?", method="agrag")  # from here on they are in use
    full.close()
    loaded = []

    def load(*_arguments, **_named):
        loaded.append(True)
        raise errors.MissingExtra("onnxruntime", "minilm", "the embedder")

    monkeypatch.setattr("clew.models.loading.load_models", load)
    with clew.open(folder) as opened:
        opened.remove("grain")
        opened.remove("tree")  # with it went the entity; what is left is a term without a vector
        assert cached_generation(folder) < opened.snapshot().generation
        assert not loaded
        opened.compact()  # which renews what is cached, if it can
        assert loaded
        assert opened.show()["layers"]["document"] == 12


# -- recipes ------------------------------------------------------------------------------------


def test_another_embedder_is_refused_every_time(full, folder):
    """At the first call and the next; a model that was given as an object is not guessed."""
    full.close()
    built = "with the embedder 'hash-tokens-64', not"
    with clew.open(folder, models=models(HashTokenEmbedder(32))) as other:
        calls = [partial(call, QUESTION) for call in (other.search, other.ask)]
        for call in [*calls, partial(other.add, small_documents()), lambda: other.models] * 2:
            with pytest.raises(errors.RecipeMismatch, match=f"{built} 'hash-tokens-32'"):
                call()
    with clew.open(folder) as other, pytest.raises(errors.RecipeMismatch, match=built):
        other.search(QUESTION)


def test_another_tagger_may_search_and_may_not_add(full, folder):
    """A query can be read by any tagger; documents must all be read by one."""

    class Other:
        name = "other"

        def tag(self, texts):
            return [[] for _ in texts]

    full.close()
    with clew.open(folder, models=replace(models(), tagger=Other())) as other:
        assert other.search(QUESTION).hits
        with pytest.raises(errors.RecipeMismatch, match="the tagger 'rules-3', not 'other'"):
            other.add(small_documents())


def test_other_settings_are_refused(full, folder):
    """Chunks of another size belong into another index; without settings the index's own hold."""
    full.close()
    settings = Settings(chunking=Chunking(size=50, overlap=0))
    with (
        clew.open(folder, models=models(), settings=settings) as other,
        pytest.raises(errors.RecipeMismatch, match="chunk_"),
    ):
        other.add(small_documents())
    with clew.open(folder, models=models()) as same:
        assert same.add(small_documents()).report.n_unchanged == 12


def test_settings_decide_how_an_index_is_built(tmp_path):
    text = "Ada sailed to Verle. " * 60
    settings = Settings(chunking=Chunking(size=40, overlap=0), vectors="separate")
    with clew.open(tmp_path / "i", models=models(), settings=settings) as index:
        added = index.add(Document(id="a", text=text))
        assert added.n_chunks > 5
        recipe = index.show()["recipe"]
        assert (recipe["chunk_size"], recipe["vectors"]) == (40, "separate")
        assert index.search("Who sailed?", chunks=2).hits


def embedding(request):
    texts = request.json["input"]
    rows = HashEmbedder(16).embed(texts, kind="document").tolist()
    return Sent({"data": [{"index": i, "embedding": row} for i, row in enumerate(rows)]})


@pytest.mark.satellite
def test_specs_are_kept_in_the_recipe(folder):
    with serving() as server:
        server.respond = embedding
        spec = f"openai:hashes@{server.url}"
        with clew.open(folder, specs=Specs(embedder=spec)) as index:
            added = index.add(small_documents())
            assert added.n_documents == 12
            assert index.show()["recipe"]["embedder_spec"] == spec
        paid = len(server.requests)
        with clew.open(folder) as again:
            assert again.search(QUESTION, method="dense").hits
        assert len(server.requests) == paid + 1  # the question alone
        with clew.open(folder) as third:
            assert third.search(QUESTION, method="dense").hits
        assert len(server.requests) == paid + 1  # which is paid for by now


@pytest.mark.satellite
def test_no_key_is_in_any_file_of_an_index(folder, monkeypatch):
    """Neither of an embedder nor of an LLM, whether its replies were of use or not."""
    pytest.importorskip("httpx2")
    key = "sk-this-is-a-key-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", key)

    def respond(request):
        if "input" in request.json:
            return embedding(request)
        assert request.headers["Authorization"] == f"Bearer {key}"
        return Sent({"choices": [{"message": {"content": f"The key is {request.path}."}}]})

    with serving() as server:
        server.respond = respond
        spec = f"openai:x@{server.url}"
        with clew.open(folder, specs=Specs(embedder=spec, llm=spec)) as index:
            index.add(small_documents()[:3], units=1.0, triples="llm")
            assert index.ask(QUESTION, method="hybrid", min_support=0).kind == "generated"
    assert {path.name for path in folder.iterdir()} >= {"calls.sqlite", "embeddings.sqlite"}
    for path in folder.rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes(), path


# -- usage --------------------------------------------------------------------------------------


def test_usage_has_stages_and_no_tokens_without_an_llm(index):
    added = index.add(small_documents()).usage
    assert {"read", "chunk", "entities", "vectors", "store", "embed", "tag"} <= set(added.seconds)
    answer = index.ask(QUESTION).usage
    assert {"open", "search", "answer", "embed"} <= set(answer.seconds)
    for usage in (added, answer):
        assert (usage.llm_calls, usage.total_tokens, usage.cost_usd) == (0, 0, 0.0)
        assert min(usage.seconds.values()) >= 0
        assert usage.total_seconds > 0


def test_usage_adds_what_searching_and_answering_cost(folder):
    names = Reply(
        text="", data={"named_entities": []}, prompt_tokens=10, completion_tokens=1, cost_usd=0.25
    )
    words = Reply(text="ANSWER: x", prompt_tokens=100, completion_tokens=2, cost_usd=0.5, calls=2)
    with clew.open(folder, models=models(llm=ScriptedLLM(names, words))) as index:
        index.add(small_documents())
        answer = index.ask(QUESTION)
    assert answer.kind == "generated"
    assert answer.usage.llm_calls == 3
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (110, 3)
    assert answer.usage.cost_usd == pytest.approx(0.75)
    assert (answer.evidence.usage.llm_calls, answer.evidence.usage.total_tokens) == (1, 11)


def test_an_unknown_price_stays_unknown(folder):
    names = Reply(text="", data={"named_entities": []}, cost_usd=0.25)
    llm = ScriptedLLM(names, Reply(text="ANSWER: x", cost_usd=None))
    with clew.open(folder, models=models(llm=llm)) as index:
        index.add(small_documents())
        assert index.ask(QUESTION).usage.cost_usd is None


def test_the_budget_reaches_the_context(full):
    answer = full.ask(QUESTION, context_tokens=30, chunks=5)
    assert answer.context.n_tokens <= 30 == answer.context.budget_tokens
    assert len(answer.context.passages) < len(answer.evidence.hits) == 5
    evidence = full.search(QUESTION)
    at_once = full.ask(QUESTION, min_support=0)
    later = full.answer(evidence)
    assert (later.text, later.citations) == (at_once.text, at_once.citations)
    assert "search" not in later.usage.seconds


def test_a_question_fills_as_many_tokens_as_the_method_is_given(tmp_path):
    """`tokens` of the method is the size of the context where that is not given, else both hold."""
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(small_documents())
        for given, size in (
            ({"tokens": 90}, 90),
            ({"context_tokens": 60}, 60),
            ({"tokens": 5_000}, 5_000),
            ({}, 4_000),
            ({"tokens": 90, "context_tokens": 60}, 60),
        ):
            context = index.ask(QUESTIONS[0], method="keyword_rag", **given).context
            assert context.budget_tokens == size
            assert context.n_tokens <= size


def test_an_index_of_a_text_says_how_it_is_opened():
    """The class takes what `clew.open` made of it."""
    with pytest.raises(errors.InputError, match=r"^open an index with clew\.open\('my\.clew'\)"):
        clew.Index("my.clew")


def test_what_one_more_document_costs_does_not_grow_with_the_others(tmp_path, monkeypatch):
    """Of the documents that are there only those of its ids are looked up."""
    read = Catalogue.hashes

    def read_some(catalogue, ids=None):
        assert ids is not None, "all documents were read"
        return read(catalogue, ids)

    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(small_documents())
    monkeypatch.setattr(Catalogue, "hashes", read_some)
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        added = index.add(Document(id="new", text="The Fram drifted with the ice."))
    assert added.report.added == ["new"]
