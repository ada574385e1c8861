"""An index on disk: its store, its generations, the snapshot of one, and what builds them."""
