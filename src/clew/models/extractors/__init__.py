"""Extractors without an LLM: triples from a dependency parse, or from co-occurrence.

`dependency` reads the parse of each sentence: `clauses` says which tokens stand in which relation,
`coreference` what they are called and what pronouns stand for, `parentheses` what dates and short
names behind a name say. `cooccurrence` needs no parser. Both put triples together with `ends`.
"""
