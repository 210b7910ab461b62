# SPDX-License-Identifier: BSD-3-Clause
"""Which libraries at which levels: what there is, and what a point asks for."""

from __future__ import annotations

from collections.abc import Mapping

#: The levels of each library, in the order in which they get slower.
LEVELS: Mapping[str, tuple[str, ...]] = {
    "isal": ("0", "semi", "1", "2", "3"),
    "zlib": tuple(map(str, range(1, 10))),
    "zlib-ng": tuple(map(str, range(1, 10))),
    "libdeflate": tuple(map(str, range(1, 13))),
    "zstd": tuple(map(str, range(1, 20))),
    "lz4": ("1", *map(str, range(3, 13))),
}
#: What is measured where nothing is asked for.
USUAL: Mapping[str, str] = {
    "isal": "0,semi,1,2,3",
    "zlib": "1,6,9",
    "zlib-ng": "1,6,9",
    "libdeflate": "1,6,9,12",
    "zstd": "1,3,9,19",
    "lz4": "1,9",
}
#: Contenders of zlib-ng as Python's package brings it begin so.
WHEEL = "zlib-ng-wheel"
#: What is taken where none of the levels asked for exists: zlib's own default, as published.
_WITHOUT: Mapping[str, str] = {"zlib": "6"}


def knob_of(library: str) -> str:
    """The knob that holds a library's levels."""
    return f"{library}-levels"


def asked(point: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """The contenders of a point, and a line for each thing asked for that does not exist."""
    libraries = [word for word in point.get("libraries", "").split(",") if word] or list(LEVELS)
    unknown = [word for word in libraries if word not in LEVELS]
    warnings = [f"{word} is none of the libraries {', '.join(LEVELS)}: ignored" for word in unknown]
    names: list[str] = []
    for library, known in LEVELS.items():
        if library not in libraries:
            continue
        words = [word for word in point.get(knob_of(library), USUAL[library]).split(",") if word]
        wrong = [word for word in words if word not in known]
        taken = [word for word in known if word in words]
        if wrong:
            warnings.append(f"{library} has levels {known[0]} to {known[-1]}: ignored {', '.join(wrong)}")
        if not taken and library in _WITHOUT:
            taken = [_WITHOUT[library]]
            warnings.append(f"{library}: level {taken[0]} in their place")
        names += [f"{library}-{level}" for level in taken]
    return names, warnings
