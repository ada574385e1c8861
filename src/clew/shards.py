"""Several indexes as one: documents are split over shards, and a question asks all of them.

The code is in `clew.extras.cluster.shards`.
"""

from clew.extras.cluster.shards.exchange import Neighbourhood
from clew.extras.cluster.shards.index import Shards, open_any, open_shards
from clew.extras.cluster.shards.split import create, split
from clew.readers.part import shard_of

__all__ = ["Neighbourhood", "Shards", "create", "open_any", "open_shards", "shard_of", "split"]
