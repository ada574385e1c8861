"""An endpoint with files and batches, which counts what is paid for."""

import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, field

from tests.models.server import Answer

_MISSING = Answer({"error": {"message": "there is none"}}, 404)


def completion(text, prompt_tokens=100, completion_tokens=20):
    return {
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens},
    }


def units(body):
    """Give a unit for each passage, of one ship each, that a request asks about."""
    keys = body["response_format"]["json_schema"]["schema"]["properties"]
    ships = dict.fromkeys(re.findall(r"ship number \d", body["messages"][1]["content"]))
    made = (f"The {ship} was built in Larvik." for ship in ships)
    return json.dumps({key: [unit] for key, unit in zip(keys, made, strict=True)})


def question(body):
    return body["messages"][-1]["content"]


@dataclass
class BatchEndpoint:
    """Replies to requests directly, and in batches as soon as `is_done`.

    `write` writes a reply. Each of `faults` says of a request in a batch, by its text, that it
    fails: "expired", or the status of an error. `ended` is the status of batches that have ended.
    """

    write: object = units
    is_done: bool = False
    faults: dict = field(default_factory=dict)
    ended: str = "completed"
    errors: object = None
    refused: tuple = ()  # paths that it does not have
    page: int = 2  # batches that it lists at once
    paid: Counter = field(default_factory=Counter)  # by the text of a request
    direct: Counter = field(default_factory=Counter)  # the same of those not in a batch
    files: dict = field(default_factory=dict)
    batches: dict = field(default_factory=dict)
    paths: list = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def respond(self, request):
        path, _, query = request.path.removeprefix("/v1/").partition("?")
        with self._lock:
            self.paths.append(path)
            if path in self.refused:
                return _MISSING
            kind, _, rest = path.partition("/")
            return getattr(self, f"_{kind}")(rest, request.json, query)

    def _chat(self, _, body, __):
        if body is None:  # it is only looked whether it is there
            return Answer({}, 405)
        return Answer(self._pay(body, self.direct))

    def _files(self, rest, content, _):
        if content is not None:
            name = f"file-{len(self.files)}"
            self.files[name] = content.split(b"\r\n\r\n")[-1].rpartition(b"\r\n--")[0]
            return Answer({"id": name})
        return Answer(self.files[rest.removesuffix("/content")])

    def _batches(self, name, body, query):
        if body is not None:
            batch = {**body, "id": f"batch-{len(self.batches)}", "status": "in_progress"}
            self.batches[batch["id"]] = batch
            return Answer(batch)
        if not name:
            return self._list(query)
        batch = self.batches.get(name)
        if batch is None:
            return _MISSING
        if self.is_done and batch["status"] == "in_progress":
            self._run(batch)
        return Answer(batch)

    def _list(self, query):
        newest = list(self.batches.values())[::-1]
        _, _, after = query.partition("after=")
        first = 1 + [each["id"] for each in newest].index(after) if after else 0
        page = newest[first : first + self.page]
        return Answer({"data": page, "has_more": first + len(page) < len(newest)})

    def _run(self, batch):
        good, bad = [], []
        for line in self.files[batch["input_file_id"]].splitlines():
            request = json.loads(line)
            fault = next((f for t, f in self.faults.items() if t in question(request["body"])), "")
            result = {"id": "r", "custom_id": request["custom_id"], "response": None, "error": None}
            if fault == "expired":
                bad.append({**result, "error": {"code": "batch_expired", "message": "too late"}})
            elif fault:
                response = {"status_code": fault, "body": {"error": {"message": f"no: {fault}"}}}
                bad.append({**result, "response": response})
            else:
                body = self._pay(request["body"], self.paid)
                good.append({**result, "response": {"status_code": 200, "body": body}})
        for kind, results in (("output", good), ("error", bad)):
            if results:
                name = f"file-{kind}-{batch['id']}"
                self.files[name] = "".join(json.dumps(each) + "\n" for each in results).encode()
                batch[f"{kind}_file_id"] = name
        batch |= {"status": self.ended, "errors": self.errors}

    def _pay(self, body, counter):
        counter[json.dumps([body["messages"], body.get("response_format")])] += 1
        return completion(self.write(body))

    def paid_twice(self):
        """Give the requests of batches that were paid for more than once."""
        return [text for text, n in (self.paid + self.direct).items() if n > 1 and self.paid[text]]

    def batched(self):
        """Give the requests of each batch."""
        files = [self.files[batch["input_file_id"]] for batch in self.batches.values()]
        return [[json.loads(line)["body"] for line in file.splitlines()] for file in files]
