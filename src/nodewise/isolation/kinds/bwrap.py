# SPDX-License-Identifier: BSD-3-Clause
"""bubblewrap: namespaces of an unprivileged user, without a daemon or a bundle (bwrap(1))."""

from __future__ import annotations

from nodewise.isolation.kind import CWD, KERNEL_PLACES, PROGRAM, SELF, Kind, Request, Start

#: Where nodewise-isolate is seen inside (`Room::kShared` in native/isolation/room.h).
_INSIDE = "/run/nodewise/isolate"


def _start(request: Request) -> Start:
    words = [
        request.runtime,
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/run",
    ]
    for path in KERNEL_PLACES:
        words += ["--ro-bind-try", path, path]
    for volume in request.volumes:
        words += ["--bind" if volume.writable else "--ro-bind", volume.path, volume.path]
    words += ["--ro-bind", SELF, _INSIDE, "--unshare-all", *(["--share-net"] if request.network else [])]
    return Start((*words, "--die-with-parent", "--chdir", CWD, "--", PROGRAM))


KIND = Kind("bwrap", "bubblewrap", ("bwrap",), "bubblewrap", _start)
