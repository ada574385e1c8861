"""`python -m clew` is `clew`."""

from clew.cli import main

if __name__ == "__main__":
    main(prog_name="clew")
