"""Indexes as tools of a model, by the Model Context Protocol.

`tools` are what a model may call, as values; `protocol` speaks, and is imported late, since the
package `mcp` takes about a second to import; `routes` is the door over HTTP.
"""

from clew.server.mcp.routes import ROUTES as ROUTES
