"""A LlamaIndex retriever over Clew."""

from llama_index.retrievers.clew.base import ClewRetriever

__all__ = ["ClewRetriever"]
