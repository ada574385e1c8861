"""The command `clew eval`."""
