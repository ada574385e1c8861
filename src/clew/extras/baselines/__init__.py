"""Published methods to compare with, registered as `clew.methods`."""
