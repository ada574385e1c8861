"""People sign in by a provider on another site, in a real browser, and come to what they wanted."""

import subprocess
import sys

import pytest

from tests.extras.server.provider import CLIENT, providing
from tests.page.conftest import served, until
from tests.page.test_views import findings

WANTED = "/documents?index=polar&doc=corpus/fram.md"


@pytest.fixture
def provided(corpus, tmp_path, monkeypatch):
    """A provider, and the address of a server to which it signs people in."""
    home = tmp_path / "home"
    command = [sys.executable, "-m", "clew", "keys", "add", "reader", "--home", home]
    subprocess.run(command, check=True, capture_output=True)
    with providing() as provider:
        # Cookies know hosts and no ports, so this is another site than the server's.
        provider.issuer = provider.issuer.replace("127.0.0.1", "localhost")
        provider.claims["groups"] = ["staff"]
        monkeypatch.setenv("CLEW_OIDC_SECRET", provider.secret)
        options = ("--oidc", provider.issuer, "--oidc-client", CLIENT, "--oidc-key", "staff=reader")
        with served(home, f"polar={corpus}", *options) as address:
            yield provider, address


@pytest.fixture
def page(chromium):
    context = chromium.new_context(viewport={"width": 1280, "height": 860})
    yield context.new_page()
    context.close()


def test_one_signs_in_by_a_provider_and_out(provided, page):
    """The view that was wanted is shown, and who it is stands beside."""
    provider, address = provided
    page.goto(f"{address}{WANTED}")
    button = page.get_by_role("button", name=f"Sign in with {provider.issuer[7:]}")
    button.wait_for()
    assert page.get_by_label("Key", exact=True).is_visible()
    assert not findings(page)
    button.click()
    page.locator("#reader h2").wait_for()
    assert page.url == f"{address}{WANTED}"
    assert (
        "Signed in as anna@example.org, by the key reader (read)"
        in page.locator("#bar").inner_text()
    )
    [cookie] = page.context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (
        "clew_session",
        True,
        "Strict",
    )
    page.get_by_role("button", name="Sign out").click()
    button.wait_for()
    assert not page.context.cookies()


def test_who_is_not_let_in_reads_why(provided, page):
    provider, address = provided
    provider.claims["groups"] = []
    page.goto(address)
    page.get_by_role("button", name="Sign in with").click()
    page.get_by_role("heading", name="Not signed in").wait_for()
    assert "No key of this server covers anna@example.org" in page.locator("main").inner_text()
    assert not findings(page)
    page.get_by_role("link", name="Back to the page").click()
    page.get_by_role("button", name="Sign in with").wait_for()
    provider.claims["groups"] = ["staff"]
    page.get_by_role("button", name="Sign in with").click()
    until(lambda: "Signed in as" in page.locator("#bar").inner_text())
