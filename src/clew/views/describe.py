"""Describe an index, a row with its neighbours, or a method as plain values."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew import methods
from clew.algo.links import neighbours
from clew.algo.topk import positive_top_k
from clew.base.display.addresses import hide_secrets_in
from clew.base.display.visible import visible
from clew.base.types import GRAPH, IMPORTED, SOURCES, UNITS, Usage
from clew.errors import InputError
from clew.index.choose import NOTE, count_waiting
from clew.index.generation import wasted_share
from clew.index.layers.aliases import propose_merges
from clew.index.snapshot import Snapshot
from clew.index.snapshot.layers import TripleLayer
from clew.index.store.segmented import Store
from clew.steps.entity_types import find_types
from clew.steps.theme_descriptions import find_theme
from clew.steps.themes import THEME_MARK
from clew.text.keys import name_key
from clew.text.normalize import fold

_MAX_SHOWN = 20  # neighbours shown of one kind
_LEAST_SCORE = 0.3  # of two names that are proposed
_UNITS_BY = {"none": "sentence"}  # by what units were made where nothing made any


def describe_index(
    folder: Path, shown: str, store: Store, snapshot: Snapshot, spent: Usage | None
) -> dict[str, Any]:
    """Return an index's contents, settings, size and cost."""
    extraction: dict[str, Any] = {"wanted": dict(store.note(NOTE))}
    for kind, n_waiting in count_waiting(store, snapshot).items():
        made_by = _find_makers(snapshot, kind)
        counts = {source: int(np.sum(made_by == i)) for i, source in enumerate(SOURCES)}
        extraction[kind] = {name: n for name, n in counts.items() if n} | {"waiting": n_waiting}
    return {
        "folder": shown,
        "generation": snapshot.generation,
        "size_bytes": _size(folder, store),
        "layers": describe_layers(snapshot),
        "extraction": extraction,
        "links": describe_links(snapshot),
        "wasted": round(wasted_share(store), 4),
        "recipe": {
            name: hide_secrets_in(value) if isinstance(value, str) else value
            for name, value in snapshot.recipe.items()
        },
        "cost": "unknown" if spent is None else _cost(spent),
        "documents": sorted(store.hashes()),
    }


def _size(folder: Path, store: Store) -> int:
    """Return the size reported by the store, or else the size of the files."""
    own: int | None = getattr(store, "size_bytes", None)
    if own is not None:
        return own
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def describe_layers(snapshot: Snapshot) -> dict[str, int]:
    """Return the number of rows of each layer."""
    return {name: len(layer) for name, layer in snapshot.layers.items()}


def describe_links(snapshot: Snapshot) -> dict[str, int]:
    """Return the number of entries of each link."""
    return {"-".join(pair): int(link.counts.sum()) for pair, link in snapshot.links.items()}


def _cost(spent: Usage) -> dict[str, Any]:
    return {
        "llm_calls": spent.llm_calls,
        "tokens": spent.total_tokens,
        "embedding_tokens": spent.embedding_tokens,
        "cost_usd": spent.cost_usd,
        "seconds": round(spent.total_seconds, 3),
        "seconds_by_stage": {stage: round(s, 3) for stage, s in spent.seconds.items()},
    }


def _find_makers(snapshot: Snapshot, kind: str) -> NDArray[np.uint8]:
    """Return the extractor of each chunk; an imported chunk has no other."""
    columns = snapshot.layer("chunk").columns
    return np.where(columns[GRAPH] == IMPORTED, np.uint8(IMPORTED), columns[kind])


def describe_aliases(merged: Mapping[str, str], snapshot: Snapshot) -> dict[str, Any]:
    """Return the aliases, and pairs of names that may be aliases.

    "merged" maps keys, and "names" has the first spelling of each of these keys. A proposed alias
    is never longer than its target.
    """
    layer = snapshot.layer("entity")
    rows = np.flatnonzero(layer.columns["linkable"] | layer.columns["extracted"])
    apart = [key for key, entry in snapshot.vocabulary.items() if entry.apart]
    rows = np.setdiff1d(rows, layer.rows(apart))
    keys = layer.ids(rows.tolist())
    proposed = []
    for proposal in propose_merges(keys, layer.vectors[rows]) if keys else []:
        if proposal.score >= _LEAST_SCORE:
            ends = [int(rows[proposal.b]), int(rows[proposal.a])]
            pairs = zip(ends, layer.ids(ends), strict=True)
            names = (_find_spelling(snapshot, row, key) for row, key in pairs)
            name, into = sorted(names, key=len)
            score = round(proposal.score, 3)
            proposed.append({"name": name, "into": into, "score": score, "reason": proposal.reason})
    return {"merged": dict(merged), "names": _merged_names(snapshot, merged), "proposed": proposed}


def _merged_names(snapshot: Snapshot, merged: Mapping[str, str]) -> dict[str, str]:
    """Return the first spelling of each key that is an alias or has one."""
    names = {}
    for key in sorted({*merged, *merged.values()}):
        last = key
        for _ in merged:  # a target may stand for another one in turn
            last = merged.get(last, last)
        [row] = snapshot.layer("entity").rows([last])
        names[key] = key if row < 0 else _find_spelling(snapshot, row, key)
    return names


def _find_spelling(snapshot: Snapshot, row: int, key: str) -> str:
    """Return the first spelling of `key`, by default the key itself.

    It is one of the names of the entity `row`, whose own name is another one after a merge.
    """
    [name] = snapshot.layer("entity").texts([row])
    if name_key(name) == key:
        return name
    units = neighbours(snapshot.link("entity", "unit"), row).tolist()
    titled = neighbours(snapshot.link("entity", "document"), row).tolist()
    titles = [document.title for document in snapshot.documents(titled)]
    texts = [*titles, *snapshot.layer("unit").texts(units)]
    words = r"[\W_]+".join(map(re.escape, key.split()))
    spelled = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
    spellings = (match[0] for text in texts for match in spelled.finditer(text))
    return next((words for words in spellings if name_key(words) == key), key)


def describe_row(snapshot: Snapshot, name: str) -> dict[str, Any]:
    """Return a row by its id, or an entity by its name, with its neighbours.

    If several kinds share an id, the first of these is taken: theme, document, chunk, unit,
    sub-chunk, triple, entity, term.
    """
    theme = find_theme(snapshot, name) if name.startswith(THEME_MARK) else None
    if theme is not None:
        return {"kind": "theme", **theme.to_dict()}
    kinds: tuple[tuple[str, str, Callable[[Snapshot, int], dict[str, Any]]], ...] = (
        ("document", name, _document),
        ("chunk", name, _chunk),
        ("unit", name, _unit),
        ("subchunk", name, _subchunk),
        ("triple", name, _triple),
        ("entity", name_key(name), _entity),
        ("term", fold(name), _term),
    )
    for kind, key, describe in kinds:
        [row] = snapshot.layer(kind).rows([key]) if key else [-1]
        if row >= 0:
            return describe(snapshot, row)
    names = ", ".join(kind for kind, *_ in kinds[:-1])
    raise InputError(
        f"the index has no {names} or term {name!r}: see 'clew show' for what the index holds"
    )


def without_sources(row: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the sources in a description of a row by document ids."""
    hidden = dict(row)
    if "source" in row:
        hidden["source"] = row.get("document", row.get("document_id", row["id"]))
    for parts in {"units", "sentences"} & row.keys():
        hidden[parts] = [
            without_sources(each) if isinstance(each, dict) else each for each in row[parts]
        ]
    return hidden


def _document(snapshot: Snapshot, row: int) -> dict[str, Any]:
    [document] = snapshot.documents([row])
    chunks = np.flatnonzero(snapshot.layer("chunk").columns["document"] == row)
    return {
        "kind": "document",
        "id": document.id,
        "title": document.title,
        "source": document.source,
        "n_characters": len(document.text),
        "metadata": dict(document.metadata),
        "n_pages": len(document.pages),
        "headings": [f"{'  ' * (h.level - 1)}{h.title}" for h in document.headings],
        "chunks": snapshot.layer("chunk").ids(chunks.tolist()),
    }


def _chunk(snapshot: Snapshot, row: int) -> dict[str, Any]:
    units = neighbours(snapshot.link("chunk", "unit"), row).tolist()
    mentions = snapshot.link("unit", "entity")
    entities = {e for u in units for e in neighbours(mentions, u).tolist()}
    entities.update(neighbours(snapshot.link("chunk", "entity"), row).tolist())
    triples = neighbours(snapshot.link("chunk", "triple"), row).tolist()
    columns, described = snapshot.layer("chunk").columns, snapshot.layer("description")
    own = np.flatnonzero(described.columns["chunk"] == row).tolist()
    names = snapshot.layer("entity").texts(described.columns["entity"][own].tolist())
    pairs = zip(names, described.texts(own), strict=True)
    return {
        **_range(snapshot, "chunk", row),
        "n_tokens": int(columns["n_tokens"][row]),
        "units_made_by": _units_by(_find_makers(snapshot, UNITS)[row]),
        "triples_made_by": SOURCES[_find_makers(snapshot, GRAPH)[row]],
        "units": snapshot.layer("unit").ids(units[:_MAX_SHOWN]),
        "entities": snapshot.layer("entity").texts(sorted(entities)[:_MAX_SHOWN]),
        "descriptions": [{"name": name, "text": text} for name, text in pairs if text][:_MAX_SHOWN],
        "triples": snapshot.layer("triple").texts(triples[:_MAX_SHOWN]),
    }


def _units_by(source: int) -> str:
    return _UNITS_BY.get(SOURCES[source], SOURCES[source])


def _unit(snapshot: Snapshot, row: int) -> dict[str, Any]:
    return {
        **_range(snapshot, "unit", row),
        "made_by": _units_by(snapshot.layer("unit").columns["source"][row]),
        "chunks": snapshot.layer("chunk").ids(
            neighbours(snapshot.link("unit", "chunk"), row).tolist()
        ),
        "entities": snapshot.layer("entity").texts(
            neighbours(snapshot.link("unit", "entity"), row).tolist()
        ),
    }


def _subchunk(snapshot: Snapshot, row: int) -> dict[str, Any]:
    chunk = int(snapshot.layer("subchunk").columns["chunk"][row])
    return {
        **_range(snapshot, "subchunk", row),
        "n_tokens": int(snapshot.layer("subchunk").columns["n_tokens"][row]),
        "chunk": snapshot.layer("chunk").ids([chunk])[0],
    }


def _triple(snapshot: Snapshot, row: int) -> dict[str, Any]:
    layer = cast("TripleLayer", snapshot.layer("triple"))
    ends = [int(layer.columns[end][row]) for end in ("subject", "object")]
    subject, target = snapshot.layer("entity").texts(ends)
    return {
        "kind": "triple",
        "id": layer.ids([row])[0],
        "subject": subject,
        "relation": layer.relations([row])[0],
        "object": target,
        "strength": float(layer.columns["strength"][row]),
        "validity": list(map(str, layer.validity.get(row, ()))),
        "descriptions": layer.descriptions(row)[:_MAX_SHOWN],
        "chunks": _first_ids(snapshot, "chunk", snapshot.link("triple", "chunk"), row),
    }


def _term(snapshot: Snapshot, row: int) -> dict[str, Any]:
    chunks = snapshot.link("term", "chunk")
    return {
        "kind": "term",
        "id": snapshot.layer("term").ids([row])[0],
        "n_chunks": len(neighbours(chunks, row)),
        "chunks": _first_ids(snapshot, "chunk", chunks, row),
    }


def _first_ids(snapshot: Snapshot, layer: str, link: csr_array, row: int) -> list[str]:
    """Return the ids of the first neighbours of a row."""
    return snapshot.layer(layer).ids(neighbours(link, row).tolist()[:_MAX_SHOWN])


def _entity(snapshot: Snapshot, row: int) -> dict[str, Any]:
    layer, described = snapshot.layer("entity"), snapshot.layer("description")
    units = neighbours(snapshot.link("entity", "unit"), row).tolist()
    titled = neighbours(snapshot.link("entity", "document"), row).tolist()
    shared = snapshot.link("unit", "entity")[units].indices  # with repeats
    near = np.bincount(shared, minlength=len(layer)).astype(np.float64)
    near[row] = 0
    others = positive_top_k(near, _MAX_SHOWN).tolist()
    ends = snapshot.layer("triple").columns
    about = (ends["subject"] == row) | (ends["object"] == row)
    descriptions = described.texts(np.flatnonzero(described.columns["entity"] == row).tolist())
    mentions = [_range(snapshot, "unit", unit) for unit in units[:_MAX_SHOWN]]
    shown = ("id", "document", "source", "line", "text")  # of a unit
    return {
        "kind": "entity",
        "id": layer.ids([row])[0],
        "name": layer.texts([row])[0],
        "linkable": bool(layer.columns["linkable"][row]),
        "type": find_types(snapshot, [row])[0],
        "title_of": snapshot.layer("document").ids(titled),
        "n_units": len(units),
        "units": [{name: mention[name] for name in shown} for mention in mentions],
        "together_with": layer.texts(others),
        "descriptions": list(dict.fromkeys(filter(None, descriptions)))[:_MAX_SHOWN],
        "triples": snapshot.layer("triple").texts(np.flatnonzero(about).tolist()[:_MAX_SHOWN]),
    }


def _range(snapshot: Snapshot, kind: str, row: int) -> dict[str, Any]:
    layer = snapshot.layer(kind)
    chunk = row if kind == "chunk" else int(layer.columns["chunk"][row])
    [document] = snapshot.documents([int(snapshot.layer("chunk").columns["document"][chunk])])
    start, end = (int(layer.columns[edge][row]) for edge in ("start", "end"))
    page, last_page = document.pages_of(start, end)
    return {
        "kind": kind,
        "id": layer.ids([row])[0],
        "document": document.id,
        "title": document.title,
        "section": document.section_at(start),
        "apparatus": document.apparatus_at(start, end),
        "page": page,
        "last_page": last_page,
        "source": document.source,
        "line": document.line_at(start),
        "start": start,
        "end": end,
        "text": layer.texts([row])[0],
    }


# -- methods --------------------------------------------------------------------------------------


def describe_method(name: str) -> dict[str, Any]:
    """Return a method's summary, group, required layers and parameters."""
    kind = methods.load(name)
    module = inspect.getmodule(kind)
    described = module if getattr(module, "METHOD", None) is kind else kind
    summary, _, more = (inspect.getdoc(described) or "").partition("\n\n")
    types = get_type_hints(kind)
    commented = re.compile(r"^    (\w+): .*?  # (.*)$", re.MULTILINE)
    above = [base for base in reversed(kind.__mro__) if is_dataclass(base)]
    comments = dict(pair for base in above for pair in commented.findall(_source(base)))
    return {
        "name": name,
        "summary": _one_line(summary),
        "description": _one_line(more),
        "group": next(group for group, names in methods.group_names().items() if name in names),
        "default": name == methods.DEFAULT,
        "layers": sorted(kind.layers),
        "parameters": [
            {
                "name": field.name,
                "default": field.default,
                "choices": [
                    choice
                    for choice in get_args(types[field.name])
                    if get_origin(types[field.name]) is Literal
                ],
                "description": comments.get(field.name, ""),
            }
            for field in fields(kind)  # type: ignore[arg-type]
        ],
    }


def _source(kind: type) -> str:
    """Return the source code of a class, none if the package has no sources."""
    try:
        return inspect.getsource(kind)
    except (OSError, TypeError):
        return ""


def _one_line(text: str) -> str:
    return visible(" ".join(text.split()))
