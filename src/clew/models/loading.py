"""Load models by name: "minilm", "spacy", "openai:gpt-4o-mini@https://api.openai.com/v1".

A spec is KIND, KIND:NAME or KIND:NAME@URL; other packages bring kinds of theirs (`clew.plugins`).
The spec of an index's embedder and tagger is saved in its recipe, so that it is named once. API
keys are read from the environment (OPENAI_API_KEY), and never saved; an endpoint with a URL of its
own may do without one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from clew import plugins
from clew.base.runtime import arguments
from clew.base.runtime.lazy import compile_re
from clew.errors import InputError, suggest
from clew.models import (
    LLM,
    Embedder,
    Extractor,
    Models,
    Reranker,
    Tagger,
    gives_tokens,
    load_module,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clew.models import Chat, PaidEmbedder, Wording
    from clew.models.budget import Budget
    from clew.models.ledger import Ledger
    from clew.models.prices import Price
    from clew.models.sqlite import Place

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
_EMBEDDERS = (
    "minilm",
    "minilm-float32",
    "multilingual",
    "sentence-transformers",
    "static",
    "openai",
    "ollama",
)
_TAGGERS = ("rules", "spacy", "spacy-only")
_RERANKERS = ("maxsim", "cosine", "cross-encoder", "endpoint")
_LLMS = ("local", "ollama", "openai")
_USER = compile_re(r"//[^/]*@")


class Sampling(NamedTuple):
    """The sampling parameters of an LLM. None leaves a value to the endpoint."""

    temperature: float = 0.0
    top_p: float | None = None
    seed: int | None = None


GREEDY = Sampling()
_DRAWN = {
    "temperature": arguments.number(0, 2),
    "top_p": arguments.number(0, 1),
    "seed": arguments.whole_numbers(0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Specs:
    """Which models to use. None leaves the choice to the index, or to the default."""

    embedder: str | None = None
    tagger: str | None = None
    reranker: str | None = None
    llm: str | None = None
    reader: str | None = None  # of answers without an LLM: extractive
    temperature: float = 0.0  # of all LLMs, and so are the next two
    top_p: float | None = None
    seed: int | None = None
    prompts: str | None = None  # a folder of them, in place of Clew's own

    def __post_init__(self) -> None:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        given = {name: value for name, value in values.items() if value is not None}
        arguments.check_arguments(given, {**dict.fromkeys(given, arguments.TEXT), **_DRAWN})
        if self.reader not in (None, "extractive"):
            raise InputError(f"unknown reader {self.reader!r}: choose extractive")

    @property
    def sampling(self) -> Sampling:
        """The sampling parameters of all LLMs."""
        return Sampling(temperature=self.temperature, top_p=self.top_p, seed=self.seed)

    def read_wording(self) -> Wording | None:
        """Return the user's prompts. Raises InputError for a folder without any."""
        if self.prompts is None:
            return None
        from clew.models.prompts import read_wording

        return read_wording(Path(self.prompts))


def load_models(
    specs: Specs,
    *,
    cache: Place | None = None,
    prices: Mapping[str, Price] | None = None,
    exact: bool = False,
) -> Models:
    """Load models; the defaults are MiniLM, rules, MaxSim and no LLM.

    Paid embeddings are cached in `cache`, `exact` as they came, and `prices` say what models cost;
    the LLM is as `load_llm` makes it. Raises InputError for a spec that names nothing.
    """
    embedder = load_embedder(specs.embedder or "minilm", cache=cache, prices=prices, exact=exact)
    llm = None
    if specs.llm:
        wording = specs.read_wording()
        llm = load_llm(specs.llm, prices=prices, sampling=specs.sampling, wording=wording)
    return Models(
        embedder=embedder,
        tagger=load_tagger(specs.tagger or "rules"),
        reranker=load_reranker(specs.reranker, embedder),
        llm=llm,
        writes=specs.reader is None,
    )


def load_embedder(
    spec: str,
    *,
    cache: Place | None = None,
    prices: Mapping[str, Price] | None = None,
    exact: bool = False,
) -> Embedder:
    """Return the embedder of a spec; paid vectors are cached in `cache`."""
    kind, name, url = _parts(spec)
    if spec in {"minilm", "minilm-float32"}:
        from clew.models.minilm import MiniLM

        return MiniLM(float32=spec == "minilm-float32")
    if spec == "multilingual":
        return cast("Embedder", load_module("packaged").MultilingualE5())
    if kind == "sentence-transformers" and name:
        return cast("Embedder", load_module("packaged").SentenceTransformersEmbedder(name))
    if kind == "static" and name:
        return cast("Embedder", load_module("packaged").StaticEmbedder(Path(name)))
    if kind == "ollama" and name:
        kind, url = "openai", url or _ollama()
    if kind == "openai" and name:
        from clew.models.cache import CachedEmbedder

        paid: PaidEmbedder = load_module("openai").OpenAIEmbeddings(
            base_url=url or OPENAI_URL,
            model=name,
            api_key_env=_key_variable(url),
            prices=prices or {},
        )
        return CachedEmbedder(paid, cache, exact=exact) if cache else paid
    if (brought := plugins.find("embedders", kind)) is not None:
        return cast("Embedder", brought(spec.partition(":")[2]))
    raise InputError(
        f"there is no embedder {spec!r}{suggest(kind, _EMBEDDERS)}: choose one of minilm,"
        f" minilm-float32, multilingual, sentence-transformers:NAME, static:FOLDER,"
        f" openai:MODEL@URL, ollama:MODEL"
    )


def load_tagger(spec: str) -> Tagger:
    """Return the tagger of a spec; "spacy" combines a spaCy pipeline with the rules."""
    from clew.models.rules import RuleTagger

    kind, name, _ = _parts(spec)
    if kind == "rules":
        return RuleTagger()
    if kind in {"spacy", "spacy-only"}:  # the latter as papers have it
        spacy = load_module("spacy")
        tagger = spacy.SpacyTagger(name or spacy.DEFAULT_PIPELINE)
        if kind == "spacy":
            tagger = spacy.UnitedTagger(RuleTagger(), tagger)
        return cast("Tagger", tagger)
    if (brought := plugins.find("taggers", kind)) is not None:
        return cast("Tagger", brought(spec.partition(":")[2]))
    raise InputError(
        f"there is no tagger {spec!r}{suggest(kind, _TAGGERS)}: choose one of rules, spacy,"
        f" spacy:PIPELINE, spacy-only:PIPELINE"
    )


def load_extractor(triples: str, tagger: Tagger) -> Extractor | None:
    """Return the named LLM-free extractor of triples, or None."""
    if triples == "cooccurrence":
        from clew.models.cooccurrence import Cooccurrence

        return Cooccurrence(tagger)
    return None


def load_reranker(spec: str | None, embedder: Embedder) -> Reranker:
    """Return the reranker of a spec, by default the best for `embedder`."""
    kind, name, url = _parts(spec or ("maxsim" if gives_tokens(embedder) else "cosine"))
    if kind == "maxsim" and gives_tokens(embedder):
        from clew.models.maxsim import MaxSim

        return MaxSim(embedder)
    if kind == "maxsim":
        raise InputError(f"maxsim needs token vectors, which {embedder.name} does not have")
    if kind == "cosine":
        from clew.models.maxsim import Cosine

        return Cosine(embedder)
    if kind == "cross-encoder" and name:
        return cast("Reranker", load_module("packaged").CrossEncoderReranker(name))
    if kind == "endpoint" and name and url:
        endpoint = load_module("served").RerankEndpoint
        return cast("Reranker", endpoint(base_url=url, model=name, api_key_env=_key_variable(url)))
    if kind == "endpoint" and name:
        raise InputError(f"the reranker {spec!r} lacks its address: write {spec}@URL")
    if spec is not None and (brought := plugins.find("rerankers", kind)) is not None:
        return cast("Reranker", brought(spec.partition(":")[2], embedder))
    raise InputError(
        f"there is no reranker {spec!r}{suggest(kind, _RERANKERS)}: choose one of maxsim, cosine,"
        f" cross-encoder:NAME, endpoint:MODEL@URL"
    )


@arguments.check_values({"spec": arguments.TEXT})
def load_llm(
    spec: str,
    *,
    ledger: Ledger | None = None,
    budget: Budget | None = None,
    prices: Mapping[str, Price] | None = None,
    sampling: Sampling = GREEDY,
    wording: Wording | None = None,
) -> LLM:
    """Return the LLM of a spec.

    Its replies are kept in `ledger`, it buys within `budget`, `prices` say what models cost, and it
    is asked in a `wording`.
    Raises InputError for a spec that names nothing, and a `sampling` that its LLM does not take.
    """
    from clew.models.recorded_llm import recorded

    return recorded(_chat(spec, prices or {}, sampling), ledger, budget, prices, wording)


def _chat(spec: str, prices: Mapping[str, Price], sampling: Sampling) -> Chat:
    drawn: dict[str, Any] = sampling._asdict()
    if spec == "local" or spec.startswith("local:"):
        file = spec.partition(":")[2]  # a path may have any character in it
        if not file:
            raise InputError("the LLM 'local' lacks its file: write local:FILE.gguf")
        return cast("Chat", load_module("local").LocalChat(file=Path(file), **drawn))
    kind, name, url = _parts(spec)
    if kind == "ollama" and name:
        kind, url = "openai", url or _ollama()
    if kind == "openai" and name:
        chat = load_module("openai").OpenAIChat(
            base_url=url or OPENAI_URL,
            model=name,
            api_key_env=_key_variable(url),
            prices=prices,
            **drawn,
        )
        return cast("Chat", chat)
    if (brought := plugins.find("llms", kind)) is not None:
        if sampling != GREEDY:
            raise InputError(f"the LLM {spec!r} has no temperature, top-p and seed: leave them out")
        return cast("Chat", brought(spec.partition(":")[2]))
    raise InputError(
        f"there is no LLM {spec!r}{suggest(kind, _LLMS)}: choose local:FILE.gguf, ollama:MODEL,"
        f" openai:MODEL or openai:MODEL@URL"
    )


def _ollama() -> str:
    """Return the URL of Ollama's OpenAI API: on this machine, or from OLLAMA_HOST."""
    host = os.environ.get("OLLAMA_HOST", "").strip() or "localhost"
    parts = urlsplit(host if "://" in host else f"http://{host}")
    name = "localhost" if parts.hostname in {None, "0.0.0.0"} else parts.hostname  # noqa: S104 -- as Ollama's own clients read it
    return f"{parts.scheme}://{name}:{parts.port or 11434}/v1"


def _key_variable(url: str) -> str:
    """Return the environment variable of an API key; custom endpoints need none."""
    return KEY_VARIABLE if not url or os.environ.get(KEY_VARIABLE) else ""


def _parts(spec: str) -> tuple[str, str, str]:
    kind, _, rest = spec.partition(":")
    name, at, url = rest.partition("@")
    if at and not url:
        raise InputError(f"{spec!r} has no address after the @: write {kind}:{name}@URL")
    if _USER.search(url):
        raise InputError(
            f"the address of {kind}:{name} holds a user or password, which the index would save: "
            f"set {KEY_VARIABLE} instead"
        )
    return kind, name, url
