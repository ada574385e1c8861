"""`clew split`: split an index into shards."""

from pathlib import Path

import click

from clew.cli import building, options
from clew.cli.plain import echo_json, one_line, say
from clew.cli.program import GroupedCommand
from clew.text.quantities import format_count


@click.command("split", cls=GroupedCommand)
@click.argument("home", type=click.Path(path_type=Path), metavar="FOLDER")
@click.argument("shards", type=click.IntRange(min=1), metavar="N")
@options.usual
def split_index(
    opener: options.Opener, home: Path, shards: int, folder: Path, *, as_json: bool
) -> None:
    """Split an index into N shards in a new FOLDER, which are queried as one.

    Nothing is computed anew, and the index stays what it is. 'clew ask', 'search', 'index',
    'list', 'remove' and 'compact' take the FOLDER as an index; all else takes one of the shards.
    """
    from clew.extras.cluster.shards.split import split

    places = split(folder, home, shards)
    if as_json:
        echo_json({"index": str(home), "shards": [str(place) for place in places]})
    else:
        with options.open_any(opener, folder) as opened:
            suggestion = building.suggest_question("ask", opened=opened, folder=home)
        say(f"{one_line(str(home))} has {format_count(shards, 'shard')}.\n\n{suggestion}")
