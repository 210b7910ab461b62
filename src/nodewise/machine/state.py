# SPDX-License-Identifier: BSD-3-Clause
"""What the Linux system says of itself: processor, clocks, huge pages, and what this process may use."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.processors import parse_processors
from nodewise.machine.model import Limits, Processor

#: cgroup v1 writes "no limit" as the largest multiple of a page that fits in 63 bits.
_V1_NO_LIMIT = 1 << 60


@dataclass(frozen=True)
class System:
    """The system below `root`; `affinity` is this process's own unless given."""

    root: Path = Path("/")
    affinity: tuple[int, ...] | None = None

    def _read(self, path: str) -> str | None:
        try:
            return (self.root / path.lstrip("/")).read_text().strip()
        except OSError:
            return None

    def _number(self, path: str) -> float | None:
        text = self._read(path)
        try:
            return float(text) if text else None
        except ValueError:
            return None

    def processor(self) -> Processor:
        """Model and vendor, and clock, governor and driver where the kernel shows them (None where it does not)."""
        info = self._read("/proc/cpuinfo") or ""

        def field(*names: str) -> str:
            for name in names:
                match = re.search(rf"^{name}\s*:\s*(.+)$", info, re.MULTILINE)
                if match:
                    return match[1].strip()
            return ""

        clock = "/sys/devices/system/cpu/cpu0/cpufreq"
        now, most = self._number(f"{clock}/scaling_cur_freq"), self._number(f"{clock}/cpuinfo_max_freq")
        return Processor(
            model=field("model name", "Model", "cpu model"),
            vendor=field("vendor_id", "CPU implementer"),
            frequency_hz=now * 1e3 if now else None,
            max_frequency_hz=most * 1e3 if most else None,
            governor=self._read(f"{clock}/scaling_governor") or None,
            driver=self._read(f"{clock}/scaling_driver") or None,
        )

    def transparent_huge_pages(self) -> str | None:
        """`always`, `madvise` or `never`; None where the kernel has none."""
        match = re.search(r"\[(\w+)\]", self._read("/sys/kernel/mm/transparent_hugepage/enabled") or "")
        return match[1] if match else None

    def hypervisor(self) -> str | None:
        """The hypervisor's name, `unknown` where only its presence shows, None on bare metal."""
        flags = re.search(r"^flags\s*:(.*)$", self._read("/proc/cpuinfo") or "", re.MULTILINE)
        if not flags or "hypervisor" not in flags[1].split():
            return None
        product = self._read("/sys/class/dmi/id/sys_vendor") or self._read("/sys/hypervisor/type")
        return product or "unknown"

    def limits(self, online: Iterable[int]) -> Limits:
        """What this process may use of the processors `online`: its affinity, cpusets, quota and memory limit."""
        affinity = self.affinity if self.affinity is not None else tuple(os.sched_getaffinity(0))
        allowed = set(online) & set(affinity)
        quotas: list[float] = []
        memory: list[int] = []
        for group in self._groups():
            for name in ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"):
                try:
                    text = self._read(f"{group}/{name}")
                    allowed &= set(parse_processors(text)) if text else allowed
                except InputError:
                    continue
            quotas += self._quota(group)
            memory += self._memory(group)
        return Limits(
            tuple(sorted(allowed)),
            min(quotas) if quotas else None,
            min(memory) if memory else None,
        )

    def _quota(self, group: str) -> list[float]:
        words = (self._read(f"{group}/cpu.max") or "").split()
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
            return [int(words[0]) / int(words[1])]
        quota, period = self._number(f"{group}/cpu.cfs_quota_us"), self._number(f"{group}/cpu.cfs_period_us")
        return [quota / period] if quota and period and quota > 0 else []

    def _memory(self, group: str) -> list[int]:
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = self._read(f"{group}/{name}") or ""
            if text.isdigit() and int(text) < _V1_NO_LIMIT:
                return [int(text)]
        return []

    def _groups(self) -> list[str]:
        """Directories of the control groups that this process is in, and of all above them: each can narrow."""
        found: list[str] = []
        for line in (self._read("/proc/self/cgroup") or "").splitlines():
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if controllers.startswith("name="):
                continue
            mounts = [f"/sys/fs/cgroup/{controllers}", *(f"/sys/fs/cgroup/{c}" for c in controllers.split(","))]
            if not controllers:
                mounts = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
            parts = [p for p in path.split("/") if p and p != ".."]
            for mount in dict.fromkeys(mounts):
                found += ["/".join([mount, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
        return list(dict.fromkeys(found))
