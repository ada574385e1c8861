"""Reports as pages to pass on: Markdown with its figures beside it, or one HTML file."""
