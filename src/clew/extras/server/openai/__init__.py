"""An OpenAI-compatible API, in which an index appears as a model.

`/v1/models`, `/v1/embeddings`, and `/v1/chat/completions` and `/v1/responses`, both whole or
streamed. A model is `clew/INDEX`, or `clew/INDEX@METHOD`. The last message of the user is the
question, and those before it are the turns of a conversation. System messages of a client are not
used: Clew decides which prompts an LLM gets, since citations are checked against its own.
"""

from clew.extras.server.openai.chat import ROUTES as CHAT
from clew.extras.server.openai.embeddings import ROUTES as EMBEDDINGS
from clew.extras.server.openai.forms import ROUTES as MODELS
from clew.extras.server.openai.forms import respond_to_refusal
from clew.extras.server.openai.responses import ROUTES as RESPONSES

__all__ = ["PREFIX", "ROUTES", "respond_to_refusal"]

PREFIX = "/v1/"
ROUTES = (*MODELS, *EMBEDDINGS, *CHAT, *RESPONSES)
