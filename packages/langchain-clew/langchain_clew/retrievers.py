"""Documents of LangChain from what Clew finds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr, SecretStr

from clew.client import FoundChunk, find, opened


class ClewRetriever(BaseRetriever):
    """Retrieves from an index of Clew: in a folder, or, with a `url`, on a server.

    Each document is a passage, best first, with the metadata that `clew.client.find` names; the
    last step of its `thread` is the passage itself. `invoke(query, k=..., where=...)` and so on
    change a setting for one query. In an event loop a thread asks, so nothing is held up.
    """

    index: Any
    """The folder of an index, its name on the server, or an open `clew.Index`."""
    url: str | None = None
    """The address of a server (`clew serve`)."""
    key: SecretStr | None = None
    """The server's key; else that of CLEW_KEY."""
    k: int | None = Field(None, ge=1)
    """How many documents at the most; None: what the method takes by default."""
    method: str | None = None
    """A method of retrieval; None: the default one."""
    where: str | None = None
    """A filter of documents, as `year >= 1890`."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameters of the method."""
    _opened: Any = PrivateAttr()

    def model_post_init(self, context: Any) -> None:  # noqa: ANN401 -- pydantic's
        """Open the index; nothing is read or asked yet."""
        super().model_post_init(context)
        key = None if self.key is None else self.key.get_secret_value()
        index = self.index if not isinstance(self.index, Path) else str(self.index)
        self._opened = opened(index, url=self.url, key=key)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 -- there is nothing to tell it
        **changed: Any,  # noqa: ANN401 -- settings
    ) -> list[Document]:
        return self._found(query, changed)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002 -- the same
        **changed: Any,  # noqa: ANN401 -- settings
    ) -> list[Document]:
        return await asyncio.to_thread(self._found, query, changed)

    def _found(self, query: str, changed: dict[str, Any]) -> list[Document]:
        settings = {
            "k": self.k,
            "method": self.method,
            "where": self.where,
            "parameters": self.parameters,
        }
        return [_document(each) for each in find(self._opened, query, **{**settings, **changed})]


def _document(found: FoundChunk) -> Document:
    return Document(id=found.chunk_id, page_content=found.text, metadata=dict(found.metadata))
