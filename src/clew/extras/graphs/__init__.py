"""Graphs with positions, and lists of an index's contents, for pages."""
