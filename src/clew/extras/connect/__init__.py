"""Documents from elsewhere: other systems' files, and remote addresses."""
