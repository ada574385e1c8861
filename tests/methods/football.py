"""Clue-RAG's worked example: five units, entities and vectors on four axes.

The expected values come from a separate program that follows Algorithms 3 and 4 line by line,
over sets and dictionaries. The axes are European Cup, FA Cup, Forest, ground.
"""

from tests.methods import memory

QUERY = "When did the 1979-80 European Cup winner win the FA Cup?"
NAMES = ("European Cup", "FA Cup")

K0 = "The European Cup was won by Nottingham Forest in 1979-80"
K1 = "Chelsea won the FA Cup in 1970"
K2 = "Nottingham Forest did win the FA Cup in 1898 and 1959"
K3 = "Nottingham Forest plays at the City Ground"
K4 = "The City Ground opened in 1898"

TEXTS = {"t0": [K0], "t1": [K1], "t2": [K2, K3], "t3": [K4]}
MENTIONS = {
    K0: ["1979 80", "european cup", "nottingham forest"],
    K1: ["1970", "chelsea", "fa cup"],
    K2: ["1898", "1959", "fa cup", "nottingham forest"],
    K3: ["city ground", "nottingham forest"],
    K4: ["1898", "city ground"],
}
DATES = ("1898", "1959", "1970", "1979 80")
VECTORS = {
    QUERY: [0.6, 0.8, 0.0, 0.0],
    K0: [0.8, 0.0, 0.6, 0.0],
    K1: [0.0, 1.0, 0.0, 0.0],
    K2: [0.0, 0.8, 0.6, 0.0],
    K3: [0.0, 0.0, 0.8, 0.6],
    K4: [0.0, 0.0, 0.0, 1.0],
    "chelsea": [0.0, 0.8, 0.6, 0.0],
    "city ground": [0.0, 0.0, 0.0, 1.0],
    "european cup": [1.0, 0.0, 0.0, 0.0],
    "fa cup": [0.0, 1.0, 0.0, 0.0],
    "nottingham forest": [0.0, 0.0, 1.0, 0.0],
}

# The paper breaks ties by a set's texts, Clew by rows: in this order they are the same.
BY_TEXT = sorted(MENTIONS)


def snapshot(**given):
    return memory.snapshot(TEXTS, MENTIONS, VECTORS, dates=DATES, unit_order=BY_TEXT, **given)


def models(**given):
    return memory.models(VECTORS, NAMES, **given)
