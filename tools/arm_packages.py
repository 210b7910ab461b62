# SPDX-License-Identifier: BSD-3-Clause
"""Packages of the distribution for 64-bit Arm, unpacked into a folder: nothing is installed, and this system's own lists stay as they are."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path


def fetch(names: Sequence[str], into: Path) -> str:
    """Unpack packages, by the sources that this system has; why that cannot be, empty where it could.

    A folder that holds the same packages already is left as it is.
    """
    made, wanted = into / ".packages", "\n".join(names)
    if made.is_file() and made.read_text(encoding="utf-8") == wanted:
        return ""
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return "this is no Debian or Ubuntu: there is no apt-get"
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=into.parent) as folder:
        lists = Path(folder)
        for part in ("state/lists/partial", "cache/archives/partial", "download"):
            (lists / part).mkdir(parents=True)
        (lists / "status").touch()
        options = {
            "APT::Architecture": "arm64",
            "APT::Architectures": "arm64",
            "Dir::State": lists / "state",
            "Dir::State::status": lists / "status",
            "Dir::Cache": lists / "cache",
            "APT::Sandbox::User": "",
        }
        apt = ["apt-get", "-qq", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
        for command in ([*apt, "update"], [*apt, "download", *names]):
            done = subprocess.run(command, cwd=lists / "download", capture_output=True, text=True, check=False)
            if done.returncode != 0:
                return f"the distribution's sources do not give {', '.join(names)} for Arm: {done.stderr.strip()}"
        for package in (lists / "download").glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, into], check=True)
    made.write_text(wanted, encoding="utf-8")
    return ""
