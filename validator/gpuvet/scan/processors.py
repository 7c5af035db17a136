"""How many processors there are for us."""

import os


def processors() -> int:
    """Those that this process may use, which in a container are often fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
