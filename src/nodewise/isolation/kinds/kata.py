# SPDX-License-Identifier: BSD-3-Clause
"""Kata Containers: an OCI runtime whose containers are virtual machines of their own (katacontainers.io)."""

from __future__ import annotations

from nodewise.isolation.kind import ID, SCRATCH, Kind, Request, Start
from nodewise.isolation.oci import bundle_config
from nodewise.isolation.qemu import no_kvm


def _start(request: Request) -> Start:
    words = (request.runtime, "--root", f"{SCRATCH}/state", "run", "--bundle", SCRATCH, ID)
    return Start(words, scratch=True, config=bundle_config(request))


# no package of Debian brings it
KIND = Kind("kata", "Kata Containers", ("kata-runtime",), "", _start, missing=no_kvm, guest=True)
