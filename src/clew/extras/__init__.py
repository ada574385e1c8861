"""Packages that the core does without: each may be deleted, and none is imported by the core."""
