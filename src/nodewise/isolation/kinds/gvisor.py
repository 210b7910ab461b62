# SPDX-License-Identifier: BSD-3-Clause
"""gVisor (runsc): a kernel in user space between the program and the system's (gvisor.dev/docs/user_guide/platforms)."""

from __future__ import annotations

from nodewise.isolation.kind import ID, SCRATCH, Kind, Request, Start, Way
from nodewise.isolation.oci import bundle_config


def _start(request: Request) -> Start:
    words = (
        *(request.runtime, "--ignore-cgroups", f"--platform={request.way}"),
        *(f"--network={'host' if request.network else 'none'}", "--root", f"{SCRATCH}/state"),
        *("run", "--bundle", SCRATCH, ID),
    )
    config = bundle_config(request)
    # its root is one file system to it, so that read-only would hold for volumes, too; ours is read-only by itself
    config["root"] = {**config["root"], "readonly": False}
    # it has no such file system
    config["mounts"] = [one for one in config["mounts"] if one["type"] != "mqueue"]
    return Start(words, scratch=True, config=config)


#: systrap has been the usual platform since 2023; kvm is only tried where it is asked for, since it may never end.
_WAYS = (Way("systrap"), Way("ptrace"), Way("kvm"))

KIND = Kind("gvisor", "gVisor", ("runsc",), "runsc", _start, _WAYS)
