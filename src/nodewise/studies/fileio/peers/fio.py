# SPDX-License-Identifier: BSD-3-Clause
"""fio on the same patterns: same folders, sizes, requests and sync, on files without a name, as the study's own.

fio writes bytes of its own, so nothing of the array is in its files: what is checked is that it wrote or read all of them
without an error. It counts time in milliseconds; a size that takes less than 50 ms is too small to compare with it.
"""

import json
import mmap
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

_KIB = 1024
_MOST_REQUEST = 2**30

#: As fio is told them: the engine and whether the page cache is passed by.
_PATTERNS = {
    "fio-write-element": ("psync", False),
    "fio-write-row": ("psync", False),
    "fio-write-whole": ("psync", False),
    "fio-direct-whole": ("psync", True),
    "fio-mmap-whole": ("mmap", False),
    "fio-uring-whole": ("io_uring", False),
    "fio-uring-direct-whole": ("io_uring", True),
}


def contenders():
    """All patterns, or why there is none."""
    missing = None if shutil.which("fio") else "fio is not installed: apt-get install fio"
    return dict.fromkeys(_PATTERNS, missing)


def prepare(inputs, point, threads):
    """What fio is asked; it reads files that were written before."""
    name = point["contender"]
    engine, direct = _PATTERNS[name]
    size = inputs["data"].nbytes
    block = -(-int(point["block"]) // 4) * 4 * _KIB
    requests = {"fio-write-element": 8, "fio-write-row": 8 * int(point["row"]), "fio-write-whole": size}
    asked = -(-size // 4096) * 4096 if direct else size
    request = min(requests.get(name, block), asked, _MOST_REQUEST)
    words = ["fio", "--name=nodewise", "--thread", f"--rw={point['op']}", f"--ioengine={engine}", f"--bs={request}"]
    words += [f"--size={asked}", f"--direct={int(direct)}", "--fallocate=none", "--invalidate=0"]
    words += ["--output-format=json"]
    if engine == "io_uring":
        words.append(f"--iodepth={point['depth']}")
    if point["op"] == "write" and point["fsync"] == "yes":
        words.append("--end_fsync=1")
    folders = [f for f in (point.get("folders") or tempfile.gettempdir()).split(":") if f]
    return {"data": inputs["data"], "words": words, "folders": folders, "point": point, "size": asked, "seconds": []}


def run(state):
    """One job in each folder."""
    state["seconds"] = [_job(state, folder) for folder in state["folders"]]


def _job(state, folder):
    """Seconds that fio took, for all bytes: what is left of the last request it does not write."""
    point = state["point"]
    descriptor = _nameless(folder)
    try:
        if point["op"] == "read":
            _write(descriptor, state["size"], "--direct=1" in state["words"])
            _forget(descriptor, point["cache"])
        else:
            # fio removes a file that is too short, and this one has no name to be removed by
            os.ftruncate(descriptor, state["size"])
        words = [*state["words"], f"--filename=/proc/self/fd/{descriptor}"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, pass_fds=(descriptor,))
    finally:
        os.close(descriptor)
    try:
        job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    except ValueError:
        raise SystemExit(f"fio says: {(done.stderr or done.stdout).strip()[-200:]}") from None
    told = job[point["op"]]
    if job["error"] or not told["io_bytes"]:
        raise SystemExit(f"fio on {folder}: {done.stderr.strip()[-200:]}")
    return max(told["runtime"], 1) * 1e-3 * state["size"] / told["io_bytes"]


def _nameless(folder):
    try:
        return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError:
        descriptor, name = tempfile.mkstemp(dir=folder, prefix="nodewise-")
        Path(name).unlink()
        return descriptor


def _write(descriptor, size, direct):
    """Made as the study's own file is: where reading passes the page cache by, writing does, too."""
    again = os.open(f"/proc/self/fd/{descriptor}", os.O_WRONLY | (os.O_DIRECT if direct else 0))
    try:
        # a mapping is aligned as O_DIRECT wants it
        with mmap.mmap(-1, 1 << 20) as part:
            part.write(os.urandom(len(part)))
            with memoryview(part) as bytes_of:
                for at in range(0, size, len(part)):
                    with bytes_of[: size - at] as piece:
                        os.pwrite(again, piece, at)
    finally:
        os.close(again)


def _forget(descriptor, cache):
    if cache == "keep":
        return
    os.fsync(descriptor)
    if cache == "drop":
        Path("/proc/sys/vm/drop_caches").write_text("1")
    else:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def metrics(state):
    """fio's own clock in place of ours, which has seen it start."""
    each = {f"f{i + 1}_seconds": seconds for i, seconds in enumerate(state["seconds"])}
    return {"seconds": sum(state["seconds"]), **each}


def outputs(state):
    """The array itself, fio having done all without an error."""
    return {"back": state["data"]}
