"""An index from Python: open, add, search, ask, show, remove, compact."""

from dataclasses import replace
from pathlib import Path

import pytest

import clew
from clew.asking.method import build_method
from clew.errors import (
    IndexLocked,
    InputError,
    MissingExtra,
    MissingLayer,
    NotAnIndex,
    RecipeMismatch,
    StoreError,
    UnknownMethod,
)
from clew.index import Settings
from clew.loading import Specs
from clew.models import Reply
from clew.testing import (
    QUESTIONS,
    HashEmbedder,
    HashTokenEmbedder,
    ScriptedLLM,
    models,
    small_documents,
)
from clew.text.chunking import Chunking
from clew.types import Document, Evidence
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


def test_answer_takes_evidence_that_is_there(full):
    """Searching once and answering later gives what `ask` gives."""
    evidence = full.search(QUESTION)
    at_once = full.ask(QUESTION, min_support=0)
    later = full.answer(evidence)
    assert (later.text, later.citations) == (at_once.text, at_once.citations)
    assert "search" not in later.usage.seconds


def test_an_index_is_kept(full, folder):
    """A closed index opens with the same answer."""
    before = full.ask(QUESTION)
    full.close()
    with clew.open(str(folder), models=models()) as again:
        after = again.ask(QUESTION)
    assert after.text == before.text
    assert after.evidence.hits == before.evidence.hits


def test_a_closed_index_opens_itself_again(full):
    """`close` lets go; the next call takes hold again."""
    before = full.search(QUESTION).hits
    full.close()
    assert full.search(QUESTION).hits == before


def test_the_context_manager_lets_go(folder):
    """Behind the block another session may write, and inside it may not."""
    with clew.open(folder, models=models()) as first:
        first.add(small_documents()[:2])
        with clew.open(folder, models=models()) as second, pytest.raises(IndexLocked):
            second.add(small_documents())
    with clew.open(folder, models=models()) as third:
        assert third.add(small_documents()).n_documents == 12


def test_another_session_sees_the_new_generation(full, folder):
    """What one session commits, the next search of another finds."""
    with clew.open(folder, models=models()) as reader:
        assert reader.search("zeppelin", method="bm25").hits == ()
        generation = reader.snapshot().generation
        full.add(Document(id="z", text="The Zeppelin flew over Verle."))
        assert [h.document_id for h in reader.search("zeppelin", method="bm25").hits] == ["z"]
        assert reader.snapshot().generation > generation
        full.remove(["z"])
        assert reader.search("zeppelin", method="bm25").hits == ()


def test_nothing_changes_nothing_is_loaded_again(full):
    """Two searches of one generation compute on one snapshot."""
    first = full.snapshot()
    full.search(QUESTION)
    assert full.snapshot() is first


# -- what can be added --------------------------------------------------------------------------


def test_a_path_as_text_or_path(index, texts):
    """A folder is added whichever way it is named; what cannot be read is reported."""
    added = index.add(str(texts))
    assert sorted(added.report.added) == ["docs/comet.txt", "docs/verle.md"]
    assert [s.source for s in added.report.skipped] == [f"{texts.as_posix()}/photo.png"]
    again = index.add(Path(texts))
    assert (again.report.added, again.report.n_unchanged) == ([], 2)


def test_a_list_of_paths(index, texts):
    """Files of a list are named by themselves."""
    added = index.add([texts / "comet.txt", str(texts / "verle.md")])
    assert added.report.added == ["comet.txt", "verle.md"]


def test_the_same_name_in_two_folders(index, texts, tmp_path):
    """Two files are two documents, and the second is called by its folder too."""
    other = tmp_path / "comet.txt"
    other.write_text("Another Comet.")
    added = index.add([texts / "comet.txt", other])
    assert added.report.added == ["comet.txt", f"{tmp_path.name}/comet.txt"]
    assert not added.report.skipped


def test_documents_of_a_list_a_generator_and_alone(index):
    """Documents come in any iterable, or by themselves."""
    documents = small_documents()
    assert len(index.add(documents[:3]).report.added) == 3
    assert len(index.add(document for document in documents[3:6]).report.added) == 3
    assert index.add(documents[6]).report.added == [documents[6].id]
    assert index.add([]).n_documents == 7


def test_documents_are_read_as_they_are_needed(index, monkeypatch):
    """A generator is not exhausted before the first commit."""
    monkeypatch.setattr("clew.index.BATCH_CHARACTERS", 50)
    committed = []

    def documents():
        for document in small_documents():
            committed.append(len(index._store.hashes()) if index._store else 0)  # noqa: SLF001
            yield document

    index.add(documents())
    assert committed[-1] > 0


def test_adding_again_does_nothing(full):
    """Known documents cost no commit and are counted as unchanged."""
    generation = full.snapshot().generation
    again = full.add(small_documents())
    assert (again.report.added, again.report.changed) == ([], [])
    assert again.report.n_unchanged == 12
    assert full.snapshot().generation == generation
    assert "embed" not in again.usage.seconds


def test_a_changed_document_replaces_the_old_one(full):
    """The old text is gone from search at once."""
    changed = replace(small_documents()[2], text="A kite was lost in Moss.")
    added = full.add(changed)
    assert added.report.changed == ["comet"]
    assert added.n_documents == 12
    assert "comet" in [h.document_id for h in full.search("kite", method="bm25").hits]
    assert "sank" not in full.show("comet:0-24")["text"]


def test_a_removed_document_comes_back(full):
    """The same content comes back without a model."""
    full.remove(["comet", "verle"])
    added = full.add(small_documents())
    assert sorted(added.report.restored) == ["comet", "verle"]


def test_progress_counts_every_document(index):
    """The numbers that progress is told add up to the documents."""
    told = []
    index.add(small_documents(), on_progress=told.append)
    index.add(small_documents(), on_progress=told.append)
    assert sum(told) == 24


@pytest.mark.parametrize("wrong", [[1, 2], [{"id": "a", "text": "b"}], [None], b"docs"])
def test_what_is_neither_path_nor_document_is_refused(index, folder, wrong):
    """It is not left out in silence, and no index is made for it."""
    with pytest.raises(InputError, match="all paths or all documents"):
        index.add(wrong)
    assert not folder.exists()


@pytest.mark.parametrize("first", [0, 1])
def test_paths_and_documents_do_not_mix(index, texts, first):
    """One call has one kind of source, whichever comes first."""
    mixed = [small_documents()[0], texts / "comet.txt"]
    with pytest.raises(InputError, match="all paths or all documents"):
        index.add(mixed[first:] + mixed[:first])


def test_a_path_that_is_not_there_makes_no_index(index, folder, tmp_path):
    """A mistyped path is an error before anything is made."""
    with pytest.raises(InputError, match="there is no file or folder"):
        index.add(tmp_path / "dosc")
    assert not folder.exists()


def test_a_folder_of_other_things_is_no_place_for_an_index(tmp_path):
    """Files that are not the index's are not mixed with it."""
    (tmp_path / "thesis.txt").write_text("mine")
    with (
        clew.open(tmp_path, models=models()) as index,
        pytest.raises(NotAnIndex, match="holds other files"),
    ):
        index.add(small_documents())


def test_a_folder_that_cannot_be_made(tmp_path):
    """The error says what the system said."""
    (tmp_path / "thesis.txt").write_text("mine")
    with (
        clew.open(tmp_path / "thesis.txt" / "my.clew", models=models()) as index,
        pytest.raises(StoreError, match=r"my.clew cannot be made \(Not a directory\)"),
    ):
        index.add(small_documents())


# -- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda i: i.search(QUESTION),
        lambda i: i.ask(QUESTION),
        lambda i: i.show(),
        lambda i: i.show("x"),
        lambda i: i.remove("x"),
        lambda i: i.compact(),
        lambda i: i.snapshot(),
    ],
    ids=["search", "ask", "show", "show x", "remove", "compact", "snapshot"],
)
def test_without_an_index_the_message_says_how_to_make_one(index, folder, call):
    """Everything but `add` needs an index, and makes none."""
    with pytest.raises(NotAnIndex, match=r"my.clew is not a Clew index: make one with 'clew index"):
        call(index)
    assert not folder.exists()


@pytest.mark.parametrize("method", ["walk", "clue", "dense", "bm25", "hybrid", "pagerank"])
def test_an_empty_index_says_what_to_do(full, method):
    """An index whose documents are all gone has nothing to search."""
    full.remove([d.id for d in small_documents()])
    with pytest.raises(InputError, match="this index is empty: add documents first"):
        full.search(QUESTION, method=method)


def test_methods_without_retrieval_work_on_an_empty_index(full):
    """They need no chunk."""
    full.remove([d.id for d in small_documents()])
    assert full.search(QUESTION, method="zero_shot").hits == ()


@pytest.mark.parametrize("method", ["clue", "pagerank", "hybrid", "dense"])
def test_documents_without_names_can_be_searched(index, method):
    """No entity and hardly a word is no reason to refuse: the methods have their fallbacks."""
    index.add([Document(id="a", text="it was so."), Document(id="b", text="ice melts in water.")])
    assert len(index.search("what melts?", method=method).hits) == 2


def test_a_layer_that_the_index_lacks_is_named(full, monkeypatch):
    """A method of another index says which layer it misses."""
    monkeypatch.setattr("clew.methods.dense.Dense.layers", frozenset({"chunk", "label"}))
    with pytest.raises(MissingLayer, match="no 'label' layer, only document, chunk"):
        full.search(QUESTION, method="dense")


@pytest.mark.parametrize("question", ["", " ", "\n\t"])
def test_an_empty_question_is_refused(full, question):
    """Nothing asked, nothing searched."""
    with pytest.raises(InputError, match="the question is empty"):
        full.ask(question)


def test_an_unknown_method_lists_the_known(full):
    """The message has the names to choose from."""
    listed = r"no method 'cleu': take one of agrag, .*clue, clue_paper, dense"
    with pytest.raises(UnknownMethod, match=listed):
        full.search(QUESTION, method="cleu")


def test_an_unknown_parameter_lists_the_known(full):
    """The message names the method and its parameters."""
    with pytest.raises(InputError, match=r"'dense' has no parameter 'k': take one of chunks"):
        full.search(QUESTION, method="dense", k=3)


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
    """A number as text or a truth value as number is a mistake; the message shows it."""
    with pytest.raises(InputError) as error:
        build_method(method, {parameter: value})
    assert str(error.value) == (f"{parameter} of the method {method!r} is {kind}, not {value!r}")


def test_whole_numbers_are_floats_too():
    """Where 0.5 is welcome, so is 1."""
    assert build_method("pagerank", {"title_weight": 2}).title_weight == 2


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
    """No parameter of a method is negative, infinite or no number."""
    with pytest.raises(InputError) as error:
        build_method(method, {parameter: value})
    assert str(error.value) == f"{parameter} of the method {method!r} is {limit}, not {value}"


@pytest.mark.parametrize("value", [-1, 0])
def test_a_method_tells_its_own_limit(value):
    """One limit for a parameter, whatever is below it."""
    with pytest.raises(InputError, match=f"^seed_entities is at least 1, not {value}$"):
        build_method("ket", {"seed_entities": value})


def test_a_bad_parameter_is_found_before_the_index(index):
    """A misspelled parameter is told even where there is no index yet."""
    with pytest.raises(InputError, match="no parameter"):
        index.search(QUESTION, chunk=3)


def test_removing_an_unknown_id_removes_nothing(full):
    """One wrong id among right ones stops the removal; the message names it."""
    with pytest.raises(InputError, match=r"no document 'comte' in .*my.clew: see 'clew list'"):
        full.remove(["comet", "comte"])
    assert full.show()["layers"]["document"] == 12


def cached_generation(folder):
    """Return the generation that statistical entities are cached of."""
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
        raise MissingExtra("onnxruntime", "minilm", "the embedder")

    monkeypatch.setattr("clew.loading.load_models", load)
    with clew.open(folder) as opened:
        opened.remove("grain")
        opened.remove("tree")  # with it went the entity; what is left is a term without a vector
        assert cached_generation(folder) < opened.snapshot().generation
        assert not loaded
        opened.compact()  # which renews what is cached, if it can
        assert loaded
        assert opened.show()["layers"]["document"] == 12


def test_a_budget_without_a_token_is_refused(full):
    """The context's budget is checked as the caller gave it."""
    with pytest.raises(InputError, match="whole number, at least 1, not 0"):
        full.ask(QUESTION, context_tokens=0)


# -- recipes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda i: i.search(QUESTION),
        lambda i: i.ask(QUESTION),
        lambda i: i.add(small_documents()),
        lambda i: i.models,
    ],
    ids=["search", "ask", "add", "models"],
)
def test_another_embedder_is_refused_every_time(full, folder, call):
    """The message names both embedders, at the first call and at the next."""
    full.close()
    with clew.open(folder, models=models(HashTokenEmbedder(32))) as other:
        for _ in range(2):
            with pytest.raises(
                RecipeMismatch, match="with the embedder 'hash-tokens-64', not 'hash-tokens-32'"
            ):
                call(other)


def test_an_index_of_given_models_is_not_searched_with_the_default(full, folder):
    """The recipe cannot name a model that was given as an object: that is said, not guessed."""
    full.close()
    with (
        clew.open(folder) as other,
        pytest.raises(RecipeMismatch, match="with the embedder 'hash-tokens-64', not"),
    ):
        other.search(QUESTION)


def test_looking_needs_no_models(full, folder):
    """Show and remove work whatever models the index was built with."""
    full.close()
    with clew.open(folder, models=models(HashEmbedder(8))) as other:
        assert other.show("comet")["kind"] == "document"
        assert other.remove("comet") == ["comet"]


def test_another_tagger_may_search_and_may_not_add(full, folder):
    """A query can be read by any tagger; documents must all be read by one."""

    class Other:
        name = "other"

        def tag(self, texts):
            return [[] for _ in texts]

    full.close()
    with clew.open(folder, models=replace(models(), tagger=Other())) as other:
        assert other.search(QUESTION).hits
        with pytest.raises(RecipeMismatch, match="the tagger 'rules-1', not 'other'"):
            other.add(small_documents())


def test_other_settings_are_refused(full, folder):
    """Chunks of another size belong into another index; without settings the index's own hold."""
    full.close()
    settings = Settings(chunking=Chunking(size=50, overlap=0))
    with (
        clew.open(folder, models=models(), settings=settings) as other,
        pytest.raises(RecipeMismatch, match="chunk_"),
    ):
        other.add(small_documents())
    with clew.open(folder, models=models()) as same:
        assert same.add(small_documents()).report.n_unchanged == 12


def test_settings_decide_how_an_index_is_built(tmp_path):
    """Small chunks are many chunks, and the recipe says so."""
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


def test_specs_are_kept_in_the_recipe(folder):
    """An index that was built with a named embedder is opened with it without naming it."""
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
            assert index.ask(QUESTION, method="hybrid").kind == "generated"
    assert {path.name for path in folder.iterdir()} >= {"calls.sqlite", "embeddings.sqlite"}
    for path in folder.rglob("*"):
        assert path.is_dir() or key.encode() not in path.read_bytes(), path


# -- usage --------------------------------------------------------------------------------------


def test_usage_has_stages_and_no_tokens_without_an_llm(index):
    """Each stage's seconds are told; nothing was spent."""
    added = index.add(small_documents()).usage
    assert {"read", "chunk", "entities", "vectors", "store", "embed", "tag"} <= set(added.seconds)
    answer = index.ask(QUESTION).usage
    assert {"open", "search", "answer", "embed"} <= set(answer.seconds)
    for usage in (added, answer):
        assert (usage.llm_calls, usage.total_tokens, usage.cost_usd) == (0, 0, 0.0)
        assert min(usage.seconds.values()) >= 0
        assert usage.total_seconds > 0


def test_usage_adds_what_searching_and_answering_cost(folder):
    """Both calls to the LLM are in the answer's usage, the first alone in the evidence's."""
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
    """A cost that is known in part is not known."""
    replies = (
        Reply(text="", data={"named_entities": []}, cost_usd=0.25),
        Reply(text="ANSWER: x", cost_usd=None),
    )
    with clew.open(folder, models=models(llm=ScriptedLLM(*replies))) as index:
        index.add(small_documents())
        assert index.ask(QUESTION).usage.cost_usd is None


def test_the_budget_reaches_the_context(full):
    """A small budget cuts the context, not the evidence."""
    answer = full.ask(QUESTION, context_tokens=30, chunks=5)
    assert answer.context.n_tokens <= 30 == answer.context.budget_tokens
    assert len(answer.context.passages) < len(answer.evidence.hits) == 5


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
