"""Questions, answers as they come, and the documents that they quote."""

import re

import pytest

from tests.models.server import EVENTS, Answer, serving, streamed
from tests.page.conftest import (
    DOCUMENTS,
    EVIL,
    REPLY,
    ask,
    job_ends,
    replies,
    reply_with,
    served,
    shown_json,
    until,
)

FRAM = "Where was the builder of the Fram born?"


def test_an_answer_with_its_sources(reading, opened):
    page = opened(reading)
    turn = ask(page, FRAM)
    assert "born in Larvik in 1832" in turn.locator(".answer").inner_text()
    assert turn.locator(".statement").count() == turn.locator("button.cite").count() > 0
    assert "probability" in turn.locator(".meta").inner_text()
    assert "no LLM, free" in turn.locator(".meta").inner_text()
    turn.get_by_text("Passages").click()
    assert turn.locator(".passages > li").count() == 10
    share = turn.locator(".relevance").first
    bar = share.locator(".bar span").evaluate("node => node.style.inlineSize")
    assert share.inner_text().endswith(bar.replace("%", " %"))
    assert page.evaluate("document.getElementById('status').textContent").startswith("Answered")


def test_a_citation_opens_the_document_at_the_quote(reading, opened):
    """It is beside the answer; Escape closes it and gives the focus back."""
    page = opened(reading)
    turn = ask(page, FRAM)
    quote = turn.locator("q").first.inner_text()
    cite = turn.locator("button.cite").first
    cite.click()
    mark = page.locator("#reader mark")
    mark.wait_for()
    assert mark.inner_text() == quote
    box, frame = mark.bounding_box(), page.locator("#reader").bounding_box()
    assert frame["y"] <= box["y"] < frame["y"] + frame["height"]
    assert turn.locator(".answer").is_visible()
    page.keyboard.press("Escape")
    assert page.locator("#reader").is_hidden()
    assert cite.evaluate("node => node === document.activeElement")


def test_places_count_code_points(reading, opened):
    """Signs above the plane take two units of JavaScript's strings, and one of Python's."""
    page = opened(reading)
    turn = ask(page, "Who sewed the zeppelin Quork?")
    turn.get_by_role("button", name="Smileys").first.click()
    mark = page.locator("#reader mark")
    mark.wait_for()
    assert mark.inner_text().strip().endswith("The zeppelin Quork was sewn by Ada Lund in Bakken.")
    assert mark.inner_text() in DOCUMENTS["smileys.md"]
    text = "a\U0001f600e\u0301\U0001f468\u200d\U0001f469\u05d0b\n\U00010348"
    places = [(a, b) for a in range(len(text) + 1) for b in range(a, len(text) + 1)]
    page = opened(reading)
    found = page.evaluate(
        """([text, places]) => import('/page/text.js').then(({ inUnits }) =>
            places.map((place) => text.slice(...inUnits(text, place))))""",
        [text, places],
    )
    assert found == [text[a:b] for a, b in places]


def test_a_text_from_right_to_left(reading, opened):
    page = opened(reading, "/ask?method=bm25")
    turn = ask(page, "\u05de\u05d9 \u05d1\u05e0\u05d4 \u05d0\u05ea \u05d4\u05e4\u05e8\u05d0\u05dd")
    turn.get_by_text("Passages").click()
    text = turn.locator(".passages .text p", has_text="\u05d0\u05e8\u05e6'\u05e8").first
    assert text.evaluate("node => getComputedStyle(node).direction") == "rtl"
    turn.get_by_role("button", name="hebrew").first.click()
    page.locator("#reader mark").first.wait_for()
    line = page.locator("#reader .line").first
    assert line.evaluate("node => getComputedStyle(node).direction") == "rtl"
    assert page.locator("#reader mark").inner_text() in DOCUMENTS["hebrew.txt"]


def test_a_pdf_opens_on_its_page(reading, opened):
    page = opened(reading)
    turn = ask(page, "Who founded the observatory Vetle?")
    source = turn.get_by_role("button", name="page 2").first
    source.click()
    page.locator("#reader mark").wait_for()
    assert "Ingrid Moen" in page.locator("#reader mark").inner_text()
    assert "page 2" in page.locator("#reader .names").inner_text()
    assert page.locator("#reader .leaf").all_inner_texts() == ["Page 1", "Page 2", "Page 3"]


def test_what_was_read_in_part_is_said(reading, opened):
    """Beside a source, and in the list of documents."""
    note = "1 of 4 pages holds no text (4): scanned? --ocr reads pictures (pip install 'clew[ocr]')"
    page = opened(reading)
    turn = ask(page, "Who founded the observatory Vetle?")
    until(lambda: f"was read in part: {note}" in turn.locator(".answer").inner_text())
    page = opened(reading, "/documents")
    page.get_by_label("Find").fill("pages.pdf")
    until(lambda: f"Read in part: {note}" in page.locator("tbody").inner_text())


def test_hostile_documents_are_texts(reading, opened):
    """Nothing in them runs, or leaves its place (`opened` looks whether anything ran)."""
    page = opened(reading)
    turn = ask(page, "Who scuttled the good ship Wretched?")
    turn.get_by_text("Passages").click()
    turn.get_by_role("button", name=EVIL).first.click()
    page.locator("#reader mark").first.wait_for()
    assert page.locator("#reader h2").inner_text() == EVIL
    assert "<script>window.pwned = 2</script>" in page.locator("#reader .text").inner_text()
    assert not page.locator(
        "main img, #reader img, main script, #reader a[href^=javascript]"
    ).count()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_line_of_a_megabyte(reading, opened):
    """It is laid out in pieces, those of which are seen."""
    page = opened(reading)
    text = "word " * 200_000 + "The needle. " + "word " * 1_000
    at = text.index("The needle.")
    view = {
        "id": "long", "title": "Long", "source": "long", "metadata": {}, "text": text,
        "body_start": 0, "headings": [], "pages": [], "apparatus": [], "chunks": [],
    }  # fmt: skip
    page.route("**/documents/*", lambda route: route.fulfill(**shown_json(view)))
    page.evaluate(
        "place => import('/page/reader.js').then((found) => found.openReader(place))",
        {"index": "polar", "id": "long", "start": at, "end": at + 11},
    )
    mark = page.locator("#reader mark")
    mark.wait_for()
    assert mark.inner_text() == "The needle."
    until(lambda: 0 < mark.bounding_box()["y"] < 860)


def test_nothing_answers_or_it_fails(reading, opened):
    page = opened(reading)
    turn = ask(page, "Which enzyme splits lactose in the gut of calves?")
    assert "Nothing in these documents answers this." in turn.inner_text()
    assert not turn.locator("details", has_text="Nearest passages").evaluate("node => node.open")
    assert "probability" not in turn.inner_text()
    page = opened(reading, "/ask?where=colour+%3D+3", expected=[400])
    page.get_by_label("Question", exact=True).fill(FRAM)
    page.keyboard.press("Enter")
    alert = page.locator(".turn").get_by_role("alert")
    alert.wait_for()
    assert "colour" in alert.inner_text()


def test_a_chain_is_linked_cards_below_the_answer(reading, opened):
    """The answer is larger than what it rests on, which is linked to it by a name."""
    page = opened(reading)
    statements = ask(page, FRAM).locator(".statement")
    sizes = statements.locator("q").evaluate_all(
        "nodes => nodes.map((node) => parseFloat(getComputedStyle(node).fontSize))"
    )
    assert sizes[0] > max(sizes[1:])
    assert statements.nth(1).locator(".label").inner_text() == "Colin Archer"


def test_a_count_is_shown_as_on_the_terminal(writing, opened):
    """The number first, then each item with its quote."""
    table = "product,price\nTern radar,642\nHeron buoy,4870\nPlover logger,120\n"
    page = opened(writing, "/documents")
    files = page.locator("input[type=file]").first
    files.set_input_files(
        {"name": "products.csv", "mimeType": "text/csv", "buffer": table.encode()}
    )
    job_ends(page)
    page.goto(f"{writing}/ask")
    turn = ask(page, "How many products have a price over 500?")
    assert turn.locator(".short b").inner_text() == "2"
    assert turn.locator(".item .label").count() == turn.locator(".item q").count() == 2


@pytest.mark.parametrize("kind", ["partial", "quoted"])
def test_an_answer_in_part_or_unsure_says_so_first(reading, opened, kind):
    page = opened(reading)

    def change(route):
        """Answer as if only the first step were known, or no quote were likely."""
        text = route.fetch().text()
        text = text.replace('"kind":"quoted"', f'"kind":"{kind}"')
        text = text.replace('"kind": "quoted"', f'"kind": "{kind}"')
        text = re.sub(r'"is_unsure": ?false', '"is_unsure": true', text)
        route.fulfill(body=text, headers=EVENTS, status=200)

    page.route("**/ask", change)
    told = ask(page, FRAM).locator(".answer > *").first.inner_text()
    assert told.startswith("Only a part of this is known" if kind == "partial" else "Not sure")


def test_the_thread_is_stepped_through(reading, opened):
    """By buttons and keys; each step has its text and reason."""
    page = opened(reading)
    turn = ask(page, FRAM)
    turn.get_by_text("The thread").click()
    where, card = turn.locator(".stepper .hint"), turn.locator(".thread .card")
    where.wait_for()
    first = where.inner_text()
    assert "step 1 of" in first
    turn.get_by_role("button", name="Next").click()
    assert "step 2 of" in where.inner_text()
    assert "Why" in card.inner_text()
    turn.locator(".drawing").focus()
    page.keyboard.press("ArrowRight")
    assert "step 3 of" in where.inner_text()
    assert turn.locator(".node.now").count() == 1
    page.keyboard.press("ArrowDown")
    assert where.inner_text().split(",")[0] != first.split(",")[0]
    page.keyboard.press("ArrowLeft")
    assert "step 2 of" in where.inner_text()
    page.keyboard.press("End")
    card.get_by_role("button", name="Open in its document").click()
    page.locator("#reader mark").first.wait_for()
    page = opened(reading)
    turn = ask(page, FRAM)
    turn.get_by_text("The thread").click()
    turn.get_by_label("List").check()
    threads = turn.locator(".threads > li")
    assert threads.count() == 10
    assert "the question names it: fram" in turn.locator(".threads").inner_text()


def test_a_link_to_a_question_asks_nothing_by_itself(reading, opened):
    """It may come from anybody, and an answer may cost something."""
    page = opened(reading, f"/?q={FRAM}&method=bm25&where=title+%3D+'Fram'")
    field = page.get_by_label("Question", exact=True)
    assert field.input_value() == FRAM
    assert not page.locator(".turn").count()
    assert page.get_by_label("Method", exact=True).input_value() == "bm25"
    field.press("Enter")
    page.get_by_role("button", name="Copy link").wait_for()
    meta = page.locator(".meta").inner_text()
    assert "by bm25" in meta
    assert "title = 'Fram'" in meta
    assert "method=bm25" in page.url


def test_a_filter_with_its_help_and_parameters(reading, opened):
    page = opened(reading)
    page.get_by_text("Search options").click()
    page.get_by_text("Fields of these documents").click()
    page.locator(".fields .chip").first.click()
    assert page.get_by_label("Only documents where").input_value().startswith("modified = 20")
    page.get_by_label("Only documents where").fill("id like '*fram*'")
    page.get_by_text("Parameters of the method").click()
    page.get_by_label("chunks", exact=True).fill("3")
    turn = ask(page, FRAM)
    assert turn.locator(".fold .n").first.inner_text() in {"1", "2", "3"}


# -- with an LLM ------------------------------------------------------------------------------


def test_an_answer_as_it_comes_and_a_follow_up(talking, opened):
    address, endpoint = talking
    page = opened(address)
    pieces = []
    page.expose_function("told", lambda text: pieces.append(text))  # noqa: PLW0108 -- playwright marks it
    page.evaluate(
        """() => new MutationObserver(() => {
            const coming = document.querySelector('.coming');
            if (coming) told(coming.textContent);
        }).observe(document.body, {subtree: true, childList: true})"""
    )
    endpoint.respond = lambda _: Answer(streamed(REPLY, 4), headers=EVENTS, drip_s=0.0005)
    turn = ask(page, FRAM)
    assert (
        turn.locator(".answer").inner_text().startswith("Colin Archer was born in Larvik in 1832.")
    )
    assert turn.locator("button.cite").first.inner_text() == "1"
    assert len({len(each) for each in pieces}) > 2  # it grew
    meta = turn.locator(".meta").inner_text()
    assert " tokens, $" in meta
    said = reply_with("Colin Archer died in 1921. [1]")
    endpoint.respond = replies(reply_with("When did Colin Archer die?"), streamed_as=said)
    second = ask(page, "And when did he die?")
    assert "Colin Archer died in 1921." in second.locator(".answer").inner_text()
    assert page.locator(".turn").count() == 2
    page.get_by_role("link", name="Documents").click()
    page.locator("table").wait_for()
    page.get_by_role("link", name="Ask").click()
    page.locator(".turns").wait_for()
    assert page.locator(".turn").count() == 2  # a conversation is there as long as the page
    page.get_by_role("button", name="New conversation").click()
    until(lambda: page.locator(".turn").count() == 0)


def test_an_llm_s_words_have_their_numbers_behind_them(talking, opened):
    """Each opens the sentence that holds what stands before it, not the chunk around it."""
    address, endpoint = talking
    endpoint.respond = replies(
        reply_with(
            "The \U0001f6a2 Fram was built by Colin Archer [1][2], who was born in Larvik"
            " in 1832 [1][2]. He died."
        )
    )
    page = opened(address)
    turn = ask(page, FRAM)
    text = turn.locator(".answer").inner_text()
    first, second, rest = re.split(r"\d+(?= |,|\.)(?<!1832)", text.replace("1832", "year"))[:3]
    assert first.rstrip("0123456789").endswith("built by Colin Archer")
    assert second.startswith(", who was born in Larvik in year")
    assert rest.startswith(". He died.")
    for number in range(turn.locator("button.cite").count()):
        turn.locator("button.cite").nth(number).click()
        page.locator("#reader mark").first.wait_for()
        assert len(page.locator("#reader mark").first.inner_text()) < 250


def is_above_the_form(page, seen):
    """Say whether something is seen, whole and not behind the field for the question."""
    box, form = seen.bounding_box(), page.locator("form.ask").bounding_box()
    return box["y"] > 0 and box["y"] + box["height"] <= form["y"]


@pytest.mark.parametrize(("width", "height"), [(1280, 640), (400, 760)])
def test_an_llm_that_is_gone_leaves_the_quotes_with_a_note(corpus, tmp_path, opened, width, height):
    """A reader sees what was found, and no address; the note is seen without scrolling."""
    with serving() as endpoint:
        gone = endpoint.url
    with served(tmp_path / "home", f"polar={corpus}", "--llm", f"openai:told@{gone}") as address:
        page = opened(address, width=width, height=height)
        for question in (FRAM, "And in which year was he born?"):
            turn = ask(page, question)
            assert "born in Larvik in 1832" in turn.locator(".answer").inner_text()
            note = turn.get_by_text("The LLM gave no answer (it cannot be reached): quoted")
            until(lambda seen=note: is_above_the_form(page, seen))
        assert gone.partition("//")[2].partition("/")[0] not in turn.inner_text()


def test_an_answer_is_stopped(talking, opened):
    address, endpoint = talking
    endpoint.respond = lambda _: Answer(streamed(REPLY), headers=EVENTS, drip_s=0.004)
    page = opened(address)
    page.get_by_label("Question", exact=True).fill(FRAM)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Stop").click()
    page.locator(".turn", has_text="Stopped.").wait_for()
    assert page.get_by_role("button", name="Ask", exact=True).is_enabled()


@pytest.mark.parametrize("width", [360, 1280])
def test_methods_side_by_side(reading, opened, width):
    page = opened(reading, f"/compare?q={FRAM}&methods=walk,bm25", width=width)
    page.get_by_role("button", name="Compare").click()
    page.locator(".shared").first.wait_for()
    assert page.locator(".method-column h2").all_inner_texts() == ["walk", "bm25"]
    assert "found by all 2" in page.locator(".lead").inner_text()
    told = set(page.locator(".shared").all_inner_texts())
    assert {"also by bm25", "also by walk", "only here"} >= told
    assert len(told) == 3
    page.get_by_role("button", name="Add a method").click()
    page.get_by_label("With answers").check()
    page.get_by_role("button", name="Compare").click()
    until(lambda: page.locator(".method-column .answer").count() == 3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
