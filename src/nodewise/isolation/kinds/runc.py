# SPDX-License-Identifier: BSD-3-Clause
"""runc, the reference runtime of the OCI (runc(8)): what Docker and containerd start by default."""

from __future__ import annotations

from nodewise.isolation.kind import ID, SCRATCH, Kind, Request, Start
from nodewise.isolation.oci import bundle_config


def _start(request: Request) -> Start:
    # as without root it goes on where it may make no control groups
    words = (request.runtime, "--rootless=true", "--root", f"{SCRATCH}/state", "run", "--bundle", SCRATCH, ID)
    return Start(words, scratch=True, config=bundle_config(request))


KIND = Kind("runc", "OCI container by runc", ("runc",), "runc", _start)
