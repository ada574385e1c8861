"""A Haystack retriever over Clew."""

from haystack_integrations.components.retrievers.clew.retriever import ClewRetriever

__all__ = ["ClewRetriever"]
