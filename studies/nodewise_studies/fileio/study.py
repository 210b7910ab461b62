# SPDX-License-Identifier: BSD-3-Clause
"""Writing an array to files: by element, row, chunk and whole, as text and bytes, in C, Fortran, and the system's calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.studies.contract import Knob, Published, Study

from .projection import advise, report

_SHAPES = ("element", "row", "whole")
_FIO = ("write-element", "write-row", "write-whole", "direct-whole", "mmap-whole", "uring-whole", "uring-direct-whole")
_IOR = ("write-element", "write-row", "write-whole")
_HDF5 = (
    *(f"h5py-contiguous-{shape}" for shape in ("row", "whole")),
    *(f"h5py-chunked-{s}" for s in ("row", "chunk", "whole")),
)
_VARIANTS = (
    *(f"{kind}-{shape}" for kind in ("c-formatted", "c-unformatted") for shape in _SHAPES),
    *(f"fortran-{kind}-{shape}" for kind in ("formatted", "unformatted", "stream") for shape in _SHAPES),
    "charconv-formatted-whole",
    *_FIO,
    "mmap-ahead-whole",
    *(f"chunked-{shape}" for shape in ("row", "chunk", "whole")),
    *(f"fio-{name}" for name in _FIO),
    *(f"ior-{name}" for name in _IOR),
    *_HDF5,
)


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """What is read back is what was written."""
    return {"back": inputs["data"]}


def select(point: Mapping[str, str]) -> list[str]:
    """The variants that knob `variants` asks for; where arrays are large, the slow ones take long."""
    asked = point.get("variants", "all")
    text = [name for name in _VARIANTS if "-formatted-" in name]
    chosen = {
        "all": list(_VARIANTS),
        "fast": [name for name in _VARIANTS if name.endswith("-whole") and name not in text],
        "formatted": text,
        "unformatted": [name for name in _VARIANTS if name not in text],
        "chunked": [name for name in _VARIANTS if "chunked-" in name or name in _HDF5],
    }
    return [*(chosen.get(asked) or [n for n in _VARIANTS if n.endswith(f"-{asked}")]), "memory"]


STUDY = Study(
    name="fileio",
    title="file I/O: an array by element, row and whole, as text and as bytes, on every folder named",
    knobs=(
        Knob("folders", "where to write, separated by ':'; else where temporary files go", "", text=True),
        Knob("kib", "size of the array in KiB", "4096", quick="1024", most=2**30, unit=2**10),
        Knob(
            "variants",
            "which: all, by a call's size, by format, in chunks, or the fast ones (bytes, whole)",
            "all",
            ("all", "fast", "element", "row", "whole", "formatted", "unformatted", "chunked"),
        ),
        Knob("row", "elements of a row", "1024", most=2**24),
        Knob("op", "what is timed", "write", ("write", "read")),
        Knob(
            "fsync",
            "whether writing ends when it is on the disk; else when the page cache has it",
            "yes",
            ("yes", "no"),
        ),
        Knob(
            "cache",
            "before reading: keep the page cache, advise it to forget the file, or drop all of it (root)",
            "advise",
            ("keep", "advise", "drop"),
        ),
        Knob(
            "block",
            "KiB of a request, of direct, mmap and uring",
            "1024",
            least=4,
            most=2**20,
            tries=("128", "4096"),
            unit=2**10,
        ),
        Knob(
            "memory",
            "what requests move: the array, or one block again and again as fio does (of write, direct, mmap, uring)",
            "array",
            ("array", "block"),
        ),
        Knob("chunk", "rows and columns of a chunk, of chunked and h5py", "128", most=2**20, tries=("32", "512")),
        Knob("depth", "requests under way, of uring", "8", most=4096, tries=("2", "32")),
    ),
    default_variant="c-unformatted-whole",
    plain_variant="c-formatted-element",
    rate_unit="MB/s",
    rate_scale=1e-6,
    test_points=(
        {"kib": "1"},
        {"kib": "1", "row": "3", "fsync": "no", "cache": "keep"},
        {"kib": "33", "row": "37", "block": "8", "depth": "2", "chunk": "8"},
        {"kib": "37", "row": "100000", "op": "read", "block": "4", "depth": "3", "chunk": "1"},
        {"kib": "64", "row": "1", "block": "12", "folders": "/tmp:/tmp"},
        {"kib": "300", "row": "501", "block": "64", "chunk": "100"},
        # more than is checked at a time
        {"kib": "1100", "variants": "fast", "row": "501", "block": "64", "chunk": "100"},
    ),
    reference=reference,
    published=(
        Published("", "formatted, element by element, 1 MB", "0.17 MB/s", "a scratch disk of a cluster"),
        Published("", "formatted, whole array, 1 MB", "0.73 MB/s", "a scratch disk of a cluster"),
        Published("", "unformatted, element by element, 1 MB", "0.65 MB/s", "a scratch disk of a cluster"),
        Published(
            "", "unformatted, whole array, 1 MB", "15.56 MB/s, 91.5 x the slowest", "a scratch disk of a cluster"
        ),
        Published(
            "", "unformatted, whole array, 1 GB", "0.2 to 282 MB/s", "17 filesystems of 4 machines (5 + 4 + 4 + 4)"
        ),
        Published(
            "",
            "the two worst ways, mean rates 0.9 and 0.2 MB/s, projected",
            "1 MB 1.1 and 5.0 s, 1 GB 18.5 and 83.3 min, 10 GB 3.1 and 13.9 h",
            "the same 17 filesystems",
        ),
    ),
    bench=({}, {"kib": "262144", "variants": "fast"}),
    select=select,
    report=report,
    advise=advise,
)
