"""An LLM that does what the extraction prompts ask, by rules: same text, same reply."""

import itertools
import json
import re

from clew.models import Prompt, Reply, Turn
from clew.text.tokens import count

_PASSAGE = re.compile(r"^\[(\d+)\] (.*)$", re.MULTILINE)
_TERMS = re.compile(r"^\[(\d+)\] .*\nTerms: (.*)$", re.MULTILINE)
_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")


def reply_to(system: str, user: str):
    """Return the reply to one of the three prompts, as a JSON value."""
    if "Terms: " in user:
        return {number: _relations(terms) for number, terms in listed(user).items()}
    made = _graph if "knowledge graph" in system else _units
    return {number: made(text) for number, text in passages(user).items()}


def passages(user: str) -> dict[str, str]:
    """Return the passages of a prompt by their numbers."""
    return dict(_PASSAGE.findall(user.rpartition("\nPassages\n")[2]))


def listed(user: str) -> dict[str, list[str]]:
    """Return the terms of a prompt's passages by their numbers."""
    found = _TERMS.findall(user.rpartition("\nPassages\n")[2])
    return {number: terms.split("; ") for number, terms in found}


def _relations(terms):
    return {
        "relations": [
            {"subject": a, "predicate": "stands by", "object": b}
            for a, b in itertools.pairwise(terms)
        ]
    }


def _units(text):
    title, bar, body = text.rpartition(" | ")
    sentences = [s.strip() for s in (body if bar else text).split(".") if s.strip()]
    return [f"In {title or 'the notes'} it says: {sentence}." for sentence in sentences]


def _graph(text):
    names = list(dict.fromkeys(_NAME.findall(text)))
    return {
        "entities": [
            {"name": name, "type": "place", "description": f"{name} of the notes"} for name in names
        ],
        "relations": [
            {
                "subject": a,
                "predicate": "goes with",
                "object": b,
                "description": f"{a} goes with {b}.",
                "strength": 5,
            }
            for a, b in itertools.pairwise(names)
        ],
    }


class Reads:
    """The LLM; `useless` says whose prompts get no usable reply."""

    name = "reads"

    def __init__(self, useless=lambda _prompt: False):
        self.prompts: list[Prompt] = []
        self._useless = useless

    def complete(self, prompts):
        return [self._reply(prompt) for prompt in prompts]

    def _reply(self, prompt):
        self.prompts.append(prompt)
        n_tokens = count(prompt.system) + count(prompt.user)
        if self._useless(prompt):
            return Reply(text="no", prompt_tokens=n_tokens, error="there is no JSON in it")
        data = reply_to(prompt.system, prompt.user)
        text = json.dumps(data)
        return Reply(text=text, data=data, prompt_tokens=n_tokens, completion_tokens=count(text))


class ReadsChat:
    """The same as a chat that counts and bills: a token of prompts is a word of them."""

    name = "reads"
    concurrency = 2
    price = (1.0, 2.0)

    def __init__(self, *, empty=False):
        self.n_asked = 0
        self.texts: list[str] = []
        self._empty = empty

    def ask(self, prompt, turns=(), *, stop=None, on_lost=None):  # noqa: ARG002
        self.n_asked += 1
        data = reply_to(prompt.system, prompt.user)
        self.texts += [(prompt.version, text) for text in passages(prompt.user).values()]
        text = json.dumps({key: [] for key in data} if self._empty else data)
        n_taken = min(len(text.split()), prompt.max_tokens)
        return Turn(text, prompt_tokens=self.count_tokens(prompt, turns), completion_tokens=n_taken)

    def count_tokens(self, prompt, turns=()):
        words = [prompt.system, prompt.user, *(turn.text for turn in turns)]
        return sum(len(part.split()) for part in words)
