"""Formats of datasets, recognized by their content.

A format is a function from records to `Parsed` and the keys in `_FORMATS` that its questions are
told by; only BEIR and texts with labels, whose questions are in two files, are told by folders.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from clew.errors import InputError
from clew.extras.evaluate.formats import beir, clew, graphrag_bench, hotpot, labelled, musique
from clew.extras.evaluate.formats import corpus as corpora
from clew.extras.evaluate.formats.corpus import Corpus
from clew.extras.evaluate.formats.parsed import Parsed
from clew.extras.evaluate.formats.records import Record, records

_Read = Callable[[Iterable[Record], str], Parsed]
_FORMATS: Mapping[str, _Read] = {  # by a key of the first question: the first one that it has
    "question_type": graphrag_bench.read,
    "paragraphs": musique.read,
    "context": hotpot.read,
    "answers": clew.read,
    "supporting_ids": clew.read,
    "answerable": musique.read,  # this and what follows: the key above is missing, which it tells
    "answer_aliases": musique.read,
    "supporting_facts": hotpot.read,
    "evidences": hotpot.read,
    "question": clew.read,
}


def read(path: Path, split: str | None, corpus: Path | None) -> tuple[Path, Parsed, Corpus]:
    """Return the path of a dataset's questions, the questions, and their corpus.

    `corpus` names another corpus than their own. Raises InputError.
    """
    if path.is_dir() and (labels := labelled.read(path)) and labels.pool:
        return path, labels, corpora.make_corpus(labels.pool)
    if beir.fits(path):
        questions, parsed = path / "queries.jsonl", beir.read(path, split)
    else:
        questions = _questions_file(path)
        parsed = parsed_questions(questions)
    if corpus is not None:
        documents = corpora.read(corpus)
    elif parsed.pool is not None:
        documents = corpora.make_corpus(parsed.pool)
    else:
        root = path if path.is_dir() else path.parent
        if parsed.format == "graphrag-bench":
            what, hint = "a corpus of GraphRAG-Bench", "name one as the corpus"
            file = _find_only_file(root, "corpus_name", what, hint)
        else:
            file = root / beir.CORPUS if parsed.format == "beir" else clew.corpus_path(root)
        documents = corpora.read(file)
    lost = sorted(parsed.sources - documents.ids) if documents.is_long else []
    if lost:
        raise InputError(f"{questions}: its corpus lacks what questions are about: {lost[0]!r}")
    return questions, parsed, documents


def parsed_questions(path: Path) -> Parsed:
    """Parse the questions of a file. Raises InputError."""
    first = next(records(path), None)
    if first is None:
        raise InputError(f"{path}: no questions")
    if corpora.is_long(first.values):
        raise InputError(
            f"{path}: this is a corpus of GraphRAG-Bench: name the questions, and it with --corpus"
        )
    first.value("question")
    key = next(key for key in _FORMATS if key in first.values)
    return _FORMATS[key](records(path), str(path))


def _questions_file(path: Path) -> Path:
    """Return the file of questions at a path, or in the folder at that path."""
    file = path / "questions.jsonl" if path.is_dir() else path
    if file == path or file.is_file():
        return file
    is_beir = (path / "queries.jsonl").is_file()
    otherwise = "BEIR's queries.jsonl needs qrels/SPLIT.tsv, which is missing" if is_beir else None
    return _find_only_file(path, "question", "questions", "name one", otherwise)


def _find_only_file(
    root: Path, key: str, what: str, hint: str, otherwise: str | None = None
) -> Path:
    """Return the only file in or below a folder whose first record has a key.

    Raises InputError where there is none or more than one, with a `hint` at what to do, which is
    `otherwise` where there is none; where there is none but a file that cannot be read, the error
    of that one.
    """
    files, errors = [], []
    for file in sorted((*root.glob("*"), *root.glob("*/*"))):
        hidden = any(part.startswith((".", "_")) for part in file.relative_to(root).parts)
        if hidden or file.suffix.lower() not in corpora.SUFFIXES or not file.is_file():
            continue
        try:
            first = next(records(file), None)
        except InputError as error:
            errors.append(error)
            continue
        if first is not None and key in first.values:
            files.append(file)
    if len(files) == 1:
        return files[0]
    if errors and not files:
        raise errors[0]
    have = ", ".join(file.relative_to(root).as_posix() for file in files)
    if files:
        raise InputError(f"{root}: {len(files)} files with {what} ({have}): {hint}")
    raise InputError(f"{root}: no file with {what}: {otherwise or hint}")
