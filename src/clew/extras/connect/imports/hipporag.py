"""HippoRAG: passages with their triples, the JSON of its OpenIE step.

Its own files have no names of documents: a passage is a document, called by its id.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from clew.base.types import Extraction, Skipped
from clew.errors import InputError, UnreadableSource
from clew.extras.connect.imports.saying import make_documents
from clew.readers import record
from clew.readers.graph_files import state_line
from clew.readers.systems import System, only_folder
from clew.readers.triples import Stated, explain_refusal, extraction
from clew.readers.walk import File

SYSTEM = "HippoRAG"
_RESULTS = "openie*results*.json"
_LONGEST_TITLE = 100


def locate(path: Path) -> Path | None:
    """Return the folder that has the results of OpenIE."""
    return only_folder(path, _RESULTS, ("outputs",))


def read(place: File) -> System:
    """Return the passages, and the triples and entities of each."""
    results = sorted(place.path.glob(_RESULTS))
    if len(results) > 1:
        names = ", ".join(each.name for each in results)
        raise InputError(f"{place.source} has the results of several LLMs ({names}): leave one")
    passages = _read_passages(place, results[0])
    ids, documents = make_documents(
        place, {own: ("", str(each.get("passage") or "")) for own, each in passages.items()}
    )
    documents = [replace(each, title=_find_title(each.text)) for each in documents]
    has_vectors = any(place.path.glob("*/*_embeddings"))
    return System(
        name=SYSTEM,
        documents=documents,
        statements=_state(place, passages, ids),
        left=("vectors", "synonym edges") if has_vectors else (),
    )


def _find_title(passage: str) -> str:
    """Return the first line of a passage where it is a title, as its data sets have it."""
    first, _, rest = passage.strip().partition("\n")
    is_title = rest.strip() and len(first) <= _LONGEST_TITLE and not first.endswith((".", "!", "?"))
    return first.strip() if is_title else ""


def _read_passages(place: File, path: Path) -> dict[str, Mapping[str, object]]:
    source = f"{place.source}/{path.name}"
    try:
        values = record.parse_json(path.read_text("utf-8"))
    except ValueError as error:
        raise UnreadableSource(source, str(error)) from None
    docs = values.get("docs") if isinstance(values, dict) else None
    if not isinstance(docs, list):
        raise UnreadableSource(source, "has no list 'docs' of passages")
    return {str(each.get("idx")): each for each in docs if isinstance(each, dict)}


def _state(
    place: File, passages: Mapping[str, Mapping[str, object]], ids: Mapping[str, str]
) -> Iterator[Stated | Skipped]:
    for line, (own, passage) in enumerate(passages.items(), 1):
        values = {
            "triples": passage.get("extracted_triples") or [],
            "entities": passage.get("extracted_entities") or [],
        }
        if any(values.values()):
            yield from state_line(place, line, partial(_extract, ids[own], values))


def _extract(
    document: str, values: Mapping[str, object], problems: list[str]
) -> tuple[str, Extraction]:
    return document, extraction(values, explain_refusal, problems)
