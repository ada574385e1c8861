"""The key under which spellings of one label of a text are equal."""

import re
import unicodedata

from clew.text.normalize import collapse

_JOINT = re.compile(r"(?<=[^\W_])[-_/‐‑]+(?=[^\W_])")  # between letters: "co-author", "not_spam"
_OUTER = " .,:;!?\"'`*“”‘’„«»()[]{}<>"  # what people and models put around a label


def label_key(label: str) -> str:
    """Return the form in which labels are compared.

    NFKC, casefold, joints and white space as single spaces, no quotes or stops around it. Other
    signs stay, so that "C++" and "C#" are two labels, and "+1" and "-1".

    >>> label_key('"Machine-Learning".')
    'machine learning'
    """
    folded = unicodedata.normalize("NFKC", label).casefold()
    spaced = collapse(_JOINT.sub(" ", unicodedata.normalize("NFKC", folded)))
    return spaced.strip(_OUTER) or spaced
