"""What is added to shards as to one index, and taken back."""

import json
from pathlib import Path

import pytest

import clew
from clew import errors, testing
from clew.shards import Neighbourhood, create, open_shards, shard_of
from clew.testing.small import QUESTIONS
from tests.extras.cluster.shards.small import SETTINGS
from tests.index.build import MODELS, scratch

ALL_OF_IT = Neighbourhood(chunks=1_000, units=1_000, triples=1_000)
DOCUMENT = clew.Document(id="comet", text="Ola Eriksen built the Comet.")


def opened(home, **more):
    return open_shards(home, models=MODELS, settings=SETTINGS, size=ALL_OF_IT, **more)


@pytest.fixture
def place():
    with scratch() as found:
        yield found


@pytest.fixture
def docs(place):
    """Files of three formats, one of them of records."""
    folder = place / "docs"
    folder.mkdir()
    for n in range(8):
        (folder / f"{n}.md").write_text(f"# Ship {n}\n\nThe ship {n} was built in Larvik.\n")
    lines = [f'{{"text": "Record {n} tells of Nansen."}}' for n in range(8)]
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    (folder / "broken.html").write_text("")
    return folder


def test_shards_filled_as_one_are_the_whole(place):
    """Every document is in its shard, and a question finds what it finds in one index."""
    places = create(place / "parts", 3)
    with (
        clew.open(place / "whole", models=MODELS, settings=SETTINGS) as whole,
        opened(place / "parts") as shards,
    ):
        one = whole.add(testing.small_documents(), triples="cooccurrence")
        added = shards.add(testing.small_documents(), triples="cooccurrence")
        assert sorted(added.report.added) == sorted(one.report.added)
        assert (added.n_documents, added.n_chunks) == (one.n_documents, one.n_chunks)
        assert added.extracted.rules == one.extracted.rules
        for question in QUESTIONS:
            assert shards.search(question).hits == whole.search(question).hits
        assert shards.documents() == whole.documents()
    for number, each in enumerate(places):
        with clew.open(each, models=MODELS) as shard:
            assert all(shard_of(name, 3) == number for name in shard.documents())


def test_files_come_to_their_shards_and_stay_there(place, docs):
    """A second run finds all unchanged; what changed, came and went is seen in its shard."""
    create(place / "parts", 3)
    with opened(place / "parts") as shards:
        first = shards.add(docs)
        assert len(first.report.added) == 16
        assert [Path(each.source).name for each in first.report.skipped] == ["broken.html"]
        again = shards.add(docs)
        assert (again.report.added, again.report.n_unchanged) == ([], 16)
        (docs / "1.md").unlink()
        (docs / "2.md").write_text("# Ship 2\n\nIt was built in Oslo.\n")
        lines = (docs / "records.jsonl").read_text().splitlines()
        (docs / "records.jsonl").write_text("\n".join(lines[:-1]) + "\n")
        third = shards.add(docs, prune=True)
        assert sorted(third.report.gone) == ["docs/1.md", "docs/records.jsonl:8"]
        assert third.report.changed == ["docs/2.md"]
        assert third.n_documents == len(shards.documents()) == 14


def test_one_machine_may_fill_each_part(place, docs):
    create(place / "parts", 2)
    with opened(place / "parts") as shards:
        shards.add(docs)
        whole = shards.documents()
    apart = create(place / "apart", 2)
    for number, each in enumerate(apart):
        with clew.open(each, models=MODELS, settings=SETTINGS) as shard:
            shard.add(docs, part=f"{number}/2")
    together = [place / "parts" / each.name for each in apart]
    for one, other in zip(apart, together, strict=True):
        with clew.open(one, models=MODELS) as a, clew.open(other, models=MODELS) as b:
            assert a.digest() == b.digest()
    with opened(place / "apart") as shards:
        assert shards.documents() == whole


def test_only_files_of_the_part_are_read(place, docs):
    """What is in no shard of it is not even opened, so that many machines share the reading."""
    mine = [n for n in range(8) if shard_of(f"docs/{n}.md", 4) == 1]
    for n in range(8):
        if n not in mine:
            (docs / f"{n}.md").write_bytes(b"\xff\x00" * 50)  # which would be skipped
    with clew.open(place / "one", models=MODELS, settings=SETTINGS) as shard:
        added = shard.add(docs, part="1/4")
    assert {each for each in added.report.added if each.endswith(".md")} == {
        f"docs/{n}.md" for n in mine
    }
    assert not [each for each in added.report.skipped if each.source.endswith(".md")]


def test_a_part_without_a_document_is_an_empty_shard(place):
    """It is made all the same: the others are asked together with it."""
    create(place / "parts", 4)
    with opened(place / "parts") as shards:
        shards.add(DOCUMENT)
        assert shards.search("Who built the Comet?").hits[0].document_id == "comet"
        assert len(shards) == 1


def test_a_shard_that_had_nothing_is_asked_once_it_has_something(place):
    """Whether it was empty, or had nothing that matches the filter of a question."""
    create(place / "parts", 4)
    names = [f"d{n}" for n in range(40)]
    first, second = (next(n for n in names if shard_of(n, 4) == shard) for shard in (0, 1))
    new = clew.Document(id=second, title="Vega", text="Ola Eriksen built the Vega in Lund.")
    with opened(place / "parts") as shards:
        shards.add(clew.Document(id=first, title="Comet", text="Ola Eriksen built the Comet."))
        assert len(shards.search("Who built the Vega?").hits) == 1
        with pytest.raises(errors.InputError, match="no document matches"):
            shards.search("Who built the Vega?", where="title = 'Vega'")
        with clew.open(place / "parts" / "shard-0001", models=MODELS) as one:
            one.add([new])
        assert shards.search("Who built the Vega?").hits[0].document_id == second
        assert len(shards.search("Who built it?", where="title != 'Vega'").hits) == 1
        with clew.open(place / "parts" / "shard-0001", models=MODELS) as one:
            one.add([clew.Document(id=second, title="Wega", text=new.text)])
        assert len(shards.search("Who built it?", where="title != 'Vega'").hits) == 2


def test_documents_are_removed_wherever_they_are(place):
    create(place / "parts", 3)
    with opened(place / "parts") as shards:
        shards.add(testing.small_documents())
        everything = shards.documents()
        with pytest.raises(errors.InputError, match="no document 'nowhere' in these shards"):
            shards.remove(["comet", "nowhere"])
        with pytest.raises(errors.InputError, match="no document has the field 'author'"):
            shards.remove(where="author = 'x'")
        assert shards.remove("comet", dry_run=True) == ["comet"]
        assert shards.documents() == everything
        of_l = [each for each in everything if each.startswith("l")]
        assert shards.remove(["comet", "l*"]) == ["comet", *of_l]
        assert shards.documents() == [e for e in everything if e not in ("comet", *of_l)]


@pytest.mark.parametrize("where", ["author != 'Ola'", "not author = 'Ola'", "author = null"])
def test_a_field_that_one_shard_lacks_is_lacked_by_its_documents(place, where):
    """A filter means the same in shards as in one index, whoever has the field."""
    documents = [
        clew.Document(id=f"d{n}", text=f"The ship {n} sailed.", metadata={"author": a} if a else {})
        for n, a in enumerate(["Ola", "Kari", "", "", "", ""])
    ]
    create(place / "parts", 6)
    with (
        clew.open(place / "whole", models=MODELS, settings=SETTINGS) as whole,
        opened(place / "parts") as shards,
    ):
        whole.add(documents)
        shards.add(documents)
        wanted = whole.search("Which ship sailed?", where=where)
        found = shards.search("Which ship sailed?", where=where)
        assert {h.document_id for h in found.hits} == {h.document_id for h in wanted.hits}
        assert shards.documents(where=where) == whole.documents(where=where)
        with pytest.raises(errors.InputError, match="no document has the field 'editor'"):
            shards.search("Which ship sailed?", where="editor != 'x'")


def test_an_answer_is_told_while_it_is_written(place):
    create(place / "parts", 2)
    seen = []
    with opened(place / "parts") as shards:
        shards.add(testing.small_documents())
        answer = shards.ask(
            "Where was the Comet built?",
            min_support=0,
            exact=True,
            on_evidence=lambda evidence: seen.append(len(evidence.hits)),
            on_text=seen.append,
        )
    assert seen[0] == len(answer.evidence.hits)
    assert "".join(seen[1:]) == answer.text


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda p: create(p / "parts", 2), "is not empty"),
        (lambda p: create(p / "new", 0), "at least 1, not 0"),
        (lambda p: clew.open(p / "parts", models=MODELS).add([]), "there is no file"),
        (
            lambda p: clew.open(p / "parts", models=MODELS).add(testing.small_documents()),
            "an index in shards, of which this takes one: name that, such as",
        ),
        (lambda p: clew.open(p / "parts").search("Who?"), "an index in shards"),
        (lambda p: clew.open(p / "parts").check(), "an index in shards"),
        (lambda p: clew.open(p / "parts").backup(p / "x.tar"), "an index in shards"),
        (lambda p: opened(p / "parts").add([], part="0/2"), "a part is of one shard"),
        (
            lambda p: clew.open(p / "new").add([], part="2/2"),
            "there is no part 2 of 2: parts count from 0",
        ),
        (
            lambda p: clew.open(p / "new").add([], part="half"),
            "a part must be NUMBER/COUNT, .* not 'half'",
        ),
    ],
)
def test_what_cannot_be_is_said_at_once(place, call, said):
    create(place / "parts", 2)
    with pytest.raises(errors.ClewError, match=said):
        call(place)


def test_a_shard_remembers_its_part(place, docs):
    """It takes no document of others, whoever opens it; another part of it is refused."""
    create(place / "parts", 3)
    with opened(place / "parts") as shards:
        shards.add(docs)
        whole = shards.documents()
    mine = [each for each in whole if shard_of(each, 3) == 1]
    with clew.open(place / "parts" / "shard-0001", models=MODELS) as one:
        assert one.add(docs).report.n_unchanged == len(one.documents()) == len(mine)
        with pytest.raises(errors.InputError, match=r"shard-0001 is shard 1/3, not 0/3"):
            one.add(docs, part="0/3")
        other = next(f"x{n}" for n in range(99) if shard_of(f"x{n}", 3) == 2)
        with pytest.raises(errors.InputError, match=r"not of the part 1/3, .* to the shard 2"):
            one.add([clew.Document(id=other, text="Ola Eriksen built the Vega.")])
        with pytest.raises(errors.InputError, match=r"not of the part 1/3, .* to the shard 2"):
            one.add(iter([clew.Document(id=other, text="Ola Eriksen built the Vega.")]))
    with clew.open(place / "one", models=MODELS, settings=SETTINGS) as index:
        index.add(docs)
        with pytest.raises(errors.InputError, match="which is not of the part"):
            index.add(docs, part="0/3")


def test_names_in_another_order_or_number_are_refused(place, docs):
    """Else documents would come to a second shard."""
    create(place / "parts", 3)
    with opened(place / "parts") as shards:
        shards.add(docs)
    file = place / "parts" / "shards.json"
    for names in (["shard-0001", "shard-0000", "shard-0002"], ["shard-0000", "shard-0001"]):
        file.write_text(json.dumps({"shards": names}))
        with opened(place / "parts") as shards:
            with pytest.raises(errors.InputError, match=r"is shard \d/3, not"):
                shards.add(docs)
            assert shards.documents()
    file.write_text(json.dumps({"shards": ["shard-0000", "shard-0000"]}))
    with pytest.raises(errors.InputError, match="shard-0000 twice: remove one"):
        opened(place / "parts")


def test_a_shard_that_is_gone_is_not_made_anew(place, docs):
    """It may be on a disk that is not there: nothing is written, and answers are partial."""
    create(place / "parts", 3)
    with opened(place / "parts") as shards:
        shards.add(docs)
    (place / "parts" / "shard-0002").rename(place / "gone")
    with opened(place / "parts") as shards:
        with pytest.raises(errors.StoreError, match="shard-0002 is gone, and others are there"):
            shards.add(docs)
        assert shards.search("Who built the ship?").missing == ("shard-0002",)
    with (
        opened(place / "parts", strict=True) as shards,
        pytest.raises(errors.StoreError, match="no index in the shard .*shard-0002: put it"),
    ):
        shards.search("Who built the ship?")
    (place / "gone").rename(place / "parts" / "shard-0002")
    with opened(place / "parts") as shards:
        assert shards.add(docs).report.n_unchanged == 16


def test_a_password_is_in_no_message(place):
    """Nor is an address a folder, of which shards could be made."""
    (place / "home").mkdir()
    name = "postgresql://ada:sesame@db.example/clew/part-0"
    (place / "home" / "shards.json").write_text(json.dumps({"shards": [name]}))
    with pytest.raises(errors.NotAnIndex, match="db.example/clew/part-0") as told:
        clew.open(place / "home").search("Who?")
    assert "sesame" not in str(told.value)
    for address in (name, "s3://bucket/x"):
        with pytest.raises(errors.InputError, match="shards are created in a folder") as said:
            create(address, 2)
        assert "sesame" not in str(said.value)
