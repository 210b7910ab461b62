# SPDX-License-Identifier: BSD-3-Clause
"""HDF5 by h5py: the array as a dataset of rows, in one piece or in chunks, written by row, by chunk and whole.

What is timed is what the study's own variants are timed for: opening, writing and closing, with fsync where it is asked for;
or opening, reading and closing. A last row that is shorter is filled up in the file. The file has no name; HDF5 wants one
and is given an open file of Python's in its place, whose calls cost it little compared with its own.
"""

import os
import time
from pathlib import Path

from nodewise.studies.peers import absent

from ..files import forget, nameless, path_of
from ..projection import folders_of

#: How large the pieces are that a call writes, by the layout.
_LAYOUTS = {"contiguous": ("row", "whole"), "chunked": ("row", "chunk", "whole")}

#: What HDF5 has besides, in bytes.
_SPARE = 2**20


def contenders():
    """Each layout with each piece, or why there is none."""
    missing = absent("h5py")
    return {f"h5py-{layout}-{piece}": missing for layout, pieces in _LAYOUTS.items() for piece in pieces}


def prepare(inputs, point, threads):
    """The array as whole rows and what is left of the last; the array that is read back."""
    import numpy as np

    _, layout, piece = point["contender"].split("-")
    data = inputs["data"]
    row = min(int(point["row"]), data.size)
    rows = -(-data.size // row)
    side = int(point["chunk"])
    chunk = (min(side, rows), min(side, row)) if layout == "chunked" else None
    shape = {"row": (1, row), "chunk": chunk, "whole": (rows, row)}[piece]
    high, wide = chunk or (rows, row)
    # chunks at the edges are whole in the file
    _has_space(folders_of(point), -(-rows // high) * high * -(-row // wide) * wide * data.itemsize)
    return {
        "data": data,
        "back": np.full(data.size, np.nan),
        "rows": (rows, row),
        "chunk": chunk,
        "piece": shape,
        "point": point,
        "times": {},
    }


def _has_space(folders, size):
    """HDF5 does not survive a disk that is full, so it is looked at first."""
    for folder in folders:
        seen = os.statvfs(folder)
        if (free := seen.f_bavail * seen.f_frsize) < size + _SPARE:
            raise SystemExit(f"{folder} has {free / 2**20:.1f} MiB free, and {(size + _SPARE) / 2**20:.1f} are needed")


def run(state):
    """Written and read back in each folder; which of them counts is knob `op`."""
    point = state["point"]
    times = {"seconds": 0.0}
    for number, folder in enumerate(folders_of(point), 1):
        write, read = _both(state, folder)
        seconds, other = (read, write) if point["op"] == "read" else (write, read)
        times[f"f{number}_seconds"], times[f"f{number}_other_seconds"] = seconds, other
        times["seconds"] += seconds
    state["times"] = times


def _both(state, folder):
    """The seconds for writing and for reading back."""
    with nameless(folder) as descriptor:
        write = _timed(lambda: _write(state, descriptor))
        forget(descriptor, state["point"]["cache"])
        state["back"].fill(float("nan"))
        return write, _timed(lambda: _read(state, descriptor))


def _timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _write(state, descriptor):
    import h5py

    with Path(path_of(descriptor)).open("r+b", buffering=0) as raw, h5py.File(raw, "w") as file:
        dataset = file.create_dataset("data", state["rows"], "f8", chunks=state["chunk"])
        for place, array, part in _pieces(state, state["data"]):
            dataset[place] = array[part]
    if state["point"]["fsync"] == "yes":
        os.fsync(descriptor)


def _read(state, descriptor):
    import h5py

    with Path(path_of(descriptor)).open("rb", buffering=0) as raw, h5py.File(raw, "r") as file:
        dataset = file["data"]
        for place, array, part in _pieces(state, state["back"]):
            dataset.read_direct(array, place, part)


def _pieces(state, array):
    """Each piece: its place in the dataset, an array of rows, and its place in that. The last row may be shorter."""
    (rows, row), (high, wide) = state["rows"], state["piece"]
    full = array.size // row
    grid, last = array[: full * row].reshape(full, row), array[full * row :].reshape(1, -1)
    for top in range(0, rows, high):
        for left in range(0, row, wide):
            bottom, right = min(top + high, full), min(left + wide, row)
            if bottom > top:
                place = (slice(top, bottom), slice(left, right))
                yield place, grid, place
            end = min(right, last.size)
            if full < min(top + high, rows) and end > left:
                yield (slice(full, rows), slice(left, end)), last, (slice(0, 1), slice(left, end))


def metrics(state):
    """The times of the last run, without what is between them."""
    return state["times"]


def outputs(state):
    """What was read back from the file."""
    return {"back": state["back"]}
