"""From files to an answer with the embedded model, as a newcomer would do it."""

import json
from importlib.util import find_spec

import pytest

from clew.cli.options import open_index

PACKAGES = ("ctranslate2", "tokenizers")


@pytest.mark.skipif(
    any(find_spec(name) is None for name in PACKAGES), reason="the model is not installed"
)
def test_index_then_ask(clew, articles):
    """Six files are indexed, and a question of two hops is answered from the right ones."""
    result = clew("index", articles, obj=open_index)
    assert result.exit_code == 0, result.stderr
    question = "In which town was the builder of the Fram born?"
    answer = json.loads(clew("ask", question, "--json", obj=open_index).stdout)
    found = [hit["document_id"] for hit in answer["evidence"]["hits"]]
    assert {"polar/fram.md", "polar/archer.md"} <= set(found[:3])
    assert answer["usage"]["llm_calls"] == 0
    assert "Fram" in clew("ask", question, obj=open_index).stdout
