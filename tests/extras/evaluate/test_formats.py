"""Official formats of data sets, in small files that are written here."""

import copy
import hashlib
import json
import shutil
import sys
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.base.types import Document
from clew.errors import InputError, MissingExtra
from clew.evaluate import load
from clew.extras.evaluate.formats.parsed import Paragraph, pool_paragraphs, supporting
from clew.extras.evaluate.formats.records import records
from clew.readers.triples import paragraph_id
from clew.testing import models

FRAM = ["Fram is a ship.", " Colin Archer built her in 1892."]
ARCHER = ["Colin Archer was born in Larvik.", " He built boats."]
LARVIK = ["Larvik is a town in Norway."]
OTHER_FRAM = ["Fram is a club from Larvik."]
HOTPOT = [
    {
        "_id": "5a01",
        "question": "Where was the builder of Fram born?",
        "answer": "Larvik",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["Fram", 1], ["Colin Archer", 0], ["Fram", 0]],
        "context": [["Larvik", LARVIK], ["Fram", FRAM], ["Colin Archer", ARCHER]],
    },
    {
        "_id": "5a02",
        "question": "Is the club Fram from the town Larvik?",
        "answer": "yes",
        "type": "comparison",
        "level": "easy",
        "supporting_facts": [["Fram", 0], ["Norway", 0]],
        "context": [["Fram", OTHER_FRAM], ["Larvik", LARVIK], ["Nothing", [" "]]],
    },
]
MUSIQUE = [
    {
        "id": "3hop1__1_2_3",
        "question": "In which country was the builder of Fram born?",
        "answer": "Norway",
        "answer_aliases": ["Kingdom of Norway", "", "Norway"],
        "answerable": True,
        "paragraphs": [
            {"idx": 0, "title": "Fram", "paragraph_text": "A ship.", "is_supporting": True},
            {"idx": 1, "title": "Fram", "paragraph_text": "A club.", "is_supporting": False},
            {"idx": 2, "title": "Larvik", "paragraph_text": "A town.", "is_supporting": True},
        ],
        "question_decomposition": [],
    },
    {
        "id": "3hop1__1_2_3",
        "question": "In which country was the builder of Fram born?",
        "answer": "Norway",
        "answer_aliases": [],
        "answerable": False,
        "paragraphs": [
            {"idx": 0, "title": "Oslo", "paragraph_text": "A city.", "is_supporting": False}
        ],
    },
]
ODD = {"title": "", "paragraph_text": "A", "is_supporting": "no"}
LONG = [
    {"corpus_name": "Novel-1", "context": "The captain sailed to Akaroa. He met a whaler there."},
    {"corpus_name": "Novel-2", "context": "The baker of Larvik had three sons."},
]
ABOUT_LONG = [
    {
        "id": "Novel-a",
        "source": "Novel-1",
        "question": "Whom did the captain meet?",
        "answer": "a whaler",
        "question_type": "Fact Retrieval",
        "evidence": "The captain sailed to Akaroa.; The captain met a whaler; ",
        "evidence_triple": "(captain, met, whaler)",
    },
    {
        "id": "Novel-b",
        "source": "Novel-2",
        "question": "Describe the baker's family.",
        "answer": "He had three sons.",
        "question_type": "Contextual Summarize",
        "evidence": ["The baker had three sons.", "", "The baker lived in Larvik; it is a town."],
        "evidence_relations": "(baker, had, three sons)",
    },
    {"id": "Novel-a", "source": "Novel-2", "question": "Who?", "question_type": "Fact Retrieval"},
]
CORPUS = '{"_id": "d1", "title": "Fram", "text": "A ship."}\n{"_id": "d2", "text": "A town."}\n'
QUERIES = (
    '{"_id": "q1", "text": "ship"}\n{"_id": "q2", "text": "town"}\n{"_id": "q3", "text": "?"}\n'
)
QRELS = "query-id\tcorpus-id\tscore\n"
GOLD = ("Fram", "".join(FRAM)), ("Colin Archer", "".join(ARCHER))


def write(path, values):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


def lines(path, values):
    path.write_text("".join(f"{json.dumps(r)}\n" for r in values), encoding="utf-8")
    return path


def as_hugging_face(record):
    """The same question in columns."""
    facts, context = record["supporting_facts"], record["context"]
    return {
        "id": record["_id"],
        **{key: record[key] for key in ("question", "answer", "type", "level")},
        "supporting_facts": {
            "title": [title for title, _ in facts],
            "sent_id": [number for _, number in facts],
        },
        "context": {
            "title": [title for title, _ in context],
            "sentences": [sentences for _, sentences in context],
        },
    }


def as_text(record):
    """The same question with its lists as JSON in texts."""
    nested = ("supporting_facts", "context")
    return {**record, **{key: json.dumps(record[key]) for key in nested}}


def titles(dataset):
    assert isinstance(dataset.corpus, tuple)
    return [(document.title, document.text) for document in dataset.corpus]


@pytest.fixture
def hotpot(tmp_path):
    return write(tmp_path / "hotpot.json", HOTPOT)


@pytest.fixture
def bench(tmp_path):
    write(tmp_path / "bench" / "Questions" / "novel_questions.json", ABOUT_LONG)
    write(tmp_path / "bench" / "Corpus" / "novel.json", LONG)
    return tmp_path / "bench"


@pytest.fixture
def beir(tmp_path):
    root = tmp_path / "nfcorpus"
    (root / "qrels").mkdir(parents=True)
    (root / "corpus.jsonl").write_text(CORPUS)
    (root / "queries.jsonl").write_text(QUERIES)
    (root / "qrels" / "test.tsv").write_text(f"{QRELS}q1\td1\t2\nq1\td2\t0\nq2\td1\t0\n")
    (root / "qrels" / "dev.tsv").write_text(f"{QRELS}q3\td9\t1\n")
    return root


def test_hotpotqa_gives_questions_and_a_pool(hotpot):
    """Gold is by title within the question's own context, and equal paragraphs are one."""
    dataset = load(hotpot)
    first, second = dataset.questions
    assert (dataset.name, dataset.format) == ("hotpot", "hotpotqa")
    pool = [("Larvik", "".join(LARVIK)), *GOLD, ("Fram", "".join(OTHER_FRAM))]
    assert titles(dataset) == pool
    assert (first.id, first.answers, first.type, first.hops) == ("5a01", ("Larvik",), "bridge", 2)
    assert set(first.supporting_ids) == {paragraph_id(*each) for each in GOLD}
    assert second.supporting_ids == (paragraph_id("Fram", "Fram is a club from Larvik."), "Norway")
    assert dataset.unknown_ids == ("Norway",)


@pytest.mark.parametrize("change", [as_hugging_face, as_text, dict])
def test_shapes_of_hotpotqa_mean_the_same(tmp_path, hotpot, change):
    wanted = load(hotpot)
    given_ = load(lines(tmp_path / "other.txt", [change(record) for record in HOTPOT]))
    assert given_.questions == wanted.questions
    assert titles(given_) == titles(wanted)


def test_parquet_means_the_same(tmp_path, hotpot, monkeypatch):
    pq.write_table(pa.Table.from_pylist([as_hugging_face(r) for r in HOTPOT]), tmp_path / "a.bin")
    dataset = load(tmp_path / "a.bin")
    assert dataset.questions == load(hotpot).questions
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=r"a\.parquet: a broken Parquet file"):
        load(path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'clew\[parquet\]'"):
        load(path)


def test_a_text_called_parquet_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    for text in ("not a table", "", json.dumps(HOTPOT)):
        path.write_text(text)
        with pytest.raises(InputError, match=r"a\.parquet: not a Parquet file"):
            load(path)


@pytest.mark.parametrize(
    ("record", "lost"),
    [
        (HOTPOT[0], "context"),
        (as_hugging_face(HOTPOT[0]), "context"),
        ({**HOTPOT[0], "evidences": [], "supporting_facts": None}, "context"),
        (MUSIQUE[0], "paragraphs"),
    ],
)
def test_published_keys_do_not_pass_as_our_own(tmp_path, record, lost):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "fram.md").write_text("A ship.")
    cut = {key: value for key, value in record.items() if key != lost}
    id_ = cut.get("_id", cut.get("id"))
    with pytest.raises(InputError, match=rf"d\.json, record 1 .id {id_}.: there is no '{lost}'"):
        load(write(tmp_path / "d.json", [cut]))
    with pytest.raises(InputError, match=rf"record 2 .id {id_}.: there is no '{lost}'"):
        load(write(tmp_path / "d.json", [{**record, "_id": "1", "id": "1"}, cut]))


@pytest.mark.parametrize(
    ("answer", "answers"),
    [
        ({"answer": "Larvik"}, ("Larvik",)),
        ({"answer": ["Larvik", "in Larvik"]}, ("Larvik", "in Larvik")),
        ({"answer": ""}, ()),
        ({"answer": None, "type": "bridge"}, ()),
        ({"answer": "no", "answers": ["yes"]}, ("yes",)),
    ],
)
@pytest.mark.parametrize(
    "place", ["qa-pairs/qa-pairs.json", "input/qa-pairs.json", "qa-pairs.json"]
)
def test_pairs_of_ketrag_are_read_as_they_are(tmp_path, answer, answers, place):
    """Its folders of MuSiQue and 2Wiki, and both files side by side: the text is the corpus."""
    root = tmp_path / "ragtest-musique"
    text = root / ("input/document.txt" if "/" in place else "document.txt")
    for file in (root / place, text, root / "output" / "ragtest-keyword.json"):
        file.parent.mkdir(parents=True, exist_ok=True)
    text.write_text("Fram\nA ship that was built in Larvik.")
    (root / "output" / "ragtest-keyword.json").write_text('[{"id": "2hop__1_2", "context": "A"}]')
    write(root / place, [{"id": "2hop__1_2", "question": "Where was the ship built?", **answer}])
    for named in (root, root / place):
        corpus = None if named == root else text
        dataset = load(named, corpus=corpus)
        [question] = dataset.questions
        assert (question.text, question.answers) == ("Where was the ship built?", answers)
        assert (question.id, question.supporting_ids) == ("2hop__1_2", ())
        assert dataset.corpus == text
        assert dataset.document_ids == {"document.txt"}


def test_an_answer_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "document.txt").write_text("A ship.")
    for answer in (3, [3], {"text": "Larvik"}):
        write(tmp_path / "qa-pairs.json", [{"id": "1", "question": "?", "answer": answer}])
        with pytest.raises(InputError, match=r"record 1 .id 1.: 'answer' must "):
            load(tmp_path)


def test_our_own_may_keep_published_keys(tmp_path):
    own = {"id": "q", "question": "?", "answers": ["yes"], "supporting_facts": [], "answer": "yes"}
    corpus = write(tmp_path / "c.json", [{"id": "a", "text": "b"}])
    dataset = load(write(tmp_path / "q.json", [own]), corpus=corpus)
    assert (dataset.format, dataset.questions[0].answers) == ("clew", ("yes",))
    record = {key: HOTPOT[0][key] for key in ("_id", "question", "context")}
    about = load(write(tmp_path / "test.json", [record])).about
    assert (about.n_questions, about.n_without_gold, about.n_without_answers) == (1, 1, 1)
    assert about.n_documents == 3


def test_two_wiki_is_told_by_its_evidence_or_types(tmp_path):
    """Its sentences are joined by blanks; its evidence triples are not evidence texts."""
    record = {
        "_id": "w1",
        "question": "Who built the ship?",
        "answer": "Archer",
        "type": "comparison",
        "supporting_facts": [["Fram", 0]],
        "context": [["Fram", ["A ship.", "By Archer."]]],
        "evidences": [["Fram", "builder", "Archer"]],
    }
    dataset = load(write(tmp_path / "dev.json", [record]))
    assert (dataset.format, titles(dataset)) == ("2wiki", [("Fram", "A ship. By Archer.")])
    assert dataset.questions[0].evidence == ()
    del record["evidences"]
    assert load(write(tmp_path / "dev.json", [record])).format == "hotpotqa"
    record["type"] = "bridge_comparison"
    assert load(write(tmp_path / "dev.json", [record])).format == "2wiki"


def test_the_pool_has_the_paragraphs_of_all_questions(hotpot, tmp_path):
    whole, one = load(hotpot), load(hotpot, limit=1)
    assert one.corpus == whole.corpus
    assert one.questions == whole.questions[:1]
    assert one.unknown_ids == ()
    turned = copy.deepcopy(HOTPOT[::-1])
    for record in turned:
        record["context"].reverse()
    other = {each.id: each for each in load(write(tmp_path / "b.json", turned)).questions}
    questions = load(hotpot).questions
    assert {question.id for question in questions} == other.keys()
    assert any(question.supporting_ids for question in questions)
    for question in questions:
        assert set(question.supporting_ids) == set(other[question.id].supporting_ids)
    dataset = load(hotpot)
    with clew.open(tmp_path / "i.clew", models=models()) as index:
        assert index.add(dataset.corpus).n_documents == 4
        hits = index.search("Who built Fram in 1892?", method="bm25").hits
    assert hits[0].document_id == paragraph_id(*GOLD[0])


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy "), st.booleans())))
def test_a_pool_has_each_paragraph_once(found):
    """As many documents as distinct pairs with words, in order, each with gold that it has."""
    context = [Paragraph(title, text, gold) for title, text, gold in found]
    pool = pool_paragraphs([context, context[::-1]], "here")
    assert [(d.title, d.text) for d in pool] == [
        pair for pair in dict.fromkeys((t, x) for t, x, _ in found) if pair[1] != " "
    ]
    ids = {document.id for document in pool}
    assert len(ids) == len(pool)
    assert {i for i in supporting(context) if i not in ids} == {
        title for title, text, gold in found if gold and text == " "
    }


def test_musique_leaves_out_what_cannot_be_answered(tmp_path):
    """The second question of an id is counted, and its paragraphs are not pool_paragraphs."""
    dataset = load(lines(tmp_path / "full.jsonl", MUSIQUE))
    (question,) = dataset.questions
    assert dataset.format == "musique"
    assert dataset.about.left_out == {"not answerable": 1}
    assert titles(dataset) == [("Fram", "A ship."), ("Fram", "A club."), ("Larvik", "A town.")]
    assert question.answers == ("Norway", "Kingdom of Norway")
    assert (question.type, question.hops) == ("3hop1", 3)
    gold = ("Fram", "A ship."), ("Larvik", "A town.")
    assert question.supporting_ids == tuple(paragraph_id(*each) for each in gold)
    full = load(lines(tmp_path / "full.jsonl", MUSIQUE))
    part = load(lines(tmp_path / "part.jsonl", MUSIQUE[:1]))
    assert full.questions == part.questions
    assert full.about.digest == part.about.digest
    assert titles(full) == titles(part)
    assert part.left_out == {}


def test_graphrag_bench_gives_evidence(bench):
    """Texts joined by semicolons are parted, those of a list are not; a repeated id is left out."""
    dataset = load(bench)
    assert (dataset.format, dataset.n_documents) == ("graphrag-bench", 2)
    assert dataset.corpus == (
        Document(id="Novel-1", text=LONG[0]["context"], source=f"{corpus_file(bench)}, record 1"),
        Document(id="Novel-2", text=LONG[1]["context"], source=f"{corpus_file(bench)}, record 2"),
    )
    assert [question.id for question in dataset.questions] == ["Novel-a", "Novel-b"]
    parted = ("The captain sailed to Akaroa.", "The captain met a whaler")
    assert dataset.questions[0].evidence == parted
    assert len(dataset.questions[1].evidence) == 2
    assert dataset.questions[1].type == "Contextual Summarize"
    assert dataset.left_out == {"the id came before": 1}
    assert dataset.about.n_without_gold == 2


def corpus_file(bench):
    return bench / "Corpus" / "novel.json"


def test_a_pair_of_files_is_a_dataset(bench):
    questions = bench / "Questions" / "novel_questions.json"
    assert load(questions, corpus=corpus_file(bench)).questions == load(bench).questions
    write(questions, ABOUT_LONG[:1])
    for indent in (None, 2):
        corpus_file(bench).write_text(json.dumps(LONG[0], indent=indent))
        assert load(questions, corpus=corpus_file(bench)).n_documents == 1
    with pytest.raises(InputError, match="no file with a corpus of GraphRAG-Bench: name one"):
        load(questions)
    with pytest.raises(InputError, match=r"novel\.json: this is a corpus .* it with --corpus"):
        load(corpus_file(bench))


def test_graphrag_bench_needs_the_documents_that_it_asks_about(bench):
    """A corpus of the other part is told; a corpus that is cut otherwise is not checked."""
    write(corpus_file(bench), LONG[:1])
    with pytest.raises(InputError, match="its corpus lacks what questions are about: 'Novel-2'"):
        load(bench)
    cut = lines(bench / "cut.jsonl", [{"id": "Novel-1-0", "text": "The captain sailed."}])
    dataset = load(bench, corpus=cut)
    assert (dataset.name, dataset.corpus, dataset.n_documents) == ("bench-cut", cut, 1)


def test_two_files_of_a_kind_or_a_broken_one_are_told(bench):
    path = bench / "Questions" / "novel_questions.json"
    path.write_text("[{]")
    with pytest.raises(InputError, match=r"novel_questions\.json: not JSON"):
        load(bench)
    write(path, ABOUT_LONG)
    write(bench / "Corpus" / "medical.json", LONG[0])
    with pytest.raises(InputError, match=r"2 files with a corpus .*medical\.json, .*novel\.json"):
        load(bench)
    write(bench / "Questions" / "medical.json", ABOUT_LONG)
    with pytest.raises(InputError, match=r"2 files with questions \(Questions/medical\.json, "):
        load(bench)


def test_beir_takes_the_split_of_its_judgements(beir, tmp_path):
    """Scores of 0 are no gold; queries without judgements are no questions."""
    dataset = load(beir)
    assert (dataset.format, dataset.name, dataset.n_documents) == ("beir", "nfcorpus", 2)
    assert [(q.id, q.text, q.supporting_ids, q.split) for q in dataset.questions] == [
        ("q1", "ship", ("d1",), "test"),
        ("q2", "town", (), "test"),
    ]
    assert dataset.corpus == beir / "corpus.jsonl"
    dev = load(beir, split="dev")
    assert ([q.id for q in dev.questions], dev.unknown_ids) == (["q3"], ("d9",))
    with pytest.raises(InputError, match="qrels: no split 'train', only dev, test"):
        load(beir, split="train")
    dataset = load(beir)
    with clew.open(tmp_path / "i.clew", models=models()) as index:
        index.add(dataset.corpus)
        hit = index.search("ship", method="bm25").hits[0]
    assert (hit.document_id,) == dataset.questions[0].supporting_ids
    (beir / "qrels" / "test.tsv").unlink()
    assert load(beir).questions[0].split == "dev"
    (beir / "qrels" / "dev.tsv").rename(beir / "qrels" / "a.tsv")
    (beir / "qrels" / "b.tsv").write_text(QRELS)
    with pytest.raises(InputError, match="no split 'test', only a, b"):
        load(beir)
    with pytest.raises(InputError, match="no questions"):
        load(beir, split="b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1\td1\t1\n", "line 1: must be the names query-id, corpus-id and score"),
        ("q1 0 d1 1\n", "line 1: must be the names"),
        (f"{QRELS}q1\td1\n", "line 2: must be a query, a document and a number"),
        (f"{QRELS}q1\td1\thigh\n", "line 2: must be a query, a document and a number"),
        (f"{QRELS}\nq1\td1\tnan\n", "line 3: must be a query, a document and a number"),
        (f"{QRELS}q7\td1\t1\n", "line 2: .*queries.jsonl lacks the query 'q7'"),
        (
            f"{QRELS}q1\td1\t1\nq2\td1\t1\nq1\td1\t0\n",
            "line 4: there are two judgements of 'd1' for 'q1', 0 after 1",
        ),
        (f"{QRELS}q1\td1\t0\nq1\td1\t0\n", "line 3: there are two judgements of 'd1' for 'q1'"),
    ],
)
def test_malformed_judgements_are_named(beir, text, message):
    (beir / "qrels" / "test.tsv").write_text(text)
    with pytest.raises(InputError, match=rf"test\.tsv, {message}"):
        load(beir)


def test_beir_needs_its_corpus(beir):
    (beir / "corpus.jsonl").unlink()
    with pytest.raises(InputError, match=r"corpus\.jsonl: No such file"):
        load(beir)


def test_beir_needs_its_judgements(beir):
    (beir / "qrels" / "test.tsv").write_bytes(QRELS.encode() + b"\xff\td1\t1\n")
    with pytest.raises(InputError, match=r"test\.tsv: not UTF-8 at byte"):
        load(beir)
    shutil.rmtree(beir / "qrels")
    with pytest.raises(InputError, match=r"nfcorpus: .*queries\.jsonl needs qrels/SPLIT\.tsv"):
        load(beir)
    write(beir / "more.json", [{"id": "q1", "question": "Which ship?"}])
    assert load(beir).n_documents == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"_id": "5a02"}, "the id '5a02' is already used in .*record 2"),
        ({"_id": 7}, "'_id' must be a non-empty text, but is 7"),
        ({"question": ""}, "'question' must be a non-empty text"),
        ({"answer": ["Larvik"]}, "'answer' must be a non-empty text"),
        ({"context": None}, "'context' must be a list of .*but is NoneType"),
        ({"context": [["Fram"]]}, r"'context' must contain \[title, .*but has \['Fram'\]"),
        ({"context": [["Fram", "A ship."]]}, "'Fram' in 'context' must be a list of texts"),
        ({"context": [[1, []]]}, "the titles of 'context' must contain texts, but has 1"),
        ({"context": "[[}"}, "'context' is a text that is not JSON"),
        ({"context": {"title": ["a"], "sentences": []}}, "as many lists of sentences as titles"),
        ({"context": {"sentences": []}}, "the titles of 'context' must be a list of texts"),
        ({"supporting_facts": ["Fram"]}, "'supporting_facts' must contain .title, sentence."),
        ({"supporting_facts": [[None, 0]]}, "'supporting_facts' must contain texts, but has None"),
        ({"supporting_facts": {"title": "Fram"}}, "'supporting_facts' must be a list of texts"),
    ],
)
def test_malformed_questions_are_named(tmp_path, change, message):
    path = write(tmp_path / "h.json", [*HOTPOT, {**HOTPOT[0], "_id": "5a03", **change}])
    with pytest.raises(InputError, match=rf"h\.json, record 3.*: .*{message}"):
        load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"paragraphs": {}}, "'paragraphs' must be a list, but is dict"),
        ({"paragraphs": ["Fram"]}, "paragraph 1 must be a JSON object, but is str"),
        ({"paragraphs": [{"title": "Fram"}]}, "paragraph 1 must contain texts, but has None"),
        ({"paragraphs": [ODD]}, "'is_supporting' of paragraph 1 must be true or false, but is 'no"),
        ({"answer_aliases": "Norge"}, "'answer_aliases' must be a list of texts"),
    ],
)
def test_malformed_paragraphs_are_named(tmp_path, change, message):
    path = lines(tmp_path / "m.jsonl", [MUSIQUE[0], {**MUSIQUE[0], "id": "2hop__1_2", **change}])
    with pytest.raises(InputError, match=rf"m\.jsonl, line 2: {message}"):
        load(path)


def test_malformed_evidence_is_named(bench):
    path = bench / "Questions" / "novel_questions.json"
    write(path, [{**ABOUT_LONG[0], "evidence": [3]}])
    with pytest.raises(InputError, match="id Novel-a.: 'evidence' must contain texts, but has 3"):
        load(bench)
    write(path, [{**ABOUT_LONG[0], "source": None}])
    with pytest.raises(InputError, match="id Novel-a.: 'source' must be a non-empty text"):
        load(bench)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[{}, ", "not JSON: .*line 1 column 6"),
        (b"[{} {}]", "not JSON: .*line 1 column 5"),
        (b"[{}] {}", "not JSON: .*line 1 column 6"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "record 1: must be a JSON object, but is int"),
        (b"[\xff]", "not UTF-8 at byte 1"),
        (b'{"a":', "line 1: not JSON"),
        (b'{"a": \n 1}\n{}', "line 1: not JSON"),
        (b"{}\n\n7", "line 3: must be a JSON object, but is int"),
    ],
)
def test_files_that_hold_no_records_are_refused(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_bytes(text)
    with pytest.raises(InputError, match=rf"x\.json[,:] {message}"):
        list(records(path))


@pytest.mark.parametrize("text", ["[]", " [ ] ", "", "\n"])
def test_files_without_records_have_no_questions(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"x\.json: no questions"):
        load(path)


def test_no_questions_halves_of_characters_and_ids(tmp_path):
    path = write(tmp_path / "x.json", [{"id": "a", "text": "b"}])
    with pytest.raises(InputError, match=r"record 1 \(id a\): there is no 'question'"):
        load(path)
    record = {**HOTPOT[0], "question": "Who \ud83d?", "context": [["\udc00", ["A \ud83d."]]]}
    dataset = load(write(tmp_path / "h.json", [record]))
    assert dataset.questions[0].text == "Who \N{REPLACEMENT CHARACTER}?"
    assert titles(dataset) == [("\N{REPLACEMENT CHARACTER}", "A \N{REPLACEMENT CHARACTER}.")]
    assert dataset.about.digest
    wanted = hashlib.sha256(b'["F\\u00e9", "A \\"ship\\"."]').hexdigest()[:16]
    assert paragraph_id("Fé", ' A "ship".\n') == wanted
    assert paragraph_id("a b", "c") != paragraph_id("a", "b c")


@given(st.randoms(use_true_random=False))
def test_damage_gives_input_errors_only(tmp_path_factory, draw):
    record = copy.deepcopy(draw.choice([HOTPOT[0], as_hugging_face(HOTPOT[0]), MUSIQUE[0]]))
    place = record
    while True:
        key = draw.choice(list(place) if isinstance(place, dict) else list(range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or draw.random() < 0.3:
            break
        place = place[key]
    place[key] = draw.choice([None, 7, 0.5, True, "x", "", [], {}, [[]], ["x"], {"title": ["x"]}])
    path = write(tmp_path_factory.mktemp("damage") / "d.json", [record])
    corpus = write(path.parent / "c.json", [{"id": "a", "text": "b"}])
    with suppress(InputError):
        assert len(load(path, corpus=corpus).questions) == 1


def test_a_published_corpus_has_the_ids_of_a_pool(tmp_path, hotpot):
    """Records without ids are known by their content, so gold stays gold."""
    pool = load(hotpot)
    listed = [{"idx": i, "title": t, "text": f"{x} "} for i, (t, x) in enumerate(titles(pool))]
    dataset = load(hotpot, corpus=write(tmp_path / "corpus.json", [*listed, listed[0]]))
    assert isinstance(dataset.corpus, tuple)
    assert isinstance(pool.corpus, tuple)
    assert [d.id for d in dataset.corpus] == [d.id for d in pool.corpus]
    assert dataset.unknown_ids == ("Norway",)
    assert dataset.name == "hotpot-corpus"


def test_titles_with_their_sentences_are_a_corpus(tmp_path, hotpot):
    """HippoRAG has HotpotQA's so, in which a title stands once."""
    sentences = {"Larvik": LARVIK, "Fram": FRAM, "Colin Archer": ARCHER, "Nothing": [" "]}
    dataset = load(hotpot, corpus=write(tmp_path / "corpus.json", sentences))
    assert {document.title for document in dataset.corpus} == {"Larvik", "Fram", "Colin Archer"}
    first, second = dataset.questions
    assert not set(first.supporting_ids) & set(dataset.unknown_ids)
    assert set(second.supporting_ids) & set(dataset.unknown_ids)


def test_paragraphs_of_musique_may_be_called_texts(tmp_path):
    """As of MuSiQue's shape in HippoRAG's PopQA."""
    [given] = copy.deepcopy(MUSIQUE[:1])
    for paragraph in given["paragraphs"]:
        paragraph["text"] = paragraph.pop("paragraph_text")
    named, called = (
        load(write(tmp_path / f"{i}.json", [v])) for i, v in enumerate([MUSIQUE[0], given])
    )
    assert named.questions == called.questions


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "no documents"),
        (
            [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}],
            "record 2 .*'a' is already used in .*record 1",
        ),
        ([{"id": "a", "text": "x"}, {"text": "y"}], "record 2: there is no 'id'"),
        ([{"title": "a"}], "record 1: there is no 'text'"),
        ([*LONG, LONG[0]], "record 3: the corpus 'Novel-1' came before"),
        ([LONG[0], {"corpus_name": "b"}], "record 2: there is no 'context'"),
    ],
)
def test_malformed_corpora_are_named(tmp_path, hotpot, values, message):
    with pytest.raises(InputError, match=rf"c\.json[,:] {message}"):
        load(hotpot, corpus=write(tmp_path / "c.json", values))


def test_a_corpus_may_be_a_folder(tmp_path, hotpot, beir):
    """That is the file corpus.jsonl in it, or all its files."""
    assert load(hotpot, corpus=beir).corpus == beir / "corpus.jsonl"
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "fram.md").write_text("A ship.")
    dataset = load(hotpot, corpus=tmp_path / "texts")
    assert (dataset.corpus, dataset.n_documents) == (tmp_path / "texts", 1)
    for name in ("none", "none.jsonl"):
        with pytest.raises(InputError, match=rf"{name}: No such file"):
            load(hotpot, corpus=tmp_path / name)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="empty: no documents"):
        load(hotpot, corpus=tmp_path / "empty")


def test_published_extractions_need_no_indexing(tmp_path):
    """HippoRAG's results of OpenIE are the corpus of its questions, and the triples of that."""
    docs = [
        {
            "idx": f"chunk-{n}",
            "passage": f"{title}\n{text}",
            "extracted_entities": [subject, target],
            "extracted_triples": [[subject, relation, target]],
        }
        for n, (title, text, (subject, relation, target)) in enumerate(
            [
                ("Fram", "A ship.", ("Fram", "was built by", "Colin Archer")),
                ("Fram", "A club.", ("Fram", "plays in", "Larvik")),
                ("Larvik", "A town.", ("Larvik", "lies in", "Norway")),
            ]
        )
    ]
    path = tmp_path / "openie_results_ner_some-llm.json"
    path.write_text(json.dumps({"docs": docs, "avg_ent_words": 1.5}))
    dataset = load(lines(tmp_path / "musique.jsonl", MUSIQUE[:1]), corpus=path)
    assert titles(dataset) == [("Fram", "A ship."), ("Fram", "A club."), ("Larvik", "A town.")]
    assert dataset.unknown_ids == ()
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        index.add(dataset.corpus)
        report = index.import_triples(path)
        assert (report.recorded, report.skipped) == (3, [])
        found = index.search("Who was Colin Archer of Norway?", method="hipporag")
    assert {hit.document_id for hit in found.hits} == dataset.document_ids
