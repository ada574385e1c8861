"""Read N-Triples and Turtle as triples of names. Needs the extra `rdf`.

A thing is called by its label, in English or no language where it can be, else by the end of its
IRI; so is a relation, with `birthPlace` as `birth place`. Two things stay two: where their names
have the same key, the one whose IRI comes later has the end of its IRI behind its name, or
all of it. `rdf:type` gives a triple, and the entity's type if it is one of Clew's. Comments and
abstracts become descriptions. Of literals with a language only the English ones are read, or where
a file has none, those of its first language. A blank node has no name, so triples with one are only
counted.

The parser is given one line at a time, so what it yields is of the line that it was given last. One
line cannot spoil the others: after an error it begins anew behind the line that it stopped at,
always in N-Triples, and in Turtle if it read on, as it does behind a quote that is not closed.
pyoxigraph parses. rdflib is some sixty times slower, holds the graph in memory and ends at the
first error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from textwrap import shorten
from typing import IO, TYPE_CHECKING, NamedTuple, cast
from urllib.parse import quote, unquote

from clew.base.runtime.arguments import SURROGATE
from clew.base.runtime.lazy import needs
from clew.base.types import Described, Skipped, Triple
from clew.extras.connect.imports.stated import (
    TOO_LONG,
    Stated,
    choose_unused_name,
    explain_refusal,
    split_words,
)
from clew.readers.decode import open_text
from clew.readers.triples import entity_type
from clew.readers.walk import File
from clew.text.normalize import collapse

if TYPE_CHECKING:
    from pyoxigraph import Literal, Quad, QuadParser

_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_SCHEMA = ("http://schema.org/", "https://schema.org/")
_LABELS = {
    iri: place
    for place, iri in enumerate(
        (
            "http://www.w3.org/2000/01/rdf-schema#label",
            "http://www.w3.org/2004/02/skos/core#prefLabel",
            *(f"{schema}name" for schema in _SCHEMA),
            "http://xmlns.com/foaf/0.1/name",
        )
    )
}
_DESCRIPTIONS = {
    "http://www.w3.org/2000/01/rdf-schema#comment",
    "http://purl.org/dc/terms/description",
    "http://purl.org/dc/elements/1.1/description",
    *(f"{schema}description" for schema in _SCHEMA),
    "http://www.w3.org/2004/02/skos/core#definition",
    "http://dbpedia.org/ontology/abstract",
}
_NO_CHARACTER = r"\uNONE"  # in the place of what is none: the parser then refuses what it is in

Rank = tuple[str, int, str]  # language, place in `_LABELS`, text: the least is the name


class _IriNames(NamedTuple):
    """The names of a file's IRIs, and the language of its literals."""

    entities: Mapping[str, str]  # nothing for one whose name would be too long
    relations: Mapping[str, str]
    types: Mapping[str, str]  # one of `ENTITY_TYPES` for each class
    language: str


class _Feed:
    """Feeds a parser one line per read, repeating lines to be parsed again."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.line = 0  # the number of the last one that was given
        self._lines = iter(lines)
        self._given: list[str] = []  # the last ones, up to `line`
        self._again: list[str] = []  # to be given before the next of `_lines`, the last one first
        self._rest = memoryview(b"")  # of a line that was too long for one read

    def read(self, size: int) -> bytes:
        """Return the next line, limited to `size`, "" at the end."""
        part = self._rest or memoryview(self._next())
        self._rest = part[size:]
        return bytes(part[:size])

    def _next(self) -> bytes:
        line = self._again.pop() if self._again else next(self._lines, "")
        if line:
            self.line += 1
            self._given.append(line)
        if not line.isascii():
            line = SURROGATE.sub(lambda _: _NO_CHARACTER, line)
        return line.replace("\r", "\n").encode() if line.endswith("\r") else line.encode()

    def forget(self) -> None:
        """Forget all but the last line."""
        del self._given[:-1]

    def go_back(self, line: int, head: str) -> None:
        """Continue after an earlier line, with `head` before the rest."""
        while self.line > line:
            self._again.append(self._given.pop())
            self.line -= 1
        self._rest = memoryview(head.encode())


def read(file: File) -> Iterator[Stated | Skipped]:
    """Yield the statements of a file. Raises MissingExtra without pyoxigraph."""
    with needs("pyoxigraph", "rdf", "reading N-Triples or Turtle"):
        from pyoxigraph import Literal, NamedNode

    names = _names(file)
    n_nameless = n_foreign = 0
    for statement in _statements(file):
        if isinstance(statement, Skipped):
            yield statement
            continue
        line, quad = statement
        subject, predicate, target = quad.subject, quad.predicate.value, quad.object
        if not (isinstance(subject, NamedNode) and isinstance(target, NamedNode | Literal)):
            n_nameless += 1
        elif isinstance(target, NamedNode):
            yield from _state(file, line, _of_thing(subject.value, predicate, target.value, names))
        elif predicate in _LABELS or _language(target) in ("", names.language):
            yield from _state(file, line, _of_text(subject.value, predicate, target.value, names))
        else:
            n_foreign += 1
    if n_nameless:
        reason = f"triples left out, since an end is a blank node or a triple: {n_nameless}"
        yield Skipped(source=file.source, reason=reason)
    if n_foreign:
        language = names.language or "en"
        reason = f"literals left out, since their language is not {language!r}: {n_foreign}"
        yield Skipped(source=file.source, reason=reason)


def _state(
    file: File, line: int, items: Iterable[Triple | Described | str]
) -> Iterator[Stated | Skipped]:
    for item in items:
        if isinstance(item, Triple):
            yield Stated(triple=item, line=line)
        elif isinstance(item, Described):
            yield Stated(described=item, line=line)
        else:
            yield Skipped(source=file.source, reason=item, line=line)


def _of_thing(
    subject: str, predicate: str, target: str, names: _IriNames
) -> Iterator[Triple | Described | str]:
    """Yield a triple of three IRIs as a statement, or the reason why it is unusable."""
    name, end = names.entities[subject], names.entities[target]
    if not (name and end):
        yield f"has an end {TOO_LONG}"
        return
    if predicate == _TYPE and names.types[target] != "other":
        yield Described(name=name, type=names.types[target])
    yield Triple(subject=name, relation=names.relations[predicate], object=end)


def _of_text(
    subject: str, predicate: str, literal: str, names: _IriNames
) -> Iterator[Triple | Described | str]:
    """Yield a triple with a literal as a statement, unless the literal is a name."""
    text = collapse(literal)
    if not text:
        yield "its object is empty"
    elif predicate in _LABELS:
        if explain_refusal(text):
            yield f"has a name {TOO_LONG}"
    else:
        name = names.entities[subject]
        is_description = predicate in _DESCRIPTIONS
        if not name or (explain_refusal(text) and not is_description):
            yield f"has an end {TOO_LONG}"
        elif is_description:
            yield Described(name=name, description=text)
        else:
            yield Triple(subject=name, relation=names.relations[predicate], object=text)


def _names(file: File) -> _IriNames:
    """Read only the names in a file; errors are reported when the triples are read."""
    from pyoxigraph import Literal, NamedNode

    labels: dict[str, Rank] = {}
    ends: set[str] = set()
    predicates: set[str] = set()
    classes: set[str] = set()
    languages: set[str] = set()
    for statement in _statements(file):
        if isinstance(statement, Skipped):
            continue
        quad = statement[1]
        subject, predicate, target = quad.subject, quad.predicate.value, quad.object
        if not isinstance(subject, NamedNode):
            continue
        if isinstance(target, Literal) and predicate in _LABELS:
            text = collapse(target.value)
            if text and not explain_refusal(text):
                rank = (_language(target), _LABELS[predicate], text)
                labels[subject.value] = min(rank, labels.get(subject.value, rank))
        elif isinstance(target, Literal):
            ends.add(subject.value)
            predicates.add(predicate)
            if target.language:
                languages.add(_language(target))
        elif isinstance(target, NamedNode):
            ends.update((subject.value, target.value))
            predicates.add(predicate)
            if predicate == _TYPE:
                classes.add(target.value)
    taken: set[str] = set()
    numbers: Counter[str] = Counter()
    entities = {e: _distinct(e, _label_of(e, labels), taken, numbers) for e in sorted(ends)}
    return _IriNames(
        entities=entities,
        relations={iri: _label_of(iri, labels) or split_words(_end(iri)) for iri in predicates}
        | {_TYPE: "is a"},
        types={
            iri: entity_type(_label_of(iri, labels) or split_words(_end(iri))) for iri in classes
        },
        language=min(languages, default=""),
    )


def _language(literal: Literal) -> str:
    """Return a literal's language without region, "" for English or none."""
    language = (literal.language or "").lower().partition("-")[0]
    return "" if language == "en" else language


def _label_of(iri: str, labels: Mapping[str, Rank]) -> str:
    return labels[iri][2] if iri in labels else ""


def _end(iri: str) -> str:
    """Return the last segment of an IRI, after `/` or `#`, as a name."""
    path = iri.rstrip("/#")
    end = path[max(path.rfind("/"), path.rfind("#")) + 1 :]
    return collapse(unquote(end).replace("_", " ")) or iri


def _distinct(iri: str, label: str, taken: set[str], numbers: Counter[str]) -> str:
    """Return a unique name for an IRI, and mark it as taken; "" if none is short enough.

    `numbers` has the last one that was tried for each name.
    """
    end = _end(iri)
    name = label or end
    longer = [f"{name} ({end})", f"{name} ({iri})"] if end != name else [f"{name} ({iri})"]
    return choose_unused_name((name, *longer), taken, numbers)


def _statements(file: File) -> Iterator[tuple[int, Quad] | Skipped]:
    """Yield each triple with its line, and each line with a parse error."""
    is_turtle = file.path.suffix.lower() == ".ttl"
    kind = "Turtle" if is_turtle else "N-Triples"
    with open_text(file, guess=False) as lines:
        feed = _Feed(lines)
        parser = _parser(feed, f"file:///{quote(file.id)}" if is_turtle else None)
        n_before = reported = 0  # lines that this parser has not seen; the last one reported
        while True:
            try:
                quad = next(parser)
            except StopIteration:
                return
            except SyntaxError as error:
                line = min(n_before + (error.lineno or 0), feed.line)
                if line > reported:
                    reported = line
                    yield Skipped(source=file.source, reason=_reason(kind, error), line=line)
                if not is_turtle or feed.line > line:
                    declared = parser.prefixes.items()
                    head = "".join(f"@prefix {name}: <{iri}> . " for name, iri in declared)
                    feed.go_back(line, head)
                    parser, n_before = _parser(feed, parser.base_iri), line
                continue
            yield feed.line, quad
            feed.forget()


def _parser(feed: _Feed, base: str | None) -> QuadParser:
    from pyoxigraph import RdfFormat, parse

    kind = RdfFormat.TURTLE if base else RdfFormat.N_TRIPLES
    return parse(cast("IO[bytes]", feed), kind, base_iri=base)  # which only reads


def _reason(kind: str, error: SyntaxError) -> str:
    """Return a parser's message without the position, which is reported separately."""
    if _NO_CHARACTER in error.msg:
        return "is not valid UTF-8 text"
    return f"is not valid {kind}: {shorten(error.msg.partition(': ')[2], 200, placeholder=' ...')}"
