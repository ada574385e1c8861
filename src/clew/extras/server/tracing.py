"""OpenTelemetry spans through the API package; no cost without an SDK."""

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
    """Run the block in a span, part of the sender's trace if `headers` have one."""
    context: Context | None = None
    kind = trace.SpanKind.INTERNAL
    if headers is not None:
        context, kind = propagate.extract(headers), trace.SpanKind.SERVER
    tracer = trace.get_tracer(_NAME)
    with tracer.start_as_current_span(name, context, kind, dict(attributes)) as span:
        yield span


def find_context() -> Context:
    """Return the current trace context."""
    return trace.set_span_in_context(trace.get_current_span())


def begin_span(name: str, attributes: Attributes, within: Context) -> Span:
    """Begin a span in a context; the caller ends it, in any thread."""
    return trace.get_tracer(_NAME).start_span(name, within, trace.SpanKind.CLIENT, dict(attributes))
