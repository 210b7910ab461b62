# SPDX-License-Identifier: BSD-3-Clause
"""fio on the same patterns: same folders, sizes, requests and sync, on files without a name, as the study's own.

fio writes bytes of its own, so nothing of the array is in its files: what is checked is that it wrote or read all of them
without an error. It counts time in milliseconds; a size that takes less than 50 ms is too small to compare with it.

By default fio does other work than a program that writes an array, and is asked not to: it takes the time of each request
(--gtod_reduce), changes what it writes each time (--scramble_buffers), gives hints that double what is read ahead
(--fadvise_hint), writes into a file that is long already (--create_on_open), from memory on small pages, and in a thread
among others, where a descriptor costs more to look up than in a process. It cannot be made to walk through an array: its
requests all use the same memory.
"""

import json
import mmap
import os
import shutil
import subprocess

from ..files import forget, nameless, path_of
from ..projection import folders_of

_KIB = 1024
_MOST_REQUEST = 2**30
_PAGE = 4096
_HUGE_PAGE = 2**21

#: As fio is given them: the engine and whether the page cache is passed by.
_PATTERNS = {
    "fio-write-element": ("sync", False),
    "fio-write-row": ("sync", False),
    "fio-write-whole": ("sync", False),
    "fio-direct-whole": ("sync", True),
    "fio-mmap-whole": ("mmap", False),
    "fio-uring-whole": ("io_uring", False),
    "fio-uring-direct-whole": ("io_uring", True),
}

_WORDS = (
    "fio",
    "--name=nodewise",
    "--fallocate=none",
    "--invalidate=0",
    "--gtod_reduce=1",
    "--scramble_buffers=0",
    "--fadvise_hint=0",
    "--output-format=json",
    # beyond the first page border that is one of huge pages, too
    f"--iomem_align={_HUGE_PAGE}",
)

#: fio's memory on huge pages and written to before it is timed, as the study's arrays are; fio reads into fresh pages.
_ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.perturb=165"}


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
    words = [*_WORDS, f"--rw={point['op']}", f"--size={asked}", f"--direct={int(direct)}"]
    if engine == "io_uring":
        words.append(f"--iodepth={point['depth']}")
    if engine != "mmap":
        words.append("--create_on_open=1")
    if point["op"] == "write" and point["fsync"] == "yes":
        words.append("--end_fsync=1")
    return {
        "data": inputs["data"],
        "engine": engine,
        "direct": direct,
        "request": min(requests.get(name, block), asked, _MOST_REQUEST),
        "words": words,
        "point": point,
        "size": asked,
        "times": {},
    }


def run(state):
    """One job in each folder."""
    times = {"seconds": 0.0}
    for number, folder in enumerate(folders_of(state["point"]), 1):
        times[f"f{number}_seconds"], times[f"f{number}_user_seconds"] = _job(state, folder)
        times["seconds"] += times[f"f{number}_seconds"]
    state["times"] = times


def _sizes(op, request):
    """What fio moves at once, reading and writing; its one block of memory is of the larger, and larger than a huge page."""
    room = max(request, 2 * _HUGE_PAGE)
    return f"--bs={request},{room}" if op == "read" else f"--bs={room},{request}"


def _job(state, folder):
    """The times of a job on a new file, or on one that is written before it is read."""
    point, engine = state["point"], state["engine"]
    with nameless(folder) as descriptor:
        if point["op"] == "read":
            _write(descriptor, state)
            forget(descriptor, point["cache"])
        elif engine == "mmap":
            # fio removes a file that is too short, and this one has no name to be removed by
            os.ftruncate(descriptor, state["size"])
        words = [
            *state["words"],
            _sizes(point["op"], state["request"]),
            f"--ioengine={engine}",
            f"--filename={path_of(descriptor)}",
        ]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            pass_fds=(descriptor,),
            env=os.environ | _ENVIRONMENT,
        )
    try:
        return times_of(done.stdout, point["op"], state["size"])
    except (ValueError, LookupError) as problem:
        raise SystemExit(f"fio on {folder}: {(done.stderr or done.stdout).strip()[-200:] or problem}") from None


def times_of(printed, op, size):
    """Seconds that fio took for all bytes, and seconds of the processor in user mode, which is fio's own part.

    ValueError or LookupError where it did not run to its end. What is left of the last request is not written: the rest
    of the time is added for it.
    """
    job = json.loads(printed[printed.index("{") :])["jobs"][0]
    moved = job[op]
    if job["error"] or not moved["io_bytes"]:
        raise ValueError(f"error {job['error']} after {moved['io_bytes']} bytes")
    part = size / moved["io_bytes"]
    return max(moved["runtime"], 1) * 1e-3 * part, job["usr_cpu"] / 100 * job["job_runtime"] * 1e-3 * part


def _write(descriptor, state):
    """Made as the study's own file is, since the page cache has large pages where large pieces were written.

    That is by the same requests, by a mapping, or past the page cache where reading passes it by.
    """
    size, step = state["size"], state["request"]
    with memoryview(state["data"]).cast("B") as data:
        if state["engine"] == "mmap":
            os.ftruncate(descriptor, size)
            with mmap.mmap(descriptor, size) as file:
                for at in range(0, size, step):
                    file[at : at + step] = data[at : at + step]
            return
        if state["direct"]:
            _write_direct(descriptor, data, size)
            return
        # requests below a page make pages of the smallest size, too, and would take Python long
        step = max(step, _PAGE)
        for at in range(0, size, step):
            _write_all(descriptor, data[at : at + step], at)


def _write_direct(descriptor, data, size):
    again = os.open(path_of(descriptor), os.O_RDWR | os.O_DIRECT)
    try:
        # a mapping is aligned as O_DIRECT wants it
        with mmap.mmap(-1, 1 << 20) as part:
            for at in range(0, size, len(part)):
                piece = data[at : at + len(part)]
                part[: len(piece)] = piece
                with memoryview(part)[: size - at] as aligned:
                    _write_all(again, aligned, at)
    finally:
        os.close(again)


def _write_all(descriptor, data, at):
    while data:
        done = os.pwrite(descriptor, data, at)
        data, at = data[done:], at + done


def metrics(state):
    """fio's own clock in place of ours, which has seen it start."""
    return state["times"]


def outputs(state):
    """The array itself, fio having done all without an error."""
    return {"back": state["data"]}
