"""Rows of a PostgreSQL database become documents of an index that is a folder."""

import psycopg

import clew
from clew.testing import models


def test_rows_of_a_query_are_documents(postgres, tmp_path):
    address = postgres.get_uri()
    with psycopg.connect(address) as database:
        database.execute("CREATE TABLE ship (id int, title text, text text)")
        database.execute("INSERT INTO ship VALUES (1, 'Fram', 'A ship.'), (2, 'Gjøa', 'A sloop.')")
    with clew.open(tmp_path / "my.clew", models=models()) as index:
        report = index.add(address, sql="SELECT * FROM ship ORDER BY id", web=True).report
        assert [each.rpartition("/")[2] for each in report.added] == ["1", "2"]
        assert not any("?" in each for each in report.added)
        none = index.add(address, sql="SELECT * FROM ship WHERE id = 7", web=True).report
        assert none.gone == []  # an empty table is not a table without its rows
        for sql in ("DELETE FROM ship", "SELECT nothing"):
            [problem] = index.add(address, sql=sql, web=True).report.skipped
            assert "cannot be read: " in problem.reason
    with psycopg.connect(address) as database:
        assert database.execute("SELECT count(*) FROM ship").fetchone() == (2,)
        database.execute("DROP TABLE ship")
