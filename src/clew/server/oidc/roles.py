"""From the claims of a person to a key and a name."""

from collections.abc import Mapping, Sequence
from typing import Any

from clew.server.settings import EVERYBODY

Claims = Mapping[str, Any]

_LONGEST_NAME = 200


def find_values(claims: Claims, name: str) -> tuple[str, ...] | None:
    """Return the values of a claim, by its name or a path with dots; None where there is none.

    A claim is a text, a list of texts, or an object, whose names then are the values.

    >>> find_values({"realm_access": {"roles": ["staff", "all"]}}, "realm_access.roles")
    ('staff', 'all')
    >>> find_values({"https://example.org/role": "staff"}, "https://example.org/role")
    ('staff',)
    """
    found: Any = claims
    for part in [name] if name in claims else name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    if found is None:
        return None
    values = found if isinstance(found, list | Mapping) else [found]
    return tuple(each for each in values if isinstance(each, str))


def choose_key(values: Sequence[str], roles: Sequence[tuple[str, str]]) -> str | None:
    """Return the key of the first role whose claim value is among those of a person, or None.

    >>> choose_key(["all", "staff"], [("admins", "boss"), ("staff", "anna"), ("all", "reader")])
    'anna'
    """
    return next((key for value, key in roles if value == EVERYBODY or value in values), None)


def name_user(claims: Claims) -> str:
    """Return who a person is, for people: the first of email, preferred_username and sub.

    An email address that the provider says is not verified is left out.
    """
    email = None if claims.get("email_verified") is False else claims.get("email")
    for given in (email, claims.get("preferred_username"), claims.get("sub")):
        shown = "".join(c for c in given if c.isprintable()) if isinstance(given, str) else ""
        if shown:
            return shown[:_LONGEST_NAME]
    return ""
