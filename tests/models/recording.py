"""A process of threads that record replies in one ledger and say which were acknowledged.

Run as `python recording.py LEDGER ACKNOWLEDGED SEED THREADS SECONDS`: a line of the second file is
the number of a reply, which is written when `Ledger.record` has returned.
"""

import os
import random
import subprocess
import sys
import threading
import time

from clew.models import Prompt, Turn
from clew.models.ledger import Ledger, Request


def request(number):
    return Request("m", Prompt(user=f"Question {number}?"))


def reply(number):
    return Turn(f"Answer {number}. {'Fram ' * (number % 40)}", "", 10, 5, None, 0.1)


def record_for(path, acknowledged, seed, n_threads, seconds):
    """Record and recall in threads, until the time is over; raise what one of them raised."""
    end = time.monotonic() + seconds
    file = os.open(acknowledged, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    errors = []

    def work(thread):
        dice = random.Random(seed * 1000 + thread)  # noqa: S311 -- instants need no secrecy
        own = []
        try:
            while time.monotonic() < end:
                number = dice.getrandbits(48)
                Ledger(path).record(request(number), reply(number))
                os.write(file, f"{number}\n".encode())
                own.append(number)
                known = dice.choice(own)
                found = Ledger(path).recall(request(known))
                assert found is not None, f"{known} was acknowledged and is not there"
                assert found.text == reply(known).text
        except BaseException as error:  # noqa: BLE001 -- it is raised below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        error.add_note(f"code of SQLite: {getattr(error.__cause__, 'extendedresult', None)}")
        raise error


LOCKED = """
import sys
from pathlib import Path
import apsw
from clew.base.runtime import sqlite
connection = sqlite.connect(Path(sys.argv[1]), wait=0.0)
try:
    connection.execute("PRAGMA journal_mode = DELETE")  # which takes the file alone
    print("had alone")
except apsw.BusyError:
    print("busy")
"""


def locked_elsewhere(path):
    """Say whether another process can have a database alone."""
    command = [sys.executable, "-c", LOCKED, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def acknowledged_in(folder):
    """Return the numbers of the replies that were recorded; a line that was cut short is none."""
    files = sorted(folder.glob("acknowledged*"))
    return [int(line) for file in files for line in file.read_text().split("\n")[:-1]]


if __name__ == "__main__":
    path, acknowledged, seed, n_threads, seconds = sys.argv[1:]
    record_for(path, acknowledged, int(seed), int(n_threads), float(seconds))
