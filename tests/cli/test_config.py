"""Values of options from clew.toml and the environment: which hold, where they are from."""

import json
import re

import pytest


@pytest.fixture
def place(tmp_path, monkeypatch, clew):
    """Return a function that writes a file of settings, and one that runs in a folder below."""
    own = tmp_path / "home"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(own))
    monkeypatch.setattr("click.get_app_dir", lambda _name: str(own / "clew"))
    work = tmp_path / "work" / "deep"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    (work / "a.md").write_text("Ada Lund wound the rope round the pole.", encoding="utf-8")

    def write(text, *, user=False):
        path = own / "clew" / "clew.toml" if user else tmp_path / "work" / "clew.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def values(clew):
    rows = json.loads(clew("config", "--json").stdout)["values"]
    return {f"{row['command']}.{row['option']}": (row["value"], row["from"]) for row in rows}


def test_where_values_come_from(place, clew, monkeypatch):
    """Command line, environment, the nearest file, the user's own, default: in this order."""
    user = place('index = "own.clew"\n[search]\nchunks = 2\n[ask]\nchunks = 3\n', user=True)
    found = place('[search]\nchunks = 4\nmethod = "bm25"\n')
    known = values(clew)
    assert known["search.chunks"] == (4, str(found))
    assert known["search.method"] == ("bm25", str(found))
    assert known["ask.chunks"] == (3, str(user))
    assert known["ask.index"] == ("own.clew", str(user))
    assert "ask.method" not in known
    monkeypatch.setenv("CLEW_SEARCH_CHUNKS", "5")
    monkeypatch.setenv("CLEW_INDEX", "elsewhere.clew")
    known = values(clew)
    assert known["search.chunks"] == ("5", "CLEW_SEARCH_CHUNKS")
    assert known["ask.index"] == ("elsewhere.clew", "CLEW_INDEX")


def test_values_hold(place, clew, monkeypatch):
    place(
        '[index]\ninto = "x.clew"\nexclude = ["b*"]\ngitignore = false\n[search]\nmethod = "bm25"\n'
    )
    added = clew("index", "..").stdout  # and none of the settings
    assert added.startswith("../x.clew: 1 document,")  # beside the file
    monkeypatch.setenv("CLEW_SEARCH_INDEX", "../x.clew")
    assert json.loads(clew("search", "rope", "--json").stdout)["method"] == "bm25"
    dense = clew("search", "rope", "--json", "--method", "dense")
    assert json.loads(dense.stdout)["method"] == "dense"
    monkeypatch.setenv("CLEW_SEARCH_WHERE", "title = 'a'\nid like '*.md'")
    found = json.loads(clew("search", "rope", "--json").stdout)
    assert found["where"] == "title = 'a' and id like '*.md'"
    monkeypatch.setenv("CLEW_LIST_INDEX", "../x.clew")
    monkeypatch.setenv("CLEW_LIST_JSON", "1")
    assert json.loads(clew("list").stdout)["index"] == "../x.clew"
    monkeypatch.setenv("CLEW_INDEX_NO_GITIGNORE", "1")
    assert values(clew)["index.no-gitignore"] == ("1", "CLEW_INDEX_NO_GITIGNORE")
    monkeypatch.setenv("CLEW_CONFIG", "")
    assert json.loads(clew("search", "rope", "--json").stdout)["method"] == "walk"


@pytest.mark.satellite
def test_every_option_is_shown_on_demand(place, clew):
    assert "Every option has its default" in clew("config").stdout
    told = clew("config", "--all").stdout
    assert re.search(r"index --exclude +none +default\n", told)
    assert "UNSET" not in told + clew("config", "--all", "--json").stdout
    path = place("[search]\nchunks = 2\n")
    told = clew("config").stdout
    assert str(path) in told
    assert "search --chunks" in told
    place('into = "all.clew"\n')
    known = values(clew)
    assert known["list.index"][0] == known["index.index"][0] == "../all.clew"
    assert "eval.index" not in known
    place('[eval]\nindex = "tiny.clew"\n')
    assert values(clew)["eval.index"][0] == "tiny.clew"
    place('[prices]\n"gpt-x" = [0.15, 0.6]\n')
    known = values(clew)
    assert known["ask.price"][0] == ["gpt-x=0.15,0.6"]
    assert known["index.price"][0] == ["gpt-x=0.15,0.6"]
    found = place('[schema.entities]\nship = "a vessel"\n')
    known = values(clew)
    assert known["index.schema"] == known["plan.schema"] == (str(found), str(found))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[search]\nchunk = 2\n", "there is no option 'chunk' (did you mean 'chunks'?) in"),
        ("[searchh]\nchunks = 2\n", "there is no table 'searchh' (did you mean 'search'?)"),
        ("chunks_ = 3\n", "there is no option 'chunks_' (did you mean 'chunks'?)"),
        ("[search\n", "is not TOML: "),
        ("[prices]\nx = 1\n", "the price of 'x' is two numbers"),
        ("[search]\nchunks = 'many'\n", "is not a valid integer"),
    ],
)
def test_what_is_wrong(place, clew, text, reason):
    path = place(text)
    result = clew("search", "rope")
    assert result.exit_code in {1, 2}
    assert reason in result.stderr
    assert "Traceback" not in result.stderr
    assert str(path) in result.stderr or result.exit_code == 2


def test_a_schema_is_read_of_its_table(place, clew):
    """Before anything is read; what is wrong is named by its key and file."""
    path = place("[schema.entities]\nship = 3\n")
    result = clew("index", "a.md")
    assert result.exit_code == 1
    assert f"{path}: schema.entities.ship must be a table, not 3" in " ".join(result.stderr.split())
    assert clew("index", "a.md", "--schema", "none.toml").stderr.count("none.toml cannot be read")
    place('[schema.entities]\nship = "a vessel"\n')
    assert clew("index", "a.md").exit_code == 0


@pytest.mark.parametrize(
    "line",
    [
        'llm = "openai:x@http://evil.example"',
        'embedder = "static:."',
        "web = true",
        pytest.param('oidc = "https://evil.example"', marks=pytest.mark.satellite),
        pytest.param('oidc_key = ["*=admin"]', marks=pytest.mark.satellite),
    ],
)
def test_a_file_that_was_found_may_not_send_or_run_anything(place, clew, line, monkeypatch):
    """Until its owner looked at it, and again once it changed; the user's own file may."""
    path = place(f"{line}\n")
    for command in (("ask", "rope?"), ("index", "."), ("config",)):
        result = clew(*command)
        assert result.exit_code == 1
        assert "which runs code or sends texts elsewhere" in result.stderr
    assert clew("config", "trust").exit_code == 0
    assert clew("config").exit_code == 0
    path.write_text(f"{line}\n# changed\n", encoding="utf-8")
    assert clew("config").exit_code == 1
    monkeypatch.setenv("CLEW_CONFIG", str(path))
    assert clew("config").exit_code == 0
    monkeypatch.delenv("CLEW_CONFIG")
    path.unlink()
    place(f"{line}\n", user=True)
    assert clew("config").exit_code == 0


def test_a_file_that_is_not_there(place, clew, monkeypatch):
    result = clew("config", "trust")
    assert (result.exit_code, result.stderr) == (1, "clew: there is no clew.toml here or above\n")
    monkeypatch.setenv("CLEW_CONFIG", "nowhere.toml")
    result = clew("config")
    assert result.exit_code == 1
    assert result.stderr == "clew: nowhere.toml cannot be read: No such file or directory\n"
