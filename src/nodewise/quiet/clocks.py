# SPDX-License-Identifier: BSD-3-Clause
"""Findings about the processors' clocks: governor, boost, limits, heat, battery, idle states, and the clock that is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nodewise.base.processors import format_processors
from nodewise.machine.surroundings import CPU, Clocks, Surroundings
from nodewise.machine.watch import Watched
from nodewise.quiet.finding import KERNEL, Finding, Severity

_CPUFREQ = f"{KERNEL}/admin-guide/pm/cpufreq.html"
_PSTATE = f"{KERNEL}/admin-guide/pm/intel_pstate.html"
#: Drivers whose `powersave` follows the load, unlike the generic governor of that name, which stays at the lowest clock.
_OWN_ALGORITHM = ("intel_pstate", "amd-pstate-epp")
#: Clock sources that are read without a system call, in a few ten nanoseconds.
_FAST_SOURCES = (
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
    "tod",
    "riscv_clocksource",
)
_SLOW_IDLE_US = 100


def clock_findings(s: Surroundings, watched: Watched | None) -> Iterator[Finding]:
    """All of them, for one system."""
    yield _governor(s)
    yield _boost(s)
    yield from _limits(s)
    yield _heat(s, watched)
    yield from _battery(s)
    yield from _idle(s)
    yield _source(s)


def _spread(values: Mapping[str, tuple[int, ...]]) -> str:
    if len(values) == 1:
        return next(iter(values))
    return ", ".join(f"{value} on {format_processors(which)}" for value, which in values.items())


def _set(file: str, value: str, processors: tuple[int, ...] | None = None) -> str:
    """The command that writes a value to cpufreq of some processors, or all."""
    if processors is None:
        numbers = "*"
    else:
        numbers = "{" + ",".join(map(str, processors)) + "}" if len(processors) > 1 else str(processors[0])
    return f"echo {value} | tee /{CPU}/cpu{numbers}/cpufreq/{file}"


def _hidden(s: Surroundings) -> str:
    return "a virtual machine does not show its host's clocks" if s.hypervisor else "this system has no cpufreq"


def _governor(s: Surroundings) -> Finding:
    c = s.clocks
    if not c.governors:
        return Finding(
            "governor",
            Severity.UNKNOWN,
            f"not shown: {_hidden(s)}",
            (f"{CPU}/cpu0/cpufreq: not there",),
            "the clock may change with the load and with the neighbours; nothing here can show it",
            "compare interleaved runs only, as `nodewise tune` does",
        )
    evidence = [f"{CPU}/cpu{which[0]}/cpufreq/scaling_governor: {value}" for value, which in c.governors.items()]
    evidence += [f"{CPU}/cpu{which[0]}/cpufreq/scaling_driver: {value}" for value, which in c.drivers.items()]
    evidence += [
        f"{CPU}/cpu{which[0]}/cpufreq/energy_performance_preference: {value}" for value, which in c.preferences.items()
    ]
    summary = _spread(c.governors) + (f" ({_spread(c.drivers)})" if c.drivers else "")
    if set(c.governors) == {"performance"}:
        return Finding(
            "governor",
            Severity.OK,
            summary,
            tuple(evidence),
            "the system asks for the highest clock at any load; boost and heat still move it",
            source=_CPUFREQ,
        )
    if set(c.governors) == {"userspace"}:
        return Finding(
            "governor", Severity.OK, f"{summary}: the clock is set by hand", tuple(evidence), source=_CPUFREQ
        )
    effect = "the clock follows the load: a run begins slowly, and one that waits now and then stays below the top"
    if "powersave" in c.governors and not set(c.drivers) & set(_OWN_ALGORITHM):
        effect = "the processor stays at its lowest clock"
    elif "powersave" in c.governors:
        effect += "; this driver's powersave is not the generic one, which stays at the lowest clock"
    several = len(c.governors) > 1
    return Finding(
        "governor",
        Severity.NOISY,
        summary + (": processors differ" if several else ""),
        tuple(evidence),
        effect,
        _set("scaling_governor", "performance"),
        "; ".join(_set("scaling_governor", g, which if several else None) for g, which in c.governors.items()),
        root=True,
        source=_PSTATE if set(c.drivers) & set(_OWN_ALGORITHM) else _CPUFREQ,
    )


def _boost(s: Surroundings) -> Finding:
    c = s.clocks
    if c.boost is None:
        return Finding(
            "boost",
            Severity.UNKNOWN,
            f"not shown: {_hidden(s) if not c.governors else 'the driver has no switch for it'}",
            (f"{CPU}/intel_pstate/no_turbo, {CPU}/cpufreq/boost: not there",),
            "whether the clock rises above its base while there is room in power and heat is not known",
        )
    turbo = c.boost_file.endswith("no_turbo")
    on, off = ("0", "1") if turbo else ("1", "0")
    evidence = (f"{c.boost_file}: {on if c.boost else off}",)
    if not c.boost:
        return Finding("boost", Severity.OK, "off: the clock stays at its base or below", evidence, source=_CPUFREQ)
    return Finding(
        "boost",
        Severity.NOTE,
        "on",
        evidence,
        "the clock depends on heat, power and how many cores are busy: a run alone is faster than one among others, and the "
        "first ones faster than later ones. Interleaved runs share that; small differences are easier seen without",
        f"echo {off} > /{c.boost_file}",
        f"echo {on} > /{c.boost_file}",
        root=True,
        source=f"{_CPUFREQ}#the-boost-file-in-sysfs" if not turbo else _PSTATE,
    )


def _ghz(hertz: float) -> str:
    return f"{hertz / 1e9:.2f} GHz"


def _limits(s: Surroundings) -> Iterator[Finding]:
    c = s.clocks
    if c.held_to is None or c.could is None:
        return
    evidence: tuple[str, ...] = (
        f"{CPU}/cpu*/cpufreq/scaling_max_freq: {c.held_to / 1e3:.0f}",
        f"{CPU}/cpu*/cpufreq/cpuinfo_max_freq: {c.could / 1e3:.0f}",
    )
    if c.most_percent is not None and c.most_percent < 100:
        evidence += (f"{CPU}/intel_pstate/max_perf_pct: {c.most_percent}",)
    held = _held(c)
    if held < 0.995 * c.could:
        yield Finding(
            "clock limit",
            Severity.NOTE,
            f"the clock is held to {_ghz(held)} of {_ghz(c.could)}",
            evidence,
            "times are longer than this machine's best, and steadier for it",
            _set("scaling_max_freq", f"{c.could / 1e3:.0f}")
            if held == c.held_to
            else f"echo 100 > /{CPU}/intel_pstate/max_perf_pct",
            _set("scaling_max_freq", f"{c.held_to / 1e3:.0f}")
            if held == c.held_to
            else f"echo {c.most_percent} > /{CPU}/intel_pstate/max_perf_pct",
            root=True,
            source=_CPUFREQ,
        )
    else:
        yield Finding("clock limit", Severity.OK, f"none below {_ghz(c.could)}", evidence, source=_CPUFREQ)


def _held(c: Clocks) -> float:
    assert c.held_to is not None and c.could is not None
    return min(c.held_to, c.could * (100 if c.most_percent is None else c.most_percent) / 100)


def _heat(s: Surroundings, watched: Watched | None) -> Finding:
    effect = (
        "the processor lowers its clock to cool down, for as long as it is hot: later runs are slower than earlier ones"
    )
    do = "let it cool, clean its fans and raise their speed, or hold the clock to what can be kept (scaling_max_freq)"
    source = "https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-devices-system-cpu"
    if not s.throttled:
        return Finding(
            "heat",
            Severity.UNKNOWN,
            "not shown: "
            + (
                "a virtual machine does not show its host's heat"
                if s.hypervisor
                else "this processor has no such counters"
            ),
            (f"{CPU}/cpu*/thermal_throttle: not there",),
            "whether heat lowers the clock is not known here",
        )
    rose = dict(watched.throttled) if watched else {}
    if rose:
        evidence = (
            tuple(f"{file}: rose by {n} in {watched.seconds:.1f} s" for file, n in rose.items()) if watched else ()
        )
        return Finding(
            "heat", Severity.NOISY, "heat is lowering the clock now", evidence[:4], effect, do, source=source
        )
    since = {file: n for file, n in s.throttled.items() if n}
    if since:
        most = max(since.values())
        evidence = tuple(f"{file}: {n}" for file, n in since.items())[:4]
        return Finding(
            "heat",
            Severity.NOTE,
            f"heat has lowered the clock since the system's start, {most} times at the most-throttled place, but not now",
            evidence,
            effect,
            do,
            source=source,
        )
    return Finding(
        "heat", Severity.OK, "has not lowered the clock", tuple(f"{file}: 0" for file in s.throttled)[:2], source=source
    )


def _battery(s: Surroundings) -> Iterator[Finding]:
    if s.discharging:
        yield Finding(
            "power",
            Severity.NOISY,
            "the machine runs on its battery",
            (f"sys/class/power_supply/{s.discharging}/status: Discharging",),
            "firmware and system save power: lower limits, slower clocks, and they change as it empties",
            "plug it in",
        )
    elif s.has_battery:
        yield Finding("power", Severity.OK, "there is a battery, and it is not being used up")
    if s.profile and s.profile not in ("performance", "balanced-performance"):
        yield Finding(
            "power profile",
            Severity.NOTE,
            s.profile,
            (f"sys/firmware/acpi/platform_profile: {s.profile}",),
            "the firmware limits power and the fans' noise before speed",
            "echo performance > /sys/firmware/acpi/platform_profile",
            f"echo {s.profile} > /sys/firmware/acpi/platform_profile",
            root=True,
            source=f"{KERNEL}/userspace-api/sysfs-platform_profile.html",
        )


def _idle(s: Surroundings) -> Iterator[Finding]:
    latency = s.clocks.idle_latency_us
    if latency is None:
        return
    evidence = (f"{CPU}/cpu{s.processors[0]}/cpuidle/state*/latency: {latency} at most",)
    if latency <= _SLOW_IDLE_US:
        yield Finding("idle states", Severity.OK, f"left within {latency} µs", evidence)
        return
    yield Finding(
        "idle states",
        Severity.NOTE,
        f"an idle processor may need {latency} µs to wake",
        evidence,
        "programs that wait (messages, barriers that sleep, files) vary by that much for each time that they wait; pure "
        "computing does not suffer",
        f"cpupower idle-set -D {_SLOW_IDLE_US} (of the package linux-cpupower or linux-tools)",
        "cpupower idle-set -E",
        root=True,
        source=f"{KERNEL}/admin-guide/pm/cpuidle.html",
    )


def _source(s: Surroundings) -> Finding:
    k = s.kernel
    file = "sys/devices/system/clocksource/clocksource0"
    if k.clock_source is None:
        return Finding("clock source", Severity.UNKNOWN, "not shown", (f"{file}/current_clocksource: not there",))
    evidence = (
        f"{file}/current_clocksource: {k.clock_source}",
        f"{file}/available_clocksource: {' '.join(k.clock_sources)}",
    )
    source = f"{KERNEL}/timers/timekeeping.html"
    if k.clock_source in _FAST_SOURCES:
        return Finding(
            "clock source", Severity.OK, f"{k.clock_source}, read without a system call", evidence, source=source
        )
    better = next((c for c in k.clock_sources if c in _FAST_SOURCES), None)
    change = f"echo {{}} > /{file}/current_clocksource"
    return Finding(
        "clock source",
        Severity.NOISY,
        f"{k.clock_source}, which is slow to read",
        evidence,
        "each look at the clock is a system call and takes a microsecond or more: programs that time themselves, and "
        "runtimes that do so inside, are slowed and blurred",
        change.format(better)
        if better
        else "find out why the kernel distrusts the processor's own counter: dmesg | grep -i tsc",
        change.format(k.clock_source) if better else "",
        root=True,
        source=source,
    )
