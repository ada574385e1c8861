"""Questions about the whole: themes with quotes, and reports of an LLM under a budget."""

from itertools import count

import pytest

import clew
from clew.base.types import Document
from clew.models import Reply
from clew.models.budget import Budget
from clew.testing import ScriptedLLM, models
from clew.text.questions import find_topic, is_about_whole

MAIN = "What are the main themes?"
LINES = {
    "ships": "The Fram sailed north with a crew of {}. Her hull was built by Colin Archer in {}.",
    "bread": "Sourdough bread needs flour and salt by {}. The baker kneads the dough for {} hours.",
    "stars": "The telescope shows {} stars of Orion. Astronomers measure the light for {} nights.",
}
DOCUMENTS = [
    Document(id=f"{subject}-{n}", text=line.format(n + 3, n + 5))
    for subject, line in LINES.items()
    for n in range(6)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("themes") / "my.clew"
    with clew.open(place, models=models()) as index:
        index.add(DOCUMENTS)
        assert len(index.themes()) == 3
    return place


@pytest.fixture(scope="module")
def index(folder):
    with clew.open(folder, models=models()) as index:
        yield index


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        (MAIN, ""),
        ("Summarise these documents.", ""),
        ("What are the documents about?", ""),
        ("Give me an overview of the collection", ""),
        ("Which topics do the files cover?", ""),
        ("Compare what both manuals say about sled dogs", "sled dogs"),
        ("What do these documents say about the Fram?", "Fram"),
        ("Worum geht es hier?", None),
        ("Quels sont les thèmes principaux ?", None),
    ],
)
def test_questions_about_the_whole(question, topic):
    assert is_about_whole(question)
    assert topic is None or find_topic(question) == topic


@pytest.mark.parametrize(
    "question",
    [
        "Who built the Fram?",
        "How do I bake sourdough bread?",
        "What is the capital of Norway?",
        "Which documents did Nansen sign in 1893?",
        "When was the overview of the expedition published?",
        "Which is the main river of the country?",
    ],
)
def test_other_questions(question):
    assert not is_about_whole(question)


@pytest.mark.parametrize("method", [None, "themes", "auto"])
def test_a_theme_is_a_line_with_a_quote_and_its_coverage(index, method):
    """Each quote stands in a document of its theme; nothing is refused."""
    answer = index.ask(MAIN, method=method)
    assert (answer.kind, answer.evidence.method) == ("themes", "themes")
    assert answer.evidence.support is None
    lines = answer.text.splitlines()
    assert len(lines) == len(answer.citations) == 3
    by_name = {theme.name: theme for theme in index.themes()}
    texts = {each.id: each.text for each in DOCUMENTS}
    for line, cited in zip(lines, answer.citations, strict=True):
        name, _, rest = line.partition(" (6 documents, 6 passages, 12 sentences): ")
        assert rest == cited.quote
        assert cited.document_id in by_name[name].documents
        assert texts[cited.document_id][cited.start : cited.end] == cited.quote
        assert answer.text[: cited.at[0]].endswith(rest)
    [table] = answer.evidence.tables
    assert [row[0] for row in table.rows] == list(by_name)


def test_a_topic_is_answered_by_the_themes_near_it(index):
    answer = index.ask("Summarise what is said about the hull of the Fram")
    assert answer.kind == "themes"
    assert {each.document_id.split("-")[0] for each in answer.citations} == {"ships"}


def test_other_questions_are_answered_by_chunks(index):
    """With the theme on the way to each."""
    found = index.search("Who built the hull of the Fram?", method="themes", chunks=4)
    assert {hit.document_id.split("-")[0] for hit in found.hits} == {"ships"}
    assert [step.layer for step in found.paths[0].steps] == ["query", "theme", "chunk"]
    assert not found.whole
    assert found.support is not None


SHIPS = {
    "Fram": "The Fram had a crew of thirteen men.\n\nThe Fram was built in Larvik.",
    "Gauss": "The Gauss was built in Kiel.\n\nThe Gauss had a crew of thirty-two men.",
    "Scotia": "The Scotia was bought in Norway.",
}


@pytest.mark.parametrize("method", [None, "auto"])
@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Compare what the documents on the Gauss and the Fram say about the crew", "crew"),
        ("How do the Gauss and the Fram differ in the place where they were built?", "built"),
        ("What is the difference between d/gauss.md and d/fram.md in crew?", "crew"),
    ],
)
def test_documents_that_a_question_names_stand_side_by_side(tmp_path, question, first, method):
    """In its order, of each the sentence first that is nearest to the topic; of two at least."""
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(
            [Document(id=f"d/{t.lower()}.md", text=text, title=t) for t, text in SHIPS.items()]
        )
        answer = index.ask(question, method=method)
        assert [each.document_id for each in answer.citations] == ["d/gauss.md"] * 2 + [
            "d/fram.md"
        ] * 2
        assert first in answer.citations[0].quote
        assert first in answer.citations[2].quote
        assert answer.text.startswith("Gauss (d/gauss.md): The Gauss ")
        one = index.search("Compare what is said about the Fram", method=method)
        assert one.method != "themes"


def test_documents_stand_side_by_side_by_codes_in_their_titles(tmp_path):
    """A code that two titles have is that of none."""
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        for name, size in {"PX-7-B": 40, "PX-7-C": 55, "PX-7-D": 60}.items():
            text = f"The spare is a seal.\n\nThe pump {name} needs a gasket of {size} mm."
            index.add(Document(id=str(size), text=text, title=f"Pump {name}"))
        index.add(Document(id="61", text="It is out of stock.", title="Valve PX-7-D"))
        answer = index.ask("Compare the gaskets of the PX-7-C and the PX-7-B")
        assert [each.document_id for each in answer.citations] == ["55", "40"]
        assert answer.citations[0].quote == "The pump PX-7-C needs a gasket of 55 mm."
        assert not index.search("Compare the gaskets of the PX-7-C and the PX-7-D").whole


def test_themes_of_a_filter(index):
    with pytest.raises(clew.InputError):
        index.ask(MAIN, where="id = 'none'")
    found = index.ask(MAIN, where="id = 'ships-1' or id = 'ships-2'")
    assert {each.document_id for each in found.citations} <= {"ships-1", "ships-2"}


# -- with an LLM -----------------------------------------------------------------------------------


def ask(folder, llm, *, budget=None, **options):
    with clew.open(folder, models=models(llm=llm)) as index:
        return index.ask(MAIN, budget=budget, **options)


def test_reports_are_written_once_and_answered_from(folder):
    """Three reports, then an answer; asked again, all come from the ledger."""
    reports = [f"Report {n}: they are on ships, bread and stars." for n in range(3)]
    llm = ScriptedLLM(*reports, "ANSWER: They are on ships, bread and stars [1].")
    answer = ask(folder, llm)
    assert answer.kind == "generated"
    assert answer.text.startswith("They are on ships")
    assert answer.usage.llm_calls == 4
    [table] = answer.context.tables
    assert [row[2] for row in table.rows] == reports
    assert all(report in llm.prompts[-1].user for report in reports)
    passages = [line for line in llm.prompts[0].user.splitlines() if line.startswith("[")]
    assert len(passages) == 6
    again = ask(folder, ScriptedLLM())
    assert (again.text, again.usage.llm_calls, again.usage.recorded_calls) == (answer.text, 0, 4)


def test_reports_change_with_their_members_alone(tmp_path):
    replies = count(1)

    class Endless(ScriptedLLM):
        def _reply(self, prompt):
            self._replies.append(f"ANSWER: reply {next(replies)} [1].")
            return super()._reply(prompt)

    llm = Endless()
    with clew.open(tmp_path / "my.clew", models=models(llm=llm)) as index:
        index.add(DOCUMENTS)
        index.ask(MAIN)
        index.add([Document(id="ships-9", text=LINES["ships"].format(40, 60))])
        before = len(llm.prompts)
        index.ask(MAIN)
        new = llm.prompts[before:]
    assert [prompt.version.rsplit("-", 1)[0] for prompt in new] == ["theme_report", "prose_answer"]
    assert "Fram" in new[0].user
    assert "dough" not in new[0].user


def test_a_budget_holds(folder, tmp_path):
    """What it does not reach is told by sentences, and a note says so."""
    with clew.open(tmp_path / "my.clew", models=models(llm=ScriptedLLM())) as index:
        index.add(DOCUMENTS)
        answer = index.ask(MAIN, budget=Budget(tokens=10))
    assert answer.kind == "themes"
    assert answer.usage.total_tokens == 0
    assert any("wrote no report on some themes" in note for note in answer.evidence.notes)


def test_a_report_that_fails_leaves_the_sentences(tmp_path):
    llm = ScriptedLLM(Reply(text="", error="it broke"), "Two.", "Three.", "ANSWER: All [1].")
    with clew.open(tmp_path / "my.clew", models=models(llm=llm)) as index:
        index.add(DOCUMENTS)
        answer = index.ask(MAIN)
    assert [row[2] for row in answer.evidence.tables[0].rows] == ["", "Two.", "Three."]
    assert "it broke" in answer.evidence.notes[0]
