"""Shared foundations: types, errors, terminal output, processes. Any package may import them."""
