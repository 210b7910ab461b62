# SPDX-License-Identifier: BSD-3-Clause
"""The bundle of an OCI runtime: config.json of the OCI runtime specification, version 1.0.2, around this system's own files."""

from __future__ import annotations

import os
from typing import Any

from nodewise.isolation.kind import KERNEL_PLACES, Request

_VERSION = "1.0.2"
#: What Docker gives the root of a container by default: without these root may not read what other users own.
_CAPABILITIES = tuple(
    f"CAP_{name}"
    for name in (
        *("CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP"),
        *("SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE"),
    )
)
_NAMESPACES = ("pid", "ipc", "uts", "mount")
#: The host's own files but for these, which are the container's.
_MOUNTS = (
    {"destination": "/proc", "type": "proc", "source": "proc"},
    {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "strictatime", "mode=755"]},
    {
        "destination": "/dev/pts",
        "type": "devpts",
        "source": "devpts",
        "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"],
    },
    {"destination": "/dev/shm", "type": "tmpfs", "source": "shm", "options": ["nosuid", "nodev", "mode=1777"]},
    {"destination": "/dev/mqueue", "type": "mqueue", "source": "mqueue", "options": ["nosuid", "noexec", "nodev"]},
)


def bundle_config(request: Request) -> dict[str, Any]:
    """config.json without the program's words, variables and directory, which nodewise-isolate adds.

    The root is `rootfs` next to it. Nobody but root of this system or of a user namespace is inside.
    """
    every = {name: list(_CAPABILITIES) for name in ("bounding", "effective", "permitted")}
    namespaces = [*_NAMESPACES, *([] if request.network else ["network"])]
    return {
        "ociVersion": _VERSION,
        "process": {
            "terminal": False,
            "user": {"uid": 0, "gid": 0},
            "noNewPrivileges": True,
            "capabilities": every,
        },
        "root": {"path": "rootfs", "readonly": True},
        "hostname": os.uname().nodename,
        "mounts": [dict(mount) for mount in _MOUNTS],
        "linux": {
            "namespaces": [{"type": name} for name in namespaces],
            "readonlyPaths": list(KERNEL_PLACES),
        },
    }
