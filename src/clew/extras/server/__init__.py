"""Indexes served over HTTP: REST, OpenAI-compatible, MCP, and a page.

The server holds no logic of its own about retrieval: it calls what `clew.Index` has. What one
caller may see and spend is decided in one place (`scoped`), through which every route goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from clew.base.runtime.lazy import lazy

if TYPE_CHECKING:
    from clew.extras.server.app import application as application
    from clew.extras.server.settings import ServerSettings as ServerSettings

__all__ = ["ServerSettings", "application"]

# `clew keys` needs no part that serves.
__getattr__ = lazy("clew.extras.server", {"app": ("application",), "settings": ("ServerSettings",)})
