"""Request bodies and query parameters with their limits.

Processes of jobs read it, so it needs no more than that. What is bounded here is described with
these bounds, since both come from the same types.
"""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, LiteralString, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from clew import methods
from clew.answers.question import MOST_CHARACTERS, OPTIONS, Question
from clew.base.options import Option, plain_options
from clew.base.types import Exchange

LONGEST = 20_000  # characters of a text
LONGEST_FILTER = 10_000  # characters of a filter
MOST_TOKENS = 10**12  # that a budget may be of
MOST_USD = 1e9
MOST_OFFSET = 10**9
MOST_LISTED, LISTED = 1_000, 100  # of a list in one reply: at the most, and by default
_MOST_DIGITS = 20
_MOST_OF_LIST, _LONGEST_NAME, _MOST_COUNTED = 100, 200, 10**9  # of an option

# More than blanks. What is a blank to Python, to JavaScript or to Rust is none here.
NOT_BLANK = r"[^\s\x1c-\x1f\x85\ufeff]"
_not_blank = re.compile(NOT_BLANK)


class Nullable(BaseModel):
    """A JSON model in which null for an optional field equals leaving it out."""

    @model_validator(mode="before")
    @classmethod
    def leave_out_nulls(cls, given: object) -> object:
        """Drop nulls for fields that have a default."""
        if not isinstance(given, dict):
            return given
        optional = {name for name, field in cls.model_fields.items() if not field.is_required()}
        return {k: value for k, value in given.items() if value is not None or k not in optional}


def _describe_nulls(schema: dict[str, Any]) -> None:
    """Describe in a schema that optional fields accept null."""
    null = {"type": "null"}
    for name in set(schema.get("properties", ())).difference(schema.get("required", ())):
        given = schema["properties"][name]
        about = {key: given.pop(key) for key in ("default", "description", "title") if key in given}
        kinds = given.pop("anyOf", None) or [given]
        schema["properties"][name] = {"anyOf": [*(k for k in kinds if k != null), null], **about}


class Body(Nullable):
    """The JSON body of a request; unknown fields are errors."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, json_schema_extra=_describe_nulls
    )


class QueryParameters(BaseModel):
    """The query parameters of a request; unknown ones are errors."""

    model_config = ConfigDict(extra="forbid")


class Loose(Nullable):
    """A JSON body from other programs; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore")


def _more_than_blanks(sentence: LiteralString) -> AfterValidator:
    def check(text: str) -> str:
        if _not_blank.search(text) is None:
            raise PydanticCustomError("empty", sentence)
        return text

    return AfterValidator(check)


def _check_whole_number(text: object) -> object:
    """Raise an error for text other than digits, which pydantic converts to an integer."""
    is_whole = isinstance(text, int) or (
        isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    )
    if not is_whole:
        raise PydanticCustomError("int_parsing", "a whole number is made of digits")
    return text


_FULL: dict[str, JsonValue] = {"minLength": 1, "pattern": NOT_BLANK}
Text = Annotated[str, Field(json_schema_extra=_FULL), _more_than_blanks("the text is empty")]
Asking = Annotated[
    str,
    Field(max_length=MOST_CHARACTERS, json_schema_extra=_FULL),
    _more_than_blanks("the question is empty: ask something"),
]
Method = Annotated[
    str,
    # The names are only described: what loads methods refuses any other.
    Field(max_length=100, json_schema_extra=lambda s: s.update(enum=list(methods.names()))),
]
Whole = Annotated[int, BeforeValidator(_check_whole_number)]  # behind the question mark


def one_of(values: Sequence[str]) -> Any:  # noqa: ANN401 -- what stands in an annotation
    """Return the annotation of a text restricted to some values."""

    def check(text: str) -> str:
        if text not in values:
            raise PydanticCustomError("enum", "choose one of {known}", {"known": ", ".join(values)})
        return text

    return Annotated[str, Field(json_schema_extra={"enum": list(values)}), AfterValidator(check)]


# 3.0 is 3, one number to JSON; it stands behind the bounds of a number.
INTEGRAL = BeforeValidator(lambda n: int(n) if isinstance(n, float) and n.is_integer() else n)


class Part(QueryParameters):
    """The offset and limit of a page of a list."""

    offset: Whole = Field(0, ge=0, le=MOST_OFFSET, description="how many to leave out")
    limit: Whole = Field(LISTED, ge=0, le=MOST_LISTED, description="how many to give")


# -- a question -----------------------------------------------------------------------------------

Number = str | int | float | bool | None
_MOST_TURNS = 100  # of a conversation


class PastTurn(Body):
    """An earlier question with its answer."""

    question: str = Field(max_length=LONGEST)
    answer: str = Field(max_length=200_000)


class AskedBody(Body):
    """What all questions have in common."""

    method: Method | None = Field(default=None, description="as GET /methods lists them")
    where: str | None = Field(
        default=None, max_length=LONGEST_FILTER, description=OPTIONS["where"].doc
    )
    parameters: dict[str, Number] = Field(
        default_factory=dict, description="of the method, as GET /methods lists them"
    )
    budget_tokens: Annotated[int, Field(ge=0, le=MOST_TOKENS), INTEGRAL] | None = Field(
        default=None, description="that models may take for this"
    )
    budget_usd: float | None = Field(default=None, ge=0, le=MOST_USD)

    def as_question(self, text: str, **others: Any) -> Question:  # noqa: ANN401 -- its fields
        """Return a question with these options; `others` take precedence.

        Raises InputError where one cannot be met.
        """
        names = type(self).model_fields
        plain = {name: getattr(self, name) for name in OPTIONS if name in names}
        return Question(text=text, **{**plain, **others})


class ConversationBody(AskedBody):
    """The fields that may follow the turns of a conversation."""

    history: list[PastTurn] = Field(
        default_factory=list, max_length=_MOST_TURNS, description=OPTIONS["history"].doc
    )

    def as_question(self, text: str, **others: Any) -> Question:  # noqa: ANN401 -- its fields
        history = [Exchange(turn.question, turn.answer) for turn in self.history]
        return super().as_question(text, history=history, **others)


B = TypeVar("B", bound=Body)


def with_options(value: type, door: str) -> Callable[[type[B]], type[B]]:
    """Return a decorator that adds the plain options of a value to a body, except declared ones."""

    def decorate(body: type[B]) -> type[B]:
        options = {
            name: _field(option)
            for name, option in plain_options(value, door).items()
            if name not in body.model_fields
        }
        return create_model(body.__name__, __base__=body, __doc__=body.__doc__, **options)  # type: ignore[call-overload, no-any-return]

    return decorate


def _field(option: Option) -> tuple[Any, Any]:
    """Return the annotation and the default of an option."""
    kind: Any = option.type
    if option.listed:
        kind = Annotated[list[str], Field(max_length=_MOST_OF_LIST)]
    elif option.choices:
        kind = Annotated[Literal[option.choices], _refuse_as(option)]
    elif option.type is str:
        kind = Annotated[str, Field(max_length=_LONGEST_NAME)]
    elif option.type is not bool:
        most = min(option.most, _MOST_COUNTED)
        bounds: dict[str, Any] = {"ge": option.least, "lt" if option.is_below else "le": most}
        whole = [INTEGRAL] if kind is int else []
        kind = Annotated[kind, Field(**bounds), *whole, _refuse_as(option)]
    annotation = kind if option.default is not None else kind | None
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    return annotation, Field(default=default, description=option.doc)


def _refuse_as(option: Option) -> WrapValidator:
    """Return a validator whose messages match those of the other interfaces."""

    def check(value: object, validate: ValidatorFunctionWrapHandler) -> object:
        try:
            return validate(value)
        except ValidationError:
            why = option.refuse(value)
        raise PydanticCustomError("option", "{why}", {"why": why})

    return WrapValidator(check)
