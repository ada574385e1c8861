"""Extraction of triples without an LLM: names that stand in one sentence."""
