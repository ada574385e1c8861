"""Describe an index as plain values, and export its graph for other programs."""
