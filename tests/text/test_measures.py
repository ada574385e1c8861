"""What kind of value a question asks for."""

import pytest

from clew.text.measures import has_asked_value


@pytest.mark.parametrize(
    ("question", "value", "other"),
    [
        ("How heavy is the boat?", "Net: 24 kg", "Length: 5 m"),
        ("Wie schwer ist das Boot?", "leer 24 kg", "5 m lang"),
        ("Combien pèse le bateau ?", "24 kg", "5 m"),
        ("¿Cuánto pesa la barca?", "24 kg", "5 m"),
        ("ボートの重さは？", "24キロ", "5メートル"),
        ("船有多重？", "24公斤", "5米"),
        ("What does a berth cost?", "nine euros a night", "nine metres"),
        ("How long may I stay?", "at most three weeks", "9 euros"),
        ("How often is it cleaned?", "every spring", "by Ada"),
        ("What is the phone number?", "+47 22 00 11 22", "Quay 4"),
        ("When does it open?", "at half past nine", "on foot"),
    ],
)
def test_a_value_of_the_kind_that_is_asked_for(question, value, other):
    assert has_asked_value(question, value)
    assert not has_asked_value(question, other)


def test_a_unit_may_stand_in_the_header_of_a_table():
    assert has_asked_value("How heavy is the Fram?", "Fram | 402", "Ship | Weight (t)")
    assert not has_asked_value("How heavy is the Fram?", "Fram | 402", "Ship | Length (m)")
    assert not has_asked_value("Who built the Fram?", "Fram | 402 kg")
