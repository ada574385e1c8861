"""XML to a tree, read by expat: no entity that a file declares is expanded, nothing is fetched."""

from __future__ import annotations

from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat


def parse_xml(data: bytes) -> Element:
    """Return the root; names are without their namespace.

    Raises ValueError with the reason where the data is not XML or declares entities.
    """
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: builder.start(
        _local(name), {_local(key): value for key, value in attributes.items()}
    )
    parser.EndElementHandler = lambda name: builder.end(_local(name))
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(f"is not valid XML: {error}") from None
    except LookupError:
        raise ValueError("is in an encoding that is not known; save it as UTF-8") from None
    return builder.close()


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _refuse(*_: object) -> NoReturn:
    raise ValueError("declares entities, which are not expanded; save it without them")
