"""The client of a server: requests, replies, and retrievers for other frameworks."""
