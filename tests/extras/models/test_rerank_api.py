import numpy as np
import pytest

from clew.errors import BadReply, EndpointError
from clew.extras.models.served import RerankEndpoint
from tests.models.server import Answer

pytest.importorskip("httpx2")


def by_length(request):
    """Score each text by its length, best first."""
    texts = request.json["documents"]
    results = [{"index": i, "relevance_score": float(len(t))} for i, t in enumerate(texts)]
    return Answer({"results": sorted(results, key=lambda r: -r["relevance_score"])})


@pytest.fixture
def reranker(server):
    server.respond = by_length
    return RerankEndpoint(
        base_url=server.url, model="judge", api_key="hush-hush", sleep=lambda _: None
    )


def test_scores_come_in_the_order_of_texts(server, reranker):
    """The endpoint sorts by relevance; the caller gets its own order back."""
    scores = reranker.score("q", ["aaa", "a", "aaaa"])
    assert scores.tolist() == [3.0, 1.0, 4.0]
    assert scores.dtype == np.float64
    assert server.requests[0].path == "/v1/rerank"
    assert server.requests[0].json == {
        "model": "judge",
        "query": "q",
        "documents": ["aaa", "a", "aaaa"],
        "top_n": 3,
    }


def test_a_batch_that_is_refused_is_asked_in_parts(server, reranker):
    """Halves are, until they are taken."""

    def respond(request):
        n = len(request.json["documents"])
        refusal = {"error": f"batch size {n} > maximum allowed batch size 32"}
        return by_length(request) if n <= 32 else Answer(refusal, 422)

    server.respond = respond
    assert reranker.score("q", ["x" * i for i in range(90)]).tolist() == list(range(90))
    assert [len(each.json["documents"]) for each in server.requests] == [
        90, 45, 23, 22, 45, 23, 22,
    ]  # fmt: skip


def test_many_texts_are_sent_in_batches(server, reranker):
    """A pool beyond a request's limit is scored all the same; for nothing nothing is sent."""
    assert reranker.score("q", []).shape == (0,)
    assert server.requests == []
    texts = ["x" * i for i in range(250)]
    assert reranker.score("q", texts).tolist() == list(range(250))
    assert sorted(len(r.json["documents"]) for r in server.requests) == [50, 100, 100]


@pytest.mark.parametrize(
    "results",
    [
        [{"index": 0, "relevance_score": 1.0}],
        [{"index": 0, "relevance_score": 1.0}] * 2,
        [{"index": 0, "relevance_score": 1.0}, {"index": 2, "relevance_score": 1.0}],
        [{"index": 0, "relevance_score": 1.0}, {"index": 1, "relevance_score": float("nan")}],
        [{"index": 0, "relevance_score": 1.0}, {"index": 1, "relevance_score": "good"}],
        [{"index": 0}, {"index": 1}],
        None,
    ],
)
def test_scores_that_cannot_be_used_are_refused(server, reranker, results):
    """A missing, repeated, unknown or infinite score never orders evidence."""
    server.script(Answer({"results": results}))
    with pytest.raises(BadReply, match=r"/v1/rerank, model judge: "):
        reranker.score("q", ["a", "b"])


def test_a_refusal_names_the_address_and_not_the_key(server, reranker):
    """Errors of the endpoint come through the common client."""
    server.script(Answer({"message": "bad key hush-hush"}, 401))
    with pytest.raises(EndpointError, match="/v1/rerank answered HTTP 401") as caught:
        reranker.score("q", ["a"])
    assert "hush-hush" not in f"{caught.value} {reranker!r}"
    assert reranker.name == "judge"
