"""Drawings of graphs, and lists of an index's contents, for pages and notebooks."""
