"""Reports as rows of cells, which text and pages share, and as aligned text."""
