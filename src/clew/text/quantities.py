"""Write quantities with their nouns."""


def format_count(n: int, what: str) -> str:
    """Return a number and what it counts, named in the singular: "1 triple", "2,000 entities"."""
    many = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{n:,} {what if n == 1 else many}"
