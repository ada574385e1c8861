"""An endpoint that bills, and fails in every way that endpoints do, as a seed says."""

import json
import random
from collections import Counter
from dataclasses import dataclass, field

from clew.models import Prompt, Turn
from clew.models.ledger import Request
from clew.text import tokens
from tests.models.server import EVENTS, Answer, streamed

SCHEMA = {
    "type": "object",
    "properties": {"echo": {"type": "string"}},
    "required": ["echo"],
    "additionalProperties": False,
}
FAULTS = ("busy", "broken", "hung up", "no JSON", "cut short", "slow")
REFUSALS = {"busy": 429, "broken": 500}  # which are not billed
MOST_FAULTS = 3  # of one request in a row


def request_of(body):
    """Give the request that a body asks, as the ledger knows it."""
    user, *rest = [message["content"] for message in body["messages"]]
    schema = body["response_format"]["json_schema"]["schema"] if "response_format" in body else None
    prompt = Prompt(user=user, schema=schema, max_tokens=body["max_tokens"])
    return Request(body["model"], prompt, tuple(Turn(text) for text in rest[::2]))


@dataclass
class Billing:
    """`respond` answers a request; what it says depends on the request and `seed` alone.

    How it fails depends on how often it was asked too, so that asking again helps in the end.
    """

    seed: int
    fault_share: float = 0.3
    faults: tuple = FAULTS
    slow_s: float = 0.0
    pause_s: float = 0.0
    billed: int = 0
    asked: Counter = field(default_factory=Counter)
    answered: Counter = field(default_factory=Counter)  # whole replies, by the request's key

    def respond(self, request):
        body = request.json
        asked = request_of(body)
        key = asked.key()
        attempt = self.asked[key]
        self.asked[key] += 1
        return self.answer(body, asked, key, self.fault(key, attempt))

    def answer(self, body, asked, key, fault):
        """Answer a request, or fail as `fault` says."""
        if fault in REFUSALS:
            return Answer({}, REFUSALS[fault], {"Retry-After": "0"}, delay_s=self.pause_s)
        reply = self.completion(body, asked, key)
        self.billed += sum(reply["usage"].values())
        if not fault:
            self.answered[key] += 1
        delay_s = self.slow_s if fault == "slow" else self.pause_s
        content, headers = json.dumps(reply).encode(), {}
        if body.get("stream"):
            content, headers = streamed(reply), EVENTS
        spoiled = {"no JSON": b"<html>", "cut short": content[:40]}.get(fault, content)
        missing = 10 if fault == "hung up" else 0
        return Answer(spoiled, headers=headers, missing_bytes=missing, delay_s=delay_s)

    def fault(self, key, attempt):
        dice = random.Random(f"{self.seed} {key.hex()} {attempt}")  # noqa: S311 -- a test's
        failed = attempt < MOST_FAULTS and dice.random() < self.fault_share
        return dice.choice(self.faults) if failed else ""

    def completion(self, body, asked, key):
        """Give a usable reply, words without JSON, or one cut at its limit; and what it costs."""
        dice = random.Random(f"{self.seed} {key.hex()}")  # noqa: S311 -- a test's
        echo = asked.prompt.user[: asked.prompt.max_tokens // 4]
        text, finish = json.dumps({"echo": echo}, ensure_ascii=False), "stop"
        kind = dice.random()
        if kind < 0.1:
            text = "I would rather not say"
        elif kind < 0.2:
            finish = "length"
        n_bytes = sum(len(m["content"].encode()) for m in body["messages"])
        n_prompt = dice.randint(n_bytes // 4 + 1, n_bytes)
        n_taken = body["max_tokens"]
        if finish != "length":
            n_taken = max(dice.randint(1, n_taken), tokens.count_at_least(text))
        usage = {"prompt_tokens": n_prompt, "completion_tokens": n_taken}
        message = {"role": "assistant", "content": text}
        return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}
