"""An index in PostgreSQL (rows) and object storage (arrays); needs the extra `postgres`."""
