# SPDX-License-Identifier: BSD-3-Clause
"""Records what a snapshot of this machine reads, as JSON for `tests/nodes/recorded`: `record_root.py FILE [GLOB…]`.

`files` are texts by path, `folders` those that only have to be there, `links` what the name of a link's target says; each GLOB, below /, adds files. Read it before it is
kept: the host's name, its mounts and its command line are in it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nodewise.nodes.reading.system import MODULES
from nodewise.nodes.take import take_snapshot

_KEPT = ("/proc/", "/sys/", "/etc/os-release", "/usr/lib/os-release", "/var/lib/dpkg/status")


def record(more: Sequence[str] = ()) -> dict[str, Any]:
    """What is read here now."""
    opened: list[str] = []

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and str(arguments[0]).startswith(_KEPT):
            opened.append(str(arguments[0]))

    sys.addaudithook(heard)
    take_snapshot(Path("/"), "recorded")
    files, links = {}, {}
    added = [path for pattern in more for path in sorted(Path("/").glob(pattern)) if path.is_file()]
    for path in dict.fromkeys([*map(Path, list(opened)), *added]):
        try:
            files[str(path)[1:]] = path.read_text(errors="replace").rstrip("\n")
        except OSError:
            continue
    for driver in [*Path("/sys/class/net").glob("*/device/driver"), *Path("/sys/bus/pci/devices").glob("*/driver")]:
        links[str(driver)[1:]] = driver.resolve().name
    folders = [f"sys/module/{m}" for m in MODULES if Path("/sys/module", m).is_dir()]
    return {"files": files, "folders": folders, "links": links}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(record(sys.argv[2:]), indent=1) + "\n")
