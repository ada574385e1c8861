"""Spans of OpenTelemetry, by its interface alone: they cost nothing where no SDK is set up."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

Attributes = Mapping[str, str | int | float | bool]

_NAME = "clew"


@contextmanager
def open_span(
    name: str, attributes: Attributes, *, headers: Mapping[str, str] | None = None
) -> Iterator[Span]:
    """Run the block in a span. With the headers of a request it is part of the sender's trace."""
    context: Context | None = None
    kind = trace.SpanKind.INTERNAL
    if headers is not None:
        context, kind = propagate.extract(headers), trace.SpanKind.SERVER
    tracer = trace.get_tracer(_NAME)
    with tracer.start_as_current_span(name, context, kind, dict(attributes)) as span:
        yield span


def find_context() -> Context:
    """Return the current context of the trace."""
    return trace.set_span_in_context(trace.get_current_span())


def begin_span(name: str, attributes: Attributes, within: Context) -> Span:
    """Begin a span in a context; the caller ends it, in any thread."""
    return trace.get_tracer(_NAME).start_span(name, within, trace.SpanKind.CLIENT, dict(attributes))
