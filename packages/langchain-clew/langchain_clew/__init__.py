"""A LangChain retriever over Clew."""

from langchain_clew.retrievers import ClewRetriever

__all__ = ["ClewRetriever"]
