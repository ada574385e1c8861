"""What bodies of requests are made of. Processes of jobs read it, so it needs no more than that."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Body(BaseModel):
    """The JSON of a request. What is not known is an error that names it."""

    model_config = ConfigDict(extra="forbid", strict=True)
