"""`python -m clew.extras.server.jobs HOME ID ATTEMPT`: the process of a job."""

import logging
import sys
from pathlib import Path

from clew.extras.server.jobs.process import run_job

if __name__ == "__main__":
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    run_job(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
