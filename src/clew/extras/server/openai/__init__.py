"""An OpenAI-compatible API, in which an index appears as a model.

`/v1/models`, `/v1/chat/completions` and `/v1/responses`, each whole or as it comes. A model is
`clew/INDEX`, or `clew/INDEX@METHOD`. The last message of the user is the question, and those
before it are the turns of a conversation. What a client says to the system is not used: which
prompts an LLM gets, Clew decides, since citations are checked against its own.
"""

from clew.extras.server.openai.chat import ROUTES as CHAT
from clew.extras.server.openai.forms import ROUTES as MODELS
from clew.extras.server.openai.forms import respond_to_refusal
from clew.extras.server.openai.responses import ROUTES as RESPONSES

__all__ = ["PREFIX", "ROUTES", "respond_to_refusal"]

PREFIX = "/v1/"
ROUTES = (*MODELS, *CHAT, *RESPONSES)
