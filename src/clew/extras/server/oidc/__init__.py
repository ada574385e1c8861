"""Sign-in by OpenID Connect: what a provider says of a person becomes a session of a key.

A sign-in is the authorization code flow with PKCE, of OpenID Connect Core 1.0 (section 3.1), RFC
7636 and RFC 9207. Nothing that a provider sends is kept but who it is.
"""
