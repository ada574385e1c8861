"""Describe an index as plain values."""
