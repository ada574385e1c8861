"""Report pages: Markdown with figures beside it."""
