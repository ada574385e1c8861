"""The steps of a procedure, by their numbers, marks and lead-ins."""

import pytest

from clew.text.step_lists import find_steps

NUMBERED = (
    "# Oil\n\nOnce a year:\n\n1. Stop.\n2. Drain it:\n   - warm,\n   - slowly.\n3. Refill.\n\nDone."
)
CODE = "1. Log in.\n\n    ssh gate\n\n2. Start it.\n\n$ passwd --ldap\n\n3. Leave.\n\nEnd."
LETTERS = "Follow these steps:\n\na) Open it.\nb) Enter the code.\n"
BULLETS = "# Making coffee\n\n- Grind it.\n- Tamp it.\n\n# Rules\n\n* Milk: shared.\n* Ask Jette."
CLAUSES = "Terms\n\n4. Rent is due monthly.\n5. Notice is given in writing.\n"
ASKED = "FAQ\n\n1. Who is it?\n2. How do I stop it?\n"
LONG = "Do:\n\n" + "\n".join(f"{i}. Step {'x' * 200}" for i in range(1, 9))
HOW = "How do I change the oil or make coffee?"


@pytest.mark.parametrize(
    ("text", "at", "first", "last"),
    [
        (NUMBERED, "Drain", "1. Stop", "3. Refill."),
        (NUMBERED, "slowly", "1. Stop", "3. Refill."),
        (NUMBERED, "Once", "Once a", "3. Refill."),
        (CODE, "Start", "1. Log", "3. Leave."),
        (LETTERS, "Enter", "a) Open", "the code."),
        (LETTERS, "Follow", "Follow", "the code."),
        (BULLETS, "Tamp", "- Grind", "Tamp it."),
        (LONG, "2. Step", "1. Step", "x"),
    ],
)
def test_all_steps_in_order(text, at, first, last):
    start, end = find_steps(text, text.index(at), (), HOW, 900)
    assert text[start:end].startswith(first)
    assert text[start:end].endswith(last)
    assert end - start <= 900


@pytest.mark.parametrize(
    ("text", "at"),
    [
        (BULLETS, "Jette"),  # no steps: nothing says so
        (CLAUSES, "Notice"),
        (ASKED, "stop"),
        (NUMBERED, "Done"),
        (LONG, "8. Step"),
        ("1. Only this one.", "Only"),
    ],
)
def test_what_is_no_step(text, at):
    assert find_steps(text, text.index(at), (), HOW, 900) is None
