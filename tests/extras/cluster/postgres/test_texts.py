"""Texts and addresses of any kind: what is written is what is read, and no password is told."""

from contextlib import closing
from urllib.parse import quote

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clew
from clew.base.types import Document
from clew.errors import InputError, StoreError
from clew.extras.cluster.postgres.address import parse_address
from clew.extras.cluster.postgres.connection import Connection, from_database, to_database
from clew.index.store import opening
from clew.testing import models
from tests.index.build import contents, is_one_sentence

MARK = "\ue400"
marked = st.text(st.sampled_from(["\0", MARK, "\ue401", "\ue402", "a", "\U0010ffff"]))


@given(marked | st.text())
def test_any_text_comes_back(text):
    """What is kept has no NUL and is given back as it was; two texts are never kept as one."""
    assert "\0" not in to_database(text)
    assert from_database(to_database(text)) == text
    assert (to_database(text) == text) == ("\0" not in text and MARK not in text)


def test_any_text_comes_back_from_the_server(address):
    """As above, by way of PostgreSQL."""
    texts = [
        "\0",
        MARK,
        f"{MARK}\ue401",
        f"\0{MARK}\ue402\0",
        "a" * 5_000,
        "\U0010ffff",
        "",
        "'\"\\%s?",
    ]
    with closing(Connection(parse_address(address))) as session:
        for text in texts:
            assert session.execute("SELECT ?::text", (text,)).fetchall() == [(text,)]


DOCUMENTS = {
    "NUL": [
        Document(id="a\0b", title="T\0t", text=f"Mira\0 Toll crossed Bakken {MARK} in 1911."),
        Document(id=MARK, text="Bo Dahl met Mira Toll.", metadata={"a": f"\0{MARK}"}),
    ],
    "long": [
        Document(id="x" * 5_000, title="y" * 5_000, text=f"Mira {'Q' * 5_000} crossed Verle.")
    ],
    "surrogates": [Document(id="s\ud800", title="\ud800", text="Mira \ud800 Toll")],
}  # fmt: skip


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_same_as_in_a_folder(address, tmp_path, name):
    """Texts, ids and keys that are odd or long are what they are in an index in a folder."""
    found = []
    for place in (str(tmp_path / "index"), address):
        with clew.open(place, models=models()) as index:
            index.add(DOCUMENTS[name])
            hits = index.search("Who is Mira Toll?").hits
        with opening.open_store(opening.folder_of(place)) as store:
            found.append((hits, contents(store)))
    assert found[0] == found[1]
    assert found[0][0]


SECRET = st.text(st.sampled_from("xyzXYZ@/:%?#&=+ []\\'\"é\U0001f600"), min_size=1).map(
    lambda text: f"s3cr3t{text}s3cr3t"
)
hosts = st.sampled_from(
    ["", "h", "h:1", "h:1,k:2", "[::1]", "[::1]:5432", "%2Ftmp%2Fa", "127.0.0.1:5432"]
)


@given(SECRET, hosts)
def test_a_password_is_for_libpq_alone(password, host):
    """However a password is given, it arrives as it is, and is in nothing that is shown."""
    query = quote(password, safe="")
    for text in (
        f"postgresql://u:{query}@{host}/db/i",
        f"postgresql://:{query}@{host}/db/i?objects=s3://b/p",
        f"postgresql://u@{host}/db/i?password={query}&objects=s3://b/p&application_name=a+b",
    ):
        found = parse_address(text)
        told = psycopg.conninfo.conninfo_to_dict(found.database)
        assert told["password"] == password
        assert told["dbname"] == "db"
        assert told.get("application_name", "a+b") == "a+b"  # no space, as it is for libpq
        for shown in (found.shown, repr(found), str(found.folder)):
            assert "s3cr3t" not in shown
        again = parse_address(found.shown)
        assert (again.index, again.shown, again.folder) == (found.index, found.shown, found.folder)


@given(
    SECRET, hosts, st.sampled_from(["/db/i", "/db", "/", "", "/a/b/c", "/db/-", "/db/i?a", "/é/ i"])
)
def test_a_raw_password_is_never_told(password, host, path):
    """It is taken where it is clear, and what is not is refused in a sentence without it."""
    text = f"postgresql://u:{password}@{host}{path}"
    try:
        found = parse_address(text)
    except InputError as error:
        said = str(error)
    else:
        said = found.shown + repr(found)
        told = psycopg.conninfo.conninfo_to_dict(found.database)
        assert "s3cr3t" in told["password"]
    assert "s3cr3t" not in said
    assert "\n" not in said


@given(st.text(max_size=30), st.sampled_from(["", "?objects=", "?password=", "?a=%zz", "?=", "?&"]))
def test_any_text_is_an_address_or_refused(text, query):
    """Nothing but InputError comes of what is not an address."""
    try:
        found = parse_address(f"postgresql://{text}{query}")
    except InputError:
        return
    assert found.index


@pytest.mark.parametrize(
    "text", ["postgresql://", "postgresql:///", "postgresql://h/db", "postgresql://h/db/a/b",
             "postgresql://[::1/db/i", "postgresql://h/db/.i", "postgresql://h:x/db/i",
             "postgresql://u:p%00@h/db/i", "postgresql://h/db/" + "i" * 49],
)  # fmt: skip
def test_what_is_no_address(text):
    """It is said which form one has."""
    with pytest.raises(InputError, match="an address of PostgreSQL is") as caught:
        parse_address(text)
    assert "p%00" not in str(caught.value)


def test_no_password_in_what_is_told(address, tmp_path):
    """Not in what an index says of itself, in errors of a server that is there or is not."""
    own = address.replace("postgres:@", "postgres:s3cr3t@")
    with clew.open(own, models=models()) as index:
        index.add([Document(id="a", text="Mira Toll crossed Bakken.")])
        told = [repr(index), index.shown, str(index.show()), str(index.check())]
        with pytest.raises(InputError) as refused:
            index.backup(tmp_path / "b.tar.gz")
        told.append(str(refused.value))
    for wrong in (
        "postgresql://u:s3cr3t@127.0.0.1:1/db/i",
        own.replace("/postgres/test", "/none/test"),
        "postgresql://u:s3cr3t@127.0.0.1:1/db/i?sslmode=s3&sslcert=/none",
    ):
        with pytest.raises(StoreError) as caught:
            clew.open(wrong, models=models()).search("x")
        assert is_one_sentence(caught.value)
        told.append(str(caught.value))
    assert not [each for each in told if "s3cr3t" in each]
