"""Names shared by server and client: the REST path, headers, the cookie, the media type."""

from typing import Final

PREFIX: Final = "/api/v1"
ID_HEADER: Final = "X-Request-Id"
GENERATION_HEADER: Final = "X-Clew-Generation"  # of a reply, and the least that a request asks for
LAST_EVENT_HEADER: Final = "Last-Event-ID"
MOST_NUMBER: Final = 10**15 - 1  # of a generation or an event
COOKIE: Final = "clew_session"
EVENT_STREAM: Final = "text/event-stream"
SHARD_MEDIA_TYPE: Final = "application/vnd.clew.shard"
SHARD_MOVED: Final = "shard_moved"  # the code of the refusal where a shard was written to meanwhile
