# SPDX-License-Identifier: BSD-3-Clause
"""Python's hashlib, a buffer after the other, in a pool of threads: it lets others run while it hashes."""

import hashlib
from concurrent.futures import ThreadPoolExecutor

from nodewise.studies.peers import absent


def available():
    """Say why it cannot run: never, since NumPy comes with nodewise."""
    return absent("numpy")


def prepare(inputs, point, threads):
    """The study's own buffers, not copied."""
    spacing = int(point["chunk-size"])
    data = memoryview(inputs["data"])
    buffers = [data[i * spacing :][: int(length)] for i, length in enumerate(inputs["lengths"])]
    return {"function": point["function"], "buffers": buffers, "pool": ThreadPoolExecutor(threads)}


def run(state):
    """One digest a buffer."""

    def digest(buffer):
        return hashlib.new(state["function"], buffer, usedforsecurity=False).digest()

    state["digests"] = list(state["pool"].map(digest, state["buffers"]))


def outputs(state):
    """The digests one after the other."""
    import numpy as np

    return {"digests": np.frombuffer(b"".join(state["digests"]), dtype=np.uint8)}
