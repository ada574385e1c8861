"""What every other package may import: types, errors' helpers, terminal output, processes."""
