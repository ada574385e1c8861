"""What every room uses of Python and of this machine."""
