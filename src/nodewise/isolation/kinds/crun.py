# SPDX-License-Identifier: BSD-3-Clause
"""crun, a runtime of the OCI in C (crun(1)): what Podman starts by default on many systems."""

from __future__ import annotations

from nodewise.isolation.kind import ID, SCRATCH, Kind, Request, Start
from nodewise.isolation.oci import bundle_config

#: It refuses a system that has control groups of both versions, even where it is to make none; so it sees one of them.
_SECOND_VERSION = "/sys/fs/cgroup/unified"


def _start(request: Request) -> Start:
    words = (
        *(request.runtime, "--cgroup-manager=disabled", "--root", f"{SCRATCH}/state"),
        *("run", "--bundle", SCRATCH, ID),
    )
    return Start(words, scratch=True, config=bundle_config(request), hidden=(_SECOND_VERSION,))


KIND = Kind("crun", "OCI container by crun", ("crun",), "crun", _start)
