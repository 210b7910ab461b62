# SPDX-License-Identifier: BSD-3-Clause
"""A guest's network: QEMU's own router in user space (slirp), which translates addresses, so that nothing of this system is set up."""

from __future__ import annotations

import ipaddress
import re
import subprocess
from functools import lru_cache
from pathlib import Path

from nodewise.base.errors import UnavailableError
from nodewise.machine.files import read_text

#: What QEMU's router gives by default (qemu-system-x86_64(1), -netdev user): this system is the gateway's address inside.
ADDRESS, MASK, GATEWAY, NAMES = "10.0.2.15", "255.255.255.0", "10.0.2.2", "10.0.2.3"
#: What a guest's kernel needs for it.
MODULES = ("virtio_net",)
_LIMIT_S = 10.0


def network_words(bus: str) -> tuple[str, ...]:
    """QEMU's words for a network on `bus` (`pci` or `device`): of version 4 alone, as programs would try the other one first, and wait."""
    # a card on PCI has a program to boot from it by default, which is in another package
    boot = ",romfile=" if bus == "pci" else ""
    return ("-netdev", "user,id=net,ipv6=off", "-device", f"virtio-net-{bus},netdev=net{boot}")


def described() -> dict[str, str]:
    """What a guest is told of it."""
    return {"address": ADDRESS, "mask": MASK, "gateway": GATEWAY, "names": name_servers()}


@lru_cache(maxsize=4)
def check_user_network(runtime: str) -> None:
    """Raises UnavailableError where this QEMU was built without its router."""
    try:
        asked = subprocess.run(
            [runtime, "-netdev", "help"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        # it will say itself what is wrong
        return
    names = re.findall(r"^[\w-]+$", asked.stdout, re.MULTILINE)
    if names and "user" not in names:
        raise UnavailableError(
            f"this QEMU ({runtime}) was built without user-mode networking: its `-netdev help` names {', '.join(names)}",
            "leave out network=host, or take one that was built with libslirp, as Debian's qemu-system-x86",
        )


def name_servers(root: Path = Path("/")) -> str:
    """A guest's /etc/resolv.conf: that of this system (below `root`), but for servers that a guest does not reach.

    One on this system itself is asked through QEMU, as is one where none is named; those of version 6 are left out.
    """
    lines, servers = [], []
    for line in (read_text(root / "etc/resolv.conf") or "").splitlines():
        words = line.split()
        if words[:1] != ["nameserver"]:
            lines.append(line)
        elif len(words) > 1 and (server := _reached(words[1])) and server not in servers:
            servers.append(server)
    return "".join(f"{line}\n" for line in (*lines, *(f"nameserver {one}" for one in servers or [NAMES])))


def _reached(server: str) -> str | None:
    """The address by which a guest reaches a server of names; None where it does not."""
    try:
        address = ipaddress.ip_address(server.partition("%")[0])
    except ValueError:
        return None
    if address.is_loopback or address.is_unspecified:
        return NAMES
    return server if isinstance(address, ipaddress.IPv4Address) else None
