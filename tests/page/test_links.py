"""Links to passages, as other programs show them, followed to the words that are meant."""

import http.client
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote_plus, urlsplit

import httpx2
import pytest

from tests.page.conftest import served, sign_in, until

FRAM = "Where was the builder of the Fram born?"
QUOTE = "Colin Archer was a naval architect, born in Larvik in 1832."
ELSEWHERE = "http://chat.example/"


def post(address, path, body, key=""):
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.post(f"{address}{path}", json=body, headers=headers, timeout=60).json()


def of_archer(links):
    """Return the first of some addresses that leads to the article on Colin Archer."""
    return next(link for link in links if "colin-archer" in link)


def cited(address, key=""):
    """Return the address of a citation of his article, as a chat is told it."""
    asked = {"model": "clew/polar", "messages": [{"role": "user", "content": FRAM}]}
    [choice] = post(address, "/v1/chat/completions", asked, key)["choices"]
    return of_archer(each["url_citation"]["url"] for each in choice["message"]["annotations"])


@pytest.fixture
def followed(chromium):
    """Return a function that follows a link on a page of somebody else; a page is what it gives."""
    contexts = []

    def follow(link, **given):
        context = chromium.new_context(viewport={"width": 1280, "height": 860}, **given)
        contexts.append(context)
        page = context.new_page()
        shown = f'<a href="{link}">Colin Archer</a>'.replace("&", "&amp;")
        page.route(ELSEWHERE, lambda route: route.fulfill(content_type="text/html", body=shown))
        page.goto(ELSEWHERE)
        page.get_by_role("link").click()
        return page

    yield follow
    for each in contexts:
        each.close()


def marked(page):
    """Return the words that are marked, once they are seen."""
    mark = page.locator("#reader mark")
    mark.first.wait_for()
    until(lambda: 0 < mark.first.bounding_box()["y"] < 860)
    return "".join(mark.all_inner_texts())


def test_a_link_leads_to_the_passage(reading, followed):
    page = followed(cited(reading))
    assert QUOTE in marked(page)
    assert "Colin Archer" in page.locator("#reader h2").inner_text()
    page.go_back()
    assert page.url == ELSEWHERE


def test_a_link_of_a_reader_leads_there_too(locked, followed):
    """By REST, where whoever is no admin is told no path of the server."""
    address, _, key = locked
    own = key("anna")
    answer = post(address, "/api/v1/indexes/polar/ask", {"question": FRAM}, own)
    page = followed(of_archer(each["url"] for each in answer["citations"]))
    sign_in(page, own)
    assert QUOTE in marked(page)


def test_a_link_asks_for_the_key_first(locked, followed):
    """As the page does elsewhere; then it shows the passage."""
    address, _, key = locked
    own = key("anna")
    page = followed(cited(address, own))
    page.get_by_role("button", name="Sign in").wait_for()
    assert not page.locator("#reader").is_visible()
    sign_in(page, own)
    assert QUOTE in marked(page)


def test_a_link_into_an_index_that_a_key_does_not_see(locked, followed):
    address, _, key = locked
    own = key("anna")
    page = followed(cited(address, own).replace("index=polar", "index=other"))
    sign_in(page, own)
    page.get_by_text("There is no index “other” here").wait_for()


@pytest.mark.parametrize("name", ["log/a #1 100%41?&x=+.md", "\u65e5\u672c/\u00e4 \U0001f680.md"])
def test_ids_that_addresses_write_in_another_way(writing, followed, name):
    text = "\U0001f600 Before it. The lamp of Quorkholm was lit by Ada Lund. Behind it.\n" * 2
    given = {"documents": [{"id": name, "text": text}]}
    post(writing, "/api/v1/indexes/polar/documents?wait=60", given)
    asked = {"model": "clew/polar", "input": "Who lit the lamp of Quorkholm?"}
    [said] = post(writing, "/v1/responses", asked)["output"]
    found = said["content"][0]["annotations"][0]
    assert "The lamp of Quorkholm was lit by Ada Lund." in marked(followed(found["url"]))


def test_what_was_deleted_is_said_to_be_gone(reading, followed):
    page = followed(cited(reading).replace("colin-archer", "colin-bowman"))
    page.locator("#reader .problem").wait_for()
    assert "colin-bowman.md" in page.locator("#reader .problem").inner_text()


@contextmanager
def below(path, address):
    """A proxy that has a server below a path, which it takes off; give its address."""
    host = urlsplit(address).netloc

    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.0"

        def pass_on(self):
            if not self.path.startswith(f"{path}/"):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            asked = http.client.HTTPConnection(host, timeout=30)
            asked.request(self.command, self.path.removeprefix(path), body, dict(self.headers))
            reply = asked.getresponse()
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in {"connection", "transfer-encoding"}:
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.read())
            asked.close()

        do_GET = do_POST = do_DELETE = pass_on  # noqa: N815 -- as the handler calls them

        def log_message(self, *_given):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Passing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_server_below_a_path_of_a_proxy(corpus, tmp_path, followed):
    """The page is whole there: what it loads, asks for and links to is below the path, too."""
    arguments = (f"polar={corpus}", "--root-path", "/deep/clew")
    with served(tmp_path / "home", *arguments) as inside, below("/deep/clew", inside) as outside:
        link = cited(f"{outside}/deep/clew")
        assert link.startswith(f"{outside}/deep/clew/documents?index=polar&doc=")
        page = followed(link)
        seen = []
        page.on("request", lambda request: seen.append(request.url))
        assert "Colin Archer" in marked(page)
        page.get_by_role("link", name="Ask", exact=True).click()
        page.get_by_label("Question", exact=True).fill(FRAM)
        page.keyboard.press("Enter")
        page.locator("button.cite").first.click()
        assert "born in Larvik" in marked(page)
        page.reload()
        page.get_by_label("Question", exact=True).wait_for()
        assert page.locator("a.brand img").evaluate("node => node.naturalWidth > 0")
        assert page.url == f"{outside}/deep/clew/ask?index=polar&q={quote_plus(FRAM)}"
        assert [url for url in seen if not url.startswith(f"{outside}/deep/clew/")] == []
