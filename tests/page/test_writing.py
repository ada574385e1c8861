"""Documents that are brought and taken away, jobs, the graph, costs, reports and keys."""

import re

import pytest

from tests.page.conftest import ask, job_ends, served, shown_json, sign_in, until
from tests.readers.writers import pdf

NODES = 5_000
# How long each part of drawing anew takes, of which as many as fit 7 ms are done in one frame.
SLICES = """() => {
    const found = [];
    const painting = document.querySelector('canvas').drawing.paint();
    for (;;) {
        const before = performance.now();
        const { done } = painting.next();
        found.push(performance.now() - before);
        if (done) return found;
    }
}"""


@pytest.fixture
def files(tmp_path):
    """A folder of files to bring, one of which nobody can read."""
    found = tmp_path / "logs"
    (found / "1905").mkdir(parents=True)
    (found / "1905" / "may.md").write_text(
        "# May\n\nThe schooner Zephyrine was built by Olga Brandt in Tromsø.\n", encoding="utf-8"
    )
    (found / "june.md").write_text(
        "# June\n\nThe schooner Zephyrine sank off Vardø in 1911.\n", encoding="utf-8"
    )
    (found / "scan.pdf").write_bytes(b"%PDF-1.4 broken")
    return found


def test_an_index_from_nothing_to_an_answer(writing, opened, files):
    """A new index, a folder with its paths, errors by file, an answer; a document goes again."""
    page = opened(writing, "/documents")
    page.get_by_role("button", name="New index").click()
    page.get_by_label("Name", exact=True).fill("logs")
    page.get_by_role("button", name="Create the index").click()
    page.get_by_text("There are no documents yet").wait_for()
    assert page.get_by_label("Index", exact=True).input_value() == "logs"
    page.locator("input[webkitdirectory]").set_input_files(files)
    job_ends(page)
    job = page.locator(".job")
    assert "2 added, 1 not read" in job.inner_text()
    assert "scan.pdf" in job.locator(".errors").inner_text()
    assert "nothing spent" in job.inner_text()
    page.locator("tbody tr").nth(1).wait_for()
    assert "logs/1905/may.md" in page.locator("tbody").inner_text()
    assert "2 documents" in page.locator(".top-line").inner_text()
    page.get_by_role("link", name="Ask", exact=True).click()
    turn = ask(page, "Who built the schooner Zephyrine?")
    assert "Olga Brandt" in turn.locator(".answer").inner_text()
    page.get_by_role("link", name="Documents").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download May").click()
    assert "Olga Brandt" in download.value.path().read_text(encoding="utf-8")
    page.get_by_role("button", name="Delete May").click()
    page.get_by_role("button", name="Delete", exact=True).last.click()
    until(lambda: page.locator("tbody tr").count() == 1)


def test_the_first_files_make_their_index(tmp_path, opened, files):
    """A folder is dropped before there is an index: its size is said, and any name is a name."""
    with served(tmp_path / "home") as server:
        page = opened(server)
        page.get_by_role("heading", name="Ask your own documents").wait_for()
        page.locator("input[webkitdirectory]").set_input_files(files)
        page.get_by_role("heading", name="3 files, less than 0.1 MB").wait_for()
        name = page.get_by_label("Name", exact=True).first
        assert name.input_value() == files.name
        name.fill("My Notés")
        page.get_by_role("button", name="Upload less than 0.1 MB").click()
        job_ends(page)
        chosen = page.get_by_label("Index", exact=True)
        assert chosen.input_value() == "my-notes"
        assert chosen.locator("option:checked").inner_text() == "My Notés"
        page.get_by_role("link", name="Ask about them").click()
        turn = ask(page, "Who built the schooner Zephyrine?")
        assert "Olga Brandt" in turn.locator(".answer").inner_text()


def test_files_are_dropped_and_a_text_is_pasted(writing, opened):
    page = opened(writing, "/documents")
    page.get_by_label("Documents", exact=True).wait_for()
    page.evaluate(
        """() => {
            const dataTransfer = new DataTransfer();
            const text = '# Dropped\\n\\nThe balloon Ottar was sewn in Bodø.';
            dataTransfer.items.add(new File([text], 'dropped.md'));
            for (const kind of ['dragover', 'drop']) document.body.dispatchEvent(
                new DragEvent(kind, {dataTransfer, bubbles: true, cancelable: true}));
        }"""
    )
    job_ends(page)
    page.get_by_role("button", name="Paste a text").click()
    page.get_by_label("Name", exact=True).fill("note 1")
    page.get_by_label("Title").fill("A note")
    page.get_by_label("Text", exact=True).fill("The lugger Perle belongs to Nils Moe.")
    page.get_by_role("button", name="Add the text").click()
    until(lambda: page.locator(".job .badge[data-state=done]").count() == 2, 90)
    page.get_by_label("Find").fill("note 1")
    until(lambda: page.locator("tbody tr").count() == 1)
    page.get_by_role("button", name="A note").first.click()
    page.locator("#reader .text").wait_for()
    assert "Nils Moe" in page.locator("#reader .text").inner_text()
    page.locator("#reader").get_by_text("1 chunk").click()
    page.locator("#reader .outline button").click()
    assert "Nils Moe" in page.locator("#reader mark").inner_text()


def test_documents_are_found_filtered_and_sorted(reading, opened):
    page = opened(reading, "/documents", expected=[400])
    rows = page.locator("tbody tr")
    rows.first.wait_for()
    assert rows.count() == 50
    page.get_by_role("button", name="Next").click()
    until(lambda: "51 to 100" in page.locator("main").inner_text())
    page.get_by_label("Find").fill("archer")
    until(lambda: rows.count() == 1)
    page.get_by_label("Find").fill("")
    page.get_by_label("Only documents where").fill("title like 'F*'")
    page.keyboard.press("Enter")
    until(lambda: 1 < rows.count() < 20)
    page.get_by_label("Sort by").select_option("-id")
    until(lambda: rows.first.inner_text() > rows.last.inner_text())
    page.get_by_label("Only documents where").fill("colour ~ 1")
    page.keyboard.press("Enter")
    page.locator("main").get_by_role("alert").wait_for()


def test_a_document_with_pages_and_sections(writing, opened, tmp_path):
    brought = tmp_path / "guide.md"
    brought.write_text(
        "# Guide\n\nHead.\n\n## Sails\n\nSails.\n\n"
        + "".join(f"Sail {i} is of {i} yards.\n\n" for i in range(200))
        + "## Ropes\n\nRopes at last.\n",
        encoding="utf-8",
    )
    scan = tmp_path / "scan.pdf"
    scan.write_bytes(pdf(*(f"This is leaf {i}." + "\nIt goes on." * 40 for i in range(1, 6))))
    page = opened(writing, "/documents")
    page.locator("input[type=file]:not([webkitdirectory])").set_input_files([brought, scan])
    job_ends(page)
    page.get_by_label("Find").fill("guide")
    page.get_by_role("button", name="Guide", exact=True).click()
    page.locator("#reader").get_by_text(re.compile("sections?$")).click()
    page.locator("#reader .outline").get_by_role("button", name="Ropes").click()
    line = page.locator("#reader").get_by_text("Ropes at last.")
    until(lambda: 0 < line.bounding_box()["y"] < 860)
    page.goto(f"{writing}/documents?doc=polar/scan.pdf")
    page.locator("#reader").get_by_label("Page").select_option(label="4")
    leaf = page.locator("#reader .leaf", has_text="Page 4")
    until(lambda: 0 < leaf.bounding_box()["y"] < 500)


def test_a_job_is_cancelled_and_shown_by_its_state(writing, opened, tmp_path):
    many = tmp_path / "many"
    many.mkdir()
    for i in range(60):
        (many / f"{i}.md").write_text(
            f"# Ship {i}\n\n" + f"The ship {i} sailed to the port {i % 7}. " * 120, encoding="utf-8"
        )
    page = opened(writing, "/documents")
    page.locator("input[webkitdirectory]").set_input_files(many)
    page.locator(".job .badge[data-state=running]").wait_for(timeout=30_000)
    page.get_by_role("link", name="Jobs").click()
    page.locator(".job .badge[data-state=running]").wait_for()
    page.locator(".job").get_by_role("button", name="Cancel").click()
    job_ends(page, "cancelled")
    page.get_by_role("button", name="Compact").click()
    job_ends(page)


def test_many_jobs_leave_the_page_its_connections(writing, opened):
    """A browser has six of them to one server, and each job that is followed takes one."""
    page = opened(writing, "/jobs")
    for _ in range(8):
        page.get_by_role("button", name="Compact").click()
    until(lambda: page.locator(".job").count() == 8)
    page.reload()
    page.get_by_role("link", name="Documents").click()
    page.locator("tbody tr").first.wait_for(timeout=5_000)
    page.get_by_role("link", name="Jobs").click()
    until(lambda: page.locator(".job .badge[data-state=done]").count() == 8, 60)


# -- the graph --------------------------------------------------------------------------------


def drawing(page, what):
    return page.evaluate(f"document.querySelector('canvas').drawing.{what}")


def test_an_entity_is_found_in_the_graph(reading, opened):
    page = opened(reading, "/graph")
    page.get_by_label("Find an entity").fill("colin arch")
    page.locator(".found").get_by_role("button", name="Colin Archer").first.wait_for()
    page.keyboard.press("Enter")
    side = page.locator(".side")
    side.get_by_role("heading", name="Colin Archer").wait_for()
    chosen = drawing(page, "nodes[document.querySelector('canvas').drawing.chosen].name")
    assert chosen == "Colin Archer"
    side.locator(".chip", has_text="Larvik").first.click()
    side.get_by_role("heading", name="Larvik").wait_for()
    side.locator(".texts button").first.click()
    page.locator("#reader mark").first.wait_for()
    assert "Larvik" in " ".join(page.locator("#reader mark").all_inner_texts())
    page = opened(reading, "/graph")
    page.locator(".canvas").focus()
    scale, x = drawing(page, "view.scale"), drawing(page, "view.x")
    page.keyboard.press("+")
    assert drawing(page, "view.scale") > scale
    page.keyboard.press("ArrowRight")
    assert drawing(page, "view.x") > x
    page.keyboard.press("0")
    assert (drawing(page, "view.scale"), drawing(page, "view.x")) == (scale, 0)
    box = page.locator("canvas").bounding_box()
    spot = page.evaluate("document.querySelector('canvas').drawing.screen(0)")
    page.mouse.click(box["x"] + spot[0], box["y"] + spot[1])
    name = drawing(page, "nodes[0].name")
    page.locator(".side").get_by_role("heading", name=name, exact=True).wait_for()


def test_five_thousand_nodes_do_not_stutter(reading, opened):
    """A frame while the graph is moved costs far less than a sixtieth of a second."""
    nodes = [
        {"id": f"n{i}", "name": f"Name {i}", "type": ("person", "place", "other")[i % 3],
         "theme": f"theme:{i % 15}", "n_texts": 1 + NODES // (i + 1),
         "x": (i * 0.618034) % 2 - 1, "y": (i * 0.414214) % 2 - 1}
        for i in range(NODES)
    ]  # fmt: skip
    pairs = [(i % NODES, (i * 7 + 1) % NODES) for i in range(4 * NODES)]
    edges = [
        {"source": f"n{a}", "target": f"n{b}", "n_texts": 1, "relations": []} for a, b in pairs
    ]
    graph = {"nodes": nodes, "edges": edges, "n_entities": NODES}
    themes = [{"id": f"theme:{i}", "name": f"Theme {i}"} for i in range(12)]
    page = opened(reading, "/ask")
    page.route("**/api/**/graph?*", lambda route: route.fulfill(**shown_json(graph)))
    page.route(
        "**/api/**/themes?*",
        lambda route: route.fulfill(**shown_json({"items": themes, "total": len(themes)})),
    )
    page.get_by_role("link", name="Graph").click()
    page.locator("canvas").wait_for()
    until(lambda: drawing(page, "nodes.length") == NODES)
    box = page.locator("canvas").bounding_box()
    page.evaluate("document.querySelector('canvas').drawing.frames.length = 0")
    page.mouse.move(box["x"] + 300, box["y"] + 300)
    page.mouse.down()
    for i in range(60):
        page.mouse.move(box["x"] + 300 + 3 * i, box["y"] + 300 + i)
    page.mouse.up()
    frames = sorted(drawing(page, "frames"))
    until(lambda: drawing(page, "painted?.x === document.querySelector('canvas').drawing.view.x"))
    slices = page.evaluate(SLICES)
    print(
        f"{len(frames)} frames: median {frames[len(frames) // 2]:.2f} ms, most {frames[-1]:.1f} ms;"
        f" drawn anew in {len(slices)} slices, the longest {max(slices):.0f} ms"
    )
    assert len(frames) > 20
    assert frames[len(frames) // 2] < 8
    assert max(slices) < 50
    page.get_by_label("Colour by").select_option("type")
    page.locator(".legend").get_by_text("place", exact=True).wait_for()
    labels = drawing(page, "labels")
    print(f"{len(labels)} labels")
    assert len(labels) > 20
    for number, (left, above, right, below) in enumerate(labels):
        for box in labels[:number]:
            assert box[2] <= left or right <= box[0] or box[3] <= above or below <= box[1]


def test_the_graph_is_coloured_and_filtered(reading, opened):
    page = opened(reading, "/graph")
    legend = page.locator(".legend label")
    legend.first.wait_for()
    page.locator(".legend").get_by_role("checkbox").first.uncheck()
    shown = "kinds.filter((each) => each).length"
    count = drawing(page, "nodes.length")
    first = drawing(page, "nodes.filter((each) => each.theme === 'theme:1').length")
    until(lambda: 0 < drawing(page, shown) < count)
    assert first > 0
    page.get_by_label("Colour by").select_option("type")
    until(lambda: drawing(page, shown) == count)


def test_names_are_merged_and_parted(writing, opened):
    page = opened(writing, "/graph?tab=aliases")
    pair = page.locator(".pairs > li", has_text="Norwegians").first
    pair.get_by_text("Texts of both").click()
    pair.locator(".both h3").nth(1).wait_for()
    pair.get_by_role("button", name="Merge").click()
    merged = page.locator(".merged")
    merged.wait_for()
    assert "stands for" in merged.inner_text()
    merged.get_by_role("button", name="Split again").click()
    until(lambda: page.locator(".merged").count() == 0)


def test_an_entity_is_edited(writing, opened):
    page = opened(writing, "/graph?entity=fram")
    side = page.locator(".side")
    side.get_by_text("Edit", exact=True).click()
    side.get_by_label("Type").fill("ship")
    side.get_by_role("button", name="Save").click()
    side.locator(".hint", has_text="ship").first.wait_for()
    side.get_by_text("Edit", exact=True).click()
    side.get_by_label("Type").fill("")
    side.get_by_role("button", name="Save").click()
    until(lambda: side.locator(".hint", has_text="ship").count() == 0)


# -- costs and reports ------------------------------------------------------------------------


def test_what_it_would_cost_and_a_job_within_a_bound(talking, opened):
    """The plan has a price; the job ends at its bound, and tells so; the day's spend is drawn."""
    address, _ = talking
    page = opened(address, "/spend")
    page.get_by_role("button", name="Estimate").click()
    row = page.locator("tr", has_text="units, α = 0.25")
    row.wait_for(timeout=60_000)
    assert "$" in row.inner_text()
    row.get_by_role("button", name="Begin").click()
    assert float(page.get_by_label("Limit in dollars").input_value()) > 0
    page.get_by_label("Limit in dollars").fill("0.006")
    page.get_by_role("button", name="Begin", exact=True).first.click()
    job_ends(page, "failed")
    assert "budget" in page.locator(".job").inner_text()
    page.reload()
    page.locator(".bar").first.wait_for()
    assert "without a key" in page.get_by_label("Spend by day", exact=True).inner_text()


def test_triples_without_an_llm(writing, opened):
    page = opened(writing, "/spend")
    page.get_by_role("button", name="Estimate").click()
    page.get_by_role("button", name="Begin: triples of names").click(timeout=60_000)
    job_ends(page)


# -- keys -------------------------------------------------------------------------------------


def test_one_signs_in_and_out(locked, opened):
    address, admin, _ = locked
    page = opened(address, "/documents", expected=[401])
    assert page.title() == "Sign in · Clew"
    sign_in(page, "clew_no_such")
    page.get_by_role("alert").wait_for()
    sign_in(page, admin)
    page.get_by_role("heading", name="Documents").wait_for()
    [cookie] = page.context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert admin not in page.evaluate("JSON.stringify(localStorage)")
    page.get_by_role("link", name="Keys").click()
    page.get_by_text("Create a key").click()
    page.get_by_label("Name", exact=True).fill("reader")
    page.get_by_label("Tokens per day").fill("1000")
    page.get_by_role("button", name="Create the key").click()
    text = page.get_by_label("New key").get_by_label("Key").input_value()
    assert text.startswith("clew_")
    row = page.locator("tr", has_text="reader")
    assert "tokens per day: 1,000" in row.inner_text()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()
    sign_in(page, text)
    page.get_by_role("heading", name="What do you want").wait_for()
    assert not page.get_by_role("link", name="Keys").count()
    page.get_by_role("link", name="Documents").click()
    page.locator("tbody tr").first.wait_for()
    assert not page.get_by_role("button", name="Choose files").count()
    assert not page.get_by_role("button", name=re.compile("^Delete")).count()


def test_the_first_key_is_made_in_the_page(writing, opened):
    """The page goes on with it, and nobody else gets in without one."""
    page = opened(writing, "/keys")
    page.get_by_text("Create a key").click()
    page.get_by_label("Name", exact=True).fill("first")
    page.get_by_role("button", name="Create the key").click()
    page.locator("tr", has_text="first").wait_for()
    assert "Signed in as first" in page.locator("#bar").inner_text()
    other = opened(writing, expected=[401])
    assert other.title() == "Sign in · Clew"
    page.get_by_role("link", name="Documents").click()
    page.locator("tbody tr").first.wait_for()


def test_a_revoked_key_is_signed_out(locked, opened):
    address, admin, key = locked
    other = key("other")
    page = opened(address, expected=[401])
    sign_in(page, admin)
    page.get_by_role("link", name="Keys").click()
    page.get_by_role("button", name="Revoke other").click()
    page.get_by_role("button", name="Revoke", exact=True).click()
    page.get_by_text("revoked", exact=False).first.wait_for()
    second = opened(address, expected=[401])
    sign_in(second, other)
    second.get_by_role("alert").wait_for()


def test_a_bound_key_sees_its_documents(locked, opened):
    """The page is an empty one rather than a broken one where a key may not look."""
    address, _, key = locked
    bound = key("bound", "--where", "title like 'F*'")
    page = opened(address, expected=[401, 403])
    sign_in(page, bound)
    page.get_by_role("heading", name="What do you want").wait_for()
    for view in ("Documents", "Jobs", "Graph", "Plan and spend"):
        page.get_by_role("link", name=view).click()
        page.wait_for_load_state("networkidle")
        page.locator("main").get_by_role("heading", name=view, exact=True).first.wait_for()
    page.get_by_role("link", name="Documents").click()
    page.locator("tbody tr").first.wait_for()
    assert page.locator("tbody tr").count() < 20


def test_a_table_with_two_columns_of_texts_is_asked_about(writing, opened, tmp_path):
    """The page says which columns there are, and reads the file again by the one that is chosen."""
    table = tmp_path / "ships.csv"
    table.write_text(
        "ship,abstract,summary\nZephyrine,1901,The schooner Zephyrine was built by Olga Brandt.\n"
        "Perle,1907,A lugger that belonged to Nils Moe.\n",
        encoding="utf-8",
    )
    page = opened(writing, "/documents")
    page.get_by_role("button", name="Choose files").wait_for()
    page.locator("input[type=file]:not([webkitdirectory])").set_input_files(table)
    job_ends(page)
    form = page.locator(".job form")
    form.wait_for()
    told = page.locator(".job .errors")
    assert abs(form.bounding_box()["x"] - told.bounding_box()["x"]) < 30
    assert "has no column text" in page.locator(".job .errors").inner_text()
    assert "Which column has the text of ships.csv?" in form.inner_text()
    assert "One of ship, abstract, summary" in form.inner_text()
    form.get_by_label("Text column").fill("nothing")
    form.get_by_role("button", name="Read again").click()
    page.get_by_text("has no column 'nothing', only: ship, abstract, summary").wait_for()
    form.wait_for()
    form.get_by_label("Text column").fill("summary")
    form.get_by_label("Title column").fill("ship")
    form.get_by_role("button", name="Read again").click()
    page.get_by_text("2 added").wait_for()
    form.wait_for(state="detached")
    page.get_by_label("Find").fill("ships.csv")
    until(lambda: page.locator("tbody tr").count() == 2)
    assert "Zephyrine" in page.locator("tbody").inner_text()
    page.get_by_role("link", name="Ask", exact=True).click()
    turn = ask(page, "Who built the schooner Zephyrine?")
    assert "Olga Brandt" in turn.locator(".answer").inner_text()
