"""`clew help`: print the packaged guides as plain text."""

import io
import re
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from clew.base.runtime.lazy import compile_re
from clew.cli.plain import MAX_COLUMNS, align, bold, dim, terminal_width
from clew.errors import InputError, suggest

_GUIDES = Path(__file__).parents[1] / "guides"
_LINK = compile_re(r"\[([^]]+)\]\(([^)]+)\)")
_PICTURE = compile_re(rf"^!{_LINK.pattern}\n+", re.MULTILINE)


def list_guides() -> dict[str, Path]:
    """Return the guide files by topic, alphabetically."""
    guides = {file.name.removesuffix(".md"): file for file in _GUIDES.iterdir()}
    return dict(sorted(guides.items()))


@click.command(name="help")
@click.argument(
    "topic",
    required=False,
    shell_complete=lambda _context, _parameter, start: [
        CompletionItem(topic) for topic in list_guides() if topic.startswith(start)
    ],
)
@click.pass_context
def show_help(context: click.Context, topic: str | None) -> None:
    """Show the guide on TOPIC, or a command's help; without one, list the topics.

    The guides are those of the documentation, and need no connection.
    """
    group = context.find_root().command
    command = group.commands.get(topic or "") if isinstance(group, click.Group) else None
    if topic is None:
        guides = {name: file.read_text(encoding="utf-8") for name, file in list_guides().items()}
        leads = [(name, _first_sentences(text)) for name, text in guides.items()]
        tail = dim("clew help TOPIC shows a guide, clew COMMAND --help a command's options.")
        click.echo("\n".join([bold("Guides"), align(leads), "", tail]))
    elif topic in list_guides():
        click.echo_via_pager(_to_text(list_guides()[topic].read_text(encoding="utf-8")))
        if command is not None:
            click.echo(dim(f"'clew {topic} --help' has the options of the command."))
    elif command is not None:
        click.echo(command.get_help(click.Context(command, context.find_root(), topic)))
    else:
        topics = list_guides()
        near = suggest(topic, [*topics, *getattr(group, "commands", ())])
        known = ", ".join(topics)
        raise InputError(f"there is no topic or command {topic!r}{near}: choose one of {known}")


def _first_sentences(text: str) -> str:
    """Return the first paragraph of a guide as plain text, up to the end of a sentence."""
    paragraph = " ".join(text.split("\n\n")[1].split())
    sentence = re.match(r".*?[.:](?=\s|$)", re.sub(r"[*`]", "", _LINK.sub(r"\1", paragraph)))
    return (sentence[0] if sentence else paragraph).rstrip(":")


def _to_text(text: str) -> str:
    """Return a Markdown page as plain text for a terminal."""
    from rich.console import Console
    from rich.markdown import Markdown

    shown = io.StringIO()
    console = Console(file=shown, width=min(terminal_width(), MAX_COLUMNS), color_system=None)
    console.print(Markdown(_LINK.sub(_describe_link, _PICTURE.sub("", text)), hyperlinks=False))
    return "\n".join(line.rstrip() for line in shown.getvalue().splitlines()) + "\n"


def _describe_link(link: re.Match[str]) -> str:
    """Return the text of a link, with a command that shows its target, if any."""
    words, target = link[1], link[2].partition("#")[0].removesuffix(".md")
    return f"{words} (`clew help {target}`)" if target in list_guides() else words
