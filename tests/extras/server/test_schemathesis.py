"""Schemathesis holds a server to its description: what it takes, refuses and replies."""

import json
import subprocess
import sys
from copy import deepcopy

import httpx2
import pytest

from clew.extras.wire.names import GENERATION_HEADER, PREFIX

pytestmark = pytest.mark.slow

CONFIG = """
[parameters]
"path.index" = "small"

[checks.negative_data_rejection]
# Those by default, and what is too long, of another media type, or in the way.
expected-statuses = ["400", "401", "403", "404", "406", "409", "413", "415", "422", "428", "5xx"]

[[operations]]
include-tag = ["jobs"]
max-stream-events = 1  # of a job that waits there are no more
"""
# What no schema can say of an index: what it has, and in what language it is asked for.
VALUES = {
    "where": ["", "group = 'open'", "id like 'c*' or title = 'Comet'"],
    "sort": ["", "id", "-title", "group"],
    "label": ["group"],
    "embedder": ["minilm"],
    "triples": ["none", "cooccurrence"],
}
# What depends on the rest of a request, or on an LLM, or takes its time.
LEFT_OUT = {GENERATION_HEADER, "wait", "graph", "chunk_overlap", "units", "core", "core_by"}
LEFT_OUT |= {"value", "entities", "entity_threshold", "entity_words", "files"}
TAKEN = ("Body", "Options", "Job", "Document")  # how schemas of what is taken end


def narrowed(described):
    """Return a description as it is true of this index."""
    found = deepcopy(described)
    for operations in found["paths"].values():
        for told in operations.values():
            told["parameters"] = [
                each | {"schema": _of_index(each["name"], each["schema"])}
                for each in told["parameters"]
                if each["name"] not in LEFT_OUT
            ]
    schemas = found["components"]["schemas"]
    for name, schema in schemas.items():
        if name.endswith(TAKEN) and "properties" in schema:
            schema["properties"] = {
                key: _of_index(key, each)
                for key, each in schema["properties"].items()
                if key not in LEFT_OUT
            }
    del schemas["KeyBody"]["properties"]["where"]  # only a key that reads has one
    schemas["DocumentsBody"]["properties"]["documents"]["maxItems"] = 1  # ids differ
    index = found["paths"][f"{PREFIX}/indexes/{{index}}/documents"]["post"]["requestBody"]
    # All files that are generated have one name.
    index["content"]["multipart/form-data"]["schema"]["properties"]["files"]["maxItems"] = 1
    # Bytes of `clew.extras.cluster.shards.wire`, of which a schema knows nothing.
    del found["paths"][f"{PREFIX}/indexes/{{index}}/shard"]
    return found


def _of_index(name, schema):
    if name in VALUES:
        known = {"type": "string", "enum": VALUES[name]}
        return {"anyOf": [known, {"type": "null"}]} if "anyOf" in schema else known
    if name == "parameters" and "additionalProperties" in str(schema):
        return {"type": "object", "additionalProperties": False}
    return schema


@pytest.mark.parametrize("has_key", [False, True])
def test_the_server_is_as_it_is_described(home, tmp_path, has_key):
    """All checks of schemathesis hold, on right and wrong requests, alone and in chains."""
    headers = home.key("admin", scope="admin") if has_key else {}
    with home.serving(jobs=0) as address:
        served = httpx2.get(f"{address}{PREFIX}/openapi.json").json()
        assert served["servers"] == [{"url": address}]
        served = narrowed(served)
        if not has_key:  # from the first key on the server asks for one
            del served["paths"][f"{PREFIX}/keys"]
        (tmp_path / "openapi.json").write_text(json.dumps(served))
        (tmp_path / "schemathesis.toml").write_text(CONFIG)
        options = ["--seed=37", "--max-examples=10", "--generation-database=none", "--no-color"]
        options += ["--checks=all", "--continue-on-failure", f"--url={address}", "--mode=all"]
        # A job that is deleted is cancelled, and can still be looked at.
        options += ["--exclude-checks=use_after_free"]
        options += [f"--header={name}: {value}" for name, value in headers.items()]
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file=schemathesis.toml"]
        run = subprocess.run(
            [*command, "run", "openapi.json", *options],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stdout
