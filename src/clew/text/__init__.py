"""Strings only: tokens, sentences, chunk windows, terms and entity keys."""
