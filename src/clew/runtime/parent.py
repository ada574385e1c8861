"""A process that another one of ours has started."""

import os
import signal
import sys
import threading
import time

_SYNCHRONIZE = 0x100000  # what Windows is asked for to wait for a process
_LOOK_S = 1.0  # how often it is looked whether there is a parent


def live_with_parent() -> None:
    """Leave Ctrl-C to the process that has started this one, and end where that has ended."""
    parent = os.getppid()

    def watch() -> None:
        if sys.platform == "win32":  # there a process goes on to name a parent that has ended
            import ctypes

            handle = ctypes.windll.kernel32.OpenProcess(_SYNCHRONIZE, False, parent)
            ctypes.windll.kernel32.WaitForSingleObject(handle, -1)
        while sys.platform != "win32" and os.getppid() == parent:
            time.sleep(_LOOK_S)
        os._exit(1)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=watch, daemon=True).start()
