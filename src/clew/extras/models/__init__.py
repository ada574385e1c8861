"""Models that need packages of their own: endpoints, llama.cpp, spaCy, sentence-transformers."""
