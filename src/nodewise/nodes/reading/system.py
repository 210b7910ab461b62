# SPDX-License-Identifier: BSD-3-Clause
"""The operating system, its kernel, its clock, limits of processes, and services."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping

from nodewise.base.errors import InputError
from nodewise.base.processors import format_processors, parse_processors
from nodewise.machine.files import first_match, integer, read_text
from nodewise.machine.surroundings import Surroundings
from nodewise.nodes.reading.reader import CPU, LONGEST, Reader
from nodewise.nodes.snapshot import Kernel, Limits, System, Time

#: Options of the kernel whose values say how it runs and nothing of whose machine it is (admin-guide/kernel-parameters).
SHOWN_OPTIONS = frozenset(
    [
        "nohz_full",
        "nohz",
        "rcu_nocbs",
        "rcu_nocb_poll",
        "isolcpus",
        "irqaffinity",
        "kthread_cpus",
        "housekeeping",
        "skew_tick",
        "tsc",
        "clocksource",
        "mitigations",
        "spectre_v2",
        "spec_store_bypass_disable",
        "l1tf",
        "mds",
        "tsx",
        "tsx_async_abort",
        "retbleed",
        "pti",
        "nopti",
        "nosmt",
        "maxcpus",
        "nr_cpus",
        "possible_cpus",
        "mem",
        "hugepages",
        "hugepagesz",
        "default_hugepagesz",
        "transparent_hugepage",
        "numa",
        "numa_balancing",
        "intel_pstate",
        "amd_pstate",
        "intel_idle.max_cstate",
        "processor.max_cstate",
        "idle",
        "cpufreq.default_governor",
        "cpuidle.off",
        "intel_iommu",
        "amd_iommu",
        "iommu",
        "iommu.passthrough",
        "pci",
        "pcie_aspm",
        "nmi_watchdog",
        "nowatchdog",
        "nosoftlockup",
        "watchdog",
        "audit",
        "selinux",
        "apparmor",
        "security",
        "lsm",
        "cgroup_disable",
        "systemd.unified_cgroup_hierarchy",
        "cgroup_no_v1",
        "quiet",
        "ro",
        "rw",
        "preempt",
        "threadirqs",
        "nox2apic",
        "x2apic_phys",
        "crashkernel",
        "panic",
        "init_on_alloc",
        "init_on_free",
        "page_alloc.shuffle",
        "random.trust_cpu",
        "slab_nomerge",
        "split_lock_detect",
        "kvm.nx_huge_pages",
        "kvm-intel.nested",
        "mce",
        "efi",
        "noapic",
        "acpi",
        "elevator",
        "scsi_mod.use_blk_mq",
    ]
)
_PLAIN_VALUE = re.compile(r"[\w.,:+=@%-]{0,120}")
#: Modules whose version, or presence, bears on what a node can do.
MODULES = [
    "lustre",
    "lnet",
    "ko2iblnd",
    "mlx4_core",
    "mlx5_core",
    "mlx5_ib",
    "ib_core",
    "ib_uverbs",
    "ib_ipoib",
    "rdma_cm",
    "hfi1",
    "opa_vnic",
    "irdma",
    "efa",
    "bnxt_re",
    "nvidia",
    "nvidia_uvm",
    "nvidia_peermem",
    "nvidia_drm",
    "gdrdrv",
    "amdgpu",
    "amdkfd",
    "i915",
    "xe",
    "xpmem",
    "knem",
    "kvm",
    "gpfs",
    "mmfs26",
    "beegfs",
    "nfs",
    "ceph",
    "zfs",
    "nvme",
    "ice",
    "i40e",
    "ixgbe",
    "bnxt_en",
    "ena",
    "virtio_net",
    "edac_core",
    "skx_edac",
    "i10nm_edac",
    "amd64_edac",
    "msr",
    "acpi_cpufreq",
    "cpufreq_stats",
]
#: Services that a node of a cluster lives by, by the name of their process (which keeps 15 letters).
SERVICES = [
    "sshd",
    "munged",
    "slurmd",
    "slurmstepd",
    "pbs_mom",
    "sge_execd",
    "chronyd",
    "ntpd",
    "systemd-timesyn",
    "ptp4l",
    "phc2sys",
    "rsyslogd",
    "systemd-journal",
    "crond",
    "cron",
    "irqbalance",
    "tuned",
    "nscd",
    "sssd",
    "nslcd",
    "automount",
    "rpcbind",
    "mmfsd",
    "opafm",
    "opensm",
    "ibacm",
    "dcgm",
    "nvidia-persiste",
    "rasdaemon",
    "mcelog",
    "edac-daemon",
    "nrpe",
    "telegraf",
    "node_exporter",
    "collectd",
    "ipmievd",
    "smartd",
    "multipathd",
    "firewalld",
    "containerd",
    "dockerd",
    "kubelet",
]
_UNSYNCHRONISED, _NANOSECONDS = 0x0040, 0x2000


class _Timex(ctypes.Structure):
    """struct timex of adjtimex(2), as glibc and musl have it."""

    _fields_ = [
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_char * 256),
    ]


def read_system(r: Reader, s: Surroundings) -> System:
    """Names and versions, how long it has been up, and how much runs."""
    release: dict[str, str] = {}
    text, reason = r.raw("etc/os-release")
    if text is None:
        text, reason = r.raw("usr/lib/os-release")
    for line in (text or "").splitlines():
        name, _, value = line.partition("=")
        release[name.strip()] = value.strip().strip("\"'")[:LONGEST]
    for fact, key in (("name", "ID"), ("version", "VERSION_ID")):
        if not release.get(key):
            r.lack(f"system.{fact}", reason or f"etc/os-release: no {key}")
    for fact, shown in (("hypervisor", s.hypervisor), ("container", s.container)):
        if shown is None:
            r.lack(f"system.{fact}", "nothing shows one")
    load = r.match("system.load", "proc/loadavg", r"^([\d.]+) ")
    uptime = r.match("system.uptime_s", "proc/uptime", r"^([\d.]+)")
    return System(
        name=release.get("ID") or None,
        version=release.get("VERSION_ID") or None,
        kernel=r.text("system.kernel", "proc/sys/kernel/osrelease"),
        build=r.text("system.build", "proc/sys/kernel/version"),
        architecture=os.uname().machine if r.live else r.text("system.architecture", "proc/sys/kernel/arch"),
        hypervisor=s.hypervisor,
        container=s.container,
        cgroup_version=_cgroup_version(r),
        tainted=r.number("system.tainted", "proc/sys/kernel/tainted"),
        uptime_s=float(uptime) if uptime else None,
        load=float(load) if load else None,
        processes=_processes(r),
    )


def _processes(r: Reader) -> int | None:
    found = r.match("system.processes", "proc/loadavg", r"^\S+ \S+ \S+ \d+/(\d+)")
    number = integer(found)
    if found and number is None:
        r.lack("system.processes", "proc/loadavg: no number")
    return number


def _cgroup_version(r: Reader) -> int | None:
    """2 where only the second version has controllers, 1 where the first has any (also beside the second)."""
    text, reason = r.raw("proc/self/cgroup")
    if text is None:
        r.lack("system.cgroup_version", reason)
        return None
    groups = [line.split(":")[1] for line in text.splitlines() if line.count(":") >= 2]
    if not groups:
        r.lack("system.cgroup_version", "proc/self/cgroup: no group")
        return None
    return 1 if any(g and not g.startswith("name=") for g in groups) else 2


def read_options(text: str) -> dict[str, str | None]:
    """The kernel's command line by name, in its order; values of options that may say whose machine it is are None.

    An option that is given several times has its values joined. What follows `--` is init's.
    """
    found: dict[str, str | None] = {}
    for word in text.split(" -- ", maxsplit=1)[0].split()[:200]:
        name, equals, value = word.partition("=")
        # an address is nobody's option
        if not re.fullmatch(r"[A-Za-z_][\w.-]{0,59}", name, re.ASCII):
            continue
        kept = value if name in SHOWN_OPTIONS and _PLAIN_VALUE.fullmatch(value) else None
        if not equals:
            kept = ""
        before = found.get(name)
        found[name] = f"{before} {kept}" if before and kept else kept
    return found


def read_kernel(r: Reader, s: Surroundings) -> Kernel:
    """Its options, the processors that it leaves alone, mitigations, switches and modules."""
    text, reason = r.raw("proc/cmdline")
    if text is None:
        r.lack("kernel.options", reason)
    options = None if text is None else read_options(text)
    k = s.kernel
    for fact, value in (("aslr", k.aslr), ("perf_paranoid", k.perf_paranoid), ("nmi_watchdog", k.nmi_watchdog)):
        if value is None:
            file = {"aslr": "randomize_va_space", "perf_paranoid": "perf_event_paranoid"}.get(fact, fact)
            r.lack(f"kernel.{fact}", f"proc/sys/kernel/{file}: not there")
    if k.autogroups is None:
        r.lack("kernel.autogroups", "proc/sys/kernel/sched_autogroup_enabled: not there")
    if not k.mitigations:
        r.lack("kernel.mitigations", f"{CPU}/vulnerabilities: not there")
    modules = None
    if r.folders("kernel.modules", "sys/module") is not None:
        modules = {m: _version(r, m) for m in MODULES if (r.root / "sys/module" / m).is_dir()}
    return Kernel(
        options=options,
        isolated=_processor_list(r, "kernel.isolated", f"{CPU}/isolated"),
        tickless=_processor_list(r, "kernel.tickless", f"{CPU}/nohz_full"),
        no_callbacks=_no_callbacks(r, options),
        mitigations={name: value[:LONGEST] for name, value in k.mitigations.items()} or None,
        aslr=k.aslr,
        perf_paranoid=k.perf_paranoid,
        nmi_watchdog=k.nmi_watchdog,
        autogroups=k.autogroups,
        modules=modules,
    )


def _version(r: Reader, module: str) -> str | None:
    text = r.raw(f"sys/module/{module}/version")[0]
    return text[:LONGEST] if text else None


def _processor_list(r: Reader, fact: str, file: str) -> str | None:
    """A file's list of processors, empty for none (which the kernel also writes as `(null)`)."""
    text, reason = r.raw(file)
    if text is None:
        r.lack(fact, reason)
    return "" if text == "(null)" else text


def _no_callbacks(r: Reader, options: Mapping[str, str | None] | None) -> str | None:
    """Processors without RCU callbacks: only the command line says which; nohz_full adds its own to them (Documentation/RCU)."""
    if options is None:
        r.lack("kernel.no_callbacks", r.absent["kernel.options"])
        return None
    text = options.get("rcu_nocbs", "")
    if text in (None, "all"):
        return text or ""
    try:
        return format_processors(parse_processors(text)) if text else ""
    except InputError:
        return text


def read_time(r: Reader, s: Surroundings) -> Time:
    """Clock source, and the state of the kernel's clock discipline, which only the running system has."""
    k = s.kernel
    if k.clock_source is None:
        r.lack("time.source", "sys/devices/system/clocksource/clocksource0: not there")
        r.lack("time.sources", "sys/devices/system/clocksource/clocksource0: not there")
    elif not k.clock_sources:
        r.lack("time.sources", "sys/devices/system/clocksource/clocksource0/available_clocksource: empty or not there")
    synchronised = offset = error = None
    state = _Timex()
    if not r.live:
        reason = "only the running system knows"
    elif ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(state)) < 0:
        reason = f"adjtimex: {os.strerror(ctypes.get_errno()).lower()}"
    else:
        reason = ""
        synchronised = not state.status & _UNSYNCHRONISED
        offset = state.offset * (1e-9 if state.status & _NANOSECONDS else 1e-6)
        error = state.maxerror * 1e-6
    if reason:
        for fact in ("synchronised", "offset_s", "error_s"):
            r.lack(f"time.{fact}", reason)
    return Time(k.clock_source, k.clock_sources or None if k.clock_source else None, synchronised, offset, error)


def read_limits(r: Reader, s: Surroundings) -> Limits:
    """Processors, quota and memory that are left to a process here, and its ulimits."""
    found: dict[str, tuple[int | None, int | None]] = {}
    text, reason = r.raw("proc/self/limits")
    for line in (text or "").splitlines()[1:]:
        match = re.match(r"Max (\S.*?)\s{2,}(\d{1,20}|unlimited)\s+(\d{1,20}|unlimited)", line)
        if match:
            soft, hard = (integer(v) for v in match.groups()[1:])
            found[match[1]] = (soft, hard)
    if not found:
        r.lack("limits.ulimits", reason or "proc/self/limits: does not say")
    limits = s.limits
    if limits.cpu_quota is None:
        r.lack("limits.cpu_quota", "no control group sets one")
    if limits.memory_bytes is None:
        r.lack("limits.memory", "no control group sets one")
    return Limits(format_processors(limits.processors), limits.cpu_quota, limits.memory_bytes, found or None)


def read_services(r: Reader) -> dict[str, bool] | None:
    """Which of the known services run; a name that is not there does not."""
    folders = r.folders("services", "proc", "[0-9]*")
    if folders is None:
        return None
    running = {read_text(folder / "comm") for folder in folders}
    return {name: True for name in SERVICES if name in running}


def host_name(r: Reader) -> str | None:
    """The node's name, without its domain."""
    name = first_match(r"^([^\s.]+)", r.raw("proc/sys/kernel/hostname")[0] or "")
    # what a snapshot's node may be called
    return re.sub(r"[^\w-]", "_", name[:64], flags=re.ASCII) if name else None
