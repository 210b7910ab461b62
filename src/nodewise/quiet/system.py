# SPDX-License-Identifier: BSD-3-Clause
"""Findings about what the system is set to: sharing of cores, memory, address layout, isolation, mitigations, services."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nodewise.base.lists import listed
from nodewise.base.processors import format_processors
from nodewise.base.units import format_bytes, format_percent
from nodewise.machine.surroundings import BUSYBODIES, CPU, STARTERS, Surroundings
from nodewise.quiet.finding import KERNEL, Finding, Severity

_SYSCTL = f"{KERNEL}/admin-guide/sysctl/kernel.html"
#: Less memory than this share of all, and the next program pages.
_SCARCE = 0.1
_MUCH_DIRTY = 1 << 30


def system_findings(s: Surroundings) -> Iterator[Finding]:
    """All of them, for one system."""
    yield _hypervisor(s)
    yield _smt(s)
    yield _aslr(s)
    yield _numa_balancing(s)
    yield _huge_pages(s)
    yield from _same_pages(s)
    yield _swap(s)
    yield from _dirty(s)
    yield _isolation(s)
    yield _mitigations(s)
    yield _timers(s)
    yield _services(s)
    yield from _autogroups(s)
    yield _counters(s)
    yield _watchdog(s)
    yield _container(s)


def _hypervisor(s: Surroundings) -> Finding:
    if s.hypervisor is None:
        return Finding("hypervisor", Severity.OK, "none: the processors are this system's own")
    return Finding(
        "hypervisor",
        Severity.NOTE,
        s.hypervisor if s.hypervisor != "unnamed" else "this is a virtual machine",
        ("proc/cpuinfo: flags: … hypervisor …", "sys/class/dmi/id/sys_vendor, sys/hypervisor/type"),
        "caches, memory bandwidth, clock and often the cores themselves are shared with neighbours that cannot be seen; "
        "only stolen time shows, and not all of it",
        "for differences below some percent use a whole machine, or dedicated cores",
    )


def _smt(s: Surroundings) -> Finding:
    file = f"{CPU}/smt/control"
    if s.smt is None or (s.hypervisor and not s.siblings):
        why = (
            "the hypervisor does not say which processors share a core"
            if s.hypervisor
            else "the kernel does not show it"
        )
        return Finding(
            "hardware threads",
            Severity.UNKNOWN,
            f"not shown: {why}",
            (f"{file}: {s.smt or 'not there'}",),
            "if two processors share a core, work on one slows the other",
        )
    evidence = (f"{file}: {s.smt}",)
    if not s.siblings:
        return Finding("hardware threads", Severity.OK, f"one of each core may be used ({s.smt})", evidence)
    first = s.siblings[0]
    ones = format_processors(p for p in s.processors if not any(p in group[1:] for group in s.siblings))
    return Finding(
        "hardware threads",
        Severity.NOTE,
        f"{len(s.siblings)} cores have several that may be used, such as {format_processors(first)}",
        (*evidence, f"{CPU}/cpu{first[0]}/topology/thread_siblings_list: {format_processors(first)}"),
        "they share a core's units and caches: whatever runs on one slows the other, also a system's small jobs",
        f"use one of each: taskset -c {ones} …, or --allow {ones}",
    )


def _aslr(s: Surroundings) -> Finding:
    value = s.kernel.aslr
    evidence = (f"proc/sys/kernel/randomize_va_space: {'not there' if value is None else value}",)
    source = "google/benchmark docs/reducing_variance.md (turn it off); pyperf's manual, Tune the system for benchmarks (do not)"
    if value is None:
        return Finding("address layout", Severity.UNKNOWN, "not shown", evidence, source=source)
    if value == 0:
        return Finding(
            "address layout",
            Severity.NOTE,
            "the same in every run",
            evidence,
            "runs are alike because all have one layout, which may be a lucky or an unlucky one: a difference between two "
            "programs may be one of layouts",
            "sysctl kernel.randomize_va_space=2",
            "sysctl kernel.randomize_va_space=0",
            root=True,
            source=source,
        )
    return Finding(
        "address layout",
        Severity.NOTE,
        "random in every run (ASLR)",
        evidence,
        "runs differ by where memory lies. Peers disagree: Google Benchmark warns of it and shows how to turn it off, pyperf "
        "says that it must not be. Over many runs, each a process of its own, it averages out and the answer holds for "
        "more than one layout",
        "leave it on; take enough runs",
        source=source,
    )


def _numa_balancing(s: Surroundings) -> Finding:
    value, nodes = s.kernel.numa_balancing, s.memory.nodes
    evidence = (
        f"proc/sys/kernel/numa_balancing: {'not there' if value is None else value}",
        f"sys/devices/system/node: {nodes} NUMA node{'s' * (nodes != 1)}",
    )
    source = f"{_SYSCTL}#numa-balancing"
    if not value:
        return Finding(
            "NUMA balancing", Severity.OK, "off" if value == 0 else "not in this kernel", evidence, source=source
        )
    if nodes < 2:
        return Finding("NUMA balancing", Severity.OK, "on, and there is one NUMA node only", evidence, source=source)
    return Finding(
        "NUMA balancing",
        Severity.NOISY,
        f"on, over {nodes} NUMA nodes",
        evidence,
        "the kernel takes pages away for a moment to see who uses them, and moves them and threads during the run: local and "
        "remote memory come to look alike, and runs differ by what it had done when",
        "sysctl kernel.numa_balancing=0",
        f"sysctl kernel.numa_balancing={value}",
        root=True,
        source=source,
    )


def _huge_pages(s: Surroundings) -> Finding:
    mode, defrag = s.kernel.huge_pages, s.kernel.huge_page_defrag
    folder = "sys/kernel/mm/transparent_hugepage"
    evidence = (f"{folder}/enabled: {mode or 'not there'}", f"{folder}/defrag: {defrag or 'not there'}")
    source = f"{KERNEL}/admin-guide/mm/transhuge.html"
    if mode is None:
        return Finding("huge pages", Severity.OK, "this kernel makes none by itself", evidence[:1], source=source)
    if mode != "always":
        summary = "only where a program asks for them" if mode == "madvise" else mode
        return Finding("huge pages", Severity.OK, summary, evidence, source=source)
    return Finding(
        "huge pages",
        Severity.NOTE,
        "given wherever there is room",
        evidence,
        "how many a run gets depends on how broken up memory is, and khugepaged joins pages while it runs; programs are "
        "often faster so, and vary more",
        "let `nodewise tune` decide it as an axis, or: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        "echo always > /sys/kernel/mm/transparent_hugepage/enabled",
        root=True,
        source=source,
    )


def _same_pages(s: Surroundings) -> Iterator[Finding]:
    if s.kernel.same_page_merging == 1:
        yield Finding(
            "page merging",
            Severity.NOTE,
            "on: ksmd looks for equal pages",
            ("sys/kernel/mm/ksm/run: 1",),
            "it takes processor time, and a write to a merged page costs a fault",
            "echo 0 > /sys/kernel/mm/ksm/run",
            "echo 1 > /sys/kernel/mm/ksm/run",
            root=True,
            source=f"{KERNEL}/admin-guide/mm/ksm.html",
        )


def _autogroups(s: Surroundings) -> Iterator[Finding]:
    if s.kernel.autogroups == 1 and s.kernel.autogroup is not None:
        yield Finding(
            "autogroups",
            Severity.NOTE,
            "on: each session gets an equal share of the processors, however many processes it has",
            ("proc/sys/kernel/sched_autogroup_enabled: 1", f"proc/self/autogroup: {s.kernel.autogroup}"),
            "nice and renice weigh processes of one session against each other only: a hog with nice 19 in another "
            "terminal takes as much from the program as one with 0",
            "to be served before others give the session a weight of its own: echo -20 > /proc/self/autogroup in its shell "
            "(below 0 takes root), or give a hog's session less: echo 19 > /proc/PID/autogroup",
            "echo 0 > /proc/self/autogroup",
            root=True,
            source="sched(7), The autogroup feature",
        )


def _swap(s: Surroundings) -> Finding:
    m = s.memory
    evidence = [f"proc/swaps: {', '.join(m.swaps) or 'none'}"]
    if m.swappiness is not None:
        evidence.append(f"proc/sys/vm/swappiness: {m.swappiness}")
    scarce = m.available is not None and m.total > 0 and m.available < _SCARCE * m.total
    if m.available is not None:
        evidence.append(f"proc/meminfo: MemAvailable {format_bytes(m.available)} of {format_bytes(m.total)}")
    effect = "a page that was moved out costs a read from disk when it is touched: thousands of times what memory costs"
    off, on = f"swapoff {' '.join(m.swaps)}", f"swapon {' '.join(m.swaps)}"
    if scarce:
        return Finding(
            "memory",
            Severity.NOISY,
            f"only {format_bytes(m.available or 0)} of {format_bytes(m.total)} can be had without paging",
            tuple(evidence),
            effect if m.swaps else "programs' own files are dropped from memory and read again",
            "end what fills it: ps -eo rss,pid,comm --sort -rss | head",
        )
    if m.swap_used > 0.01 * m.total:
        return Finding(
            "memory",
            Severity.NOTE,
            f"{format_bytes(m.swap_used)} lie in swap",
            tuple(evidence),
            effect,
            off,
            on,
            root=True,
            source=f"{KERNEL}/admin-guide/sysctl/vm.html#swappiness",
        )
    summary = "enough, and no swap" if not m.swaps else "enough, and the swap is hardly used"
    return Finding("memory", Severity.OK, summary, tuple(evidence))


def _dirty(s: Surroundings) -> Iterator[Finding]:
    if s.memory.dirty > _MUCH_DIRTY:
        yield Finding(
            "writing back",
            Severity.NOTE,
            f"{format_bytes(s.memory.dirty)} wait to be written to disk",
            (f"proc/meminfo: Dirty and Writeback {format_bytes(s.memory.dirty)}",),
            "the kernel writes them while runs go on, which takes processor time and bandwidth of disk and memory",
            "sync, before measuring",
        )


def _to_keep_free(online: Sequence[int]) -> str:
    """What to boot with: two processors are left to the system, of two one, and of one nothing can be kept."""
    free = online[2:] or online[1:]
    if not free:
        return "measure on a machine with more processors: of one none can be kept free"
    those, which = format_processors(free), f"processor{'s' * (len(free) > 1)}"
    return f"on a machine for measuring boot with, for {which} {those}: isolcpus=managed_irq,domain,{those} nohz_full={those} rcu_nocbs={those}"


def _isolation(s: Surroundings) -> Finding:
    k = s.kernel
    evidence = (
        f"{CPU}/isolated: {format_processors(k.isolated) or 'none'}",
        f"{CPU}/nohz_full: {format_processors(k.tickless) or 'none'}",
    )
    source = f"{KERNEL}/timers/no_hz.html; {KERNEL}/admin-guide/kernel-parameters.html (isolcpus, nohz_full, rcu_nocbs)"
    quiet = set(k.isolated) | set(k.tickless)
    if not quiet:
        return Finding(
            "isolation",
            Severity.NOTE,
            "no processor is kept free of the system's own work",
            evidence,
            "the tick, the kernel's threads and every other process may come to any processor; `lost time` says what that costs",
            _to_keep_free(s.online),
            "remove them from the kernel's command line" if len(s.online) > 1 else "",
            root=True,
            source=source,
        )
    inside = sorted(quiet & set(s.processors))
    outside = sorted(set(s.processors) - quiet)
    if outside:
        return Finding(
            "isolation",
            Severity.NOTE,
            f"processors {format_processors(quiet)} are kept free, and others may be used too",
            evidence,
            "threads that are not bound stay off isolated processors, since the scheduler puts none there: the machine looks "
            "smaller than it is, and the rest is where all of the system's work goes",
            f"measure on the quiet ones, bound: taskset -c {format_processors(inside or quiet)} …",
            source=source,
        )
    return Finding(
        "isolation", Severity.OK, f"all of {format_processors(inside)} are kept free", evidence, source=source
    )


def _mitigations(s: Surroundings) -> Finding:
    m = s.kernel.mitigations
    source = f"{KERNEL}/admin-guide/hw-vuln/index.html"
    if not m:
        return Finding(
            "mitigations", Severity.UNKNOWN, "not shown", (f"{CPU}/vulnerabilities: not there",), source=source
        )
    active = [name for name, text in m.items() if text.startswith("Mitigation")]
    off = "mitigations=off" in s.kernel.command_line
    evidence = tuple(f"{CPU}/vulnerabilities/{name}: {m[name]}" for name in active)
    if off:
        return Finding(
            "mitigations",
            Severity.NOTE,
            "switched off",
            ("proc/cmdline: … mitigations=off …",),
            "system calls and switches are faster here than on a machine with them: what is measured does not carry over",
            source=source,
        )
    return Finding(
        "mitigations",
        Severity.OK,
        f"{len(active)} active, the same in every run",
        evidence,
        "they make system calls and switches between processes slower, not less steady",
        source=source,
    )


def _timers(s: Surroundings) -> Finding:
    starters = [name for name in STARTERS if name in s.running]
    timers = s.timers if s.systemd else ()
    evidence = tuple(f"proc/{s.running[name]}/comm: {name}" for name in starters)
    if timers:
        evidence += (f"timers.target.wants: {', '.join(timers)}",)
    if not starters and not timers:
        return Finding("timed jobs", Severity.OK, "neither cron nor systemd's timers run here", evidence)
    named = [*starters, *(f"{len(timers)} timer{'s' * (len(timers) != 1)} of systemd" for _ in range(bool(timers)))]
    effect = "jobs begin when they are due, whatever runs then; updates and indexing take minutes of processor and disk"
    heavy = [
        t
        for t in timers
        if t.startswith(("apt-", "dnf-", "man-db", "plocate", "mlocate", "updatedb", "fstrim", "e2scrub"))
    ]
    units = " ".join([*heavy, *(f"{name}.service" for name in starters)])
    return Finding(
        "timed jobs",
        Severity.NOTE,
        f"{listed(named)} may start some",
        evidence,
        effect,
        f"systemctl stop {units}" if units and s.systemd else "stop them while you measure",
        f"systemctl start {units}" if units and s.systemd else "",
        root=True,
    )


def _services(s: Surroundings) -> Finding:
    found = {name: pid for name, pid in s.running.items() if name in BUSYBODIES}
    if not found:
        return Finding("background services", Severity.OK, "none that is known to begin to work by itself")
    return Finding(
        "background services",
        Severity.NOTE,
        ", ".join(f"{name} {BUSYBODIES[name]}" for name in found),
        tuple(f"proc/{pid}/comm: {name}" for name, pid in found.items()),
        "they sleep mostly, and now and then take a processor, the disk or memory for a while",
        "stop them while you measure, or hold them to a processor that you do not measure on: taskset -cp 0 "
        + str(next(iter(found.values()))),
        root=True,
    )


def _counters(s: Surroundings) -> Finding:
    value = s.kernel.perf_paranoid
    evidence: tuple[str, ...] = (f"proc/sys/kernel/perf_event_paranoid: {'not there' if value is None else value}",)
    source = f"{_SYSCTL}#perf-event-paranoid"
    if value is None:
        return Finding(
            "counters", Severity.UNKNOWN, "this kernel has no perf events, or hides them", evidence, source=source
        )
    if s.kernel.counters is False:
        evidence += ("sys/bus/event_source/devices: none of a processor",)
        why = (
            "a virtual machine is often given none" if s.hypervisor else "the kernel has no driver for this processor's"
        )
        summary = f"this machine shows no counters of its processors: {why}"
        return Finding("counters", Severity.UNKNOWN, summary, evidence, source=source)
    if value <= 2:
        return Finding("counters", Severity.OK, "may be read for one's own programs", evidence, source=source)
    return Finding(
        "counters",
        Severity.NOTE,
        "may be read by root only",
        evidence,
        "runs vary no more for it, but cycles, instructions and migrations, which show why they do, are missing",
        "sysctl kernel.perf_event_paranoid=2",
        f"sysctl kernel.perf_event_paranoid={value}",
        root=True,
        source=source,
    )


def _watchdog(s: Surroundings) -> Finding:
    value = s.kernel.nmi_watchdog
    evidence = (f"proc/sys/kernel/nmi_watchdog: {'not there' if value is None else value}",)
    source = f"{_SYSCTL}#nmi-watchdog"
    if not value:
        return Finding("watchdog", Severity.OK, "no periodic interrupt of it", evidence, source=source)
    return Finding(
        "watchdog",
        Severity.NOTE,
        "on: it interrupts each processor every some seconds, and takes one of its counters",
        evidence,
        "a few microseconds each time; counters must take turns, so that their values are estimates",
        "sysctl kernel.nmi_watchdog=0",
        "sysctl kernel.nmi_watchdog=1",
        root=True,
        source=source,
    )


def _container(s: Surroundings) -> Finding:
    if s.container is None:
        return Finding("container", Severity.OK, "no sign of one")
    return Finding(
        "container",
        Severity.NOTE,
        s.container,
        (s.container_file,),
        "processes outside of it cannot be seen from here, and take the same processors; quotas may hold it back; its file "
        "system has layers",
        "run `nodewise quiet` on the host too",
    )


def quota_share(s: Surroundings) -> str:
    """The cgroup's quota against what may be used, in words."""
    quota = s.limits.cpu_quota or 0.0
    return f"{quota:g} of {len(s.processors)} processors' time ({format_percent(quota / max(1, len(s.processors)))})"
