"""Answer a question: the modules of this package, in the order in which they run."""
