"""What tests of damage share: an index to harm."""

import shutil

import pytest


@pytest.fixture
def copy(sound, tmp_path):
    """Give a copy of the sound index of a module."""
    return shutil.copytree(sound, tmp_path / "i.clew")
