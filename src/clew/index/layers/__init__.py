"""Build the rows and links of an index from documents, one module per layer.

Every step is a pure function over a batch of documents: nothing depends on what else the index
holds, so an update gives the rows that a fresh build would.
"""
