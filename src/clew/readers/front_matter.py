"""What the front matter of a note says of it: YAML between `---`, TOML between `+++`."""

import tomllib
from collections.abc import Mapping

import yaml

from clew.base.types import Value
from clew.readers.properties import properties

_MOST = 1 << 16  # characters that are looked at


class _Loader(yaml.SafeLoader):
    """Plain values only; one that is repeated by an alias could be repeated without end."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def values(matter: str, *, is_toml: bool = False) -> dict[str, Value]:
    """Return front matter as metadata, without the title; nothing where it cannot be read."""
    try:
        read = tomllib.loads(matter) if is_toml else yaml.load(matter[:_MOST], _Loader)  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    if not isinstance(read, Mapping):
        return {}
    return properties((str(n), v) for n, v in read.items() if str(n).casefold() != "title")
