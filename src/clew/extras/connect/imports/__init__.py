"""What other systems keep: a module for each, as `clew.extras.connect.imports.systems` says."""
