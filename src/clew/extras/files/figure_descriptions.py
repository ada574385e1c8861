"""Have an LLM that reads pictures describe the figures of documents.

A description becomes text behind the figure's caption: a list whose lead says which model wrote it.
Each distinct picture is described once; what the ledger has costs nothing.
"""

import base64
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from clew.base.reports import CostEstimate, Plan
from clew.base.types import Document, Figure, Skipped
from clew.errors import InputError
from clew.extras.files.figures import edit_text, media_type
from clew.models import LLM, Prompt, Wording, find_wording, word
from clew.models.ledger import Ledger, Request
from clew.models.prices import cost_usd
from clew.models.prompts import fill_prompt
from clew.models.recorded_llm import RecordedLLM
from clew.text import tokens
from clew.text.normalize import collapse
from clew.text.numbered import find_figure_numbers
from clew.text.quantities import format_count

_MOST_TOKENS, _EXPECTED = 400, 150  # of a description
_MOST_LINES, _LONGEST = 12, 500  # of one, and characters of a line
_PICTURE_TOKENS, _MINI = 2_600, 20  # that a picture takes, at most, and times that of "4o-mini"
_LEAD = "\n\nDescription of "


def check_reader(llm: LLM | None) -> None:
    """Raise InputError unless an LLM can be sent pictures."""
    if not getattr(getattr(llm, "chat", None), "reads_pictures", False):
        why = "an LLM behind an endpoint that reads pictures, as in --llm openai:MODEL"
        raise InputError(f"'describe_figures' needs {why}")


def describe_figures(
    items: Iterable[Document | Skipped],
    model: str,
    llm: RecordedLLM | None,
    ledger: Ledger,
    wording: Wording | None,
) -> Iterator[Document | Skipped]:
    """Yield documents with the descriptions that a model wrote, or which the `llm` writes now."""
    for item in items:
        if isinstance(item, Document) and item.pictures:
            plain = (_write_prompt(data, model) for data in item.pictures.values())
            prompts = [word(prompt, wording) for prompt in plain]
            if llm is not None:
                replies = llm.complete(prompts)
                texts = ["" if reply.error else reply.text for reply in replies]
            else:
                known = (ledger.recall(Request(model, prompt)) for prompt in prompts)
                texts = ["" if turn is None or turn.fault else turn.text for turn in known]
            described = dict(zip(item.pictures, texts, strict=True))
            item = _insert_descriptions(item, described, model.partition(" ")[0])  # noqa: PLW2901
        yield item


def _write_prompt(picture: bytes, model: str) -> Prompt:
    """Return the request for a description of a picture, which depends on nothing else."""
    url = f"data:{media_type(picture)};base64,{base64.b64encode(picture).decode()}"
    most = _PICTURE_TOKENS * (_MINI if "4o-mini" in model else 1)
    prompt = fill_prompt("figure", max_tokens=_MOST_TOKENS)
    return replace(prompt, picture=url, picture_tokens=most)


def _insert_descriptions(document: Document, described: Mapping[str, str], model: str) -> Document:
    """Insert the descriptions of figures into a document, after their captions."""
    edits, longer = [], Counter[int]()
    for each in document.figures:
        block = _write_block(each, described[each.address], model)
        if _LEAD not in document.text[each.start : each.end]:  # it came from an index so
            edits.append((each.end, each.end, block))
            longer[each.end] += len(block)
    edited = edit_text(document, sorted(edits, key=lambda edit: edit[0]))
    pairs = zip(edited.figures, document.figures, strict=True)
    figures = (replace(new, end=new.end + longer[old.end]) for new, old in pairs)
    return replace(edited, figures=tuple(figures))


def _write_block(figure: Figure, text: str, model: str) -> str:
    """Return a description as a list below the name of its model, "" without one."""
    lines = [collapse(line).lstrip("-*• ")[:_LONGEST] for line in text.splitlines()]
    items = [f"- {line}" for line in lines if line][:_MOST_LINES]
    number = next(iter(find_figure_numbers(figure.caption[:20])), "")
    what = f"Figure {number}" if number else "a picture"
    return "\n".join([f"{_LEAD}{what} by the model {model}:", *items]) if items else ""


def add_estimate(
    plan: Plan, documents: Iterable[Document], llm: RecordedLLM | None, ledger: Ledger | None
) -> Plan:
    """Return a plan with the cost of the descriptions that the ledger lacks."""
    check_reader(llm)
    assert llm is not None  # noqa: S101 -- checked
    pictures = {address: data for each in documents for address, data in each.pictures.items()}
    asked = [word(_write_prompt(each, llm.name), find_wording(llm)) for each in pictures.values()]
    new = [p for p in asked if ledger is None or ledger.recall(Request(llm.name, p)) is None]
    given = sum(tokens.count(f"{p.system}\n{p.user}") + p.picture_tokens for p in new)
    taken = _EXPECTED * len(new)
    estimate = CostEstimate(
        setting=f"descriptions of {format_count(len(pictures), 'figure')}",
        options={"describe_figures": True},
        methods=(),
        n_chunks=0,
        n_known=len(pictures) - len(new),
        calls=len(new),
        prompt_tokens=given,
        completion_tokens=taken,
        repair_tokens=0,
        cost_usd=cost_usd(llm.price, given, taken),
        seconds=None,
        unpacked_prompt_tokens=given,
    )
    return replace(plan, estimates=(*plan.estimates, estimate))
