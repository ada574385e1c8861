"""Calls that kill their process."""

import os
import signal


def deadly(at, *calls):
    """Return the calls so that the one that is `at` in order kills its process instead."""
    n_calls = 0

    def deadly_one(real):
        def call(*args, **kwargs):
            nonlocal n_calls
            n_calls += 1
            if n_calls == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return call

    return map(deadly_one, calls)
