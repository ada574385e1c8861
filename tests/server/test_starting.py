"""What a server refuses before anybody is served."""

import socket
from dataclasses import replace

import pytest

from clew.errors import InputError, NotAnIndex, StoreError
from clew.server.run import check_open, serve


def test_others_need_a_key(home):
    """Under an address of others, a further name or behind a proxy; with a key all may be had."""
    reached = (
        {"host": "192.0.2.1"},
        {"host": "::"},
        {"hosts": ("x.example",)},
        {"proxies": ("::1",)},
    )
    for changes in reached:
        with pytest.raises(InputError, match="no key was made: make one first, with 'clew keys"):
            serve(replace(home.settings, **changes), pytest.fail)
    check_open(home.settings)
    home.key()
    for changes in reached:
        check_open(replace(home.settings, **changes))


def test_what_cannot_be_served(home, tmp_path):
    """A folder without an index, a home that is none, and a port that is taken: one sentence."""
    missing, file = tmp_path / "none.clew", tmp_path / "file"
    file.touch()
    with pytest.raises(NotAnIndex, match="holds no index to serve as 'none': make it with 'clew"):
        serve(replace(home.settings, indexes={"none": missing}), pytest.fail)
    with pytest.raises(StoreError, match="cannot be used .*: name another with --home"):
        serve(replace(home.settings, home=file), pytest.fail)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"127.0.0.1:{port} cannot be listened on"):
            serve(replace(home.settings, port=port), pytest.fail)
