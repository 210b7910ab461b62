# SPDX-License-Identifier: BSD-3-Clause
"""Machines that hwloc's synthetic texts cannot describe, as its XML: cores of several kinds, and sockets unlike each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

#: For each socket its second-level caches, for each of those its cores: how many hardware threads, and of which kind.
Shape = Sequence[Sequence[Sequence[tuple[int, str]]]]

_FAST, _SLOW = (2, "IntelCore"), (1, "IntelAtom")
SHAPES: dict[str, Shape] = {
    "6 fast and 8 slow": [[[_FAST]] * 6 + [[_SLOW] * 4] * 2],
    "2 fast and 8 slow": [[[_FAST]] * 2 + [[_SLOW] * 4] * 2],
    "slow first": [[[_SLOW] * 4, [_FAST], [_FAST], [_SLOW] * 2]],
    "two such sockets": [[[_FAST]] * 2 + [[_SLOW] * 4]] * 2,
    "uneven sockets": [[[(2, "")] * 3, [(2, "")]], [[(2, ""), (1, "")]]],
    "uneven cores": [[[(4, ""), (1, "")], [(2, "")]], [[(1, "")] * 3, [(4, "")] * 2]],
    "a small socket between": [[[(1, "")] * 3], [[(1, "")]], [[(1, "")] * 3]],
    "one socket less": [[[(1, "")] * 2] * 3, [[(1, "")] * 2]],
}


def write_machine(path: Path, shape: Shape, numbers: Sequence[int] = (), reported: bool = True) -> Path:
    """hwloc's XML of a machine of that shape; `numbers` are the system's of its processors, in the tree's order.

    Where not `reported`, it does not say that its cores are of several kinds.
    """
    serial = count(1)
    order = iter(numbers or range(processors(shape)))
    kinds: dict[str, int] = {}
    cores = count()

    def opened(kind: str, mask: int, extra: str = "") -> str:
        sets = f'cpuset="{mask:#x}" complete_cpuset="{mask:#x}" nodeset="0x1" complete_nodeset="0x1"'
        return f'<object type="{kind}" {sets} gp_index="{next(serial)}"{extra}'

    memory = ' os_index="0" local_memory="1073741824"/>'
    whole = 0
    body = []
    for s, socket in enumerate(shape):
        inside, mask = [], 0
        for module in socket:
            parts, shared = [], 0
            for threads, kind in module:
                own = [next(order) for _ in range(threads)]
                held = sum(1 << p for p in own)
                kinds[kind] = kinds.get(kind, 0) | held
                pus = "".join(opened("PU", 1 << p, f' os_index="{p}"/>') for p in own)
                parts.append(opened("Core", held, f' os_index="{next(cores)}">') + pus + "</object>")
                shared |= held
            size = ' cache_size="2097152" depth="2" cache_linesize="64" cache_associativity="16" cache_type="0">'
            inside.append(opened("L2Cache", shared, size) + "".join(parts) + "</object>")
            mask |= shared
        # as the system's own topology has it: a NUMA node is an only socket's, or the whole machine's
        near = opened("NUMANode", mask, memory) if len(shape) == 1 else ""
        body.append(opened("Package", mask, f' os_index="{s}">') + near + "".join(inside) + "</object>")
        whole |= mask
    far = opened("NUMANode", whole, memory) if len(shape) > 1 else ""
    machine = opened("Machine", whole, f' os_index="0" allowed_cpuset="{whole:#x}" allowed_nodeset="0x1">')
    known = "".join(
        f'<cpukind cpuset="{mask:#x}" forced_efficiency="{int(kind == "IntelCore")}"><info name="CoreType" value="{kind}"/></cpukind>'
        for kind, mask in kinds.items()
        if kind and reported
    )
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n<topology version="2.0">'
    path.write_text(f"{head}{machine}{far}{''.join(body)}</object>{known}</topology>\n")
    return path


def processors(shape: Shape) -> int:
    """How many there are."""
    return sum(threads for socket in shape for module in socket for threads, _ in module)
