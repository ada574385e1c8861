"""`clew eval`."""
