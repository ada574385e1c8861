"""Models by name: every kind is found, and an unknown one is answered with the known."""

import pytest

from clew.errors import InputError
from clew.extras.models.local import LocalChat
from clew.extras.models.openai import OpenAIChat, OpenAIEmbeddings
from clew.extras.models.packaged import (
    CrossEncoderReranker,
    SentenceTransformersEmbedder,
    StaticEmbedder,
)
from clew.extras.models.served import RerankEndpoint
from clew.extras.models.spacy import DEFAULT_PIPELINE, SpacyTagger, UnitedTagger
from clew.index.recipe import from_recipe
from clew.models.budget import Budget
from clew.models.cache import CachedEmbedder
from clew.models.ledger import Ledger
from clew.models.loading import (
    OPENAI_URL,
    Specs,
    load_embedder,
    load_llm,
    load_models,
    load_reranker,
    load_tagger,
)
from clew.models.maxsim import Cosine, MaxSim
from clew.models.minilm import MiniLM
from clew.models.rules import RuleTagger
from clew.testing import HashEmbedder, HashTokenEmbedder

URL = "http://localhost:8000/v1"
KEY = "sk-very-secret"


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("minilm", MiniLM),
        ("minilm-float32", MiniLM),
        ("sentence-transformers:org/model", SentenceTransformersEmbedder),
        ("static:some/folder", StaticEmbedder),
        ("openai:text-embedding-3-small", OpenAIEmbeddings),
        (f"openai:nomic:v1.5@{URL}", OpenAIEmbeddings),
    ],
)
def test_every_kind_of_embedder(spec, kind):
    assert isinstance(load_embedder(spec), kind)


def test_names_and_addresses_reach_the_model(tmp_path):
    """Colons belong to the name, what is behind the @ is the address."""
    embedder = load_embedder(f"openai:nomic:v1.5@{URL}")
    assert (embedder.model, embedder.base_url) == ("nomic:v1.5", URL)
    assert load_embedder("openai:small").base_url == OPENAI_URL
    assert load_llm(f"openai:qwen3:8b@{URL}").chat.model == "qwen3:8b"
    assert str(load_embedder("static:some/folder").folder) == "some/folder"
    cache = tmp_path / "embeddings.sqlite"
    assert isinstance(load_embedder("openai:small", cache=cache), CachedEmbedder)
    assert isinstance(load_embedder("minilm", cache=cache), MiniLM)
    assert not cache.exists()
    chosen = load_models(Specs())
    assert isinstance(chosen.embedder, MiniLM)
    assert isinstance(chosen.tagger, RuleTagger)
    assert isinstance(chosen.reranker, MaxSim)
    assert chosen.reranker.embedder is chosen.embedder
    assert chosen.llm is None


def test_every_kind_of_llm(tmp_path):
    ledger, budget = Ledger(tmp_path / "ledger.sqlite"), Budget(tokens=10)
    llm = load_llm("openai:gpt", ledger=ledger, budget=budget, prices={"gpt": (1.0, 2.0)})
    assert isinstance(llm.chat, OpenAIChat)
    assert (llm.ledger, llm.budget, llm.price) == (ledger, budget, (1.0, 2.0))
    assert isinstance(load_models(Specs(llm="openai:gpt")).llm.chat, OpenAIChat)
    local = load_llm("local:C:/models/a@b.gguf").chat
    assert isinstance(local, LocalChat)
    assert str(local.file) == "C:/models/a@b.gguf"


def test_spacy_alone_is_as_papers_have_it():
    assert load_tagger("spacy-only:en_core_web_trf") == SpacyTagger("en_core_web_trf")


@pytest.mark.parametrize(
    ("spec", "pipeline"),
    [("spacy", DEFAULT_PIPELINE), ("spacy:de_core_news_sm", "de_core_news_sm")],
)
def test_spacy_is_united_with_the_rules(spec, pipeline):
    tagger = load_tagger(spec)
    assert isinstance(tagger, UnitedTagger)
    assert isinstance(tagger.first, RuleTagger)
    assert isinstance(tagger.second, SpacyTagger)
    assert tagger.second.pipeline == pipeline


@pytest.mark.parametrize(
    ("spec", "embedder", "kind"),
    [
        (None, HashTokenEmbedder(), MaxSim),
        (None, HashEmbedder(), Cosine),
        ("maxsim", HashTokenEmbedder(), MaxSim),
        ("cosine", HashTokenEmbedder(), Cosine),
        ("cross-encoder:org/model", HashEmbedder(), CrossEncoderReranker),
        (f"endpoint:jina@{URL}", HashEmbedder(), RerankEndpoint),
    ],
)
def test_every_kind_of_reranker(spec, embedder, kind):
    """Each documented form gives its class; the default is the best that the embedder can."""
    assert isinstance(load_reranker(spec, embedder), kind)


def load_hashed(spec):
    return load_reranker(spec, HashEmbedder())


@pytest.mark.parametrize(
    ("load_it", "spec", "message"),
    [
        (load_hashed, "maxsim", "maxsim needs token vectors, which hash-64 does not have"),
        (load_hashed, "endpoint:jina", "'endpoint:jina' lacks its address: write endpoint:jina@"),
        (load_llm, "local", "'local' lacks its file: write local:FILE.gguf"),
        (load_llm, "local:", "'local' lacks its file: write local:FILE.gguf"),
        # A variable that was not set must not send texts, or a key, to somebody else.
        (load_llm, "openai:m@", "'openai:m@' has no address after the @: write openai:m@URL"),
        (load_embedder, "openai:m@", "'openai:m@' has no address after the @: write openai:m@U"),
        (load_hashed, "endpoint:m@", "'endpoint:m@' has no address after the @: write endpoint"),
    ],
)
def test_what_a_model_lacks_is_named(load_it, spec, message):
    with pytest.raises(InputError, match=message):
        load_it(spec)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: load_embedder("bert"),
            """there is no embedder 'bert': choose one of minilm, minilm-float32, \
multilingual, sentence-transformers:NAME, static:FOLDER, openai:MODEL@URL, ollama:MODEL""",
        ),
        (
            lambda: load_tagger("flair"),
            (
                "there is no tagger 'flair': choose one of rules, spacy, spacy:PIPELINE,"
                " spacy-only:PIPELINE"
            ),
        ),
        (
            lambda: load_reranker("bm25", HashEmbedder()),
            """there is no reranker 'bm25': choose one of maxsim, cosine, cross-encoder:NAME, \
endpoint:MODEL@URL""",
        ),
        (
            lambda: load_llm("claude"),
            """there is no LLM 'claude': choose local:FILE.gguf, ollama:MODEL, openai:MODEL \
or openai:MODEL@URL""",
        ),
    ],
    ids=["embedder", "tagger", "reranker", "llm"],
)
def test_an_unknown_kind_lists_the_known(call, message):
    with pytest.raises(InputError) as error:
        call()
    assert str(error.value) == message


@pytest.mark.parametrize("spec", ["openai", "openai:", "openai:@http://x", "static", ""])
def test_a_kind_without_its_name_is_no_model(spec):
    with pytest.raises(InputError, match="there is no embedder"):
        load_embedder(spec)
    with pytest.raises(InputError, match="there is no LLM"):
        load_llm(spec)


def test_an_address_of_one_s_own_needs_no_key(monkeypatch):
    """Ollama or vLLM want none; where one is set it is used; OpenAI always wants one."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert load_llm(f"openai:m@{URL}").chat.api_key_env == ""
    assert load_embedder(f"openai:m@{URL}").api_key_env == ""
    assert load_reranker(f"endpoint:m@{URL}", HashEmbedder()).api_key_env == ""
    assert load_llm("openai:m").chat.api_key_env == "OPENAI_API_KEY"
    assert load_embedder("openai:m").api_key_env == "OPENAI_API_KEY"
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert load_llm(f"openai:m@{URL}").chat.api_key_env == "OPENAI_API_KEY"


def test_the_key_is_never_shown(monkeypatch, tmp_path):
    """Not in a model's repr, not in its name, not in an error about its spec."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    paid = [
        load_llm("openai:gpt"),
        load_embedder("openai:small"),
        load_reranker(f"endpoint:jina@{URL}", HashEmbedder()),
        OpenAIChat(base_url=URL, model="m", api_key=KEY),
        OpenAIEmbeddings(base_url=URL, model="m", api_key=KEY),
        RerankEndpoint(base_url=URL, model="m", api_key=KEY),
        load_models(Specs(llm="openai:gpt", embedder="openai:small"), cache=tmp_path / "c"),
    ]
    for model in paid:
        assert KEY not in repr(model)
        assert KEY not in str(getattr(model, "name", ""))
    with pytest.raises(InputError, match="set OPENAI_API_KEY instead") as error:
        load_embedder("openai:small@https://ada:hunter2@example.org/v1")
    assert "hunter2" not in str(error.value)


def test_what_is_left_open_comes_from_the_recipe():
    recipe = {"embedder_spec": "openai:small", "tagger_spec": "spacy:nl", "chunk_size": 400}
    assert from_recipe(Specs(llm="openai:gpt"), recipe) == Specs(
        embedder="openai:small", tagger="spacy:nl", llm="openai:gpt"
    )
    assert from_recipe(Specs(embedder="minilm"), recipe).embedder == "minilm"
    assert from_recipe(Specs(), {}) == Specs()
    assert from_recipe(Specs(), {"embedder_spec": None}).embedder is None
    recipe = {"tagger_spec": "spacy", "tagger": "rules-3+spacy:en_core_web_md-3.8.0"}
    assert from_recipe(Specs(), recipe).tagger == "spacy:en_core_web_md"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        (None, "http://localhost:11434/v1"),
        ("", "http://localhost:11434/v1"),
        ("box", "http://box:11434/v1"),
        ("0.0.0.0", "http://localhost:11434/v1"),  # noqa: S104 -- is not listened on
        ("box:8080", "http://box:8080/v1"),
        ("https://box.example:443", "https://box.example:443/v1"),
    ],
)
def test_ollama(monkeypatch, host, url):
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    if host is not None:
        monkeypatch.setenv("OLLAMA_HOST", host)
    chat = load_llm("ollama:qwen3").chat
    assert (chat.base_url, chat.model, chat.api_key_env) == (url, "qwen3", "")
    embedder = load_embedder("ollama:nomic-embed-text")
    assert (embedder.base_url, embedder.model) == (url, "nomic-embed-text")
    assert load_llm("ollama:qwen3@http://other:1/v1").chat.base_url == "http://other:1/v1"


@pytest.mark.parametrize(
    ("load", "spec", "near"),
    [
        (load_embedder, "minlm", "minilm"),
        (load_embedder, "opnai:text@https://x.example/v1", "openai"),
        (load_tagger, "rule", "rules"),
        (lambda spec: load_reranker(spec, HashEmbedder()), "cosin", "cosine"),
        (load_llm, "olama:llama3", "ollama"),
    ],
)
def test_a_spec_that_is_misspelt_is_answered_by_the_nearest(load, spec, near):
    with pytest.raises(InputError, match=rf"there is no .* \(did you mean '{near}'\?\): choose"):
        load(spec)
