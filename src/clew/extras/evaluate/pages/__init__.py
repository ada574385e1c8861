"""Report pages: Markdown with figures beside it, or one HTML file."""
