# SPDX-License-Identifier: BSD-3-Clause
"""Findings from watching: other load, stolen time, interrupts and ticks, quota, pressure and paging."""

from __future__ import annotations

from collections.abc import Iterator

from nodewise.base.processors import format_processors
from nodewise.base.units import format_percent, format_seconds
from nodewise.machine.surroundings import Surroundings
from nodewise.machine.watch import Busy, Watched
from nodewise.quiet.finding import KERNEL, Finding, Severity
from nodewise.quiet.system import quota_share

#: Of one processor: more is noisy; the second is worth a note.
_BUSY, _SOME = 0.05, 0.01
_STEAL, _SOME_STEAL = 0.01, 0.001
#: Interrupts by devices in a second on one processor, each of some microseconds: 1% and 0.1% of its time, roughly.
_MANY, _SOME_INTERRUPTS = 2000, 200
_NAMED = 4
_WAIT = 0.01


def load_findings(s: Surroundings, idle: Watched | None, loaded: Watched | None) -> Iterator[Finding]:
    """Of a system that was watched while nodewise did nothing (`idle`), and while it worked on its processors (`loaded`)."""
    yield _other_load(s, idle)
    yield _steal(s, loaded or idle)
    yield _interrupts(s, idle)
    yield from _balancer(s)
    yield _tick(s, loaded or idle)
    yield _quota(s, loaded or idle)
    yield _pressure(s, idle)
    yield from _paging(loaded or idle)


def _unwatched(name: str, what: str) -> Finding:
    return Finding(name, Severity.UNKNOWN, "not watched: a recorded system stands still", effect=what)


def _sentence(busy: Busy, seconds: float) -> str:
    where = format_processors(busy.processors)
    thread = ", a thread of the kernel" if busy.of_kernel else ""
    return f"{busy.name} ({busy.pid}{thread}) {format_percent(busy.cpu_s / seconds)} of a processor, on {where}"


def _other_load(s: Surroundings, w: Watched | None) -> Finding:
    effect = (
        "they take processors from the program, empty its caches, use memory bandwidth and lower the boost of all cores"
    )
    if w is None:
        return _unwatched("other load", effect)
    ours = set(s.processors)
    on_ours = w.others_s(ours) / w.seconds
    everywhere = w.others_s(w.busy_s) / w.seconds
    named = [b for b in w.busiest if b.cpu_s / w.seconds >= _SOME][:_NAMED]
    evidence = [_sentence(b, w.seconds) for b in named]
    crowded = {p: b / w.seconds for p, b in sorted(w.busy_s.items()) if p in ours and b / w.seconds >= _BUSY}
    if crowded:
        most = sorted(crowded.items(), key=lambda item: -item[1])[:8]
        evidence.append(
            "proc/stat: busy over "
            + f"{w.seconds:.1f} s: "
            + ", ".join(f"cpu{p} {format_percent(b)}" for p, b in sorted(most))
        )
    unseen = w.unseen_s(w.busy_s) / w.seconds
    hidden = unseen > max(_BUSY, 0.3 * everywhere)
    if hidden:
        evidence.append(f"{format_percent(unseen)} of a processor was used by none that can be seen from here")
    elsewhere = everywhere - on_ours
    summary = f"{format_percent(on_ours)} of a processor on the {len(ours)} that may be used"
    if elsewhere > _BUSY:
        summary += f", {format_percent(elsewhere)} elsewhere"
    worst = max([b.cpu_s / w.seconds for b in named] + [on_ours])
    if worst < _SOME:
        return Finding("other load", Severity.OK, summary, tuple(evidence))
    if named:
        summary += f"; most of it {named[0].name}"
    do, undo = _stop(named, [p for p in sorted(w.busy_s) if p not in crowded], hidden)
    return Finding(
        "other load", Severity.NOISY if worst >= _BUSY else Severity.NOTE, summary, tuple(evidence), effect, do, undo
    )


def _stop(named: list[Busy], free: list[int], hidden: bool) -> tuple[str, str]:
    """What to do about other processes, and how to put it back."""
    users = [b for b in named if not b.of_kernel]
    if not users:
        if hidden or not named:
            return "look from outside of this container or machine: top there", ""
        return "the kernel works for some process, disk or network: see interrupts, and what is written and sent", ""
    pids = ",".join(str(b.pid) for b in users)
    names = ", ".join(dict.fromkeys(b.name for b in users))
    away = f"; hold what is yours elsewhere: taskset -acp {free[0]} {users[0].pid}" if free else ""
    back = f"before, note where it may run: taskset -acp {users[0].pid}" if free else ""
    return (
        f"wait until {names} ended, or ask whose {'they are' if len(users) > 1 else 'it is'}: ps -o user,etime,args -p {pids}{away}",
        back,
    )


def _steal(s: Surroundings, w: Watched | None) -> Finding:
    effect = "the hypervisor ran another machine on this processor: the program stood still and its clock went on"
    if w is None:
        return _unwatched("steal", effect)
    if s.hypervisor is None:
        return Finding("steal", Severity.OK, "none without a hypervisor")
    stolen = {p: w.steal_s.get(p, 0.0) for p in s.processors}
    used = sum(stolen.values()) + sum(w.busy_s.get(p, 0.0) for p in s.processors)
    share = sum(stolen.values()) / used if used > 0 else 0.0
    evidence = (
        f"proc/stat, column steal: {format_seconds(sum(stolen.values())) if sum(stolen.values()) else '0 s'} over {w.seconds:.1f} s"
        + "".join(f", cpu{p} {format_seconds(t)}" for p, t in sorted(stolen.items()) if t > 0),
    )
    source = f"{KERNEL}/filesystems/proc.html#miscellaneous-kernel-statistics-in-proc-stat"
    if share < _SOME_STEAL:
        return Finding("steal", Severity.OK, "none is reported; a hypervisor may hide it", evidence, source=source)
    return Finding(
        "steal",
        Severity.NOISY if share >= _STEAL else Severity.NOTE,
        f"{format_percent(share)} of the time that processors wanted to work",
        evidence,
        effect,
        "measure when the neighbours are quiet, or on a machine with dedicated processors; samples with steal are marked",
        source=source,
    )


def _interrupts(s: Surroundings, w: Watched | None) -> Finding:
    effect = "each takes some microseconds of the processor that it comes to, and what it has in its caches"
    if w is None:
        return _unwatched("interrupts", effect)
    if not w.interrupts:
        return Finding("interrupts", Severity.UNKNOWN, "not shown", ("proc/interrupts: not there",))
    devices = [i for i in w.interrupts if i.device]
    totals = {p: sum(i.counts.get(p, 0) for i in devices) / w.seconds for p in s.processors}
    worst = max(totals, key=lambda p: totals[p])
    top = [(i, sum(i.counts.get(p, 0) for p in s.processors) / w.seconds) for i in devices[:_NAMED]]
    evidence = tuple(
        f"proc/interrupts {i.line} ({i.name}): {rate:.0f} a second, on "
        + format_processors(p for p in i.counts if p in totals)
        for i, rate in top
        if rate >= 1
    )
    summary = f"{totals[worst]:.0f} a second by devices on processor {worst}, the most of all that may be used"
    if totals[worst] < _SOME_INTERRUPTS:
        return Finding("interrupts", Severity.OK, summary, evidence)
    line = next(i.line for i in devices if i.counts.get(worst))
    others = [p for p in w.busy_s if p not in s.processors]
    to = others[0] if others else next((p for p in s.processors if p != worst), worst)
    return Finding(
        "interrupts",
        Severity.NOISY if totals[worst] >= _MANY else Severity.NOTE,
        summary,
        evidence,
        effect,
        f"send it to a processor that you do not measure on: echo {to} > /proc/irq/{line}/smp_affinity_list",
        f"before, note what it says: cat /proc/irq/{line}/smp_affinity_list",
        root=True,
        source=f"{KERNEL}/core-api/irq/irq-affinity.html",
    )


def _balancer(s: Surroundings) -> Iterator[Finding]:
    if "irqbalance" in s.running:
        yield Finding(
            "irqbalance",
            Severity.NOTE,
            "moves interrupts between processors while you measure",
            (f"proc/{s.running['irqbalance']}/comm: irqbalance",),
            "interrupts come to one processor in one run, to another in the next",
            "systemctl stop irqbalance, or keep it off the ones you measure on: IRQBALANCE_BANNED_CPULIST in its environment",
            "systemctl start irqbalance",
            root=True,
            source="irqbalance(1)",
        )


def _tick(s: Surroundings, w: Watched | None) -> Finding:
    effect = "each tick takes some microseconds; it ends a program's turn where another waits"
    ticks = next((i for i in w.interrupts if i.line in ("LOC", "IPI4") or i.name == "arch_timer"), None) if w else None
    if w is None or ticks is None:
        return Finding(
            "tick",
            Severity.UNKNOWN,
            "not watched: a recorded system stands still" if w is None else "not shown",
            effect=effect,
        )
    rates = {p: ticks.counts.get(p, 0) / w.seconds for p in s.processors}
    low, high = min(rates.values()), max(rates.values())
    evidence = (f"proc/interrupts {ticks.line}: {low:.0f} to {high:.0f} a second on each processor",)
    summary = f"up to {high:.0f} a second"
    source = f"{KERNEL}/timers/no_hz.html"
    return Finding("tick", Severity.OK, summary, evidence, effect, source=source)


def _threads(quota: float) -> str:
    count = max(1, int(quota))
    return f"{count} thread{'s' * (count != 1)}"


def _quota(s: Surroundings, w: Watched | None) -> Finding:
    quota = s.limits.cpu_quota
    source = f"{KERNEL}/scheduler/sched-bwc.html"
    if quota is None:
        return Finding("quota", Severity.OK, "the cgroup has none on processor time", source=source)
    held = w.quota_s if w else None
    evidence: tuple[str, ...] = (f"cpu.max or cpu.cfs_quota_us of the cgroup or one above it: {quota:g} processors",)
    if held:
        evidence += (f"cpu.stat, throttled: {format_seconds(held)} over {w.seconds:.1f} s" if w else "",)
    enough = quota >= len(s.processors)
    if enough and not held:
        return Finding("quota", Severity.OK, f"{quota_share(s)}, which is enough", evidence, source=source)
    return Finding(
        "quota",
        Severity.NOISY,
        quota_share(s) + (f"; it has held back for {format_seconds(held)} of {w.seconds:.1f} s" if held and w else ""),
        evidence,
        "when the time of a period is used up all threads stand still until the next begins: runs get longer by up to a whole "
        "period of, usually, 100 ms, and the more threads, the sooner",
        f"run no more than {_threads(quota)}, as `nodewise tune` plans, or have the quota raised",
        source=source,
    )


def _pressure(s: Surroundings, w: Watched | None) -> Finding:
    source = f"{KERNEL}/accounting/psi.html"
    effect = "programs that wanted to run waited for a processor, for memory or for a disk"
    if s.pressure is None:
        return Finding(
            "pressure",
            Severity.UNKNOWN,
            "not shown: the kernel has none, or it needs psi=1 on its command line",
            ("proc/pressure: not there",),
            source=source,
        )
    now = {k: v / w.seconds for k, v in w.pressure_s.items()} if w else s.pressure
    over = f"over {w.seconds:.1f} s" if w else "over the last ten seconds"
    evidence = tuple(f"proc/pressure/{k}: some {format_percent(v)} {over}" for k, v in now.items())
    waiting = {k: v for k, v in now.items() if v >= _WAIT}
    if not waiting:
        return Finding("pressure", Severity.OK, "hardly any process had to wait", evidence, source=source)
    summary = ", ".join(
        f"for {'a processor' if k == 'cpu' else k} {format_percent(v)} of the time" for k, v in waiting.items()
    )
    bad = max(waiting.get("cpu", 0.0), waiting.get("memory", 0.0))
    return Finding(
        "pressure",
        Severity.NOISY if bad >= _BUSY else Severity.NOTE,
        f"some process waited {summary}",
        evidence,
        effect,
        "see other load",
        source=source,
    )


def _paging(w: Watched | None) -> Iterator[Finding]:
    if w is not None and w.paged > 0:
        yield Finding(
            "paging",
            Severity.NOISY,
            f"{w.paged} pages went to or came from swap in {w.seconds:.1f} s",
            (f"proc/vmstat: pswpin and pswpout rose by {w.paged}",),
            "whatever touches a page that is out stands still until it is read",
            "end what fills memory: ps -eo rss,pid,comm --sort -rss | head",
        )
