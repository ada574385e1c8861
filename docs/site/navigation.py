"""Which pages the documentation has, in the order in which they are shown."""

FIRST = "README"
METHODS = (
    "walk paths clue ket bubble agrag auto pagerank hipporag hipporag2 linearrag e2graphrag raptor"
    " graphrag_local themes counts lightrag ircot dense bm25 hybrid zero_shot chain_of_thought"
)
NAVIGATION = {  # below which page, under which caption, which pages
    FIRST: {
        "Start": ["docs/tutorial"],
        "Notebooks": ["docs/notebooks/*"],
        "Guides": ["docs/guides/*"],
        "Methods": [f"docs/methods/{name}" for name in METHODS.split()],
        "Results": ["docs/results/index", "docs/scale"],
        "Reference": ["docs/public", "docs/site/reference/index", "docs/format", "docs/glossary"],
        "How it is built": ["docs/architecture", "docs/values", "docs/decisions/index"],
        "The project": ["CONTRIBUTING", "SECURITY", "CHANGELOG"],
    },
    "docs/results/index": {"": ["*"]},
    "docs/decisions/index": {"": ["*"]},
}
