# SPDX-License-Identifier: BSD-3-Clause
"""`numpy_work.py temporaries|product|eigenvalues`: arrays that come and go, or linear algebra."""

import sys

import numpy as np

_RANDOM = np.random.default_rng(7)


def temporaries() -> float:
    a, b = _RANDOM.random(1 << 20), _RANDOM.random(1 << 20)
    total = 0.0
    for _ in range(40):
        total += float((a * b + a / (b + 1.0) - (a - b) * 0.5).sum())
    return total


def product() -> float:
    a = _RANDOM.random((1200, 1200))
    b = a
    for _ in range(8):
        b = a @ b
        b /= b.max()
    return float(b.sum())


def eigenvalues() -> float:
    a = _RANDOM.random((500, 500))
    return float(np.linalg.eigvalsh(a + a.T).sum() + np.linalg.svd(a, compute_uv=False).sum())


print({"temporaries": temporaries, "product": product, "eigenvalues": eigenvalues}[sys.argv[1]]())
