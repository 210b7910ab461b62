# SPDX-License-Identifier: BSD-3-Clause
"""Products of logarithms over ranks and threads, by mpi4py and OpenMP: hybrid.py [ELEMENTS [CALLS [unit|signed]]].

The elements are divided by the ranks. Each rank prints a line of nodewise's sample protocol, and rank 0 a table of rank, size,
host, threads and seconds. `unit` takes numbers in (1, 2), `signed` in (-1, 1), three quarters of whose results are not numbers.
"""

import ctypes
import json
import math
import sys
import time
from pathlib import Path

import numpy as np

LIBRARY = Path(__file__).with_name("libproducts.so")
INPUTS = {"unit": (1.0, 1.0), "signed": (-1.0, 2.0)}
USAGE = "usage: hybrid.py [ELEMENTS [CALLS [unit|signed]]], as 67108864 10 unit"


def _library():
    """The loops in C. Raises OSError where they were not built."""
    library = ctypes.CDLL(str(LIBRARY))
    doubles = np.ctypeslib.ndpointer(np.float64, flags="C")
    library.fill.argtypes = [doubles] * 3 + [ctypes.c_long, ctypes.c_double, ctypes.c_double, ctypes.c_uint]
    library.products.argtypes = [doubles] * 3 + [ctypes.c_long]
    library.fill.restype = library.products.restype = None
    return library


def _is_right(a, b, c):
    """Whether a thousand elements, spread over all, are what they should be: not a number where a logarithm is none."""
    for i in np.unique(np.linspace(0, len(c) - 1, 1000).astype(np.int64)):
        x, y = float(a[i]), float(b[i])
        if min(x, y) < 0:
            right = math.isnan(c[i])
        else:
            right = x * y == 0 or math.isclose(c[i], math.log(x) * math.log(y), rel_tol=1e-14, abs_tol=1e-300)
        if not right:
            return False
    return True


def main():
    """Compute, check, print; 0 where all is right."""
    try:
        words = sys.argv[1:]
        elements = int(words[0]) if words else 1 << 26
        calls = int(words[1]) if len(words) > 1 else 10
        low, width = INPUTS[words[2] if len(words) > 2 else "unit"]
        if len(words) > 3 or elements < 1 or calls < 1:
            raise ValueError
    except (ValueError, KeyError):
        print(USAGE, file=sys.stderr)
        return 2
    try:
        library = _library()
    except OSError:
        print(f"{LIBRARY.name} is not there: its source's first line says how to build it", file=sys.stderr)
        return 2
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    rank, size = world.rank, world.size
    n = elements * (rank + 1) // size - elements * rank // size
    a, b, c = (np.empty(n) for _ in range(3))
    library.fill(a, b, c, n, low, width, rank)
    library.products(a, b, c, n)
    world.Barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        library.products(a, b, c, n)
    seconds = time.perf_counter() - begin
    right = n == 0 or _is_right(a, b, c)
    line = {"nodewise": 1, "seconds": seconds, "items": n * calls, "bytes": 24 * n * calls, "verified": right}
    rows = world.gather((rank, size, MPI.Get_processor_name(), library.threads(), seconds))
    if rank == 0:
        print("rank size host threads seconds")
        for row in rows:
            print("{} {} {} {} {:.3f}".format(*row), flush=True)
    world.Barrier()
    # one write: the lines of ranks do not mix
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
