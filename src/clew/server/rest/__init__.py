"""The REST interface: what each group of routes offers, as values."""

from clew.server.endpoints import Endpoint
from clew.server.rest import about, asking, jobs, uploads

PREFIX = "/api/v1"
ENDPOINTS: tuple[Endpoint, ...] = (
    *about.ENDPOINTS,
    *asking.ENDPOINTS,
    *uploads.ENDPOINTS,
    *jobs.ENDPOINTS,
)
