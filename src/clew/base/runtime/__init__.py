"""Helpers for Python's runtime and the machine: arguments, files, SQLite, threads."""
