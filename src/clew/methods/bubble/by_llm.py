"""Grow candidates by the adjacent triples that an LLM chooses."""

from collections.abc import Sequence
from typing import NamedTuple

from clew import steps
from clew.algo.pool import take_fitting
from clew.methods.bubble.growth import AdjacentTriples, CandidateGrowth, GrownTriple, describe_end
from clew.models import LLM, Prompt, Reply
from clew.models.prompts import fill_prompt
from clew.models.prompts.packing import closed_schema, number_texts, shorten, valid_places
from clew.models.prompts.quoted import Excerpt, quote_lines
from clew.text import tokens
from clew.text.normalize import collapse

_MAX_TOKENS = 3_000  # of the triples in a prompt; at most half of them may be chosen from
_SCHEMA = closed_schema(
    {"select": {"type": "array", "items": {"type": "integer"}}, "sufficient": {"type": "boolean"}}
)


class _Choice(NamedTuple):
    """The choice at one depth."""

    added: tuple[GrownTriple, ...] = ()
    enough: bool = False  # the question is answered
    fault: str = ""  # why nothing could be chosen
    over: bool = False  # nor can it for other candidates


def grow_by_llm(
    beside: AdjacentTriples, llm: LLM, candidates: Sequence[Sequence[int]], depth: int
) -> list[CandidateGrowth]:
    """Return the growth of each candidate, with at most one LLM call per level."""
    guide = _Guide(beside, llm)
    return [guide.grow_candidate(rank, nodes, depth) for rank, nodes in enumerate(candidates, 1)]


class _Guide:
    """Asks an LLM to choose triples by number, or to stop; repeated questions are cached."""

    def __init__(self, beside: AdjacentTriples, llm: LLM) -> None:
        self._beside = beside
        self._llm = llm
        self._over = False
        self._texts: dict[int, str] = {}
        self._replies: dict[str, Reply] = {}

    def grow_candidate(self, rank: int, nodes: Sequence[int], most: int) -> CandidateGrowth:
        """Return the growth of a candidate over at most `most` levels."""
        held, entities = self._beside.read_candidate(nodes)
        frontier, fault = entities, ""
        added: list[GrownTriple] = []
        for depth in range(1, most + 1):
            options = [] if self._over else self._beside.find_options(frontier, held)
            choice = self._choose(held, options, depth) if options else _Choice()
            added += choice.added
            new = [each.triple for each in choice.added]
            held += new
            frontier = self._beside.get_ends(new) - entities
            entities |= frontier
            if choice.fault:
                fault = describe_end(rank, depth, choice.fault)
            self._over = self._over or choice.over
            if choice.enough or not frontier:
                break
        return CandidateGrowth(rank, tuple(added), (fault,) if fault else ())

    def _choose(self, held: Sequence[int], options: Sequence[int], depth: int) -> _Choice:
        if reason := self._beside.explain_end():
            return _Choice(fault=reason, over=True)
        pieces = number_texts(list(map(shorten, self._read_words(options))))
        listed = take_fitting(pieces, _count_tokens, _MAX_TOKENS // 2)
        reply = self._ask_llm(self._build_prompt(held, listed))
        if reply.error:
            return _Choice(fault=reply.error, over=not (reply.calls or reply.recorded))
        numbers = reply.data["select"]
        valid = valid_places(numbers, len(listed))
        reason = f"the LLM chose it among {len(listed)}"
        return _Choice(
            tuple(GrownTriple(options[place], depth, reason) for place in valid),
            enough=reply.data["sufficient"],
            fault="the LLM chose only numbers of no triple" if numbers and not valid else "",
        )

    def _build_prompt(self, held: Sequence[int], listed: Sequence[Excerpt]) -> Prompt:
        beside = quote_lines(listed)
        room = _MAX_TOKENS - tokens.count(beside.plain)
        excerpts = (Excerpt("- ", shorten(text)) for text in self._read_words(held))
        return fill_prompt(
            "bubble_expansion",
            schema=_SCHEMA,
            max_tokens=256,
            question=collapse(self._beside.view.query.text),
            found=quote_lines(take_fitting(excerpts, _count_tokens, room), none="(nothing)"),
            beside=beside,
        )

    def _ask_llm(self, prompt: Prompt) -> Reply:
        if prompt.user not in self._replies:
            self._replies[prompt.user] = steps.reply_to(self._llm, prompt)
        return self._replies[prompt.user]

    def _read_words(self, triples: Sequence[int]) -> list[str]:
        new = [triple for triple in dict.fromkeys(triples) if triple not in self._texts]
        self._texts |= zip(new, self._beside.view.snapshot.triples.texts(new), strict=True)
        return [self._texts[triple] for triple in triples]


def _count_tokens(piece: Excerpt) -> int:
    return tokens.count(piece.line)
