# SPDX-License-Identifier: BSD-3-Clause
"""From an empty Debian 12 to a verdict: the wheel is installed in a root without compiler and libraries, and tunes `sha1sum`.

sudo .venv/bin/python -m tools.fresh_root build/wheels     says how long each step took; needs root and debootstrap

The empty root is made once (build/fresh/base, a minbase of debootstrap) and copied for each trial; it is not part of the time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASE = ROOT / "build/fresh/base"
#: What a step may be: the root has no Python either.
STEPS = {
    "Python from its packages": "apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv >/dev/null",
    "environment": "python3 -m venv /v",
    "nodewise from its wheel": "/v/bin/pip install -q /wheels/nodewise-*.whl",
    "verdict on sha1sum": "cd /tmp && head -c 8000000 /dev/zero >data && /v/bin/nodewise tune --budget 15s -- sha1sum data",
}
#: The time that all of it is to take, in seconds, on a machine that does nothing else.
BAR_S = 60.0
#: How this machine reaches packages, which the root does likewise.
_REACHED_BY = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/apt/apt.conf.d",
    "/etc/apt/sources.list.d",
    "/etc/ssl/certs",
)


def missing() -> str:
    """What this machine lacks for it, in words; empty where nothing is."""
    if os.geteuid() != 0:
        return "only root may change into another root"
    return "" if shutil.which("debootstrap") else "debootstrap is missing: apt-get install debootstrap"


def make_base() -> None:
    """Make the empty root where it is not there. Raises CalledProcessError."""
    if (BASE / "usr/bin/apt-get").exists():
        return
    shutil.rmtree(BASE, ignore_errors=True)
    asked = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True, check=False
    )
    mirror = next((line for line in asked.stdout.splitlines() if line.rstrip("/").endswith("debian")), "")
    BASE.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["debootstrap", "--variant=minbase", "bookworm", str(BASE), *([mirror] if mirror else [])], check=True
    )


def trial(wheels: Path, root: Path) -> dict[str, float]:
    """Seconds of each step in a new copy of the empty root. Raises CalledProcessError where one fails."""
    subprocess.run(["cp", "-a", "--reflink=auto", str(BASE), str(root)], check=True)
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"}
    environment |= {k: v for k, v in os.environ.items() if k.endswith(("_proxy", "_PROXY")) or k == "PIP_INDEX_URL"}
    for path in map(Path, _REACHED_BY):
        _copy(path, root / path.relative_to("/"))
    if certificates := os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE"):
        # not in /etc/ssl, whose files the packages there write anew
        environment["PIP_CERT"] = "/certificates.pem"
        _copy(Path(certificates), root / "certificates.pem")
    (root / "wheels").mkdir()
    for wheel in wheels.glob("nodewise-*.whl"):
        shutil.copy(wheel, root / "wheels")
    found = {}
    for step, line in STEPS.items():
        start = time.monotonic()
        # what is mounted ends with the step
        inside = f"mount -t proc proc {root}/proc && mount --rbind /sys {root}/sys && mount --rbind /dev {root}/dev && exec chroot {root} sh -ec '{line}'"
        subprocess.run(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c", inside], env=environment, check=True
        )
        found[step] = time.monotonic() - start
    assert not any((root / "usr/bin" / tool).exists() for tool in ("gcc", "cc", "g++"))
    return found


def _copy(path: Path, to: Path) -> None:
    if path.is_dir():
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(path, to, symlinks=False, ignore_dangling_symlinks=True)
    elif path.is_file():
        to.parent.mkdir(parents=True, exist_ok=True)
        to.unlink(missing_ok=True)
        shutil.copyfile(path, to)


def main() -> int:
    """Print what a trial took; 2 where it cannot be made here."""
    if why := missing():
        print(f"error: {why}", file=sys.stderr)
        return 2
    make_base()
    with tempfile.TemporaryDirectory(dir=BASE.parent) as folder:
        found = trial(Path(sys.argv[1]), Path(folder) / "root")
    for step, seconds in found.items():
        print(f"{seconds:6.1f} s  {step}")
    print(f"{sum(found.values()):6.1f} s  together, to be at most {BAR_S:g} s on a machine that does nothing else")
    return 0


if __name__ == "__main__":
    sys.exit(main())
