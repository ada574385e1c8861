"""Indexes served over HTTP: REST, OpenAI-compatible, Dify, MCP, and a page.

The server holds no logic of its own about retrieval: it calls what `clew.Index` has. What one
caller may see and spend is decided in one place (`scoped`), through which every route goes.
"""

from clew.server.app import application
from clew.server.settings import ServerSettings

__all__ = ["ServerSettings", "application"]
