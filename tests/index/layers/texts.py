"""Texts that the tests of prompts share."""

from clew.text import tokens

NANSEN = (
    "Fridtjof Nansen\n"
    "Nansen was born in 1861 near Christiania. He led the first crossing of Greenland, and his "
    "ship, the Fram, drifted over the Arctic Ocean from 1893 to 1896."
)
FRAM = "Fram\nThe Fram was built by Colin Archer. Roald Amundsen later took her to Antarctica."
BRINE = "Brine\nBrine that sea ice leaves behind is salty, so it sinks."

_LONG = (
    "The winter was spent in a hut of boards and turf at the foot of the glacier, with stores for "
    "a year and a half, two dozen dogs, and instruments that the observatory at Potsdam had lent "
    "to the expedition. Every two hours one of the five men went out to read them, whatever the "
    "weather was. In October the depots towards the mountains were filled; on 3 November Captain "
    "Halvorsen, Dr Lindqvist and the Greenlander Mathias set out with three sledges. "
)


def of_tokens(n_tokens):
    """Return a titled text whose body has `n_tokens` tokens."""
    return "Halvorsen's second expedition\n" + tokens.truncate(_LONG * 9, n_tokens)


def open_objects(schema):
    """Return the parts of a schema that OpenAI's strict mode would refuse."""
    known = {"type", "properties", "required", "additionalProperties", "items", "enum"}
    refused = [schema] if set(schema) - known else []
    if schema.get("type") == "object":
        closed = schema["additionalProperties"] is False
        if not closed or schema["required"] != list(schema["properties"]):
            refused.append(schema)
    below = list(schema.get("properties", {}).values())
    if schema.get("type") == "array":
        below.append(schema["items"])
    return refused + [bad for part in below for bad in open_objects(part)]
