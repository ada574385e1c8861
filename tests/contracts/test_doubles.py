"""The doubles of `clew.testing` do what their users count on."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import clew
from clew import testing
from clew.models import Prompt, Reply, is_late
from clew.models.maxsim import Cosine
from tests import snapshots

SCHEMA = {"type": "object"}


def test_similar_texts_come_near():
    texts = ["the old lighthouse", "an old lighthouse stood", "lighthouses", "grain prices"]
    rows = testing.HashEmbedder(256).embed(texts, kind="document")
    a, b, c, d = (rows @ rows[0]).tolist()
    assert a == pytest.approx(1)
    assert a > b > 0.4
    assert b > d
    assert c > d
    [tokens] = testing.HashTokenEmbedder().embed_tokens(["Ice, 冰 and ice"])
    assert tokens.spans.tolist() == [[0, 3], [5, 6], [7, 10], [11, 14]]
    assert tokens.ids[0] == tokens.ids[3] != tokens.ids[1]
    np.testing.assert_array_equal(tokens.vectors[0], tokens.vectors[3])


def test_hashes_are_the_same_in_every_process():
    script = (
        "import sys; from clew.testing import HashTokenEmbedder as H;"
        "t = H(16).embed_tokens(['Ice, 冰 and ice'])[0];"
        "sys.stdout.write((t.vectors.tobytes() + t.ids.tobytes() + t.pooled.tobytes()).hex())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(clew.__file__).parents[1])},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    [tokens] = testing.HashTokenEmbedder(16).embed_tokens(["Ice, 冰 and ice"])
    mine = tokens.vectors.tobytes() + tokens.ids.tobytes() + tokens.pooled.tobytes()
    assert seen == {mine.hex()}


def test_script():
    llm = testing.ScriptedLLM("yes", {"a": [1]}, Reply(text="", error="too long"), "not JSON")
    prompts = [Prompt(user=f"question {i}", schema=SCHEMA if i % 2 else None) for i in range(4)]
    first = llm.complete(prompts[:2])
    assert [(r.text, r.data, r.error) for r in first] == [
        ("yes", None, ""),
        ('{"a": [1]}', {"a": [1]}, ""),
    ]
    assert first[0].prompt_tokens == 2
    assert llm.n_left == 2
    assert [r.error for r in llm.complete(prompts[2:])] == ["too long", "the reply is not JSON"]
    assert llm.prompts == prompts
    assert llm.n_left == 0
    llm = testing.ScriptedLLM("yes")
    with pytest.raises(AssertionError, match="no reply number 2: .*second"):
        llm.complete([Prompt(user="first"), Prompt(user="second")])


def test_models_and_built():
    """The bundle takes late interaction where there are tokens, else the cosine."""
    llm = testing.ScriptedLLM()
    assert is_late(testing.models(llm=llm).reranker)
    assert testing.models(llm=llm).llm is llm
    assert isinstance(testing.models(testing.HashEmbedder()).reranker, Cosine)
    assert testing.models().llm is None
    with testing.built(testing.small_documents()) as snapshot:
        snapshots.check_consistent(snapshot)
        assert snapshot.layer("document").ids([0]) == ["analog"]
        assert snapshots.contents(snapshot) == snapshots.contents(snapshot)
