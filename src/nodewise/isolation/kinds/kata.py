# SPDX-License-Identifier: BSD-3-Clause
"""Kata Containers: an OCI runtime whose containers are virtual machines of their own (katacontainers.io)."""

from __future__ import annotations

import os

from nodewise.isolation.kind import SCRATCH, Kind, Request, Start
from nodewise.isolation.oci import bundle_config


def _missing() -> str | None:
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "/dev/kvm is not there or may not be used: it starts virtual machines on it"
    return None


def _start(request: Request) -> Start:
    words = (request.runtime, "--root", f"{SCRATCH}/state", "run", "--bundle", SCRATCH, "nodewise")
    return Start(words, scratch=True, config=bundle_config(request))


# no package of Debian brings it
KIND = Kind("kata", "Kata Containers", ("kata-runtime",), "", _start, missing=_missing, guest=True)
