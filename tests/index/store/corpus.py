"""Sixty small documents that share names, and two states of them."""

from clew.base.types import Document
from clew.index import adding
from clew.index.generation import wasted_share
from clew.index.store.embedded import EmbeddedStore
from tests.index.build import MODELS, RECIPE

_PEOPLE = "Mira Toll,Bo Dahl,Ola Eriksen,Ada Quist,Jon Verle,Sif Lund,Ivar Holm".split(",")
_PLACES = "Bakken,Osterland,Cape Lund,the Analog Sea,Verle,Norrvik".split(",")
_DEEDS = "crossed,measured,sold,left,drew,flooded,rebuilt,forgot".split(",")


def text(number, state=0):
    """Return a text of eight sentences, some of which other texts have too."""
    sentences = []
    for i in range(8):
        n = number * (i + 1) + i * i + state * 17
        person, place = _PEOPLE[n % len(_PEOPLE)], _PLACES[n % len(_PLACES)]
        year = f" in {1900 + n % 13}" if n % 3 else ""
        sentences.append(f"{person} {_DEEDS[n % len(_DEEDS)]} {place}{year}.")
    return " ".join(sentences)


def documents(state=0, n=60):
    """Return the corpus; in state 1 a third is changed, a tenth gone, and some are wordless."""
    made = []
    for number in range(n):
        if state and number % 10 == 4:
            continue
        body = text(number, state if number % 3 == 0 else 0)
        if number % 20 == 7:
            body = "... — ..." * 30
        name = f"d{number:02d}"
        made.append(Document(id=name, title=f"Note {number}", text=body, source=f"{name}.txt"))
    return made


def build(folder, state):
    """Bring the index in `folder` to a state of the corpus, as `clew index` would a larger one."""
    wanted = documents(state)
    with EmbeddedStore.create(folder, RECIPE) as store:
        gone = sorted(set(store.hashes()) - {document.id for document in wanted})
        if gone:
            store.remove(gone)
        adding.add_documents(store, wanted, MODELS)
        adding.finish_index(store, compact=wasted_share(store) > 0.25 or None)
