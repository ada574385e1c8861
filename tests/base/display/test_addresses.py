"""Addresses are shown without what only their owner should know."""

import copy
import re

import pytest

from clew.base.display.addresses import hide_secrets, hide_secrets_in
from clew.errors import InputError, UnreadableSource

S = "s3cr3t"
SHOWN = {
    f"https://me:{S}@host/a": "https://host/a",
    f"https://{S}@host:8080/a?page=2": "https://host:8080/a?page=2",
    f"https://host/a?token={S}": "https://host/a",
    f"https://host/a?id=7&access_token={S}&page=2": "https://host/a?id=7&page=2",
    f"https://host/a?API_KEY={S}#part": "https://host/a#part",
    f"https://host/a?apikey={S}&q=x": "https://host/a?q=x",
    f"https://host/cb#access_token={S}&state=1": "https://host/cb#state=1",
    f"https://host/a;jsessionid={S}?q=1": "https://host/a?q=1",
    f"https://b.s3.amazonaws.com/k.pdf?versionId=3&X-Amz-Signature={S}&X-Amz-Credential={S}%2F2026"
    "&X-Amz-Expires=60": "https://b.s3.amazonaws.com/k.pdf?versionId=3",
    f"https://x.blob.core.windows.net/c/k.pdf?sv=2024&se=2026&sr=b&sp=r&sig={S}%3D":
        "https://x.blob.core.windows.net/c/k.pdf",
    f"https://storage.googleapis.com/b/k?X-Goog-Signature={S}": "https://storage.googleapis.com/b/k",
    f"https://d.cloudfront.net/k?Expires=1&Signature={S}&Key-Pair-Id={S}": "https://d.cloudfront.net/k",
    f"git+https://{S}@host/r.git@main#docs": "git+https://host/r.git@main#docs",
    f"git+https://oauth2:{S}@host/r.git": "git+https://host/r.git",
    "git+ssh://git@host/r.git": "git+ssh://git@host/r.git",
    f"sitemap+https://me:{S}@host": "sitemap+https://host",
    f"postgres://me:{S}@host:5432/db": "postgres://me@host:5432/db",
    f"postgresql://me:{S}@[::1]:1/db?sslmode=require&password={S}":
        "postgresql://me@[::1]:1/db?sslmode=require",
    f"postgres://me:{S}/with?odd#signs@host/db": "postgres://me@host/db",
    f"imaps://me:{S}@host/INBOX": "imaps://me@host/INBOX",
    f"zip://a.md::https://me:{S}@host/a.zip": "zip://a.md::https://host/a.zip",
    f"s3://key:{S}@bucket/a": "s3://key@bucket/a",
    "github://org:repository@main/docs": "github://org:repository@main/docs",
    "https://host/@someone/a?monkey=1&keyword=x": "https://host/@someone/a?monkey=1&keyword=x",
    "https://host:443/a?": "https://host:443/a?",
    "notes/a.md": "notes/a.md",
}  # fmt: skip


@pytest.mark.parametrize(("address", "shown"), SHOWN.items())
def test_secrets_are_hidden_and_the_rest_stays(address, shown):
    assert hide_secrets(address) == shown
    assert hide_secrets(shown) == shown
    for text in (
        "git says: no password for '{}'",
        "{}: cannot be reached",
        "see {}, or ask.",
        "({})",
    ):
        assert hide_secrets_in(text.format(address)) == text.format(shown)
        assert S not in str(InputError(text.format(address)))


def test_a_field_without_its_address_is_hidden_too():
    """As libraries say it of a path alone."""
    said = f"HTTPConnectionPool(host='h'): no /a?x=1&token={S} (timeout)"
    assert hide_secrets_in(said) == "HTTPConnectionPool(host='h'): no /a?x=1&token=... (timeout)"


def test_an_error_has_no_secret_in_any_part():
    error = UnreadableSource(f"https://{S}@host/a", f"leads to https://host/b?sig={S}")
    for each in (error, copy.copy(error)):
        assert (each.source, each.reason) == ("https://host/a", "leads to https://host/b")
        assert not re.search(S, f"{each} {each!r} {each.args} {vars(each)}")
