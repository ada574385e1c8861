"""What other systems keep: a module for each, as `clew.readers.systems` says."""
