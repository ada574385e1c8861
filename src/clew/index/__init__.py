"""An index on disk: its store, generations and snapshots, and how it is built."""
