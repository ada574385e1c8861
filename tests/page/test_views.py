"""Every view for everybody: axe-core, phones, keyboards, themes; and how fast the first one is."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from clew.extras.server.page import STATIC
from tests.page.conftest import ask, until

VIEWS = {
    "ask": ".ideas a",
    "compare": ".methods",
    "documents": "tbody tr",
    "themes": ".map .tile",
    "graph": ".side .chip",
    "graph?tab=aliases": ".pairs",
    "graph?entity=fram": ".texts",
    "jobs": ".empty",
    "spend": "table",
    "keys": "form, summary",
    "documents?doc=corpus/fram.md": "#reader .text",
}
SERIOUS = {"serious", "critical"}


def findings(page):
    """Return what axe-core finds that is serious: the rule, and the first place."""
    found = Axe().run(page).response["violations"]
    return [
        (each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in SERIOUS
    ]


def unfold(page):
    """Open all folds, so that what is in them is looked at, too."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.wait_for_timeout(300)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_no_view_has_serious_findings(reading, opened, view, theme):
    page = opened(reading, f"/{view}", theme=theme)
    page.locator(VIEWS[view]).first.wait_for()
    unfold(page)
    assert findings(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_an_answer_has_no_serious_findings(reading, opened, theme, width):
    page = opened(reading, theme=theme, width=width)
    turn = ask(page, "Where was the builder of the Fram born?")
    unfold(page)
    turn.locator(".thread .stepper, .thread .threads").locator("visible=true").first.wait_for()
    assert findings(page) == []
    turn.locator("button.cite").first.click()
    page.locator("#reader mark").first.wait_for()
    assert findings(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_signing_in_has_no_serious_findings(locked, opened, theme):
    page = opened(locked[0], theme=theme, expected=[401])
    assert findings(page) == []


@pytest.mark.parametrize("view", VIEWS)
def test_a_phone_shows_every_view(reading, opened, view):
    """360 pixels are wide enough, and what is pressed is large enough."""
    page = opened(reading, f"/{view}", width=360, height=740, has_touch=True)
    page.locator(VIEWS[view]).first.wait_for()
    unfold(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    small = page.evaluate(
        """() => [...document.querySelectorAll('button, summary, select, nav a')].filter((each) => {
            const box = each.getBoundingClientRect();
            return box.width && (box.height < 24 || box.width < 14);
        }).map((each) => each.outerHTML.slice(0, 90))"""
    )
    assert small == []


@pytest.mark.parametrize("width", [360, 1280])
def test_no_word_or_number_is_broken(reading, opened, width):
    """Names of themes wrap at spaces and stand once; counts stand in one line."""
    page = opened(reading, "/themes", width=width)
    page.locator(".map .name").first.wait_for()
    styles = page.locator(".map .name").evaluate_all(
        "nodes => nodes.map((node) => getComputedStyle(node).overflowWrap + node.scrollHeight)"
    )
    assert all(style.startswith("normal") for style in styles)
    whole = page.locator(".map .name").evaluate_all(
        """nodes => nodes.filter((node) => node.scrollHeight <= node.clientHeight
            && node.scrollWidth <= node.clientWidth).map((node) => node.textContent)"""
    )
    assert not set(whole) & set(page.locator(".list .link").all_inner_texts())
    page.goto(f"{reading}/graph")
    page.locator(".legend .hint").first.wait_for()
    assert page.locator(".legend .hint").evaluate_all(
        "nodes => nodes.every((node) => node.getClientRects().length === 1)"
    )


def test_the_menu_of_a_phone(reading, opened):
    page = opened(reading, width=360, height=740)
    menu = page.get_by_role("button", name="Menu")
    assert menu.get_attribute("aria-expanded") == "false"
    menu.click()
    page.get_by_role("link", name="Documents").click()
    page.locator("tbody tr").first.wait_for()
    assert page.get_by_role("button", name="Menu").get_attribute("aria-expanded") == "false"


def test_by_keyboard_alone(reading, opened):
    """From the address to a quote, and back, without a mouse."""
    page = opened(reading, "/documents")
    page.locator("tbody tr").first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Ask":
            break
    page.keyboard.press("Enter")
    page.get_by_label("Question", exact=True).wait_for()
    page.get_by_label("Question", exact=True).focus()
    page.keyboard.type("Where was the builder of the Fram born?")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copy link").wait_for()
    page.locator(".turn").get_by_role("button").first.focus()
    page.keyboard.press("Enter")
    page.locator("#reader mark").wait_for()
    assert page.evaluate("document.getElementById('reader').contains(document.activeElement)")
    page.keyboard.press("Escape")
    assert "cite" in page.evaluate("document.activeElement.className")


def test_a_theme_is_kept(reading, opened):
    page = opened(reading, theme="light")
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Theme: as the system").click()
    page.get_by_role("button", name="Theme: light").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper
    page.reload()
    page.get_by_role("button", name="Theme: dark").wait_for()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper


def test_back_and_forward(reading, opened):
    page = opened(reading)
    page.get_by_role("link", name="Documents").click()
    page.locator("tbody tr").first.wait_for()
    page.go_back()
    page.get_by_role("heading", name="What do you want").wait_for()
    page.go_forward()
    page.locator("tbody tr").first.wait_for()
    assert page.title() == "Documents · Clew"
    page = opened(reading, "/ask?index=other")
    assert "no index “other”" in page.locator("main").inner_text()


def test_the_first_view_is_there_at_once(reading, opened):
    page = opened(reading)
    told = page.evaluate(
        """() => {
            const paint = performance.getEntriesByName('first-contentful-paint')[0];
            const files = ['navigation', 'resource'].flatMap((kind) =>
                performance.getEntriesByType(kind)).filter((each) =>
                !each.name.includes('/api/') && each.startTime <= paint.startTime + 300);
            const sum = (name) => files.reduce((all, each) => all + each[name], 0);
            return [paint.startTime, files.length, sum('decodedBodySize'), sum('encodedBodySize')];
        }"""
    )
    paint, files, plain, packed = told
    print(f"first paint after {paint:.0f} ms; {files} files of {plain:,} bytes, {packed:,} packed")
    assert paint < 1_500
    assert packed < 40_000


def test_all_modules_are_there_before_they_are_wanted(reading, opened):
    """A view is opened even if the server is gone since."""
    page = opened(reading)
    have = "performance.getEntriesByType('resource').map((each) => each.name.split('/').pop())"
    scripts = {path.name for path in STATIC.glob("*.js")}
    until(lambda: scripts <= set(page.evaluate(have)))


def test_a_wide_table_scrolls_on_a_phone(reading, opened):
    page = opened(reading, "/spend", width=360)
    box = page.locator(".wide").last
    box.wait_for()
    assert box.evaluate("each => each.scrollWidth > each.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
