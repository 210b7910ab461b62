# SPDX-License-Identifier: BSD-3-Clause
"""Boot a guest whose processors have frequencies, and prove in it that a changed governor is put back, also after `kill -9`.

    ./dev guest --governors [--kills N]
    ./dev guest --governors --record FILE

An ACPI table (tests/guest/pss.asl) gives two emulated processors four performance states, which the kernel's own acpi-cpufreq drives: real governors and a
real table of transitions, where this machine may have none. First tests/guest/governors.sh kills the processes that set a governor, with busybox alone; then
tests/guest/governors runs the study itself, and kills it N times (100). --record only keeps what a snapshot reads there, as tests/nodes/recorded/guest-frequencies.json
does. Times in it mean nothing.
"""

from __future__ import annotations

import base64
import gzip
import re
import shutil
import subprocess
import sys
from pathlib import Path

import guest

from nodewise.base.native import native_path

MODULES = (
    "acpi-cpufreq", "cpufreq_ondemand", "cpufreq_powersave", "cpufreq_conservative", "cpufreq_userspace",
)  # fmt: skip
#: Without others below it; there to be loaded and unloaded.
LOADABLE = ("dummy",)
INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /root /usr/bin /sbin
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs tmp /tmp
/bin/busybox --install -s /bin
hostname guest
mkdir -p /sys/fs/cgroup && mount -t cgroup2 cgroup /sys/fs/cgroup
export PATH={bin}:/bin HOME=/root TERM=dumb LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
export NODEWISE_GUEST=governors NODEWISE_GUEST_KILLS={kills} NODEWISE_HISTORY=off
exec </dev/console >/dev/console 2>&1
for module in {modules}; do insmod /modules/$module.ko; done
mkdir -p /lib/modules/$(uname -r)
for module in {more}; do ln -s /modules/$module.ko /lib/modules/$(uname -r)/; echo $module.ko: >> /lib/modules/$(uname -r)/modules.dep; done
echo "nodewise-guest: up"
cd {root}
{command}
echo "nodewise-guest: exit $?"
poweroff -f
"""
MACHINE = ("-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max,vendor=GenuineIntel", "-smp", "2")
_RECORDED = "nodewise-recorded: "
#: What the study of governors reads besides.
_COUNTED = "sys/devices/system/cpu/cpu[0-9]*/cpufreq/**/*"


def _modules() -> dict[str, Path]:
    """The kernel's modules that are needed, in the order in which they are loaded."""
    found = {p.name.partition(".")[0]: p for p in guest.FOLDER.glob("kernel/lib/modules/*/kernel/**/*.ko")}
    depends = {
        match[1]: re.findall(r"([^/\s]+)\.ko", match[2])
        for path in guest.FOLDER.glob("kernel/lib/modules/*/modules.dep")
        for match in re.finditer(r"^\S*/([^/:]+)\.ko\S*:(.*)$", path.read_text(), re.MULTILINE)
    }
    ordered: dict[str, Path] = {}
    for name in (*MODULES, *LOADABLE):
        for one in (*reversed(depends.get(name, [])), name):
            if one in found:
                ordered.setdefault(one, found[one])
    return ordered


def run(kills: int, record: Path | None) -> int:
    """Build the table and the archives, and boot; the exit code of what ran, 2 where something is missing."""
    if shutil.which("iasl") is None:
        return guest.fail("iasl is missing", "on Debian or Ubuntu: apt-get install acpica-tools")
    image = guest.kernel()
    if image is None:
        return guest.fail("no kernel for the guest was found", f"put one at {guest.FOLDER}/kernel/boot/vmlinuz-VERSION")
    modules = _modules()
    if "acpi-cpufreq" not in modules:
        return guest.fail("the kernel's package has no acpi-cpufreq", f"remove {guest.FOLDER}/kernel, and try again")
    table = guest.FOLDER / "pss"
    subprocess.run(
        ["iasl", "-p", str(table), str(guest.ROOT / "tests/guest/pss.asl")], check=True, stdout=subprocess.DEVNULL
    )
    loaded = {f"/modules/{name}.ko": path for name, path in modules.items()}
    machine = [*MACHINE, "-acpitable", f"file={table}.aml"]
    words = {
        "modules": " ".join(name for name in modules if name not in LOADABLE),
        "more": " ".join(LOADABLE),
        "kills": kills,
        "bin": Path(sys.executable).parent,
    }
    if record is None:
        programs = {f"/{name}": native_path(name) for name in ("nodewise-governor", "nodewise-rows")}
        small = {
            **programs,
            **loaded,
            **{library: Path(library) for library in guest.libraries(programs.values())},
            "/governors.sh": guest.ROOT / "tests/guest/governors.sh",
            "/bin/busybox": Path(shutil.which("busybox") or "/bin/busybox"),
        }
        init = INIT.format(**words, root="/", command=f"sh /governors.sh {kills}")
        code = guest.boot(image, guest.archive(small, init, "governors"), [*machine, "-m", "384M"], False)
        if code:
            return code
    tool = guest.ROOT / "tools/record_root.py"
    whole = {**guest.tree(), **loaded, str(tool): tool}
    command = f"{sys.executable} -m pytest -p no:cacheprovider -q -s tests/guest/governors"
    if record is not None:
        command = f"{sys.executable} {tool} /tmp/root.json '{_COUNTED}' && echo \"{_RECORDED}$(gzip -c /tmp/root.json | base64 -w 0)\""
    heard: list[str] = []
    init = INIT.format(**words, root=guest.ROOT, command=command)
    code = guest.boot(image, guest.archive(whole, init, "study"), [*machine, "-m", "3G"], False, heard)
    for line in heard:
        if record is not None and line.startswith(_RECORDED):
            record.write_bytes(gzip.decompress(base64.b64decode(line.removeprefix(_RECORDED))))
            guest.say(f"kept {record}; read it, and cut it short, before it stays")
    return code
