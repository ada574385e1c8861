"""Show addresses without the secrets in them: passwords, keys, tokens and signatures."""

import re

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\"<>`]+", re.IGNORECASE)
_BEHIND = re.compile(r"[).,:;\]}]*$")  # what ends a sentence about an address
_CHAIN = re.compile(r"::(?=[a-z][a-z0-9+.-]*://)", re.IGNORECASE)  # of addresses, in fsspec
_PORT = re.compile(r"(?:[^:]*|\[[^\]]*\])(?::[0-9]*)?")  # a host, and its port
_NAMES = (
    r"[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|signature|credentials?|jwt"
    r"|(?:api|access|private|subscription|account)[-_.]?key(?:[-_.]?id)?|sess(?:ion)?[-_.]?id)"
    r"|key|sig|sid|pw|pwd|pass|auth|authorization|code|x-(?:amz|goog)-[\w-]+|key-pair-id"
)
_FIELD = re.compile(rf"(?<=[?&;#])(?:{_NAMES})=[^&;#?]*&?", re.IGNORECASE)
_FIELD_OF_TEXT = re.compile(rf"([?&])({_NAMES})=[^&\s'\"<>`)]+", re.IGNORECASE)
# What else stands with a signature, and is made anew with it.
_SIGNED = re.compile(
    r"(?<=[?&])(?:s[veprt]|ss|srt|spr|sip|sk\w+|expires|policy)=[^&#]*&?", re.IGNORECASE
)
_IS_SIGNED = re.compile(r"[?&](?:sig|signature)=", re.IGNORECASE)
_EMPTY = re.compile(r"[?&;]+(?=[#?]|$)|#$")


def hide_secrets(address: str) -> str:
    """Return an address, or several, with its secrets masked.

    A user stays, but not of a web address, where it is a token. Fields of the query stay, but those
    whose names say that they are a password, a key, a token, a session or a signature.
    """
    return "::".join(map(_hide_part, _CHAIN.split(address)))


def hide_secrets_in(text: str) -> str:
    """Return a text with the secrets of its addresses masked."""
    if "://" in text:
        text = _ADDRESS.sub(lambda found: _hide_found(found[0]), text)
    return _FIELD_OF_TEXT.sub(r"\1\2=...", text) if "=" in text else text


def _hide_found(found: str) -> str:
    end = _BEHIND.search(found)
    behind = end[0] if end else ""
    return hide_secrets(found.removesuffix(behind)) + behind


def _hide_part(address: str) -> str:
    scheme, mark, rest = address.partition("://")
    kind = scheme.lower()
    if mark and not kind.endswith("github"):  # whose addresses are ORGANISATION:REPOSITORY@COMMIT
        own = re.split("[/?#]", rest, maxsplit=1)[0]
        if "@" not in own and not _PORT.fullmatch(own):  # a password with one of these
            own = rest
        user, at, _ = own.rpartition("@")
        rest = rest[len(user) + len(at) :]
        if user and not kind.endswith(("http", "https")):
            rest = f"{user.partition(':')[0]}@{rest}"
    is_signed = _IS_SIGNED.search(rest)
    shown = _FIELD.sub("", rest)
    if is_signed:
        shown = _SIGNED.sub("", shown)
    return f"{scheme}{mark}{shown if shown == rest else _EMPTY.sub('', shown)}"
