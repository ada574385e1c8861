"""The REST interface: what each group of routes offers, as values."""

from clew.server.endpoints import RestEndpoint
from clew.server.rest import (
    about,
    access,
    asking,
    documents,
    graphs,
    indexes,
    jobs,
    shards,
    uploads,
)

ENDPOINTS: tuple[RestEndpoint, ...] = (
    *about.ENDPOINTS,
    *indexes.ENDPOINTS,
    *documents.ENDPOINTS,
    *uploads.ENDPOINTS,
    *asking.ENDPOINTS,
    *graphs.ENDPOINTS,
    *jobs.ENDPOINTS,
    *shards.ENDPOINTS,
    *access.ENDPOINTS,
)
