"""Sign-in by OpenID Connect: verified claims of a person give a session for a key.

A sign-in is the authorization code flow with PKCE, of OpenID Connect Core 1.0 (section 3.1), RFC
7636 and RFC 9207. Nothing that a provider sends is kept but who it is.
"""
