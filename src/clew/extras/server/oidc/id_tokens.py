"""Verify ID tokens with Authlib."""

from collections.abc import Mapping
from typing import Any

from clew.errors import MissingExtra
from clew.extras.wire.refusals import forbidden

try:
    from authlib.oidc.core import CodeIDToken
    from joserfc import jwt
    from joserfc.errors import InvalidKeyIdError, JoseError
    from joserfc.jwk import KeySet, import_key
    from joserfc.jws import JWSRegistry
except ImportError as error:
    raise MissingExtra(error.name or "authlib", "oidc", "sign-in by OpenID Connect") from error

# No algorithm with a shared secret: a public key would be one. No "none".
ALGORITHMS = ("RS256", "ES256", "PS256", "EdDSA")
_KINDS = {"RSA", "EC", "OKP"}
_LEEWAY_S = 60  # of the clocks of provider and server
_HEADER_BYTES = 8_192  # it may have certificates


class UnknownKeyId(Exception):
    """The token names a key that the provider's known keys lack."""


def import_keys(value: Mapping[str, Any]) -> KeySet:
    """Return the signing keys of a JWK Set, without unreadable ones."""
    keys = []
    listed = value.get("keys")
    for each in listed if isinstance(listed, list) else []:
        if not isinstance(each, dict) or each.get("kty") not in _KINDS:
            continue
        if each.get("use", "sig") != "sig":
            continue
        try:
            keys.append(import_key(each))
        except (JoseError, ValueError, TypeError, KeyError):
            continue
    return KeySet(keys)


def verify_id_token(
    token: str, keys: KeySet, *, issuer: str, client: str, nonce: str, access_token: str | None
) -> dict[str, Any]:
    """Return the claims of an ID token (OpenID Connect Core 1.0, section 3.1.3.7).

    Raises UnknownKeyId, and Refusal 403 for a token that is not for this sign-in, or not valid.
    """
    registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    registry.max_header_length = _HEADER_BYTES
    try:
        decoded = jwt.decode(token, keys, algorithms=ALGORITHMS, registry=registry)
        claims = CodeIDToken(
            decoded.claims,
            decoded.header,
            options={
                "iss": {"essential": True, "value": issuer},
                "aud": {"essential": True, "value": client},
                "sub": {"essential": True},
            },
            params={"nonce": nonce, "client_id": client, "access_token": access_token},
        )
        claims.validate(leeway=_LEEWAY_S)
    except InvalidKeyIdError as error:
        raise UnknownKeyId from error
    except JoseError as error:
        raise forbidden(f"the provider's ID token is not valid ({error.error})") from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise forbidden("the provider sent no valid ID token") from error
    return decoded.claims
