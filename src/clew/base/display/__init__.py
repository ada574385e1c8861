"""Display values: as plain values, in one line, or as HTML, with invisible characters escaped."""
