"""An index beyond one disk: rows in PostgreSQL, arrays in object storage (extra `postgres`)."""
