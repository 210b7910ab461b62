# SPDX-License-Identifier: BSD-3-Clause
"""What `nodewise quiet` says of systems of every kind."""

import json
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.base.escaping import unmarked
from nodewise.cli.outputs.quiet import quiet_output
from nodewise.machine.surroundings import read_surroundings
from nodewise.machine.watch import Busy, Interrupts, Watched, difference, look
from nodewise.quiet.examine import examine
from nodewise.quiet.finding import Finding, Severity
from nodewise.quiet.measured import resolutions, summary
from nodewise.report.text.quiet import counts_text, findings_text, spins_text
from nodewise.runner.spin import Spin, rounds_of, spin
from nodewise.verdicts.encoding import encode
from tests import systems
from tests.json_schemas import check_json
from tests.started import started
from tests.systems import write

NOISY, NOTE, UNKNOWN, OK = Severity.NOISY, Severity.NOTE, Severity.UNKNOWN, Severity.OK
SYSTEMS = {name: getattr(systems, name) for name in ("laptop", "server", "virtual", "job", "hot")}


def said_of(root: Path, files: dict[str, str], **watched: object) -> dict[str, Finding]:
    found = examine(read_surroundings(write(root, files)), **watched)  # type: ignore[arg-type]
    assert len({f.name for f in found}) == len(found)
    return {f.name: f for f in found}


def watched(**changes: object) -> Watched:
    nothing = {
        "seconds": 1.0,
        "busy_s": dict.fromkeys(range(16), 0.0),
        "steal_s": {},
        "interrupts": (),
        "busiest": (),
        "pressure_s": {},
        "throttled": {},
        "quota_s": None,
        "paged": 0,
    }
    return Watched(**{**nothing, **changes})  # type: ignore[arg-type]


def test_a_laptop_on_battery(tmp_path: Path) -> None:
    f = said_of(tmp_path, systems.laptop())
    noisy = {name for name, x in f.items() if x.severity is NOISY}
    assert noisy == {"governor", "power"}
    assert "this driver's powersave is not the generic one" in f["governor"].effect
    assert (
        f["governor"].do == f"echo performance | tee /{systems.CPU}/cpu*/cpufreq/scaling_governor"
        and f["governor"].root
    )
    assert f["governor"].undo == f"echo powersave | tee /{systems.CPU}/cpu*/cpufreq/scaling_governor"
    assert f"{systems.CPU}/cpu0/cpufreq/scaling_governor: powersave" in f["governor"].evidence
    assert f["boost"].do == f"echo 1 > /{systems.CPU}/intel_pstate/no_turbo"
    notes = {"boost", "idle states", "power profile", "hardware threads", "huge pages", "page merging", "memory"}
    notes |= {
        "writing back",
        "timed jobs",
        "background services",
        "counters",
        "watchdog",
        "address layout",
        "isolation",
    }
    assert {name for name, x in f.items() if x.severity is NOTE} == notes
    assert "taskset -c 0-3" in f["hardware threads"].do
    assert f["timed jobs"].do == "systemctl stop apt-daily.timer fstrim.timer cron.service"
    assert f["counters"].undo == "sysctl kernel.perf_event_paranoid=4"


@pytest.mark.parametrize(
    ("devices", "severity"),
    [((), OK), (("software",), UNKNOWN), (("cpu",), OK), (("cpu_core", "cpu_atom"), OK), (("armv8_pmuv3_0",), OK)],
)
def test_a_machine_without_counters_is_told_apart_from_one_that_grants_them(
    tmp_path: Path, devices: tuple[str, ...], severity: Severity
) -> None:
    root = write(tmp_path, systems.common(2))
    for name in devices:
        (root / "sys/bus/event_source/devices" / name).mkdir(parents=True)
    counters = {x.name: x for x in examine(read_surroundings(root, [0, 1]))}["counters"]
    assert counters.severity is severity
    assert ("shows no counters" in counters.summary) == (severity is UNKNOWN)


def test_processors_of_different_governors_are_each_put_back(tmp_path: Path) -> None:
    files = {**systems.laptop(), f"{systems.CPU}/cpu7/cpufreq/scaling_governor": "schedutil"}
    f = said_of(tmp_path, files)["governor"]
    assert f.summary == "powersave on 0-6, schedutil on 7 (intel_pstate): processors differ"
    folder = f"/{systems.CPU}/cpu"
    assert f.undo.split("; ") == [
        f"echo powersave | tee {folder}{{0,1,2,3,4,5,6}}/cpufreq/scaling_governor",
        f"echo schedutil | tee {folder}7/cpufreq/scaling_governor",
    ]


def test_a_server_made_for_measuring(tmp_path: Path) -> None:
    f = said_of(tmp_path, systems.server())
    assert {name for name, x in f.items() if x.severity is NOISY} == {"NUMA balancing"}
    assert all(
        f[name].severity is OK for name in ("governor", "boost", "heat", "clock source", "hypervisor", "container")
    )
    assert f["isolation"].severity is NOTE and "taskset -c 2-15" in f["isolation"].do
    assert "IRQBALANCE_BANNED_CPULIST" in f["irqbalance"].do
    inside = examine(read_surroundings(tmp_path, range(2, 16)))
    assert next(x for x in inside if x.name == "isolation").severity is OK


def test_a_virtual_machine_hides_and_is_not_called_wrong(tmp_path: Path) -> None:
    f = said_of(tmp_path, systems.virtual())
    for hidden in ("governor", "boost", "heat", "hardware threads"):
        assert f[hidden].severity is UNKNOWN and not f[hidden].root, hidden
    assert "virtual machine" in f["governor"].summary
    assert f["hypervisor"].severity is NOTE and f["hypervisor"].summary == "QEMU/KVM"
    # a slow clock is reported with how to change it and back
    assert f["clock source"].severity is NOISY
    assert f["clock source"].do.startswith("echo tsc >") and f["clock source"].undo.startswith("echo hpet >")
    assert f["pressure"].severity is UNKNOWN and "psi=1" in f["pressure"].summary


def test_stolen_time_is_reported_by_how_much(tmp_path: Path) -> None:
    root = write(tmp_path, systems.virtual())
    s = read_surroundings(root)
    first = look(root, 0.0, s.processors)
    w = difference(root, first, look(write(root, systems.virtual(10)), 1.0, s.processors))
    f = {x.name: x for x in examine(s, idle=w)}
    assert f["steal"].severity is NOISY and f["steal"].summary.startswith("10% of the time")
    calm = {x.name: x for x in examine(s, idle=watched())}
    assert calm["steal"].severity is OK and "may hide it" in calm["steal"].summary


def test_a_quota_below_the_processors_is_noisy(tmp_path: Path) -> None:
    f = said_of(tmp_path, systems.job(), idle=watched(quota_s=0.4))
    assert f["quota"].severity is NOISY
    assert "1.5 of 8 processors' time" in f["quota"].summary and "400 ms of 1.0 s" in f["quota"].summary
    assert f["quota"].do.startswith("run no more than 1 thread, ")
    assert f["container"].summary == "kubernetes"


def test_heat_now_is_noisy_and_heat_of_before_a_note(tmp_path: Path) -> None:
    f = said_of(tmp_path, systems.hot())
    assert f["heat"].severity is NOTE and "90 times" in f["heat"].summary
    assert f["clock limit"].severity is NOTE and f["clock limit"].summary == "the clock is held to 2.00 GHz of 4.00 GHz"
    file = f"{systems.CPU}/cpu0/thermal_throttle/core_throttle_count"
    now = said_of(tmp_path, systems.hot(), idle=watched(throttled={file: 3}))
    assert now["heat"].severity is NOISY and now["heat"].evidence == (f"{file}: rose by 3 in 1.0 s",)


def test_other_load_is_named_with_where_it_runs(tmp_path: Path) -> None:
    busy = {0: 0.9, 1: 0.0, 2: 0.0, 3: 0.0, 4: 0.5}
    w = watched(busy_s=busy, busiest=(Busy(77, "make", 0.9, (0,)), Busy(5, "kworker/4:1", 0.2, (4,), True)))
    s = read_surroundings(write(tmp_path, systems.common(16)), [0, 1])
    f = {x.name: x for x in examine(s, idle=w)}["other load"]
    assert f.severity is NOISY
    assert f.summary == "90% of a processor on the 2 that may be used, 50% elsewhere; most of it make"
    assert "make (77) 90% of a processor, on 0" in f.evidence
    assert "kworker/4:1 (5, a thread of the kernel) 20% of a processor, on 4" in f.evidence
    assert (
        f.do
        == "wait until make ended, or ask whose it is: ps -o user,etime,args -p 77; hold what is yours elsewhere: taskset -acp 1 77"
    )
    assert f.undo == "before, note where it may run: taskset -acp 77"
    kernel = {
        x.name: x for x in examine(s, idle=watched(busy_s={0: 0.9}, busiest=(Busy(9, "kswapd0", 0.9, (0,), True),)))
    }
    assert "kill" not in kernel["other load"].do
    hidden = {x.name: x for x in examine(s, idle=watched(busy_s={0: 0.9, 1: 0.0}))}["other load"]
    assert hidden.severity is NOISY and "from outside" in hidden.do
    calm = {x.name: x for x in examine(s, idle=watched())}["other load"]
    assert calm.severity is OK


def test_interrupts_are_named_with_their_device(tmp_path: Path) -> None:
    many = Interrupts("31", "nvme0q3", {0: 5000, 5: 10})
    tick = Interrupts("LOC", "Local timer interrupts", {0: 1000, 1: 4})
    s = read_surroundings(write(tmp_path, systems.common(16)), [0, 1])
    f = {x.name: x for x in examine(s, idle=watched(interrupts=(many, tick)))}
    assert f["interrupts"].severity is NOISY
    assert f["interrupts"].evidence == ("proc/interrupts 31 (nvme0q3): 5000 a second, on 0",)
    assert f["interrupts"].do.endswith("echo 2 > /proc/irq/31/smp_affinity_list")
    assert f["tick"].summary == "up to 1000 a second"


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_finding_that_matters_says_why_and_what_to_do(name: str, tmp_path: Path) -> None:
    for f in said_of(tmp_path, SYSTEMS[name]()).values():
        assert f.summary, f.name
        if f.severity in (NOISY, NOTE):
            assert f.effect and f.evidence, f.name
        # whoever changes something as root is shown how to put it back
        if f.root and re.match(r"(echo|sysctl|cpupower|systemctl|swapoff) ", f.do):
            assert f.undo, f.name
        assert "randomize_va_space=0" not in f.do


def test_an_empty_system_is_mostly_unknown(tmp_path: Path) -> None:
    found = examine(read_surroundings(tmp_path, [0]))
    assert not any(f.severity is NOISY for f in found)


def quanta(noise: float, seconds: float = 5.0) -> tuple[float, ...]:
    count = round(seconds / 1e-3)
    return tuple(1e-3 * (1 + noise * ((i * 7919) % 1000 / 1000 - 0.5)) for i in range(count))


def spun(processor: int, noise: float = 0.01, lost: float = 0.0, slower: float = 1.0) -> Spin:
    times = tuple(slower * q for q in quanta(noise))
    return Spin(processor, sum(times), times, lost * sum(times), 500, 2e-3, waited_s=lost * sum(times) / 2)


def test_what_was_lost_is_reported_and_to_whom(tmp_path: Path) -> None:
    f = said_of(tmp_path, systems.server(), spins=[spun(0, lost=0.002), spun(1, lost=0.03)], loaded=watched())
    assert f["lost time"].severity is NOISY
    assert f["lost time"].summary == "1.6% of the time, at most 3% on processor 1"
    assert "50% to other processes" in f["lost time"].evidence[1]
    # counted by other clocks it may be more than all
    more = [replace(spun(0, lost=0.03), waited_s=1.0)]
    shares = said_of(tmp_path, systems.server(), spins=more, loaded=watched())["lost time"].evidence[1]
    assert "100% to other processes" in shares and shares.endswith("0% to ticks, interrupts and what nobody reports")
    assert f["even processors"].severity is OK
    calm = said_of(tmp_path, systems.server(), spins=[spun(0), spun(1, slower=1.1)])
    assert calm["lost time"].severity is OK
    assert calm["even processors"].severity is NOTE


def test_the_sentence_says_what_can_be_detected() -> None:
    said = summary([spun(0), spun(1)])
    assert re.fullmatch(r"runs of 1 s differ by .*% \(MAD\); a 1% difference needs about 6 runs of each", said)
    assert [r.noise.seconds for r in resolutions([spun(0)])] == [0.01, 0.1, 1.0]
    wild = Spin(0, 5.0, tuple([1e-3] * 1500 + [2e-3] * 500) * 2, 0.0, 0, 0.0)
    assert summary([wild]).endswith("cannot be detected")
    assert summary([]) == "" == spins_text([], [])


def test_it_is_written_within_the_width_worst_first(tmp_path: Path) -> None:
    found = examine(read_surroundings(write(tmp_path, systems.laptop())), idle=watched(), spins=[spun(0), spun(4)])
    for width in (60, 100):
        text = findings_text(found, width)
        wide = [line for line in text.splitlines() if len(line) > width and " " in line[30:].strip()]
        assert not wide, wide
    order = [line.split()[0] for line in text.splitlines() if line[:1].strip()]
    assert order == sorted(order, key=["NOISY", "note", "unknown", "ok"].index)
    assert "(as root)" in text and "put back" in text
    assert "\x1b[" not in text and "\x1b[1;31mNOISY" in unmarked(findings_text(found, colour=True))
    assert "seen in" in findings_text([f for f in found if f.severity is OK], everything=True)
    assert re.fullmatch(r"2 noisy, 14 notes, \d unknown, \d+ ok", counts_text(found))
    assert "10 runs of each detect" in spins_text([spun(0)], resolutions([spun(0)]))
    assert len(spins_text([spun(p) for p in range(40)], []).splitlines()) == 1 + 16 + 1


def test_json_holds_all_of_it(tmp_path: Path) -> None:
    spins = [spun(3)]
    found = examine(read_surroundings(write(tmp_path, systems.laptop())), spins=spins)
    data = json.loads(json.dumps(encode(quiet_output(found, spins))))
    check_json("quiet", data)
    assert data["findings"][0]["severity"] == "noisy"
    assert data["processors"][0]["quantum_s"]["median"] == pytest.approx(1e-3, rel=0.01)
    assert data["resolution"][-1]["seconds"] == 1.0


def test_the_loop_runs_on_each_processor_and_counts_its_own_time() -> None:
    here = sorted(os.sched_getaffinity(0))
    for seen, p in zip(spin(here, 0.4), here, strict=True):
        assert seen.processor == p
        assert sum(seen.quanta_s) == pytest.approx(seen.seconds, rel=0.01)
        assert 0 <= seen.lost < 1 and seen.longest_s <= seen.lost_s + 1e-12
        assert sum(count for _, count, _ in seen.lengths) == seen.detours
        assert sum(total for _, _, total in seen.lengths) == pytest.approx(seen.lost_s, rel=1e-6, abs=1e-9)
    assert rounds_of((1, 2, 3, 4, 5), 2) == [(1, 2), (3, 4), (5,)]


def nodewise(*words: str) -> subprocess.CompletedProcess[str]:
    return started("quiet", *words)


def test_the_command_measures_this_machine() -> None:
    done = nodewise("--seconds", "0.5", "--json", "--allow", str(min(os.sched_getaffinity(0))))
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert len(data["processors"]) == 1 and data["findings"] and data["resolution"]


def test_the_command_reads_another_system_and_fails_where_asked(tmp_path: Path) -> None:
    for name, files in SYSTEMS.items():
        write(tmp_path / name, files())
    plain = nodewise("--root", str(tmp_path / "laptop"))
    assert plain.returncode == 0 and plain.stdout.startswith("NOISY   governor")
    assert nodewise("--root", str(tmp_path / "laptop"), "--fail-on", "noisy").returncode == 1
    assert nodewise("--root", str(tmp_path / "hot"), "--fail-on", "noisy").returncode == 0
    assert nodewise("--root", str(tmp_path / "hot"), "--fail-on", "note").returncode == 1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--seconds", "-1"), "not a duration"),
        (("--seconds", "nan"), "not a duration"),
        (("--seconds", "0.01"), "too few"),
        (("--allow", "4095"), "not there or not allowed"),
        (("--allow", "x"), "not a list of processors"),
        (("--root", "/proc/gone"), "no copy of a system"),
        (("--fail-on", "sun"), "fail-on"),
    ],
)
def test_bad_input_is_one_clear_message(words: tuple[str, ...], complaint: str) -> None:
    done = nodewise(*words)
    assert done.returncode == 2 and complaint in done.stderr and "Traceback" not in done.stderr
    assert "hint:" in done.stderr


def test_what_a_guest_gives_back_is_reported_with_its_remedy(tmp_path: Path) -> None:
    f = said_of(tmp_path, systems.guest())
    assert f["free page reporting"].severity is NOTE and "2 MiB or more" in f["free page reporting"].summary
    assert f["free page reporting"].evidence[0] == "sys/bus/virtio/devices/virtio0/features: bit 5 is set"
    assert f["DAMON"].severity is NOISY
    kdamond = "/sys/kernel/mm/damon/admin/kdamonds/0/state"
    assert (f["DAMON"].do, f["DAMON"].undo) == (f"echo off > {kdamond}", f"echo on > {kdamond}")
    write(tmp_path, {"sys/module/damon_reclaim/parameters/enabled": "Y"})
    assert said_of(tmp_path, {})["DAMON"].do == "echo N > /sys/module/damon_reclaim/parameters/enabled"
    # an order that the kernel left to itself says nothing of a size
    write(tmp_path, {"sys/module/page_reporting/parameters/page_reporting_order": "-1"})
    assert "free memory is given back" in said_of(tmp_path, {})["free page reporting"].summary


def test_sessions_that_are_weighed_alike_are_reported(tmp_path: Path) -> None:
    f = said_of(tmp_path, systems.guest())
    assert f["autogroups"].severity is NOTE and "nice and renice" in f["autogroups"].effect
    assert f["autogroups"].evidence[1] == "proc/self/autogroup: /autogroup-11 nice 0"
    calm = said_of(tmp_path / "other", systems.server())
    assert not {"autogroups", "DAMON", "free page reporting"} & calm.keys()


def test_lost_time_names_the_findings_that_take_it(tmp_path: Path) -> None:
    spins = [spun(0, lost=0.03)]
    busy = watched(busiest=(Busy(77, "cc1plus", 0.9, (0,)),), busy_s={0: 0.9, 1: 0.0})
    f = said_of(tmp_path / "a", systems.laptop(), spins=spins, loaded=busy, idle=busy)
    assert f["lost time"].do.startswith("see other load") and "other findings" not in f["lost time"].do
    named = re.split(", | and ", f["lost time"].do.removeprefix("see "))
    assert all(f[name].severity in (NOISY, NOTE) for name in named)
    f = said_of(tmp_path / "b", {f"{systems.CPU}/online": "0-1"}, spins=spins)
    assert f["lost time"].do == "see isolation"
    f = said_of(tmp_path / "c", {f"{systems.CPU}/online": "0", f"{systems.CPU}/isolated": "0"}, spins=spins)
    assert f["lost time"].do == "nothing else that was found takes any: look for longer, with --seconds 30"


@pytest.mark.parametrize(
    ("online", "said"),
    [
        ("0-7", "for processors 2-7: isolcpus=managed_irq,domain,2-7 nohz_full=2-7 rcu_nocbs=2-7"),
        ("0-1", "for processor 1: isolcpus=managed_irq,domain,1 nohz_full=1 rcu_nocbs=1"),
        ("0", "of one none can be kept free"),
    ],
)
def test_only_processors_that_are_there_are_to_be_kept_free(online: str, said: str, tmp_path: Path) -> None:
    assert said_of(tmp_path, {f"{systems.CPU}/online": online})["isolation"].do.endswith(said)
