"""`python -m gpuvet` is the same as `gpuvet`."""

import sys

from gpuvet.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
