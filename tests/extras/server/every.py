"""A request for every route, and what a reply is compared by."""

import json
from dataclasses import dataclass

from clew.extras.cluster.shards import wire
from clew.extras.cluster.shards.exchange import Describe
from clew.extras.files.figures import hash_picture
from clew.extras.wire.names import PREFIX
from tests.readers.writers import picture

QUESTION = "Who built the Comet in Bakken?"
DRAWING = picture(1)  # in the document "comet"
FIGURE = f"figures/{hash_picture(DRAWING)}/comet"
JOB = "j1"  # of the index, which has ended
NEW = {"id": "new", "text": "The Comet was new."}


@dataclass(frozen=True)
class Asked:
    """One request; `path` is that of the endpoint which serves it."""

    method: str
    path: str
    url: str
    body: dict | None = None
    headers: tuple = ()
    content: bytes | None = None  # where the body is not JSON

    @property
    def route(self):
        return self.method, self.path

    def send(self, client, headers=None):
        return client.request(
            self.method,
            f"{PREFIX}{self.url}",
            json=self.body,
            content=self.content,
            headers={**(headers or {}), **dict(self.headers)},
        )


def reads(index):
    """Return a request for each route that changes nothing, and takes no key of an admin."""
    at = "/indexes/{index}"
    to = f"/indexes/{index}"
    stream = (("accept", "text/event-stream"),)
    return [
        Asked("GET", "", ""),
        Asked("GET", "/methods", "/methods?limit=1000"),
        Asked("GET", "/spend", "/spend"),
        Asked("GET", "/openapi.json", "/openapi.json"),
        Asked("GET", "/indexes", "/indexes"),
        Asked("GET", at, to),
        Asked("GET", f"{at}/spend", f"{to}/spend"),
        Asked("GET", f"{at}/documents", f"{to}/documents?sort=-title&limit=5&offset=1"),
        Asked("GET", f"{at}/documents", f"{to}/documents?pattern=c*&where=group%20%3D%20'open'"),
        Asked("GET", f"{at}/documents/{{id:path}}", f"{to}/documents/comet"),
        Asked("GET", f"{at}/files/{{id:path}}", f"{to}/files/comet"),
        Asked("GET", f"{at}/figures/{{address}}/{{id:path}}", f"{to}/{FIGURE}"),
        Asked("POST", f"{at}/search", f"{to}/search", {"query": QUESTION}),
        Asked("POST", f"{at}/ask", f"{to}/ask", {"question": QUESTION}),
        Asked("POST", f"{at}/ask", f"{to}/ask", {"question": QUESTION, "graph": True}, stream),
        Asked("POST", f"{at}/hop", f"{to}/hop", {"start": "Comet", "query": QUESTION}),
        Asked("POST", f"{at}/plan", f"{to}/plan", {}),
        Asked("GET", f"{at}/graph", f"{to}/graph"),
        Asked("POST", f"{at}/graph", f"{to}/graph", {"query": QUESTION, "method": "bubble"}),
        Asked("GET", f"{at}/entities", f"{to}/entities?limit=1000"),
        Asked("GET", f"{at}/entities/{{name:path}}", f"{to}/entities/Comet"),
        Asked("GET", f"{at}/themes", f"{to}/themes?level=1"),
        Asked("GET", f"{at}/themes", f"{to}/themes?parent=theme:1"),
        Asked("GET", f"{at}/themes", f"{to}/themes?where=group%20%3D%20'open'"),
        Asked("GET", f"{at}/changes", f"{to}/changes?since=0"),
        Asked("GET", f"{at}/changes", f"{to}/changes?since=2000-01-01&until=2999-01-01"),
        Asked("GET", f"{at}/changes", f"{to}/changes?since=2024&dated=true&limit=5"),
        Asked("GET", f"{at}/aliases", f"{to}/aliases"),
        Asked("GET", f"{at}/entities", f"{to}/entities?type=person"),
        Asked("GET", f"{at}/vocabulary", f"{to}/vocabulary"),
        Asked("GET", "/jobs", f"/jobs?index={index}"),
        Asked("GET", "/jobs/{id}", f"/jobs/{JOB}"),
        Asked("GET", "/jobs/{id}/events", f"/jobs/{JOB}/events"),
        *(
            Asked("GET", f"{at}/rows/{{id:path}}", f"{to}/rows/{row}")
            for row in ("comet", "comet:0-59", "comet:0-21", "Cape%20Lund", "ship")
        ),
        Asked("GET", "/session", "/session"),
        Asked("DELETE", "/session", "/session"),
    ]


def writes(index):
    """Return a request for each other route, in an order in which all can be done by an admin."""
    at = "/indexes/{index}"
    to = f"/indexes/{index}"
    return [
        Asked("POST", f"{at}/aliases", f"{to}/aliases", {"name": "Eriksen", "into": "Ola Eriksen"}),
        Asked("DELETE", f"{at}/aliases", f"{to}/aliases?name=eriksen"),
        Asked("POST", f"{at}/vocabulary", f"{to}/vocabulary", {"entity": "Comet", "type": "ship"}),
        Asked("DELETE", f"{at}/documents/{{id:path}}", f"{to}/documents/comet"),
        Asked("POST", f"{at}/documents", f"{to}/documents", {"documents": [NEW]}),
        Asked("POST", f"{at}/jobs", f"{to}/jobs", {"kind": "compact"}),
        Asked("POST", f"{at}/backup", f"{to}/backup"),
        Asked("POST", f"{at}/shard", f"{to}/shard", content=wire.pack(Describe())),
        Asked("DELETE", "/jobs/{id}", f"/jobs/{JOB}"),
        Asked("POST", "/indexes", "/indexes", {"name": "made"}),
        Asked("DELETE", at, "/indexes/made"),
        Asked("POST", "/keys", "/keys", {"name": "new", "scope": "admin"}),
        Asked("GET", "/keys", "/keys"),
        Asked("POST", "/session", "/session", {"key": "clew_1_2"}),
        Asked("DELETE", "/keys/{id}", "/keys/new"),
    ]


def replies(response):
    """Yield the JSON of a reply: its body, or the data of its events."""
    kind = response.headers.get("content-type", "")
    if kind.startswith("application/json"):
        yield response.json()
    elif kind.startswith("text/event-stream"):
        for line in response.text.splitlines():
            if line.startswith("data: "):
                yield json.loads(line.removeprefix("data: "))


def timeless(value):
    """Return JSON without what differs from run to run: seconds, and what keys are called."""
    if isinstance(value, dict):
        left = {"seconds", "made"} | (
            {"id"} if "citations" in value and "scope" in value else set()
        )
        return {name: timeless(each) for name, each in value.items() if name not in left}
    return [timeless(each) for each in value] if isinstance(value, list) else value
