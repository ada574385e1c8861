"""Keys of named nodes in a graph, even if the name has no letter or digit."""

from functools import lru_cache

from clew.text.analyze import is_uncased
from clew.text.normalize import collapse, entity_key

MAX_KEY = 100  # characters: longer "names" are headings in capitals, or texts


@lru_cache(maxsize=1 << 14)
def name_key(name: str) -> str:
    """Return the entity key of a name, or the folded name if that key is empty.

    >>> name_key("Pourquoi-Pas?"), name_key(" $ ")
    ('pourquoi pas', '$')
    """
    return entity_key(name) or collapse(name).casefold()


def has_key(words: str, key: str) -> bool:
    """Check whether `words`, a text's key between two spaces, contains a key.

    As whole words, but in a script without capitals, which may have no spaces either, anywhere.
    """
    return key in words if is_uncased(key) else f" {key} " in words
