"""What happens to a question, in the order in which it happens."""
