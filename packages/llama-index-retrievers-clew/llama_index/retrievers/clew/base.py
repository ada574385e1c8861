"""Nodes of LlamaIndex from what Clew finds."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import (
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)

from clew.client import FoundChunk, ServedIndex, find, opened

if TYPE_CHECKING:
    from llama_index.core.callbacks import CallbackManager

    from clew import Index

_FOR_MODELS = frozenset({"title", "section", "page"})  # metadata that stand in prompts


class ClewRetriever(BaseRetriever):
    """Retrieves from an index of Clew: in a folder, or, with a `url`, on a server.

    Each node is a passage, best first, and its score is its relevance: how probably the answer
    needs it. Its metadata are those that `clew.client.find` names, of which models read the title,
    the section and the page. It relates to its document as to its source. In an event loop a
    thread asks, so nothing is held up.
    """

    def __init__(
        self,
        index: str | Path | Index | ServedIndex,
        *,
        url: str | None = None,
        key: str | None = None,
        k: int | None = None,
        method: str | None = None,
        where: str | None = None,
        parameters: dict[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        """Open an index; nothing is read or asked yet.

        Args:
            index: The folder of an index, its name on the server, or an open index.
            url: The address of a server (`clew serve`).
            key: The server's key; else that of CLEW_KEY.
            k: How many nodes at the most; None: what the method takes by default.
            method: A method of retrieval; None: the default one.
            where: A filter of documents, as `year >= 1890`.
            parameters: Parameters of the method.
            callback_manager: LlamaIndex's.
        """
        super().__init__(callback_manager=callback_manager)
        self._index = opened(index, url=url, key=key)
        self._settings: dict[str, Any] = {
            "k": k,
            "method": method,
            "where": where,
            "parameters": parameters,
        }

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(each) for each in find(self._index, query_bundle.query_str, **self._settings)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(found: FoundChunk) -> NodeWithScore:
    metadata = dict(found.metadata)
    hidden = [name for name in metadata if name not in _FOR_MODELS]
    document = {name: metadata[name] for name in ("title", "source", "fields")}
    node = TextNode(
        id_=found.chunk_id,
        text=found.text,
        start_char_idx=metadata["start"],
        end_char_idx=metadata["end"],
        metadata=metadata,
        excluded_llm_metadata_keys=hidden,
        excluded_embed_metadata_keys=hidden,
        relationships={
            NodeRelationship.SOURCE: RelatedNodeInfo(node_id=found.document_id, metadata=document)
        },
    )
    return NodeWithScore(node=node, score=found.relevance)
