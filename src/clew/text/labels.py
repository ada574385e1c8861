"""The key under which spellings of one label of a text are equal."""

import re

from clew.text.normalize import collapse, nfkc

_JOINT = re.compile(r"(?<=[^\W_])[-_/‐‑]+(?=[^\W_])")  # between letters: "co-author", "not_spam"
_OUTER = " .,:;!?\"'`*“”‘’„«»()[]{}<>"  # what people and models put around a label


def label_key(label: str) -> str:
    """Return the form in which labels are compared.

    NFKC, casefold, joints and white space as single spaces, no quotes or stops around it. Other
    signs stay, so that "C++" and "C#" are two labels, and "+1" and "-1".

    >>> label_key('"Machine-Learning".')
    'machine learning'
    """
    folded = nfkc(label).casefold()
    spaced = collapse(_JOINT.sub(" ", nfkc(folded)))
    return spaced.strip(_OUTER) or spaced
