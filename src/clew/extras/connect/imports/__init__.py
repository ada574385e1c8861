"""Importers for other systems' data, a module for each (see `clew.readers.systems`)."""
