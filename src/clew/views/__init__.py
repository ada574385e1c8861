"""An index as plain values, and its graph as files for other programs."""
