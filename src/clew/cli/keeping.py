"""`clew backup`, `clew restore` and `clew split`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli import options
from clew.cli.building import suggest_question
from clew.cli.plain import echo_json, one_line
from clew.cli.talk import print_result, say
from clew.text.quantities import format_count

if TYPE_CHECKING:
    from clew.cli.options import Opener


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@options.usual
def backup_index(opener: Opener, file: Path, folder: Path, *, as_json: bool) -> None:
    """Write an index to FILE, an archive that ends in .tar.gz or .tar.

    It is the newest generation, with what was paid for. Others may ask and write meanwhile. A FILE
    that is there is never overwritten, and one that is not whole is never there.
    """
    with opener(folder) as index:
        found = index.backup(file)
    documents, size = format_count(found.n_documents, "document"), found.n_bytes / 1e6
    told = f"{one_line(found.path)} has generation {found.generation} with {documents}"
    print_result(found, [f"{told} ({size:,.1f} MB)"], as_json=as_json, is_news=True)


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path))
@options.index("Folder of the index; it must not be there, or be empty.", into=True)
@options.json
def restore_index(file: Path, folder: Path, *, as_json: bool) -> None:
    """Make an index of FILE, which 'clew backup' wrote, once every byte of it was looked at."""
    from clew.api import restore as restored

    found = restored(file, folder)
    documents, place = format_count(found.n_documents, "document"), options.display_name(folder)
    told = f"{place} is checked and has generation {found.generation} with {documents}"
    print_result(found, [told], as_json=as_json, is_news=True)


@click.command("split")
@click.argument("home", type=click.Path(path_type=Path), metavar="FOLDER")
@click.argument("shards", type=click.IntRange(min=1), metavar="N")
@options.usual
def split_index(opener: Opener, home: Path, shards: int, folder: Path, *, as_json: bool) -> None:
    """Cut an index into N shards in a new FOLDER, which are asked as one.

    Nothing is computed anew, and the index stays what it is. 'clew ask', 'search', 'index',
    'list', 'remove' and 'compact' take the FOLDER as an index; all else takes one of the shards.
    """
    from clew.shards import split as cut

    places = cut(folder, home, shards)
    if as_json:
        echo_json({"index": str(home), "shards": [str(place) for place in places]})
    else:
        with options.open_any(opener, folder) as opened:
            asked = suggest_question("ask", opened=opened, folder=home)
        say(f"{one_line(str(home))} has {format_count(shards, 'shard')}.\n\n{asked}")
