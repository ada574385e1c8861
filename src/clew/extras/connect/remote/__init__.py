"""Places that are no folder of this machine: a module for each kind (`clew.readers.remote`)."""
