"""Documents of Haystack from what Clew finds."""

import asyncio
from pathlib import Path
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.utils import Secret, deserialize_secrets_inplace

from clew.client import FoundChunk, find, opened
from clew.errors import InputError


@component
class ClewRetriever:
    """Retrieves from an index of Clew: in a folder, or, with a `url`, on a server.

    Each document is a passage, best first, and its score is its relevance: how probably the answer
    needs it. Its `meta` are those that `clew.client.find` names. In an asynchronous pipeline a
    thread asks, so nothing is held up.
    """

    def __init__(
        self,
        index: Any,  # noqa: ANN401 -- a folder, a name, or an open index
        *,
        url: str | None = None,
        key: Secret | None = None,
        top_k: int | None = None,
        method: str | None = None,
        where: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        """Take the settings; the index is opened when it is asked first, or by `warm_up`.

        Args:
            index: The folder of an index, its name on the server, or an open `clew.Index`, with
                which the component cannot be serialized.
            url: The address of a server (`clew serve`).
            key: The server's key, as `Secret.from_env_var("CLEW_KEY")`; None: that of CLEW_KEY.
            top_k: How many documents at the most; None: what the method takes by default.
            method: A method of retrieval; None: the default one.
            where: A filter of documents, as `year >= 1890`.
            parameters: Parameters of the method.
        """
        self.index = str(index) if isinstance(index, Path) else index
        self.url = url
        self.key = key
        self.top_k = top_k
        self.method = method
        self.where = where
        self.parameters = parameters or {}
        self._opened: Any = None

    def warm_up(self) -> None:
        """Open the index."""
        if self._opened is None:
            key = None if self.key is None else self.key.resolve_value()
            self._opened = opened(self.index, url=self.url, key=key)

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        top_k: int | None = None,
        where: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Return the documents for a query; what is given stands for the component's setting."""
        self.warm_up()
        found = find(
            self._opened,
            query,
            k=self.top_k if top_k is None else top_k,
            method=self.method,
            where=self.where if where is None else where,
            parameters=self.parameters if parameters is None else parameters,
        )
        return {"documents": list(map(_document, found))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        top_k: int | None = None,
        where: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> dict[str, list[Document]]:
        """Do as `run`, in a thread."""
        found: dict[str, list[Document]] = await asyncio.to_thread(
            self.run, query, top_k, where, parameters
        )
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the settings. A key is one of an environment variable, and stays there."""
        if not isinstance(self.index, str):
            raise InputError("an open index cannot be serialized: name its folder")
        found: dict[str, Any] = default_to_dict(
            self,
            index=self.index,
            url=self.url,
            key=None if self.key is None else self.key.to_dict(),
            top_k=self.top_k,
            method=self.method,
            where=self.where,
            parameters=self.parameters,
        )
        return found

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ClewRetriever":
        """Return the component of some settings."""
        if data["init_parameters"].get("key") is not None:
            deserialize_secrets_inplace(data["init_parameters"], keys=["key"])
        found: ClewRetriever = default_from_dict(cls, data)
        return found


def _document(found: FoundChunk) -> Document:
    return Document(
        id=found.chunk_id, content=found.text, meta=dict(found.metadata), score=found.relevance
    )
