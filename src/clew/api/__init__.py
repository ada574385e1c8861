"""The public class `Index`.

`index` is what they open, made of what it can be asked (`clew.answers.askable`), `adding` and
`upkeep`, over an `opened` store.
"""

from clew.api.adding import Added
from clew.api.index import Index, open_index
from clew.api.opened import checked
from clew.api.upkeep import restore

__all__ = ["Added", "Index", "checked", "open_index", "restore"]
