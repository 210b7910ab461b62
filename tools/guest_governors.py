# SPDX-License-Identifier: BSD-3-Clause
"""Boot a guest whose processors have frequencies, and prove in it that a changed governor is put back, also after `kill -9`.

    ./dev guest --governors [--kills N]

An ACPI table (tests/guest/pss.asl) gives two emulated processors four performance states, which the kernel's own acpi-cpufreq drives: real governors and a
real table of transitions, where this machine may have none. What runs in it is tests/guest/governors.sh, with busybox alone. Times in it mean nothing.
"""

from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import guest

from nodewise.base.native import native_path

MODULES = (
    "acpi-cpufreq", "cpufreq_ondemand", "cpufreq_powersave", "cpufreq_conservative", "cpufreq_userspace",
)  # fmt: skip
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs tmp /tmp
/bin/busybox --install -s /bin
export PATH=/bin
exec </dev/console >/dev/console 2>&1
for module in {modules}; do insmod /modules/$module.ko; done
echo "nodewise-guest: up"
sh /governors.sh {kills}
echo "nodewise-guest: exit $?"
poweroff -f
"""


def _modules() -> dict[str, Path]:
    """The kernel's modules that are needed, in the order in which they are loaded."""
    found = {p.name.partition(".")[0]: p for p in guest.FOLDER.glob("kernel/lib/modules/*/kernel/**/*.ko")}
    depends = {
        match[1]: re.findall(r"([^/\s]+)\.ko", match[2])
        for path in guest.FOLDER.glob("kernel/lib/modules/*/modules.dep")
        for match in re.finditer(r"^\S*/([^/:]+)\.ko\S*:(.*)$", path.read_text(), re.MULTILINE)
    }
    ordered: dict[str, Path] = {}
    for name in MODULES:
        for one in (*reversed(depends.get(name, [])), name):
            if one in found:
                ordered.setdefault(one, found[one])
    return ordered


def run(kills: int) -> int:
    """Build the table and the archive, and boot; the exit code of what ran, 2 where something is missing."""
    if shutil.which("iasl") is None:
        return guest.fail("iasl is missing", "on Debian or Ubuntu: apt-get install acpica-tools")
    image = guest.kernel()
    if image is None:
        return guest.fail("no kernel for the guest was found", f"put one at {guest.FOLDER}/kernel/boot/vmlinuz-VERSION")
    modules = _modules()
    if "acpi-cpufreq" not in modules:
        return guest.fail("the kernel's package has no acpi-cpufreq", f"remove {guest.FOLDER}/kernel, and try again")
    subprocess.run(
        ["iasl", "-p", str(guest.FOLDER / "pss"), str(guest.ROOT / "tests/guest/pss.asl")],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    programs = {f"/{name}": native_path(name) for name in ("nodewise-governor", "nodewise-rows")}
    files = {
        **programs,
        **{f"/modules/{name}.ko": path for name, path in modules.items()},
        **{library: Path(library) for library in guest.libraries(programs.values())},
        "/governors.sh": guest.ROOT / "tests/guest/governors.sh",
        "/bin/busybox": Path(shutil.which("busybox") or "/bin/busybox"),
    }
    init = INIT.format(modules=" ".join(modules), kills=kills)
    entries = [("/init", init.encode(), 0o100755), *((n, p.read_bytes(), 0o100755) for n, p in sorted(files.items()))]
    initrd = guest.FOLDER / "governors.gz"
    initrd.write_bytes(gzip.compress(b"".join(guest.cpio(entries)), 1))
    machine = [
        "-machine",
        "q35",
        "-accel",
        "tcg,thread=multi",
        "-cpu",
        "max,vendor=GenuineIntel",
        "-smp",
        "2",
        "-m",
        "384M",
    ]
    return guest.boot(image, initrd, [*machine, "-acpitable", f"file={guest.FOLDER / 'pss.aml'}"], False)
