"""Pictures of figures in PostgreSQL: each once, and erased with their documents."""

import clew
from clew.base.types import Figure
from clew.extras.files.figures import hash_picture
from clew.testing import models
from tests.readers.writers import picture

DATA = picture(1)


def drawn(name):
    text = f"The {name} has a lid. Figure 1: It is round."
    figure = Figure(20, len(text), "Figure 1: It is round.", hash_picture(DATA))
    return clew.Document(id=name, text=text, figures=(figure,), pictures={figure.address: DATA})


def test_a_picture_is_kept_once_and_erased_with_its_last_document(address):
    with clew.open(address, models=models()) as index:
        index.add([drawn("kettle"), drawn("pot")])
        index.add(drawn("pan"))
        [document] = index.snapshot().documents([0])
        [figure] = document.figures
        assert document.pictures[figure.address] == DATA
        index.remove("kettle")
        index.compact()
        [document] = index.snapshot().documents([0])
        assert document.pictures[figure.address] == DATA
        index.remove(["pot", "pan"])
        index.compact()
    with clew.open(address, models=models()) as index:
        catalogue = index._open_store()._catalogue  # noqa: SLF001
        assert catalogue._select("SELECT count(*) FROM picture")[0][0] == 0  # noqa: SLF001
