"""`clew eval` and `clew classify`."""
