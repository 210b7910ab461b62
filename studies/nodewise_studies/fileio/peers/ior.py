# SPDX-License-Identifier: BSD-3-Clause
"""IOR, one task by POSIX calls: same folders, sizes, requests and sync, on files without a name, as the study's own.

IOR writes bytes of its own, so nothing of the array is in its files: what is checked is that it says it is done. It takes
sizes of whole requests only; its times have four digits behind the point.
"""

import json
import math
import os
import shutil
import subprocess

from ..files import forget, nameless, path_of
from ..projection import folders_of

_MEBI = 1 << 20


def contenders():
    """Each size of a request, or why there is none."""
    missing = None if shutil.which("ior") else "ior is not on PATH: build it from github.com/hpc/ior (it needs MPI)"
    return {f"ior-write-{shape}": missing for shape in ("element", "row", "whole")}


def prepare(inputs, point, threads):
    """What IOR is asked; all of the file is written in requests of one size."""
    size = inputs["data"].nbytes
    asked = {"element": 8, "row": 8 * int(point["row"]), "whole": size}[point["contender"].rsplit("-", 1)[1]]
    return {
        "data": inputs["data"],
        "point": point,
        "size": size,
        # the largest request that a file of this size is made of
        "words": ["ior", "-a", "POSIX", "-E", "-k", "-t", str(math.gcd(size, asked)), "-b", str(size)],
        "seconds": [],
    }


def run(state):
    """One test in each folder."""
    state["seconds"] = [_test(state, folder) for folder in folders_of(state["point"])]


def _test(state, folder):
    point = state["point"]
    with nameless(folder) as descriptor:
        if point["op"] == "read":
            for at in range(0, state["size"], _MEBI):
                os.pwrite(descriptor, os.urandom(min(_MEBI, state["size"] - at)), at)
            forget(descriptor, point["cache"])
        how = ["-r"] if point["op"] == "read" else ["-w", "-e"] if point["fsync"] == "yes" else ["-w"]
        words = [*state["words"], *how, "-o", path_of(descriptor), "-O", "summaryFormat=JSON"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, pass_fds=(descriptor,))
    try:
        return seconds_of(done.stdout, point["op"], state["size"])
    except (ValueError, LookupError) as problem:
        raise SystemExit(f"ior on {folder}: {(done.stderr or done.stdout).strip()[-200:] or problem}") from None


def seconds_of(printed, op, size):
    """The seconds of a test from IOR's summary; ValueError or LookupError where it is none, or of other bytes."""
    results = json.loads(printed[printed.index("{") :])["tests"][0]["Results"]
    # IOR 3.2 has a list for each repetition
    results = results[0] if isinstance(results[0], list) else results
    (one,) = (result for result in results if result["access"] == op)
    if round(one["blockKiB"] * 1024) != size:
        raise ValueError(f"a block of {one['blockKiB']} KiB")
    return one["totalTime"]


def metrics(state):
    """IOR's own clock in place of ours, which has seen it start."""
    each = {f"f{i + 1}_seconds": seconds for i, seconds in enumerate(state["seconds"])}
    return {"seconds": sum(state["seconds"]), **each}


def outputs(state):
    """The array itself, IOR having done all without an error."""
    return {"back": state["data"]}
