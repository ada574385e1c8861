"""A process that another one of ours has started."""

import os
import signal
import threading
import time

_LOOK_S = 1.0  # how often it is looked whether there is a parent


def live_with_parent() -> None:
    """Leave Ctrl-C to the process that has started this one, and end where that has ended."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_S)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()
