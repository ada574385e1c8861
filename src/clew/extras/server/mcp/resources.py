"""MCP resources, one for each document, and MCP prompts.

A resource is a document that the caller may see; its URI is `clew://INDEX/DOCUMENT`.
"""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

import mcp_types as types

from clew.errors import InputError
from clew.extras.server.addresses import build_document_address
from clew.extras.server.mcp.tools import Place
from clew.extras.server.settings import split_address
from clew.extras.wire.refusals import no_such_resource

_PAGE = 100  # documents


def list_resources(place: Place, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of the documents visible to the caller, index by index."""
    names = place.names()
    index, _, offset = (cursor or "").partition(":")
    if cursor and not (index in names and offset.isdecimal()):
        raise InputError(f"there is no page {cursor!r:.80} of the documents")
    left = names[names.index(index) :] if cursor else names
    if not left:
        return types.ListResourcesResult(resources=[])
    name, start = left[0], int(offset or 0)
    scoped = place.find_index(name)
    listed = scoped.documents(offset=start, limit=_PAGE)
    resources = [
        types.Resource(
            uri=build_document_address("", name, each.id, None, None),
            name=each.id,
            title=each.title or each.id,
            mime_type="text/plain",
        )
        for each in listed.items
    ]
    more = f"{name}:{start + _PAGE}" if start + _PAGE < listed.total else ""
    following = more or (f"{left[1]}:0" if len(left) > 1 else None)
    return types.ListResourcesResult(resources=resources, next_cursor=following)


def read_resource(place: Place, uri: str) -> types.ReadResourceResult:
    """Return the text of a document. Raises a refusal, 404, where the caller sees none."""
    parts = split_address(uri)
    name = unquote(parts.path.removeprefix("/"))
    if parts.scheme != "clew" or not parts.netloc or not name:
        raise InputError(f"the URI of a document is clew://INDEX/DOCUMENT, not {uri!r:.200}")
    document = place.find_one(parts.netloc).find_document(name)
    if document is None:
        raise no_such_resource(f"there is no document {name!r:.200} here")
    content = types.TextResourceContents(uri=uri, mime_type="text/plain", text=document.text)
    return types.ReadResourceResult(contents=[content])


TEMPLATE = types.ResourceTemplate(
    name="document",
    title="Document",
    uri_template="clew://{index}/{+document}",
    mime_type="text/plain",
)


class _Prompt(NamedTuple):
    """A prompt with one argument."""

    description: str
    argument: str
    text: str


_PROMPTS: Mapping[str, _Prompt] = {
    "answer": _Prompt(
        "Answer a question from the documents, with sources.",
        "question",
        "Answer this question from my documents: {}\n\nCall `ask` first. If the answer is unsure or"
        " covers only a part, call `thread` or `hop` from the passages that it cites. Cite the url"
        " of each passage that you use, and say plainly what the documents do not tell.",
    ),
    "compare": _Prompt(
        "Compare what the documents say about several things.",
        "things",
        "Compare what my documents say about: {}\n\nCall `ask` for each thing and property."
        " Make a table with a source for each cell; leave a cell empty where no document fills it.",
    ),
    "news": _Prompt(
        "Report what is new in the documents since a date.",
        "since",
        "Report what is new or different in my documents since {}.\n\nCall `changes`, read what you"
        " need by `fetch`, and order the report by importance, with the url of each source.",
    ),
}


def list_prompts() -> types.ListPromptsResult:
    """Return the prompts."""
    prompts = [
        types.Prompt(
            name=name,
            title=name.capitalize(),
            description=each.description,
            arguments=[types.PromptArgument(name=each.argument, required=True)],
        )
        for name, each in _PROMPTS.items()
    ]
    return types.ListPromptsResult(prompts=prompts)


def get_prompt(name: str, given: Mapping[str, str]) -> types.GetPromptResult:
    """Return a prompt with its argument. Raises InputError for an unknown one."""
    prompt = _PROMPTS.get(name)
    if prompt is None:
        raise InputError(f"there is no prompt {name!r:.80}: use {', '.join(_PROMPTS)}")
    value = given.get(prompt.argument, "").strip()
    if not value:
        raise InputError(f"the prompt {name!r} needs the argument {prompt.argument!r}")
    content = types.TextContent(type="text", text=prompt.text.format(value))
    message = types.PromptMessage(role="user", content=content)
    return types.GetPromptResult(description=prompt.description, messages=[message])
