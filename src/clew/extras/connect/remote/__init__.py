"""Read documents from remote addresses, a module for each scheme (`clew.readers.remote`)."""
