"""Optional packages: the core imports none of them, and each may be deleted."""
