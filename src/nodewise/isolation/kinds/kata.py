# SPDX-License-Identifier: BSD-3-Clause
"""Kata Containers: an OCI runtime whose containers are virtual machines of their own (katacontainers.io)."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import suppress

from nodewise.isolation.kind import ID, SCRATCH, Kind, Request, Start, search_path
from nodewise.isolation.oci import bundle_config
from nodewise.isolation.qemu import no_kvm


def _start(request: Request) -> Start:
    words = (request.runtime, "--root", f"{SCRATCH}/state", "run", "--bundle", SCRATCH, ID)
    return Start(words, scratch=True, config=bundle_config(request))


def _missing() -> str | None:
    """Without the processor's virtualisation none works, and since 2.0 one is started by containerd's shim alone (its CLI has no `run`)."""
    found = shutil.which("kata-runtime", path=search_path())
    said = ""
    if found is not None:
        with suppress(OSError, subprocess.TimeoutExpired):
            said = subprocess.run(
                [found, "--version"], capture_output=True, text=True, errors="replace", check=False, timeout=_LIMIT_S
            ).stdout
    version = re.match(r"kata-runtime\s*:\s*(\d+)(\.[\w.+-]*)?", said)
    if version and int(version[1]) >= _BY_SHIM:
        return f"kata-runtime {version[1]}{version[2] or ''} starts no container by itself: from 2.0 on containerd does that, by its shim"
    return no_kvm()


_LIMIT_S = 10.0
_BY_SHIM = 2

# no package of Debian brings it
KIND = Kind("kata", "Kata Containers", ("kata-runtime",), "", _start, missing=_missing, guest=True)
