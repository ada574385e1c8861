"""An index on several machines: workers, shards and PostgreSQL."""
