"""An index as its users have it.

`index` is what they open, made of what it can be asked (`clew.answers.askable`), `adding` and
`upkeep`, over an `opened` store; `checks` are of what callers give.
"""

from clew.api.adding import Added
from clew.api.checks import checked
from clew.api.index import Index, open_index
from clew.api.upkeep import restore

__all__ = ["Added", "Index", "checked", "open_index", "restore"]
