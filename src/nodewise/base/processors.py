# SPDX-License-Identifier: BSD-3-Clause
"""Lists of processors as text, in the syntax that the Linux kernel uses: `0-3,8,10-14:2`."""

import re
from collections.abc import Iterable

from nodewise.base.errors import InputError
from nodewise.base.shapes import shown


def parse_processors(text: str) -> tuple[int, ...]:
    """Read `0-3,8,10-14:2` as operating-system indexes, sorted, each once.

    Raises InputError with the part that cannot be read.
    """
    found: set[int] = set()
    for part in text.strip().split(","):
        match = re.fullmatch(r"\s*([0-9]{1,7})(?:-([0-9]{1,7})(?::([0-9]{1,7}))?)?\s*", part)
        if not match and re.search(r"[0-9]{8}", part):
            raise InputError(
                f"no machine has so many processors: {shown(part)} in {shown(text)}", "processors are numbered from 0"
            )
        if not match:
            raise InputError(
                f"not a list of processors: {shown(part)} in {shown(text)}",
                "write numbers and ranges, such as 0-3,8,10-14:2",
            )
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1:
            raise InputError(f"a range of processors runs upwards: {shown(part)} in {shown(text)}")
        found.update(range(first, last + 1, step))
    return tuple(sorted(found))


def format_processors(processors: Iterable[int]) -> str:
    """Write operating-system indexes in the same syntax, with ranges: `0-3,8`."""
    runs: list[list[int]] = []
    for p in sorted(set(processors)):
        if runs and p == runs[-1][1] + 1:
            runs[-1][1] = p
        else:
            runs.append([p, p])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def processors_are(processors: Iterable[int]) -> str:
    """`processor 7 is`, `processors 3-5 are`: the beginning of a sentence about these."""
    numbers = list(processors)
    return f"processor{'s' * (len(numbers) != 1)} {format_processors(numbers)} {'is' if len(numbers) == 1 else 'are'}"
