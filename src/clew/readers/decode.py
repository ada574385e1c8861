"""Decode text: by byte order mark, UTF-8, stated encoding, or the best guess.

UTF-16 is seen without a mark, too, where most characters are Latin. Newlines stay as they stand and
a byte order mark is dropped. A file with many NUL bytes, or with more than one control character in
twenty, is taken for a binary file; a crash may leave a few NUL bytes in a log.

No byte costs a file its text: what fits no encoding becomes U+FFFD, and a text that is UTF-8 but
for some of its words has these decoded by themselves. Notes on the file (`File.partly`) say where
that was, and which guess is not a sure one.
"""

import codecs
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from clew.base.runtime.arguments import SURROGATE
from clew.errors import UnreadableSource
from clew.readers.walk import File
from clew.text.quantities import format_count

_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\a\b\t\n\v\f\r\x1b")) + b"\x7f"
_SAMPLE_BYTES = 1 << 20
_SNIFFED_BYTES = 1 << 16
_REPLACED = "\N{REPLACEMENT CHARACTER}"
_WORDS = re.compile(rb"[^\x00-\x20]+")
_ASCII = bytes(range(128))
_NO_LETTERS = b"\xff\xfe"  # which are none by themselves, whatever the encoding
_TIMES_NUL = 200  # as many other bytes as NUL bytes a text has
_SEVEN_BITS = frozenset(("utf-7", "hz"))  # encodings whose bytes are those of ASCII
_SHIFTS = re.compile(rb"\x1b\$[@AB]|\x1b\$\)C")  # of ISO-2022, which is ASCII otherwise
_STATED_BYTES = 1 << 12  # in which a file states its encoding
_GUESSED_BYTES = 1 << 16  # of the lines that tell the encoding
_MOST_LINES = 50  # that are looked at one by one
_LEAST_FOREIGN = 4  # bytes above ASCII by which the encoding of some words is told
_TIMES_FOREIGN = 4  # as many of them as of UTF-8 may be in a file of both
_LOW, _NEAR = 0.1, 0.93  # of what chardet calls confidence; the share of the best one's
# Of bytes of which all are telling: noise has up to .04, short texts from .1 on.
_LEAST, _ENOUGH = 0.06, 100  # and how many of them tell that
_USUAL = "cp1252"  # taken where nothing speaks more for another encoding
_GUESSED = tuple(
    "ascii utf-8 big5 big5hkscs cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 "
    "cp437 cp850 cp852 cp866 cp874 cp932 cp949 euc-jp euc-kr gb18030 gb2312 gbk iso-2022-jp "
    "iso-2022-kr iso-8859-1 iso-8859-2 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-9 "
    "iso-8859-13 iso-8859-15 koi8-r koi8-u mac-roman shift_jis shift_jis_2004 tis-620".split()
)
_WIDER = {  # encodings that are a part of another one, which decodes them alike
    "ascii": "utf-8",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-8": "cp1255",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
_ALIASES = {  # names that mails have and Python does not know
    "iso-8859-8-i": "cp1255",
    "iso-8859-8-e": "cp1255",
    "iso-8859-6-i": "iso-8859-6",
    "ks_c_5601-1987": "cp949",
    "cp-936": "gb18030",
    "x-gbk": "gb18030",
    "x-sjis": "cp932",
    "ansinew": "cp1252",
    "applemac": "mac-roman",
    "utf8mb4": "utf-8",
    "unicode-1-1-utf-8": "utf-8",
    "x-unicode-2-0-utf-8": "utf-8",
    "macintosh": "mac-roman",
    "x-mac-ce": "mac-latin2",
}
_JOINT = re.compile(r"(?<=[a-z])[-_](?=\d)", re.IGNORECASE)  # of "cp-850", "windows_1252"
_NOT_LATIN = re.compile("[\u0370-\u06ff]")  # what single bytes may be in other encodings
_BESIDE_LATIN = re.compile("(?<=[A-Za-z])[\u0370-\u06ff]|[\u0370-\u06ff](?=[A-Za-z])")
_UTF_16_BYTES = 1 << 12  # enough to see it by


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON allows but no encoding supports."""
    return SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def text_of(file: File, stated: re.Pattern[bytes] | None = None) -> str:
    """Return the decoded text of a file.

    The encoding that it states is what a pattern finds; it counts where the file is not UTF-8.
    Raises UnreadableSource if it is binary or has nothing but white space.
    """
    data = file.path.read_bytes()
    name = find_stated(data, stated) if stated else ""
    text = _decode(data, _encoding(data, file, stated=name), file)
    if not text.strip():
        raise UnreadableSource(file.source, "is empty")
    return text


def find_stated(data: bytes, stated: re.Pattern[bytes]) -> str:
    """Return the encoding that a pattern finds in the beginning of a file, or ""."""
    match = stated.search(data[:_STATED_BYTES])
    return match[match.lastindex or 0].decode("ascii", "replace") if match else ""


def decode_part(data: bytes, file: File, stated: str = "") -> str:
    """Return the decoded text of a part of a file, as `text_of` does."""
    try:
        encoding = _find_encoding(data, file, stated=stated)
    except UnreadableSource:
        encoding = "utf-8"
    return _decode(data, encoding, file)


def find_codec(name: str) -> str:
    """Return the Python codec for an encoding name, or "".

    >>> find_codec("cp-850"), find_codec("ISO-8859-8-I"), find_codec("unknown-8bit")
    ('cp850', 'cp1255', '')
    """
    alias = _ALIASES.get(name.strip().casefold(), name.strip())
    for each in (alias, _JOINT.sub("", alias), alias.casefold().removeprefix("x-")):
        try:
            codec = codecs.lookup(each)
        except (LookupError, ValueError):
            continue
        # What turns bytes into bytes is an entry of its own, and no encoding of text.
        return _WIDER.get(codec.name, codec.name) if getattr(codec, "_is_text_encoding", 1) else ""
    return ""


def refuse_binary(file: File) -> None:
    """Raise UnreadableSource if a file begins like a binary file."""
    with file.path.open("rb") as stream:
        sample = stream.read(_SNIFFED_BYTES)
    _encoding(sample, file, whole=False, guess=False)


class Lines:
    """The lines of an open text file. Raises UnreadableSource for an overlong line."""

    def __init__(self, file: File, stream: TextIO, replaced_in: str = "") -> None:
        """Read lines from a stream; invalid bytes of the encoding `replaced_in` are replaced."""
        self._file = file
        self._stream = stream
        self._replaced_in = replaced_in
        self._n_read = 0

    def __iter__(self) -> Iterator[str]:
        return iter(self.readline, "")

    def readline(self) -> str:
        """Return the next line, "" at the end."""
        self._n_read += 1
        limits = self._file.limits
        line = self._stream.readline(limits.line_characters + 1)
        if len(line) > limits.line_characters:
            reason = f"has {limits.more_than('line_characters', 'characters')}"
            raise UnreadableSource(self._file.source, reason, self._n_read)
        if not self._replaced_in:
            return line
        line, n = SURROGATE.subn(_REPLACED, line)
        note_replaced(line, n, self._replaced_in, self._file, self._n_read)
        return line


@contextmanager
def open_text(file: File, *, guess: bool) -> Iterator[Lines]:
    """Open a text file by lines; its first megabyte determines the encoding.

    Without `guess` it is UTF-8 if it has no byte order mark, and bytes that do not fit the encoding
    come as lone surrogates, so that a line can be refused alone. Otherwise they become U+FFFD, and
    a note says so. Raises UnreadableSource if the file is binary, or in UTF-16 or UTF-32 that is
    broken.
    """
    with file.path.open("rb") as stream:
        sample = stream.read(_SAMPLE_BYTES)
    encoding = _encoding(sample, file, whole=len(sample) < _SAMPLE_BYTES, guess=guess)
    try:
        with file.path.open(encoding=encoding, errors="surrogateescape", newline="") as lines:
            yield Lines(file, lines, encoding if guess else "")
    except UnicodeDecodeError:
        name = encoding.removesuffix("-sig").upper()
        reason = f"is not valid {name} text; save it as UTF-8"
        raise UnreadableSource(file.source, reason) from None


def _encoding(
    data: bytes, file: File, *, whole: bool = True, guess: bool = True, stated: str = ""
) -> str:
    """Return the encoding of a text. Raises UnreadableSource for binary data."""
    marked = _marked_encoding(data)
    plain = data.decode(marked, "replace").encode() if marked else data
    controls = len(plain) - len(plain.translate(None, _CONTROLS))
    n_nul = plain.count(0)
    if n_nul * _TIMES_NUL > len(plain) or controls * 20 > len(plain):
        raise UnreadableSource(file.source, "looks like a binary file")
    if n_nul:
        line = plain.count(b"\n", 0, plain.index(0)) + 1
        file.partly.append(f"{format_count(n_nul, 'NUL byte')}, the first in line {line:,}")
    if marked or not guess:
        return marked or "utf-8"
    return _find_encoding(data, file, whole=whole, stated=stated)


def _marked_encoding(data: bytes) -> str:
    marked = (encoding for mark, encoding in _MARKS if data.startswith(mark))
    return next(marked, "") or _guess_utf_16(data)


def _find_encoding(data: bytes, file: File, *, whole: bool = True, stated: str = "") -> str:
    marked, codec = _marked_encoding(data), find_codec(stated)
    if marked or codec in _SEVEN_BITS:
        return marked or codec
    if not (data.isascii() or data.translate(None, _ASCII + _NO_LETTERS)):
        return "utf-8"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=whole)
    except UnicodeDecodeError:
        if _is_mostly_utf_8(data):
            return "utf-8"
    else:
        if _SHIFTS.search(data) is None:
            return "utf-8"
    return codec if codec and _fits(data, codec) else _guess(data, file)


def _fits(data: bytes, encoding: str) -> bool:
    """Check whether a text may be in its stated encoding: few bytes are invalid."""
    if encoding.startswith("utf"):
        return False
    n_bad = data.decode(encoding, "replace").count(_REPLACED)
    return n_bad * _TIMES_FOREIGN <= _count_above(data)


def _is_mostly_utf_8(data: bytes) -> bool:
    """Check whether a text is UTF-8 except for a few bytes or words."""
    text = data.decode("utf-8", "replace")
    n_bad = text.count(_REPLACED)
    if len(text) - n_bad - _count_ascii(data) >= n_bad:
        return True
    good = b"".join(word for word in _WORDS.findall(data) if _is_utf_8(word))
    n_good, n_all = _count_above(good), _count_above(data)
    return n_good >= _LEAST_FOREIGN and n_good * _TIMES_FOREIGN >= n_all


def _is_utf_8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _count_above(data: bytes) -> int:
    """Return the number of non-ASCII bytes."""
    return len(data.translate(None, _ASCII))


def _count_ascii(data: bytes) -> int:
    return len(data) - _count_above(data)


def _decode(data: bytes, encoding: str, file: File) -> str:
    """Return the decoded text, with notes on invalid bytes."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        pass
    if encoding == "utf-8":
        data = _recode_words(data, file)
    text = data.decode(encoding, "replace")
    own = data.decode(encoding, "ignore").count(_REPLACED)  # which the text had before
    note_replaced(text, text.count(_REPLACED) - own, encoding, file)
    return text


def note_replaced(text: str, n: int, encoding: str, file: File, line: int = 0) -> None:
    """Add a note on how many bytes were replaced by U+FFFD."""
    if n:
        line = line or text.count("\n", 0, text.find(_REPLACED)) + 1
        number = format_count(n, "place")
        name = encoding.removesuffix("-sig").upper()
        file.partly.append(
            f"{number} with bytes that are no {name} became U+FFFD, the first in line {line:,}"
        )


def _recode_words(data: bytes, file: File) -> bytes:
    """Return UTF-8 text after converting words in another encoding.

    These are words without any character of several bytes that is UTF-8, where there are enough of
    them to tell their encoding.
    """
    foreign = [word for word in _WORDS.finditer(data) if _is_foreign(word[0])]
    sample = b" ".join(word[0] for word in foreign)
    if _count_above(sample) < _LEAST_FOREIGN:
        return data
    encoding = _guess(sample, file)
    parts, end = [], 0
    for word in foreign:
        parts += [data[end : word.start()], word[0].decode(encoding, "replace").encode()]
        end = word.end()
    number = format_count(len(foreign), "word")
    line = data.count(b"\n", 0, foreign[0].start()) + 1
    file.partly.append(
        f"{number} in another encoding than the rest read as {encoding.upper()}, the first in line "
        f"{line:,}"
    )
    return b"".join([*parts, data[end:]])


def _is_foreign(word: bytes) -> bool:
    text = word.decode("utf-8", "replace")
    n_bad = text.count(_REPLACED)
    return n_bad > 0 and len(text) - n_bad == _count_ascii(word)


def _guess_utf_16(data: bytes) -> str:
    """Return the UTF-16 byte order of a text without mark, by its zero bytes."""
    sample = data[:_UTF_16_BYTES]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    most, least = max(even, odd), min(even, odd)
    if len(data) < 4 or most * 4 < len(sample) or least * 20 > most:
        return ""
    return "utf-16-be" if most == even else "utf-16-le"


def _guess(data: bytes, file: File) -> str:
    """Return the most probable encoding, with a note if another one is likely.

    Raises UnreadableSource where none is probable.
    """
    lines = data.splitlines(keepends=True)
    telling = b"".join(line for line in lines if not line.isascii() or b"\x1b" in line)
    sample = (telling or data)[:_GUESSED_BYTES]
    ranking = _rank_encodings(sample)
    if ranking[0][1] < _LOW and len(lines) > 1:  # one bad byte rules one of several bytes out
        by_line = _rank_lines(sample)
        ranking = by_line if by_line[0][1] > _LOW else ranking
    best, score = ranking[0]
    n_telling = _count_above(sample)
    if n_telling >= _ENOUGH and score * len(sample) < _LEAST * n_telling:
        reason = "is in an encoding that cannot be recognised; save it as UTF-8"
        raise UnreadableSource(file.source, reason)
    text = sample.decode(best, "replace")
    other = next((e for e, s in ranking[1:] if s > _NEAR * score and _differs(sample, e, text)), "")
    if other:
        file.partly.append(f"read as {best.upper()}, which is a guess: it may be {other.upper()}")
    return best


def _rank_encodings(sample: bytes) -> list[tuple[str, float]]:
    """Return encodings with their probabilities, best first.

    Those in which letters of other scripts stand alone among Latin ones are not.
    """
    import chardet  # 0.07 s

    guesses = chardet.detect_all(
        sample, ignore_threshold=True, include_encodings=_GUESSED, compat_names=False
    )
    ranked = [(_WIDER.get(e, e), each["confidence"]) for each in guesses if (e := each["encoding"])]
    for i, (encoding, _) in enumerate(ranked):
        text = sample.decode(encoding, "replace")
        if 2 * len(_BESIDE_LATIN.findall(text)) > len(_NOT_LATIN.findall(text)):
            ranked[i] = encoding, 0.0
    return sorted(ranked, key=lambda pair: -pair[1]) or [(_USUAL, 0.0)]


def _rank_lines(sample: bytes) -> list[tuple[str, float]]:
    """Return encodings by their probability over single lines."""
    lines = sample.splitlines(keepends=True)[:_MOST_LINES]
    scores: dict[str, float] = defaultdict(float)
    for line in lines:
        for encoding, score in dict(reversed(_rank_encodings(line))).items():
            scores[encoding] += score / len(lines)
    return sorted(scores.items(), key=lambda pair: -pair[1])


def _differs(sample: bytes, encoding: str, text: str) -> bool:
    try:
        return sample.decode(encoding) != text
    except UnicodeDecodeError:
        return False
