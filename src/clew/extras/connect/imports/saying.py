"""Convert graphs whose edges have a description but no relation name."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from clew.base.types import Described, Document, Skipped, Triple
from clew.extras.connect.imports.stated import Stated, explain_refusal, to_strength
from clew.models.cooccurrence import LONGEST_RELATION
from clew.readers.triples import entity_type
from clew.readers.walk import File
from clew.text.normalize import collapse

RELATED = "is related to"
_EDGES = " \t\n,;:.–—()[]\"“”'’"
_ARTICLE = re.compile(r"(?<=\w) (?:an?|the)$")
_SENTENCE_END = re.compile(r"[.!?]\s")


def relate(
    file: File,
    ends: tuple[str, str],
    description: str,
    documents: Iterable[str],
    *,
    line: int,
    otherwise: str = "",
    weight: object = None,
) -> Iterator[Stated | Skipped]:
    """Yield the triple of an edge, once per source document.

    The relation is the words between the two ends in the first sentence of the `description` that
    has both, where they are at most six; the end that stands first is the subject. Else it is what
    `otherwise` says, and the ends stay as they are.
    """
    for end in ends:
        if reason := _refuse(end):
            yield Skipped(source=file.source, reason=f"an end of its edge {reason}", line=line)
            return
    subject, relation, target = _find_relation(*ends, description) or (
        ends[0],
        collapse(otherwise) or RELATED,
        ends[1],
    )
    triple = Triple(
        subject=subject,
        relation=relation,
        object=target,
        description=collapse(description),
        strength=to_strength(weight),
    )
    for document in list(documents) or [""]:
        yield Stated(triple=triple, document_id=document, line=line)


def describe(
    file: File, name: str, kind: object, description: str, documents: Iterable[str], *, line: int
) -> Iterator[Stated | Skipped]:
    """Yield an entity's type and description, once per source document."""
    if reason := _refuse(name):
        yield Skipped(source=file.source, reason=f"its entity {reason}", line=line)
        return
    entity = Described(name=name, type=entity_type(kind), description=collapse(description))
    for document in list(documents) or [""]:
        yield Stated(described=entity, document_id=document, line=line)


def unquote_name(text: str) -> str:
    """Return a text without the quotes that some systems leave around an LLM's output."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def make_documents(
    place: File, texts: Mapping[str, tuple[str, str]]
) -> tuple[dict[str, str], list[Document]]:
    """Return new document ids by the system's own ids, and the documents.

    `texts` are the name of a document's file and its text, by its id. The name becomes the id where
    no other document has it.
    """
    counts = Counter(name for name, _ in texts.values())
    ids = {
        own: f"{place.id}/{name if name and counts[name] == 1 else own}"
        for own, (name, _) in texts.items()
    }
    documents = [
        Document(
            id=ids[own],
            text=text,
            title=name.rpartition("/")[2].rpartition(".")[0] or name,
            source=f"{place.source}#{name or own}",
        )
        for own, (name, text) in texts.items()
    ]
    return ids, documents


def spell_names(
    names: Mapping[str, Iterable[str]], documents: Iterable[Document]
) -> dict[str, str]:
    """Return the spelling of each name: for all capitals, the one found in its documents.

    `names` have the ids of their documents.
    """
    texts = {each.id: each.text for each in documents}
    spelled = {}
    for name, ids in names.items():
        places = (_find(name, texts[own]) for own in ids) if name.isupper() else iter(())
        spelled[name] = next((place[0] for place in places if place), name)
    return spelled


def distinct_documents(owners: Mapping[str, Sequence[str]], parts: Iterable[str]) -> list[str]:
    """Return the distinct documents that contain some parts, in the order of the parts."""
    return list(dict.fromkeys(owner for part in parts for owner in owners.get(part, ())))


def _refuse(name: str) -> str:
    if not name.strip():
        return "has no name"
    reason = explain_refusal(name)
    return f"has a name {reason}" if reason else ""


def _find_relation(one: str, other: str, description: str) -> tuple[str, str, str] | None:
    places = [(match, name) for name in (one, other) if (match := _find(name, description))]
    if len(places) < 2:
        return None
    (first, subject), (second, target) = sorted(places, key=lambda pair: pair[0].start())
    words = collapse(description[first.end() : second.start()].strip(_EDGES))
    words = _ARTICLE.sub("", words)
    is_one = first.end() <= second.start() and not _SENTENCE_END.search(words)
    is_short = 0 < len(words.split()) <= LONGEST_RELATION
    return (subject, words, target) if is_one and is_short else None


def _find(name: str, text: str) -> re.Match[str] | None:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
