"""Options shared by several commands, and how their values are used."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce, wraps
from itertools import starmap
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from clew import plugins
from clew.answers.question import Question
from clew.base.options import Option, join_parts, plain_options
from clew.cli.config import INDEX
from clew.cli.plain import one_line, say
from clew.errors import InputError
from clew.methods import DEFAULT

if TYPE_CHECKING:
    from clew.api import Index
    from clew.base.types import Document, Scalar
    from clew.filters import Filter
    from clew.models.budget import Budget
    from clew.models.loading import Specs
    from clew.models.prices import Price

Command = Callable[..., None]
HowToOpen = dict[str, Any]  # keyword arguments of `clew.open`
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

# Opens indexes; the context object of every command, so that a test can put its own.
Opener = Callable[..., "Index"]
# `Index`, or what a package opens of several as one (`clew.openers`), which has the same methods.
Opened = Any

DEFAULT_INDEX = "my.clew"
_TRUTHS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


class _Text(click.types.StringParamType):
    """A text option; in an environment variable, each line is a value."""

    envvar_list_splitter = "\n"


TEXT = _Text()
INDEX_VARIABLE, LLM_VARIABLE, EMBEDDER_VARIABLE = "CLEW_INDEX", "CLEW_LLM", "CLEW_EMBEDDER"


def open_index(folder: Path, **how: Any) -> Index:  # noqa: ANN401 -- of `clew.open`
    """Open the index in `folder` with the models of `specs`."""
    from clew import api

    return api.open_index(folder, **how)


def open_any(opener: Opener, folder: Path, **how: Any) -> Opened:  # noqa: ANN401
    """Open the index in `folder`, or the shards listed there."""
    from clew.index.store import sharded

    if not sharded.is_home(folder):
        return opener(folder, **how)
    opened: Opened = plugins.load("openers", sharded.SHARDS, str(folder)).open_any(folder, **how)
    return opened


def iterate_indexes(opened: Opened) -> Iterable[Index]:
    """Yield the opened indexes: a single one, or each shard."""
    from clew.api import Index

    return [opened] if isinstance(opened, Index) else opened.each()


class FolderOrAddress(click.Path):
    """A folder or a PostgreSQL address, which has a local folder for its cache."""

    def convert(self, value: Any, *given: Any) -> Any:  # noqa: ANN401 -- click's
        if isinstance(value, str) and "://" in value:
            from clew.index.store.opening import folder_of

            return folder_of(value)
        return super().convert(value, *given)


def index_name(folder: Path) -> str:
    """Return the index's name in messages: its folder or address."""
    from clew.index.store import opening

    return opening.describe_place(folder)


def display_name(folder: Path) -> str:
    """Return the index's name, escaped for a terminal."""
    return one_line(index_name(folder))


def text(declared: str, purpose: str, *names: str, **more: Any) -> Decorator:  # noqa: ANN401 -- click's
    """Return a text option, declared as in "--llm SPEC".

    Its value has one of the `names` that the option is not called by. A default is shown, unless
    the purpose tells it.
    """
    words = declared.split()
    flags = [word for word in words if word.startswith("-")]
    metavar = words[-1] if len(words) > len(flags) else None
    more.setdefault("show_default", "default: " not in purpose and more.get("default", "") != "")
    return click.option(*flags, *names, metavar=metavar, help=purpose, **more)


def several(declared: str, purpose: str, name: str, **more: Any) -> Decorator:  # noqa: ANN401 -- click's
    """Return an option that may be repeated."""
    return text(declared, f"{purpose}; may be repeated.", name, multiple=True, **more)


def number(declared: str, purpose: str, *, least: int = 1, **more: Any) -> Decorator:  # noqa: ANN401 -- click's
    """Return an integer option."""
    return text(declared, purpose, type=click.IntRange(min=least), **more)


def path(declared: str, purpose: str, *names: str, is_file: bool = False) -> Decorator:
    """Return a path option, for a file only or also a folder."""
    return text(declared, purpose, *names, type=click.Path(path_type=Path, dir_okay=not is_file))


def choice(declared: str, purpose: str, kind: Callable[[str], Any] = str, **more: Any) -> Decorator:  # noqa: ANN401 -- click's
    """Return an option with a fixed set of values, such as "--places all|even|odd"."""
    name, values = declared.split()
    return text(name, purpose, type=click.Choice([*map(kind, values.split("|"))]), **more)


def flag(flag: str, purpose: str, *names: str) -> Decorator:
    """Return a boolean flag."""
    return text(flag, purpose, *names, is_flag=True)


def index(purpose: str = "Folder of the index.", *, into: bool = False) -> Decorator:
    """Return the option for the folder or address of the index.

    A command that puts something `into` an index calls it so, too. Of all commands it is the same
    option: they have one value in the environment and in `clew.toml`.
    """
    return text(
        f"{'--into ' * into}--index FOLDER",
        f"{purpose} [env var: {INDEX_VARIABLE}; default: {DEFAULT_INDEX}]",
        INDEX,
        type=FolderOrAddress(path_type=Path),
        default=DEFAULT_INDEX,
        envvar=INDEX_VARIABLE,
    )


def param(example: str) -> Decorator:
    """Return the option that sets parameters of the method."""
    purpose = f"Parameter of the method, such as {example}"
    return several("--param NAME=VALUE", purpose, "given", type=TEXT)


reranker = text(
    "--reranker SPEC", "maxsim (default), cosine, cross-encoder:NAME or endpoint:MODEL@URL."
)
reader = text("--answers SPEC", "extractive: quote, and let no LLM write answers.", "reader")
where = several(
    "--where FILTER",
    "Only documents that match every FILTER, such as \"date >= 2024 and tags has 'fram'\"",
    "filters",
    type=TEXT,
)
json = flag("--json", "Print one JSON document.", "as_json")


def usual(command: Command) -> Command:
    """Add the options that most commands have: the index, --json, and the opener."""
    return apply_all([index(), json, click.pass_obj])(command)


def join_filters(filters: Sequence[str]) -> Filter | None:
    """Return the conjunction of all --where filters."""
    if not filters:
        return None
    from clew.filters import parse

    return reduce(and_, map(parse, filters))


def gather_options(
    options: Sequence[Decorator], argument: str, make: Callable[..., Any]
) -> Decorator:
    """Return a decorator that passes the values of `options` to a command as one argument.

    The command has one argument for them, what `make` gives for the values by name.
    """

    @click.command
    @apply_all(options)
    def bare() -> None: ...

    names = [str(each.name) for each in bare.params]

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run_with_values(*args: object, **values: Any) -> None:  # noqa: ANN401 -- click's
            mine = {name: values.pop(name) for name in names}
            command(*args, **{argument: make(**mine)}, **values)

        return apply_all(options)(run_with_values)

    return decorate


def apply_all(decorators: Sequence[Decorator]) -> Decorator:
    """Return the composition of decorators, the first one outermost."""

    def apply(command: Callable[..., Any]) -> Callable[..., Any]:
        for each in reversed(decorators):
            command = each(command)
        return command

    return apply


# -- the LLM and what it may cost -----------------------------------------------------------------


class PaidModels(NamedTuple):
    """The LLM to use, its prices, and a budget."""

    llm: str | None
    prices: Mapping[str, Price]
    budget: Budget | None
    drawn: Mapping[str, Any]  # how replies are drawn, and what is kept of them, for `Specs`

    def choose_models(self, reranker: str | None = None, reader: str | None = None) -> HowToOpen:
        """Return the arguments for opening an index with this LLM and reranker."""
        return {"specs": self.name_models(reranker, reader), "prices": self.prices}

    def join_build(self, build: HowToOpen) -> HowToOpen:
        """Return the arguments for opening or creating an index with this LLM."""
        specs = replace(build["specs"], llm=self.llm, **self.drawn)
        return {**build, "specs": specs, "prices": self.prices}

    def name_models(self, reranker: str | None = None, reader: str | None = None) -> Specs:
        """Return the model specs of an index with this LLM and reranker."""
        from clew.models.loading import Specs

        return Specs(llm=self.llm, reranker=reranker, reader=reader, **self.drawn)


def read_paid(
    llm: str | None,
    priced: Sequence[str],
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    *,
    others: Sequence[str | None] = (),
    prompts: Path | None = None,
    **drawn: Any,  # noqa: ANN401 -- of `Specs`
) -> PaidModels:
    """Return the LLM, prices and budget given by a command's options.

    The budget also limits the LLMs in `others`. Prompts of one's own are checked.
    """
    prices: Mapping[str, Price] = {}
    budget = None
    if priced:
        from clew.models.prices import parse_prices

        prices = {model: price for text in priced for model, price in parse_prices(text).items()}
    bounded = budget_tokens is not None or budget_usd is not None
    if bounded and not any((llm, *others)):
        say("clew: without --llm the budget limits paid embeddings alone", err=True)
    if bounded:
        from clew.models.budget import Budget

        budget = Budget(budget_tokens, budget_usd)
    drawn = {name: value for name, value in drawn.items() if value is not None}
    if prompts is not None:
        from clew.models.loading import Specs

        drawn["prompts"] = str(prompts.absolute())
        Specs(prompts=drawn["prompts"]).read_wording()
    return PaidModels(llm=llm, prices=prices, budget=budget, drawn=drawn)


llm = text(
    "--llm SPEC",
    "LLM: openai:MODEL, openai:MODEL@URL, ollama:MODEL or local:FILE.gguf; a key is read from "
    "OPENAI_API_KEY.",
    envvar=LLM_VARIABLE,
    show_envvar=True,
)
price = several(
    "--price MODEL=IN,OUT", "Dollars per million prompt and completion tokens", "priced", type=TEXT
)
prompts = path("--prompts FOLDER", "Your own prompts ('clew help llm'), or agrag, clue or ket.")
SEED = "seed"
DRAWN_OPTIONS = [
    text("--temperature X", "Sampling temperature. [default: 0]", type=click.FloatRange(0, 2)),
    text("--top-p X", "Share of the likeliest tokens to draw from.", type=click.FloatRange(0, 1)),
    prompts,
]
PAID_OPTIONS = [
    llm,
    price,
    number("--budget-tokens N", "Token limit of this run, prompts included.", least=0),
    text("--budget-usd X", "Dollar limit of this run.", type=click.FloatRange(min=0)),
]
served_options = gather_options([llm, price, prompts], "paid", read_paid)
_seed = number(f"--{SEED} N", "Seed of the LLM's replies.", least=0)
priced_options = gather_options([llm, price, *DRAWN_OPTIONS, _seed], "paid", read_paid)
paid_options = gather_options([*PAID_OPTIONS, *DRAWN_OPTIONS, _seed], "paid", read_paid)
paid_values = gather_options([*PAID_OPTIONS, *DRAWN_OPTIONS, _seed], "paid", dict)  # to be read


# -- a data set's documents -----------------------------------------------------------------------


class DatasetOptions(NamedTuple):
    """The dataset to read documents from if no PATH is given."""

    dataset: Path | None
    corpus: Path | None

    def choose(
        self, paths: Sequence[str], folder: Path
    ) -> tuple[Path | tuple[Document, ...] | list[str], Path]:
        """Return the paths to read, and the folder of their index, as `clew eval` does.

        Raises UsageError unless there are paths or a data set, InputError where it cannot be read.
        """
        if (self.dataset is None) == (not paths):
            raise click.UsageError("Give PATH... or --dataset FILE.")
        if self.dataset is None:
            if self.corpus is not None:
                raise click.UsageError("--corpus goes with --dataset.")
            return list(paths), folder
        load = plugins.load("datasets", "questions", "--dataset")
        dataset = load(self.dataset, corpus=self.corpus)
        source = click.get_current_context().get_parameter_source(INDEX)
        is_named = source is not ParameterSource.DEFAULT
        return dataset.corpus, folder if is_named else Path(f"{dataset.name}.clew")


dataset_options = gather_options(
    [
        path("--dataset FILE", "A data set to index instead of PATH, as 'clew eval' does."),
        path("--corpus PATH", "Documents of the data set, where they are not its own."),
    ],
    "dataset",
    DatasetOptions,
)


# -- a new index ----------------------------------------------------------------------------------


def _read_build(
    embedder: str | None,
    tagger: str | None,
    papers: bool,  # noqa: FBT001 -- click's
    **others: int | str | None,
) -> HowToOpen:
    from clew.index.recipe import PAPERS, Settings
    from clew.models.loading import Specs
    from clew.text.chunking import Chunking

    settings, given = None, {name: n for name, n in others.items() if n is not None}
    if given or papers:
        values: Any = {name: given.pop(name) for name in _KEPT if name in given}
        cut: Any = {name.removeprefix("chunk_"): number for name, number in given.items()}
        usual = PAPERS if papers else Settings()
        settings = replace(usual, chunking=Chunking(**cut), **values)
    return {"specs": Specs(embedder=embedder, tagger=tagger), "settings": settings}


_KEPT = ("vectors", "vector_bits", "unit_bits", "token_bits")

splitter = choice(
    "--splitter nupunkt|nltk", "Sentence splitter; papers use nltk. [default: nupunkt]"
)
embedder = text(
    "--embedder SPEC",
    "minilm (default), multilingual, sentence-transformers:NAME, static:FOLDER, openai:MODEL@URL "
    "or ollama:MODEL.",
    envvar=EMBEDDER_VARIABLE,
    show_envvar=True,
)
tagger = text("--tagger SPEC", "rules (default), spacy[:PIPELINE] with rules, spacy-only:PIPELINE.")
build_options = gather_options(
    [
        number("--chunk-size N", "Tokens of a chunk, at most."),
        number("--chunk-overlap N", "Tokens that a chunk repeats from the one before.", least=0),
        number("--subchunk-depth N", "How often a chunk is halved for keyword search.", least=0),
        splitter,
        choice(
            "--vectors late|separate",
            "One pass over a chunk gives the vectors of its sentences too (late, default where the "
            "embedder can), or each text is embedded alone.",
        ),
        choice(
            "--vector-bits 1|2|4|8|32", "Bits of chunk vectors; 32 is exact. [default: 8]", kind=int
        ),
        choice("--unit-bits 1|2|4|8|32", "Bits of unit and name vectors. [default: 4]", kind=int),
        choice("--token-bits 1|2|4|8|32", "Bits of token vectors. [default: 1]", kind=int),
        flag("--papers", "As papers have it: --vectors separate, and 32 bits of all numbers."),
        embedder,
        tagger,
    ],
    "build",
    _read_build,
)


# -- a question -----------------------------------------------------------------------------------


class QuestionOptions(NamedTuple):
    """The index to search, and the options of a question."""

    folder: Path
    reranker: str | None
    options: Mapping[str, Any]  # of `Question`


def _read_question_options(
    folder: Path,
    method: str | None,
    chunks: int | None,
    given: Sequence[str],
    reranker: str | None,
    filters: Sequence[str],
    *,
    as_of: str | None,
    **plain: object,
) -> QuestionOptions:
    from clew.text.dates import parse_period

    if as_of is not None:
        if parse_period(as_of) is None:
            raise InputError(f"--as-of must be a date such as 2024-05-01, not {as_of!r:.80}")
        filters = [*filters, f"valid on {as_of}"]
    parameters = parse_parameters(method or DEFAULT, given)
    if chunks is not None:
        if "chunks" in parameters:
            raise InputError("--chunks and --param both set chunks: choose one of them")
        parameters["chunks"] = chunks
    return QuestionOptions(
        folder=folder,
        reranker=reranker,
        options={
            "method": method,
            "parameters": parameters,
            "where": join_filters(filters),
            **plain,
        },
    )


def derive_option(name: str, option: Option) -> Decorator:
    """Return the command-line option for an option of a frozen dataclass."""
    words, doc = f"{option.flag} {option.metavar or ''}", option.off or option.doc
    if option.default is True:
        return text(words, doc, name, flag_value=False, default=True, show_default=False)
    if option.type is bool:
        return flag(words, doc, name)
    if option.listed == "repeated":
        return several(words, doc.removesuffix("."), name, type=TEXT)
    if option.listed:

        def split(_context: object, _option: object, text: str | None) -> object:
            return option.default if text is None else split_list(text)

        return text(words, doc, name, callback=split)
    return text(words, doc, name, type=_make_type(option), default=option.default)


def _make_type(option: Option) -> click.ParamType[Any]:
    """Return a click type whose error messages match those of the other interfaces."""
    made: click.ParamType[Any]
    if option.choices:
        made = click.Choice(option.choices)
    elif option.type is str:
        return click.STRING
    else:
        kind = click.IntRange if option.type is int else click.FloatRange
        most = None if option.most == math.inf else option.most
        made = kind(option.least, most, max_open=option.is_below)  # type: ignore[arg-type]  # whole ones
    convert = made.convert

    def convert_or_refuse(value: Any, *given: Any) -> Any:  # noqa: ANN401 -- click's
        try:
            return convert(value, *given)
        except click.BadParameter:
            made.fail(option.refuse(value), *given)

    made.convert = convert_or_refuse  # type: ignore[method-assign,assignment]
    return made


def derive_options(value: type, door: str) -> list[Decorator]:
    """Return the command-line options of a frozen dataclass that a command has."""
    return list(starmap(derive_option, plain_options(value, door).items()))


def add_derived_options(value: type, door: str, argument: str) -> Decorator:
    """Return a decorator that adds the options of a frozen dataclass to a command."""

    def join(**given: object) -> dict[str, Any]:
        return join_parts(value, given)

    return gather_options(derive_options(value, door), argument, join)


def question_options(door: str) -> Decorator:
    """Return the options of `Question` for a command."""
    usual = f"{DEFAULT}; auto where the index has an imported graph"
    return gather_options(
        [
            index(),
            text("--method", "Retrieval method: 'clew methods'.", show_default=usual),
            number("--chunks N", "Chunks to find. [default: the method's]"),
            param("depth=2"),
            reranker,
            where,
            text("--as-of DATE", "Only documents valid on a date such as 2024-05-01 or 2024."),
            *derive_options(Question, door),
        ],
        "flags",
        _read_question_options,
    )


def parse_parameters(method: str, given: Sequence[str]) -> dict[str, Scalar]:
    """Parse NAME=VALUE settings by the types of the method's parameters.

    Raises UnknownMethod, and InputError for a setting without a name or value, or a name that
    comes twice. What does not fit a parameter stays text, which `clew.answers.method` refuses
    with a reason.
    """
    from clew import methods

    kind = methods.load(method)
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    parameters: dict[str, Scalar] = {}
    for setting in given:
        name, is_set, value = setting.partition("=")
        if not name or not is_set:
            raise InputError(f"--param takes NAME=VALUE, not {setting!r}")
        if name in parameters:
            raise InputError(f"--param sets {name} twice: choose one of the values")
        parameters[name] = _parse_value(value, defaults.get(name))
    return parameters


def _parse_value(text: str, default: object) -> Scalar:
    if isinstance(default, bool):
        return _TRUTHS.get(text.casefold(), text)
    if isinstance(default, int | float):
        try:
            value = type(default)(text)
        except ValueError:
            return text
        return value if math.isfinite(value) else text
    return text


def split_list(text: str) -> list[str]:
    """Return the distinct parts between commas."""
    return list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def default_index(command: str = "ask") -> Path:
    """Return the default index of a command.

    That is what the environment names, else `clew.toml`, else the default.
    """
    context = click.get_current_context().find_root()
    program = context.command
    assert isinstance(program, click.Group)  # noqa: S101 -- that of all commands
    subcommand = program.commands[command]
    values = (context.default_map or {}).get(command)
    inner = click.Context(subcommand, info_name=command, parent=context, default_map=values)
    option = next(each for each in subcommand.params if each.name == INDEX)
    folder: Path = option.type_cast_value(inner, option.consume_value(inner, {})[0])
    return folder


def command_line(command: str, *words: str, folder: Path) -> str:
    """Return a command line to suggest, with --index where needed."""
    place = [] if folder == default_index(command) else ["--index", index_name(folder)]
    return one_line(" ".join(["clew", command, *map(_quote_word, [*words, *place])]))


def _quote_word(word: str) -> str:
    """Quote a word for any shell, with double quotes where possible."""
    import shlex

    plain = shlex.quote(word)
    return plain if plain == word or set(word) & set('"$`\\!') else f'"{word}"'
