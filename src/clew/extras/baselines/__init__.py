"""Methods of papers that others are compared with, registered as `clew.methods`."""
