# SPDX-License-Identifier: BSD-3-Clause
"""Multiply two matrices with NumPy and print the time as nodewise's sample protocol: python matmul.py [n]."""

import json
import sys
import time

import numpy as np


def main() -> int:
    """Multiply, check the product against random vectors, print; 0 where it is right."""
    try:
        n = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
        if len(sys.argv) > 2 or not 1 <= n <= 50_000:
            raise ValueError
    except ValueError:
        print("usage: matmul.py [n], with n from 1 to 50000 (3000 unless given)", file=sys.stderr)
        return 2
    random = np.random.default_rng(1)
    a, b = random.random((n, n)), random.random((n, n))
    c = np.zeros((n, n))
    # threads and buffers of the library are there before the clock runs
    np.matmul(a[:64, :64], b[:64, :64])
    begin = time.perf_counter()
    np.matmul(a, b, out=c)
    seconds = time.perf_counter() - begin
    # Freivalds: a wrong product survives each random vector of -1 and 1 with a chance of at most one half
    vectors = random.choice((-1.0, 1.0), (n, 20))
    error = np.abs(c @ vectors - a @ (b @ vectors)).max()
    right = bool(error <= 1e-12 * n * n)
    told = {"nodewise": 1, "seconds": seconds, "flops": 2 * n**3, "verified": right}
    print(json.dumps(told))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
