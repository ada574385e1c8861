"""Routes that describe the server, its methods and its spending."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import Field

from clew import __version__, methods
from clew.server.bodies import Part
from clew.server.endpoints import Call, EndpointGroup
from clew.views.describe import describe_method
from clew.wire.about import AboutServer, MethodView, ParameterView, SpentLine
from clew.wire.indexes import Listed

SERVER = EndpointGroup("server")


@SERVER.endpoint("GET", "", reply=AboutServer)
async def about(call: Call) -> AboutServer:
    """What this server is, and what you may do."""
    key = call.caller.key
    return AboutServer(
        version=__version__,
        caller=call.caller.name,
        scope=call.caller.scope,
        llm=call.server.settings.specs.llm is not None,
        key=None if key is None else _hide_filter(key.to_dict()),
        spent=None if key is None else call.server.spending.sum_of_key(key.id),
    )


def _hide_filter(key: dict[str, Any]) -> dict[str, Any]:
    """Return a key without its filter: it would tell what its holder does not see."""
    return {name: value for name, value in key.items() if name != "where"}


@SERVER.endpoint("GET", "/methods", reply=Listed[MethodView], query=Part)
async def list_methods(call: Call) -> Listed[MethodView]:
    """List the methods of retrieval with their parameters."""
    return call.list_part(await call.run(lambda: [_view_method(name) for name in methods.names()]))


@cache
def _view_method(name: str) -> MethodView:
    found = describe_method(name)
    parameters = tuple(ParameterView(**each) for each in found.pop("parameters"))
    return MethodView(**found, parameters=parameters)


class SpendQuery(Part):
    """Whose spending is listed."""

    key: str = Field(
        "", max_length=100, description="the id of a key; only an admin sees those of others"
    )


@SERVER.endpoint("GET", "/spend", reply=Listed[SpentLine], query=SpendQuery)
async def spent(call: Call) -> Listed[SpentLine]:
    """What models billed, by key and day.

    An admin sees that of all keys, others that of their own.
    """
    asked = call.read_query(SpendQuery).key or None
    if not call.caller.is_keeper:
        asked = call.caller.key.id if call.caller.key is not None else None
    names = {each.id: each.name for each in call.server.keys.list_keys()}
    lines = await call.run(call.server.spending.list_by_day, asked)
    found = [SpentLine(name=names.get(line["key"], ""), **line) for line in lines]
    return call.list_part(found, SpendQuery)
