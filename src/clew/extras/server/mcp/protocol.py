"""The MCP server, over HTTP or for `clew mcp`; a separate module as `mcp` is slow to import."""

import logging
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from clew import Budget, Specs, __version__
from clew.errors import ClewError
from clew.extras.cluster.shards.index import open_any
from clew.extras.server import request_records, state
from clew.extras.server.callers import Caller
from clew.extras.server.endpoints import Access, dump_json
from clew.extras.server.indexes import Opener
from clew.extras.server.mcp import resources, writing
from clew.extras.server.mcp.tools import INSTRUCTIONS, PLACE, TOOLS, McpTool, Place
from clew.extras.server.settings import ServerSettings
from clew.models import Price

Context = ServerRequestContext[Any, Any]
P = TypeVar("P")
T = TypeVar("T")
Handler = Callable[[Context, P], Awaitable[T]]

_log = logging.getLogger(__name__)

_ALL = (*TOOLS, *writing.TOOLS)
_BY_NAME: Mapping[str, McpTool] = {each.name: each for each in _ALL}


def make_server(place_of: Callable[[Context], Place]) -> Server[Any]:
    """Return an MCP server; `place_of` finds the caller of a request."""

    async def list_tools(
        context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        offered = _ALL if place_of(context).may_write else TOOLS
        return types.ListToolsResult(tools=list(map(_describe_tool, offered)))

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return await _call_tool(place_of(context), params.name, params.arguments or {})

    async def list_resources(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        cursor = None if params is None else params.cursor
        return await _run(place_of(context), resources.list_resources, cursor)

    async def list_templates(
        _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=[resources.TEMPLATE])

    async def read_resource(
        context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        return await _run(place_of(context), resources.read_resource, str(params.uri))

    async def list_prompts(
        _context: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return resources.list_prompts()

    async def get_prompt(
        context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        given = params.arguments or {}
        return await _run(place_of(context), lambda _: resources.get_prompt(params.name, given))

    return Server(
        "clew",
        title="Clew",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=_guard(call_tool),
        on_list_resources=_guard(list_resources),
        on_list_resource_templates=list_templates,
        on_read_resource=_guard(read_resource),
        on_list_prompts=list_prompts,
        on_get_prompt=_guard(get_prompt),
    )


def _guard(handle: Handler[P, T]) -> Handler[P, T]:
    """Return a handler whose unexpected errors are logged here and sent without their text."""

    async def answer(context: Context, params: P) -> T:
        try:
            return await handle(context, params)
        except (ClewError, MCPError):
            raise
        except Exception as error:  # the package would send its text to the client
            _log.exception("a request failed")
            message = "the server failed: see its log"
            raise MCPError(code=types.INTERNAL_ERROR, message=message) from error

    return answer


def serve_http(settings: ServerSettings) -> StreamableHTTPSessionManager:
    """Return the manager of stateless MCP sessions over HTTP."""
    server = make_server(lambda context: context.request.scope[PLACE])  # type: ignore[union-attr]
    names = sorted(settings.allowed_hosts)
    hosts = [f"{name}{port}" for name in names for port in ("", ":*")]
    return StreamableHTTPSessionManager(
        server,
        stateless=True,
        max_request_body_size=settings.body_bytes,
        security_settings=TransportSecuritySettings(
            allowed_hosts=hosts,
            allowed_origins=[
                f"{scheme}://{host}" for scheme in ("http", "https") for host in hosts
            ],
        ),
    )


def serve_stdio(
    indexes: Mapping[str, Path],
    *,
    specs: Specs,
    prices: Mapping[str, Price],
    budget: Budget | None,
    writes: bool = False,
    opener: Opener = open_any,
) -> None:
    """Serve folders by standard input and output until the input ends. Raises NotAnIndex.

    Nothing of a server is needed or kept: its home is a folder that is deleted at the end.
    """
    logging.getLogger("mcp").setLevel(logging.WARNING)

    async def run(settings: ServerSettings) -> None:
        async with state.open_state(settings, opener) as served, stdio_server() as (read, write):
            place = Place(Access(served, Caller(), budget=budget))
            server = make_server(lambda _: place)
            await server.run(read, write, server.create_initialization_options())

    with tempfile.TemporaryDirectory(prefix="clew-mcp-", ignore_cleanup_errors=True) as home:
        settings = ServerSettings(
            home=Path(home), indexes=indexes, specs=specs, prices=prices, mcp_writes=writes
        )
        anyio.run(run, settings)


def _describe_tool(tool: McpTool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_make_schema(tool.given.model_json_schema()),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=tool.writes,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


def _make_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a type, without its docstrings."""
    fields = {name: value for name, value in schema.items() if name not in {"description", "title"}}
    if "$defs" in fields:
        fields["$defs"] = {name: _make_schema(each) for name, each in fields["$defs"].items()}
    return fields


async def _call_tool(place: Place, name: str, arguments: dict[str, Any]) -> types.CallToolResult:
    tool = _BY_NAME.get(name)
    request_records.find_record().tool = "" if tool is None else name
    if tool is None or (tool.writes and not place.may_write):
        raise MCPError(code=types.INVALID_PARAMS, message=f"there is no tool {name!r:.80}")
    try:
        given = tool.given.model_validate(arguments)
        value = await place.seat.run(tool.call, place, **dict(given))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return _make_failure(f"{'.'.join(map(str, first['loc'])) or name}: {first['msg']}")
    except ClewError as error:
        return _make_failure(str(place.seat.make_refusal(error)))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=dump_json(value))], structured_content=value
    )


async def _run(place: Place, work: Callable[..., T], *given: object) -> T:
    """Run what serves a resource or a prompt. Raises MCPError for what Clew refuses."""
    try:
        return await place.seat.run(work, place, *given)
    except ClewError as error:
        message = str(place.seat.make_refusal(error))
        raise MCPError(code=types.INVALID_PARAMS, message=message) from error


def _make_failure(sentence: str) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=sentence)], is_error=True
    )


async def run_manager(
    manager: StreamableHTTPSessionManager, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    """Run the session manager until the server stops."""
    async with manager.run():
        task_status.started()
        await anyio.sleep_forever()
