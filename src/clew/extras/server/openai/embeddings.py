"""`/v1/embeddings`: vectors of the embedder of an index."""

import base64
from typing import Any, Literal

from pydantic import Field
from starlette.responses import Response

from clew.errors import InputError
from clew.extras.server.bodies import Loose
from clew.extras.server.endpoints import Call, respond
from clew.extras.server.openai.forms import make_route, parse_model

_MOST = 2_048  # texts of a request, as at OpenAI


class EmbeddingsBody(Loose):
    """The body of an embedding request; unknown fields are ignored."""

    model: str = Field(max_length=200)
    input: str | list[str] = Field(min_length=1)
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None


async def create_embeddings(call: Call) -> Response:
    """Embed texts as the documents of an index are."""
    body = await call.read_body(EmbeddingsBody)
    texts = [body.input] if isinstance(body.input, str) else body.input
    if len(texts) > _MOST:
        raise InputError(f"a request embeds at most {_MOST:,} texts, not {len(texts):,}")
    index, _ = parse_model(call, body.model)
    if not index:
        raise InputError(f"each index has an embedder: name one as the model, not {body.model!r}")
    vectors, usage = await call.run(call.open_any(index).embed, texts)
    if body.dimensions not in {None, vectors.shape[1]}:
        raise InputError(f"this embedder has {vectors.shape[1]} dimensions: leave out dimensions")
    rows = vectors.astype("<f4")
    data: list[dict[str, Any]] = [
        {
            "object": "embedding",
            "index": at,
            "embedding": base64.b64encode(row.tobytes()).decode()
            if body.encoding_format == "base64"
            else row.tolist(),
        }
        for at, row in enumerate(rows)
    ]
    tokens = usage.embedding_tokens
    return respond(
        {
            "object": "list",
            "model": body.model,
            "data": data,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
    )


ROUTES = (make_route("/v1/embeddings", create_embeddings, "POST"),)
