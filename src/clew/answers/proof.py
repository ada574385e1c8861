"""Prove an answer by its quotes, their positions and hashes, so that others can verify it.

A proof is plain JSON. Whoever has it, and an index of the same documents, learns whether each quote
stands where it stood, elsewhere, or nowhere, and whether the quotes hold what the answer says.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clew.algo.topk import positive_top_k
from clew.answers.citations import find_citations
from clew.answers.claims import StatementReader, make_reader
from clew.answers.quotes import REST_UNKNOWN, compose_quote
from clew.base.proofs import Proof, ProvedQuote, Verified, VerifiedQuote
from clew.base.types import Answer, Context, Document, Passage
from clew.errors import InputError
from clew.text.analyze import terms

if TYPE_CHECKING:
    from clew.index.snapshot import Snapshot
    from clew.models import Models

_MOST_CHUNKS = 20  # in whose documents a quote is looked for that its own lacks


def build_proof(answer: Answer, snapshots: Sequence[Snapshot]) -> Proof:
    """Return the proof of an answer from the generations that hold its documents.

    Raises InputError where a quote does not stand any more where the answer cites it.
    """
    return Proof(
        question=answer.question,
        text=answer.text,
        kind=answer.kind,
        short="" if answer.short is None else answer.short.text,
        method=answer.evidence.method,
        generation=sum(each.generation for each in snapshots),
        quotes=tuple(_prove_quotes(answer, snapshots)),
    )


def _prove_quotes(answer: Answer, snapshots: Sequence[Snapshot]) -> Iterator[ProvedQuote]:
    documents = _find_documents((each.document_id for each in answer.citations), snapshots)
    hashes = {name: hash_text(each.text) for name, each in documents.items()}
    for cited in answer.citations:
        document = documents.get(cited.document_id)
        if document is None or document.text[cited.start : cited.end] != cited.quote:
            changed = (
                f"the document {cited.document_id!r:.200} has changed since the answer was given"
            )
            raise InputError(f"{changed}: ask again")
        yield ProvedQuote(
            number=cited.number,
            document_id=cited.document_id,
            title=document.title,
            source=cited.source,
            section=cited.section,
            page=cited.page,
            line=cited.line,
            start=cited.start,
            end=cited.end,
            quote=cited.quote,
            link=cited.link,
            sha256=hashes[cited.document_id],
        )


def hash_text(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8; for a plain text file, what `sha256sum` prints."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _find_documents(names: Iterable[str], snapshots: Sequence[Snapshot]) -> dict[str, Document]:
    """Return the existing documents among some ids, by id."""
    wanted = list(dict.fromkeys(names))
    documents: dict[str, Document] = {}
    for snapshot in snapshots:
        rows = [row for row in snapshot.layer("document").rows(wanted) if row >= 0]
        documents |= {each.id: each for each in snapshot.documents(rows)}
    return documents


def read_proof(path: str | Path) -> Proof:
    """Read a proof from a file.

    Raises InputError for a file that cannot be read, or that holds none.
    """
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Proof)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        is_written = "as 'clew ask --proof FILE' writes one"
        raise InputError(f"{path} holds no proof of an answer, {is_written}: {error}") from error


def verify_proof(proof: Proof, snapshots: Sequence[Snapshot], models: Models) -> Verified:
    """Return for each quote of a proof whether it is in the documents of the given generations."""
    documents = _find_documents((each.document_id for each in proof.quotes), snapshots)
    hashes = {name: hash_text(each.text) for name, each in documents.items()}
    quotes = tuple(_verify_quote(each, documents, hashes, snapshots) for each in proof.quotes)
    unsupported = tuple(_find_unsupported(proof, make_reader(models)))
    return Verified(
        question=proof.question,
        text=proof.text,
        short=proof.short,
        quotes=quotes,
        unsupported=unsupported,
        is_sound=not unsupported and all(each.state != "gone" for each in quotes),
    )


def _verify_quote(
    proved: ProvedQuote,
    documents: Mapping[str, Document],
    hashes: Mapping[str, str],
    snapshots: Sequence[Snapshot],
) -> VerifiedQuote:
    document, start, end = documents.get(proved.document_id), proved.start, proved.end
    state = "stands"
    if not proved.quote.strip() or document is None or document.text[start:end] != proved.quote:
        own = [] if document is None else [document]
        places = (
            (each, *place)
            for each in (*own, *_find_candidates(proved.quote, snapshots))
            if (place := _find_quote(proved.quote, each.text, proved.start))
        )
        document, start, end = next(places, (None, 0, 0))
        state = "gone" if document is None else "moved"
    if document is None:
        return VerifiedQuote(number=proved.number, state=state, quote=proved.quote)
    return VerifiedQuote(
        number=proved.number,
        state=state,
        quote=proved.quote,
        document_id=document.id,
        source=document.source,
        start=start,
        end=end,
        section=document.section_at(start),
        page=document.pages_of(start, end)[0],
        line=document.line_at(start),
        is_changed=(hashes.get(document.id) or hash_text(document.text)) != proved.sha256,
    )


def _find_quote(quote: str, text: str, near: int) -> tuple[int, int] | None:
    """Return the position of a quote nearest to a character; white space may differ."""
    words = r"\s+".join(map(re.escape, quote.split()))
    spans = [match.span() for match in re.finditer(words, text)] if words else []
    return min(spans, key=lambda span: abs(span[0] - near), default=None)


def _find_candidates(quote: str, snapshots: Sequence[Snapshot]) -> Iterator[Document]:
    """Yield the documents whose chunks contain most of a quote's terms."""
    for snapshot in snapshots:
        rows = [row for row in snapshot.layer("term").rows(sorted(set(terms(quote)))) if row >= 0]
        entries = snapshot.linked("term", "chunk").entries_of(np.asarray(rows, dtype=np.int64))
        counts = np.bincount(entries.indices, minlength=len(snapshot.layer("chunk")))
        chunks = positive_top_k(counts.astype(np.float64), _MOST_CHUNKS)
        owners = snapshot.layer("chunk").columns["document"][chunks].tolist()
        yield from snapshot.documents(list(dict.fromkeys(owners)))


def _find_unsupported(proof: Proof, reader: StatementReader) -> Iterator[str]:
    """Yield the sentences of a proof's answer that none of its quotes supports."""
    is_quoted = proof.kind in {"quoted", "partial"}
    if is_quoted:
        lines = [compose_quote(each.quote, each.link) for each in proof.quotes]
        lines += [REST_UNKNOWN] * (proof.kind == "partial")
        named = all(each.link in f"{each.title} {each.quote}" for each in proof.quotes)
        if proof.text != "\n".join(lines) or not named:
            yield proof.text
            return
    passages = tuple(map(_build_passage, proof.quotes))
    context = Context(passages=passages, text="", n_tokens=0, budget_tokens=0)
    # The first line of what was counted is computed, the others are the items.
    counted = proof.text.splitlines()[1:] if proof.kind == "counted" else None
    own = () if is_quoted else (proof.text,)
    for text in (proof.short, *own) if counted is None else counted:
        yield from find_citations(proof.question, [(text, "")], context, reader).unsupported


def _build_passage(proved: ProvedQuote) -> Passage:
    return Passage(
        number=proved.number,
        chunk_id="",
        document_id=proved.document_id,
        title=proved.title,
        source=proved.source,
        start=proved.start,
        end=proved.end,
        text=proved.quote,
        section=proved.section,
    )
