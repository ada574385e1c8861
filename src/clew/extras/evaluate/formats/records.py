"""Read records from JSON lines, a JSON array, one JSON object, or Parquet."""

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clew.base.runtime.lazy import needs
from clew.errors import InputError
from clew.extras.evaluate.metrics import distinct
from clew.readers.decode import replace_surrogates

_PARQUET = b"PAR1"


def records(path: Path) -> Iterator["Record"]:
    """Yield the records of a file.

    Raises InputError for a file that cannot be read and for what is no record, with its place;
    MissingExtra for Parquet without the extra.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    if head.startswith(_PARQUET):
        yield from _rows(path)
    elif path.suffix.lower() == ".parquet":
        raise InputError(f"{path}: not a Parquet file: name it by what it is, such as .jsonl")
    elif head.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"["):
        yield from _array(path)
    else:
        yield from _lines(path)


def unique(items: Iterable["Record"]) -> Iterator["Record"]:
    """Yield the records. Raises InputError for a missing or repeated id."""
    places: dict[str, str] = {}
    for record in items:
        id_ = record.id
        if id_ in places:
            raise record.error(f"the id {id_!r} is already used in {places[id_]}")
        places[id_] = record.place
        yield record


@dataclass(frozen=True, slots=True)
class Record:
    """A record with its location, for error messages."""

    place: str
    values: Mapping[str, object]

    def error(self, reason: str) -> InputError:
        """Return an InputError with the location, for the caller to raise."""
        return InputError(f"{self.place}: {reason}")

    @property
    def id(self) -> str:
        """The record's `id`, or else its `_id`."""
        return self.text("_id" if "_id" in self.values and "id" not in self.values else "id")

    def value(self, key: str) -> object:
        """Return the value of a key. Raises InputError if it is missing."""
        if key not in self.values:
            raise self.error(f"there is no {key!r}")
        return self.values[key]

    def text(self, key: str) -> str:
        value = self.value(key)
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"{key!r} must be a non-empty text, but is {_shorten(value)}")
        return replace_surrogates(value)

    def optional_text(self, key: str) -> str | None:
        return None if self.values.get(key) in (None, "") else self.text(key)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the distinct texts of a list, which may be empty."""
        values = self.values.get(key)
        if values is None:
            return ()
        strings = self.strings(values, repr(key))
        for value in strings:
            if not value.strip():
                raise self.error(f"{key!r} must contain non-empty texts, but has {value!r}")
        return distinct(strings)

    def strings(self, values: object, name: str) -> list[str]:
        """Return `values` if they are a list of strings; error messages call them `name`."""
        if not isinstance(values, list):
            raise self.error(f"{name} must be a list of texts, but is {_shorten(values)}")
        for value in values:
            if not isinstance(value, str):
                raise self.error(f"{name} must contain texts, but has {_shorten(value)}")
        return [replace_surrogates(value) for value in values]

    def optional_count(self, key: str) -> int | None:
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.error(f"{key!r} must be a whole number, but is {_shorten(value)}")
        return value


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _lines(path: Path) -> Iterator[Record]:
    whole = _object(path)
    if whole is not None:
        yield whole
        return
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if raw.strip():
                place = f"{path}, line {number}"
                yield _record(_parse(raw, place), place)


def _object(path: Path) -> Record | None:
    """Return the record of a file that is one JSON object over several lines, else None."""
    with path.open("rb") as file:
        first = next((raw for raw in file if raw.strip()), b"")
    try:
        json.loads(first.decode("utf-8-sig"))
    except ValueError:
        pass
    else:
        return None
    try:
        value = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return _record(value, str(path))


def _parse(raw: bytes, place: str) -> object:
    try:
        value: object = json.loads(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"{place}: not UTF-8 at byte {error.start}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: not JSON: {error}") from error
    return value


def _array(path: Path) -> Iterator[Record]:
    values = _parse(path.read_bytes(), str(path))
    for number, value in enumerate(values if isinstance(values, list) else (), 1):
        yield _number_record(value, f"{path}, record {number}")


def _rows(path: Path) -> Iterator[Record]:
    with needs("pyarrow", "parquet", "reading a Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq

    with path.open("rb") as stream:
        try:
            number = 0
            for batch in pq.ParquetFile(stream).iter_batches(batch_size=256):
                for row in batch.to_pylist():
                    number += 1
                    yield _number_record(row, f"{path}, row {number}")
        except (pa.ArrowException, OSError, ValueError) as error:  # ValueError: a time
            reason = " ".join(str(error).split())[:120]
            raise InputError(f"{path}: a broken Parquet file: {reason}") from error


def _number_record(value: object, place: str) -> Record:
    """Return a record whose id is its number, so that errors name both."""
    record = _record(value, place)
    id_ = record.values.get("_id", record.values.get("id"))
    return Record(f"{place} (id {id_})", record.values) if isinstance(id_, str) else record


def _record(value: object, place: str) -> Record:
    if not isinstance(value, dict):
        raise InputError(f"{place}: must be a JSON object, but is {type(value).__name__}")
    return Record(place, value)
